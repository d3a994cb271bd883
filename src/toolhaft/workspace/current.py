"""`workspace()` and `use_workspace()`: where a tool acts.

A tool calls `workspace()` and gets a `ToolWorkspace`: pydantic-ai's `Workspace` with pages, whole writes and listings.
Each of them is one thread hop where the backend `SupportsDirectAccess` and no policy wrapper stands before it. Through
a wrapper (read-only, authority, people's own), or on any other backend, the same is done with `read_bytes`,
`write_bytes` and `list_dir`: never around the wrapper, at the price that each method states.
"""

import asyncio
import errno
import os
import posixpath
from collections.abc import Generator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import lru_cache
from io import BytesIO
from typing import BinaryIO, Protocol, runtime_checkable

from pydantic_ai.workspaces import Workspace, WorkspaceBackend
from pydantic_ai.workspaces.workspace import workspace_layers

from .files import Version, WriteMode, Written
from .folders import DirEntry
from .lines import LineIndex, read_at
from .local import LocalWorkspace
from .pages import MAX_LINES, Binary, Page, read_page
from .text import SAMPLE_BYTES, encode_more


@runtime_checkable
class SupportsDirectAccess(Protocol):
    """A backend whose files this process can open: plain methods, for several steps in one thread hop.

    `LocalWorkspace` has them; another backend may offer them too. They contain paths themselves.
    """

    def open_file(self, path: str) -> BinaryIO:
        """Open a regular file for reading, without ever waiting for a FIFO or device."""
        ...

    def replace_file(
        self, path: str, data: bytes, *, mode: WriteMode = "overwrite", expected: Version | None = None
    ) -> Written:
        """Write a whole file or nothing; in another version than `expected`, `FileChangedError`."""
        ...

    def scan_dir(self, path: str) -> list[DirEntry]:
        """List a folder by name."""
        ...

    def relative(self, path: str) -> str:
        """Return a path as a model should see it, without asking the disk."""
        ...


class ToolWorkspace(Workspace):
    """A pydantic-ai workspace with what tools need besides: pages, whole writes, listings.

    ```python
    page = await workspace().read_page("src/app.py", offset=40, limit=20)
    ```
    """

    def __init__(self, backend: WorkspaceBackend) -> None:
        super().__init__(backend)
        layers = [layer for layer in workspace_layers(self) if layer is not ToolWorkspace]
        below = self.backend
        wrapped = len(layers) > 1
        self._direct = below if isinstance(below, SupportsDirectAccess) and not wrapped else None
        # The backend's own where it keeps one, so that it outlives this view of the backend.
        self._index: LineIndex = getattr(self._direct, "line_index", None) or LineIndex()

    def shown(self, path: str) -> str:
        """Return a path as a model should see it: relative to the root where that is known, always valid Unicode."""
        name = self._direct.relative(path) if self._direct else posixpath.normpath(path)
        return name.encode(errors="backslashreplace").decode()

    async def read_page(self, path: str, *, offset: int = 1, limit: int = MAX_LINES, column: int = 1) -> Page | Binary:
        """Return a window of a file's lines, or what kind of file it is; see `pages.read_page`.

        Without direct access the whole file is fetched for it, and the page has no version.
        """
        name, direct = self.shown(path), self._direct
        data = b"" if direct else await self.read_bytes(path)

        def page() -> Page | Binary:
            with direct.open_file(path) if direct else BytesIO(data) as file:
                return read_page(file, offset=offset, limit=limit, column=column, name=name, index=self._index)

        return await asyncio.to_thread(page)

    async def write_file(self, path: str, text: str, *, mode: WriteMode = "create") -> Written:
        """Write a whole text, or add it to the end of a file; `create` raises `FileExistsError` where there is one.

        Text is UTF-8; what is appended takes the encoding and the line ends of the file. A text that cannot be
        encoded, or is to be appended to a binary file, is a `NotTextError` and touches nothing.

        Without direct access this is not atomic: `create` looks whether the file is there and then writes, `append`
        reads the file and writes it back longer, and the answer's version is one that no file has (`inode=0`).
        """
        if self._direct:
            return await asyncio.to_thread(_write_directly, self._direct, path, text, mode=mode)
        exists = await self.exists(path)
        if exists and mode == "create":
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), path)
        old = await self.read_bytes(path) if exists and mode == "append" else b""
        data = await asyncio.to_thread(lambda: old + encode_more(text, after=old))
        await self.write_bytes(path, data)
        version = Version(size=len(data), mtime_ns=0, inode=0)
        return Written(path=self.shown(path), created=not exists, size=len(data), version=version)

    async def scan_dir(self, path: str) -> list[DirEntry]:
        """Return the entries of a folder by name; without direct access no entry is known to be a link."""
        if self._direct:
            return await asyncio.to_thread(self._direct.scan_dir, path)
        entries = [
            DirEntry(name=entry.name, is_dir=entry.is_dir, is_link=False, size=entry.size)
            for entry in await self.list_dir(path)
        ]
        return sorted(entries, key=lambda entry: entry.name)


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


@contextmanager
def use_workspace(target: str | os.PathLike[str] | WorkspaceBackend) -> Generator[ToolWorkspace]:
    """Let tools act in `target`, a folder or any pydantic-ai workspace, until the block ends.

    ```python
    with use_workspace("./repo"):
        print(await read_file("README.md"))
    ```
    """
    place = _as_tool_workspace(target)
    token = _BOUND.set(place)
    try:
        yield place
    finally:
        _BOUND.reset(token)


def _as_tool_workspace(target: str | os.PathLike[str] | WorkspaceBackend) -> ToolWorkspace:
    if isinstance(target, ToolWorkspace):
        return target
    if isinstance(target, str | os.PathLike):
        return ToolWorkspace(LocalWorkspace(target))
    if isinstance(target, WorkspaceBackend):  # pyright: ignore[reportUnnecessaryIsInstance]
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


def _write_directly(direct: SupportsDirectAccess, path: str, text: str, *, mode: WriteMode) -> Written:
    # The looks of the file are read before it is held for the append; only its encoding is taken from them.
    old = _beginning(direct, path) if mode == "append" else b""
    return direct.replace_file(path, encode_more(text, after=old), mode=mode)


def _beginning(direct: SupportsDirectAccess, path: str) -> bytes:
    try:
        with direct.open_file(path) as file:
            return read_at(file, 0, SAMPLE_BYTES)
    except FileNotFoundError:
        return b""
