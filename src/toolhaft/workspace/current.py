"""`workspace()` and `use_workspace()`: where a tool acts.

A tool calls `workspace()` and gets a `ToolWorkspace`: pydantic-ai's `Workspace` with pages, whole writes, and
`in_thread`, in which all of a tool's work on files is one thread hop.
"""

import asyncio
import os
import posixpath
from collections.abc import Callable, Generator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import lru_cache
from typing import TypeVar, cast

from anyio import CapacityLimiter, to_thread
from pydantic_ai.workspaces import Workspace, WorkspaceBackend
from pydantic_ai.workspaces.workspace import workspace_layers

from .direct import Elsewhere, Files
from .files import WriteMode, Written
from .folders import DirEntry
from .lines import LineIndex, read_at
from .local import LocalWorkspace
from .pages import MAX_LINES, Binary, Page, read_page
from .text import SAMPLE_BYTES, encode_more

T = TypeVar("T")


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
