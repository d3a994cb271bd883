"""`workspace()` and `use_workspace()`: where a tool acts; `judged()`: whether somebody has judged what it does.

A tool calls `workspace()` and gets a `ToolWorkspace`: pydantic-ai's `Workspace` with pages, whole writes, `in_thread`,
in which all of a tool's work on files is one thread hop, and commands that are judged, bounded and confined.
"""

import asyncio
import os
import posixpath
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from functools import lru_cache
from typing import TypeVar, cast

from anyio import CapacityLimiter, to_thread
from pydantic_ai.workspaces import Workspace, WorkspaceBackend
from pydantic_ai.workspaces.workspace import workspace_layers

from toolhaft.shell import Verdict

from .command_rules import CommandRules, check_verdict
from .commands import Commands, JobNotFoundError, check_command_text, check_folder_text
from .commands_elsewhere import check_paths_elsewhere, run_elsewhere
from .direct import DEFAULT_ACCESS, Elsewhere, Files
from .files import WriteMode, Written
from .folders import DirEntry
from .jobs import Job
from .lines import LineIndex, read_at
from .local import LocalWorkspace
from .net_rules import NetworkRules
from .outcome import CommandOutcome
from .pages import MAX_LINES, Binary, Page, read_page
from .text import SAMPLE_BYTES, encode_more

T = TypeVar("T")
# Classifying more than this takes longer than the event loop may wait for.
_LONG_COMMAND = 8_000


class ToolWorkspace(Workspace):
    """A pydantic-ai workspace with what tools need besides: pages, whole writes, work in one thread hop.

    ```python
    page = await workspace().read_page("src/app.py", offset=40, limit=20)
    ```
    """

    def __init__(self, backend: WorkspaceBackend) -> None:
        super().__init__(backend)
        layers = [layer for layer in workspace_layers(self) if layer is not ToolWorkspace]
        below = self.backend
        is_direct = len(layers) == 1 and isinstance(below, (LocalWorkspace, Files))
        self._direct: Files | None = cast(Files, below) if is_direct else None
        self._local = below if len(layers) == 1 and isinstance(below, LocalWorkspace) else None
        # The rules of a folder also hold behind a wrapper.
        is_folder = isinstance(below, LocalWorkspace)
        self._access = below.access if is_folder else DEFAULT_ACCESS
        self.command_rules = below.commands.rules if is_folder else CommandRules()
        self.network_rules = below.network_rules if is_folder else NetworkRules()
        # The backend's own where it keeps one, so that it outlives this view of the backend.
        self._index: LineIndex = getattr(self._direct, "line_index", None) or LineIndex()

    async def in_thread(self, work: Callable[[Files], T]) -> T:
        """Return what `work` makes of the files, done in a worker thread so that the event loop never waits.

        One thread hop where the backend has the methods of `Files` and no policy wrapper stands before it; else each
        step of `work` goes through the workspace's own coroutines (see `Elsewhere`).
        """
        if self._direct:
            return await asyncio.to_thread(work, self._direct)
        # Not a thread of the pools: `work` holds it while the wrapped workspace needs those to answer, and with
        # enough calls at once all would wait for each other.
        files = Elsewhere(self, asyncio.get_running_loop())
        return await to_thread.run_sync(work, files, abandon_on_cancel=True, limiter=CapacityLimiter(1))

    def shown(self, path: str) -> str:
        """Return a path as a model should see it: relative to the root where that is known, always valid Unicode."""
        name = self._direct.relative(path) if self._direct else posixpath.normpath(path)
        return name.encode(errors="backslashreplace").decode()

    async def read_page(self, path: str, *, offset: int = 1, limit: int = MAX_LINES, column: int = 1) -> Page | Binary:
        """Return a window of a file's lines, or what kind of file it is; see `pages.read_page`."""
        name = self.shown(path)

        def page(files: Files) -> Page | Binary:
            with files.open_file(path) as file:
                return read_page(file, offset=offset, limit=limit, column=column, name=name, index=self._index)

        return await self.in_thread(page)

    async def write_file(self, path: str, text: str, *, mode: WriteMode = "create") -> Written:
        """Write a whole text, or add it to the end of a file; `create` raises `FileExistsError` where there is one.

        Text is UTF-8; what is appended takes the encoding and the line ends of the file. A text that cannot be
        encoded, or is to be appended to a binary file, is a `NotTextError` and touches nothing.
        """

        def write(files: Files) -> Written:
            # The looks of the file are read before it is held for the append; only its encoding is taken from them.
            old = _beginning(files, path) if mode == "append" else b""
            return files.replace_file(path, encode_more(text, after=old), mode=mode)

        return await self.in_thread(write)

    async def scan_dir(self, path: str) -> list[DirEntry]:
        """Return the entries of a folder by name."""
        return await self.in_thread(lambda files: files.scan_dir(path))

    async def judge_command(self, command: str, *, cwd: str = ".") -> Verdict:
        """Return the verdict on a command that may run here and now; nothing is run.

        Raises `CommandRefusedError` for one that may not, the file tools' `PermissionError` for one that names a file
        that they would not touch, and `ValueError` for a text that is no command.
        """
        check_command_text(command)
        check_folder_text(cwd)
        is_long = len(command) > _LONG_COMMAND
        classify = self.command_rules.classify
        verdict = await asyncio.to_thread(classify, command) if is_long else classify(command)
        check_verdict(verdict, self.command_rules, judged=is_judged(), read_only=self._access.read_only)
        await self.check_command_paths(verdict, cwd)
        return verdict

    async def check_command_paths(self, verdict: Verdict, cwd: str = ".") -> None:
        """Raise the `PermissionError` of the file tools where a command in `cwd` names a file they would not touch."""
        if verdict.paths and self._local is not None:
            await asyncio.to_thread(self._local.check_command_paths, verdict.paths, cwd)
        elif verdict.paths:
            await check_paths_elsewhere(self, verdict.paths, self._access, cwd=cwd)

    async def run_command(
        self,
        command: str,
        *,
        cwd: str = ".",
        timeout_seconds: float,
        env: Mapping[str, str] | None = None,
        network: bool = True,
    ) -> CommandOutcome:
        """Run a command that was judged, to its end; see `Commands.run` for arguments and errors.

        Bounded, confined and with nothing left over in a `LocalWorkspace`; in any other, and behind a policy wrapper,
        by the workspace's own `run`, which cannot be told about the network (see `commands_elsewhere`).
        """
        if self._local is None:
            return await run_elsewhere(self, command, cwd=cwd, timeout_seconds=timeout_seconds, env=env)
        commands = await self._commands(self._local)
        return await commands.run(command, cwd=cwd, timeout_seconds=timeout_seconds, env=env, network=network)

    async def start_job(
        self, command: str, *, cwd: str = ".", env: Mapping[str, str] | None = None, network: bool = True
    ) -> Job:
        """Start a judged command in the background. Raises `NotImplementedError` where there is no `LocalWorkspace`."""
        if self._local is None:
            raise NotImplementedError("this workspace has no background jobs. Run the command in the foreground.")
        commands = await self._commands(self._local)
        return await commands.start(command, cwd=cwd, env=env, network=network)

    def job(self, job_id: str) -> Job:
        """Return a background job. Raises `JobNotFoundError`, naming those there are."""
        made = None if self._local is None else self._local.commands.made
        if made is None:
            raise JobNotFoundError(f"there is no background job {job_id!r}. No job was started in this workspace.")
        return made.job(job_id)

    async def _commands(self, local: LocalWorkspace) -> Commands:
        return local.commands.made or await asyncio.to_thread(local.commands.make)


_JUDGED: ContextVar[bool] = ContextVar("toolhaft_judged", default=False)


@contextmanager
def judged(passed: bool = True) -> Generator[None]:
    """Say that what the tools do in this block was judged by rules or by a person, who let it pass.

    Without it a command that is not known to be safe or a development tool is refused: there is nobody to ask.
    `judged(False)` says that it was not: within a call that was, for what that call lets others do.
    """
    token = _JUDGED.set(passed)
    try:
        yield
    finally:
        _JUDGED.reset(token)


def is_judged() -> bool:
    """Whether somebody judged the call that runs now."""
    return _JUDGED.get()


_BOUND: ContextVar[ToolWorkspace | None] = ContextVar("toolhaft_workspace", default=None)


def workspace() -> ToolWorkspace:
    """Return the workspace in which a tool acts now.

    The one that `use_workspace` or the toolkit's toolset bound; else the one attached to the agent run; else the
    current directory, with nothing outside it in reach.
    """
    bound = _BOUND.get()
    if bound is not None:
        return bound
    attached = _attached_to_run()
    return ToolWorkspace(attached) if attached is not None else _current_directory(os.getcwd())


def is_bound() -> bool:
    """Whether `use_workspace`, or the toolkit's toolset, says where tools act now."""
    return _BOUND.get() is not None


@contextmanager
def use_workspace(target: str | os.PathLike[str] | WorkspaceBackend) -> Generator[ToolWorkspace]:
    """Let tools act in `target`, a folder or any pydantic-ai workspace, until the block ends.

    ```python
    with use_workspace("./repo"):
        print(await read_file("README.md"))
    ```
    """
    place = tool_workspace(target)
    token = _BOUND.set(place)
    try:
        yield place
    finally:
        _BOUND.reset(token)


def tool_workspace(target: str | os.PathLike[str] | WorkspaceBackend) -> ToolWorkspace:
    """Return `target`, a folder or any pydantic-ai workspace, as tools see it. Make it once where many calls use it."""
    if isinstance(target, ToolWorkspace):
        return target
    if isinstance(target, str | os.PathLike):
        return ToolWorkspace(LocalWorkspace(target))
    # `Workspace` first: to ask whether something is a protocol's takes a hundred times as long.
    if isinstance(target, (Workspace, LocalWorkspace, WorkspaceBackend)):  # pyright: ignore[reportUnnecessaryIsInstance]
        return ToolWorkspace(target)
    raise TypeError(f"{target!r} is no workspace. Pass a folder's path, a LocalWorkspace or a pydantic-ai workspace.")


def _attached_to_run() -> Workspace | None:
    # A tool that is registered with a bare Agent is told nothing of the run. Without this it would act on the host
    # although a sandbox is attached. The module is private to pydantic-ai, so it may be gone one day: a test says when.
    try:
        from pydantic_ai._run_context import get_current_run_context
    except ImportError:
        return None
    run = get_current_run_context()
    return run.workspace if run is not None and run.workspace.attached else None


@lru_cache(maxsize=8)
def _current_directory(folder: str) -> ToolWorkspace:
    return ToolWorkspace(LocalWorkspace(folder))


def _beginning(files: Files, path: str) -> bytes:
    try:
        with files.open_file(path) as file:
            return read_at(file, 0, SAMPLE_BYTES)
    except FileNotFoundError:
        return b""
