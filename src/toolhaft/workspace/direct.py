"""`Files`: the plain methods that a tool's work inside one thread hop is written in.

`LocalWorkspace` has them itself. For every other pydantic-ai workspace, and wherever a policy wrapper stands before a
backend, `Elsewhere` gives them over the workspace's own coroutines: never around the wrapper, at the prices stated.
"""

import asyncio
import errno
import os
import posixpath
from collections.abc import Coroutine, Generator
from contextlib import AbstractContextManager, contextmanager
from io import BytesIO
from typing import Any, BinaryIO, Protocol, TypeVar, runtime_checkable

from pydantic_ai.workspaces import Workspace

from .access import Access
from .changes import Applied, ChangeSet, UndoRefusedError
from .files import Version, WriteMode, Written
from .folders import DirEntry
from .one_by_one import OneByOne
from .sensitive import DEFAULT_PROTECTED_FILES, DEFAULT_SENSITIVE_FILES

T = TypeVar("T")

# What may not be touched in a workspace that has no lists of its own.
DEFAULT_ACCESS = Access(
    read_only=False, sensitive_files=DEFAULT_SENSITIVE_FILES, protected_files=DEFAULT_PROTECTED_FILES
)


@runtime_checkable
class Files(Protocol):
    """The files of a workspace, for a worker thread. A backend that offers these methods contains paths itself."""

    def open_file(self, path: str) -> BinaryIO:
        """Open a regular file for reading, without ever waiting for a FIFO or device."""
        ...

    def replace_file(
        self, path: str, data: bytes, *, mode: WriteMode = "overwrite", expected: Version | None = None
    ) -> Written:
        """Write a whole file or nothing; in another version than `expected`, `FileChangedError`."""
        ...

    def change(
        self, operation: str, *, preview: bool = False, expected_plan: str | None = None
    ) -> AbstractContextManager[ChangeSet]:
        """Change any number of files when the block ends, all or none; see `changes.py`.

        A `preview` does all but the changing; its `applied.plan_id` as `expected_plan` makes sure that what is changed
        is what was previewed, else `FileChangedError`.
        """
        ...

    def paths_of(self, change_id: str) -> tuple[str, ...]:
        """Return the files that a change set changed. Raises `UnknownChangeError`."""
        ...

    def undo(self, change_id: str) -> Applied:
        """Take back a change set: bytes, modes, existence. What commands did is in no change set."""
        ...

    def scan_dir(self, path: str) -> list[DirEntry]:
        """List a folder by name."""
        ...

    def relative(self, path: str) -> str:
        """Return a path as a model should see it, without asking the disk."""
        ...


class Elsewhere:
    """Files over the coroutines of any workspace. Each step waits for the event loop, so call it in a worker thread.

    A file is fetched whole to be opened. Writing is as atomic as the workspace's `write_bytes`: `create` looks whether
    the file is there and then writes, `append` reads it and writes it back longer; versions are ones that no file has
    (`inode=0`). No entry of a folder is known to be a link.
    """

    def __init__(self, workspace: Workspace, loop: asyncio.AbstractEventLoop) -> None:
        self._workspace = workspace
        self._loop = loop

    def open_file(self, path: str) -> BinaryIO:
        """Fetch a file."""
        return BytesIO(self.fetch(path))

    def replace_file(
        self, path: str, data: bytes, *, mode: WriteMode = "overwrite", expected: Version | None = None
    ) -> Written:
        """Write a file with the workspace's own `write_bytes`; `expected` cannot be checked and is not."""
        exists = self.exists(path)
        if exists and mode == "create":
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), path)
        old = self.fetch(path) if exists and mode == "append" else b""
        self.put(path, old + data)
        size = len(old) + len(data)
        version = Version(size=size, mtime_ns=0, inode=0)
        return Written(path=self.relative(path), created=not exists, size=size, version=version)

    @contextmanager
    def change(
        self, operation: str, *, preview: bool = False, expected_plan: str | None = None
    ) -> Generator[ChangeSet]:
        """Change files one by one when the block ends; on an error put back what was written: see `one_by_one.py`."""
        change = OneByOne(self, preview=preview, expected_plan=expected_plan)
        yield change
        change.apply()

    def paths_of(self, change_id: str) -> tuple[str, ...]:
        """Return no path: nothing is recorded of changes to other workspaces."""
        return ()

    def undo(self, change_id: str) -> Applied:
        """Refuse: nothing is recorded of changes to other workspaces."""
        raise UndoRefusedError(
            f"change {change_id!r} cannot be undone: this workspace keeps no journal. Change the files back by hand."
        )

    @property
    def allow_delete(self) -> bool:
        """Whether the backend says that tools may delete files."""
        return bool(getattr(self._workspace.backend, "allow_delete", False))

    def fetch(self, path: str) -> bytes:
        """Return the content of a file."""
        for name in self._names(path):
            DEFAULT_ACCESS.check_read(name, path)
        return self._wait(self._workspace.read_bytes(path))

    def put(self, path: str, data: bytes) -> None:
        """Write a whole file."""
        self._check_change(path)
        self._wait(self._workspace.write_bytes(path, data))

    def remove(self, path: str) -> None:
        """Remove a file."""
        self._check_change(path)
        self._wait(self._workspace.remove(path))

    def exists(self, path: str) -> bool:
        """Whether there is a file or folder."""
        return self._wait(self._workspace.exists(path))

    def scan_dir(self, path: str) -> list[DirEntry]:
        """List a folder by name."""
        entries = [
            DirEntry(name=entry.name, is_dir=entry.is_dir, is_link=False, size=entry.size)
            for entry in self._wait(self._workspace.list_dir(path))
        ]
        return sorted(entries, key=lambda entry: entry.name)

    def relative(self, path: str) -> str:
        """Return a path, normalized as text: where the root is, only the environment knows."""
        return posixpath.normpath(path)

    def _check_change(self, path: str) -> None:
        for name in self._names(path):
            DEFAULT_ACCESS.check_change(name, path)

    def _names(self, path: str) -> list[str]:
        """The names to judge a path by: as it is written, and where it really leads. None where the backend judges."""
        if isinstance(self._workspace.backend, Files):
            return []
        return [self.relative(path), self._wait(self._workspace.realpath(path))]

    def _wait(self, coroutine: Coroutine[Any, Any, T]) -> T:
        return asyncio.run_coroutine_threadsafe(coroutine, self._loop).result()
