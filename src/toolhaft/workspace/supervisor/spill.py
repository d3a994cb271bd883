"""The whole output of a command whose text is cut, in a file of the workspace, within a quota.

The file is made when the first byte would be lost, in `.toolhaft/output` below the root, where reading tools reach it.
The folders are entered without following a link, since a command may have put one there.
"""

import os
import stat
import time
from collections.abc import Iterable
from contextlib import suppress

from .frames import Message

FOLDER = (".toolhaft", "output")
_MOST_FILES = 100
_MOST_BYTES = 512 << 20
_ENTER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_MAKE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


class Spill:
    """Keeps the first `limit_bytes` of what is written to it; makes its file at the first write."""

    def __init__(self, root: str, *, limit_bytes: int) -> None:
        self._root = root
        self._limit = limit_bytes
        self._folder = -1
        self._file = -1
        self._name = ""
        self._size = 0
        self._dropped = 0
        self._problem = ""
        self._reported = False

    @property
    def is_open(self) -> bool:
        """Whether anything was written to it."""
        return bool(self._name)

    def write(self, data: "bytes | bytearray | memoryview") -> None:
        """Add output; what is over the quota, or cannot be written, is only counted."""
        part = memoryview(data)[: max(0, self._limit - self._size)]
        try:
            if not self._name:
                self._make()
            while part and not self._problem:
                written = os.write(self._file, part)
                self._size += written
                part = part[written:]
                data = memoryview(data)[written:]
        except OSError as error:
            self._problem = error.strerror or str(error)
        self._dropped += len(data)

    def report(self) -> Message | None:
        """What to say of it: the file's path from the root and what it holds, or None for one that was not needed."""
        if not self._name:
            return None
        self._reported = not self._problem
        path = "/".join((*FOLDER, self._name))
        return {"path": path, "size": self._size, "dropped_bytes": self._dropped, "problem": self._problem}

    def close(self) -> None:
        """Close the file; remove one that nobody was told of."""
        if self._file >= 0:
            os.close(self._file)
            if not self._reported:
                with suppress(OSError):
                    os.unlink(self._name, dir_fd=self._folder)
        if self._folder >= 0:
            os.close(self._folder)
        self._file = self._folder = -1

    def _make(self) -> None:
        self._name = f"{time.time_ns():x}-{os.getpid()}.txt"
        outer = os.open(self._root, _ENTER)
        for name in FOLDER:
            with suppress(FileExistsError):
                os.mkdir(name, 0o700, dir_fd=outer)
            try:
                inner = os.open(name, _ENTER, dir_fd=outer)
            finally:
                os.close(outer)
            if name == FOLDER[0]:
                _ignore_all(inner)
            outer = inner
        self._folder = outer
        _remove_old(outer, room_bytes=self._limit)
        self._file = os.open(self._name, _MAKE, 0o600, dir_fd=outer)


def _ignore_all(folder: int) -> None:
    """Let neither git nor a search look into the folder."""
    with suppress(FileExistsError):
        file = os.open(".gitignore", _MAKE, 0o600, dir_fd=folder)
        os.write(file, b"*\n")
        os.close(file)


def _remove_old(folder: int, *, room_bytes: int) -> None:
    """Remove the oldest files, so that there is room for one more."""
    count, size = 1, room_bytes
    for name, info in sorted(_files(folder), key=lambda one: one[1].st_mtime_ns, reverse=True):
        count += 1
        size += info.st_size
        if count > _MOST_FILES or size > _MOST_BYTES:
            with suppress(OSError):
                os.unlink(name, dir_fd=folder)


def _files(folder: int) -> Iterable[tuple[str, os.stat_result]]:
    for name in os.listdir(folder):
        with suppress(OSError):
            info = os.stat(name, dir_fd=folder, follow_symlinks=False)
            if stat.S_ISREG(info.st_mode):
                yield name, info
