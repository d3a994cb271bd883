"""Files as a tool meets them: opened for reading without ever blocking, changed whole or not at all.

The words for it (`Version`, `WriteMode`, `Written`) and the two ways in: `open_regular` to read, `hold` to change.
What a change does step by step is in `replace.py`.
"""

import errno
import fcntl
import os
import stat
import time
from collections.abc import Generator, Iterable
from contextlib import contextmanager
from typing import BinaryIO, Literal, NamedTuple

from .beneath import Root
from .replace import FileChangedError, HeldFile, Version
from .temporary import is_name_of, try_lock

__all__ = [
    "FileChangedError",
    "HeldFile",
    "Locks",
    "OpenFile",
    "Version",
    "WriteMode",
    "Written",
    "hold",
    "open_for_change",
    "open_regular",
    "refuse_irregular",
]

WriteMode = Literal["create", "overwrite", "append"]

# How long to wait for another writer of the same file before saying so, and how often to look.
_LOCK_WAIT_SECONDS = 10.0
_LOCK_LOOK_SECONDS = 0.001


class Written(NamedTuple):
    """What a write did: `path` relative to the root, whether it made the file, its size and version now.

    `note` says what the caller should know besides (a hard link that keeps the old content), else it is empty.
    `change_id` is what `undo` takes, None where the write cannot be undone.
    """

    path: str
    created: bool
    size: int
    version: Version
    note: str = ""
    change_id: str | None = None


def open_regular(root: Root, path: str) -> tuple[BinaryIO, str]:
    """Open a regular file for reading; return it and its real path relative to the root.

    A folder is an `IsADirectoryError`, a FIFO, socket or device an `OSError`: none of them is ever waited for.
    """
    try:
        opened = root.open(path, os.O_RDONLY)
    except OSError as error:
        if error.errno == errno.ENXIO:  # what open(2) says of a socket
            raise _irregular(path) from error
        raise
    try:
        refuse_irregular(os.fstat(opened.fd).st_mode, path)
        return open(opened.fd, "rb"), opened.path
    except BaseException:
        os.close(opened.fd)
        raise


def refuse_irregular(mode: int, path: str) -> None:
    """Raise the error that fits a file that has no content to read or replace."""
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), path)
    if not stat.S_ISREG(mode):
        raise _irregular(path)


def _irregular(path: str) -> OSError:
    return OSError(errno.EINVAL, "not a regular file but a FIFO, socket, device or link, which has no content", path)


class OpenFile(NamedTuple):
    """A file that is open as `fd`, under the name that it was found by; `given` is what the caller wrote."""

    fd: int
    folder: int
    name: str
    given: str


class Locks:
    """The locks of one change. A file that has two names is locked once.

    Files are locked as they are read, in any order. Two changes that each hold what the other wants would wait for
    ever, so nobody waits for a file while holding one with a higher number: those are let go and taken again. What
    somebody changed in between, the compare-and-swap at the end sees.
    """

    def __init__(self) -> None:
        self._mine: dict[tuple[int, int], int] = {}

    def take(self, fd: int, given: str) -> None:
        """Lock an open file, waiting for whoever holds it: `TimeoutError` where that takes too long."""
        file = _identity(fd)
        if file in self._mine:
            return
        if not try_lock(fd):
            later = sorted(other for other in self._mine if other > file)
            for other in later:
                fcntl.flock(self._mine[other], fcntl.LOCK_UN)
            _wait_for_lock(fd, given)
            for other in later:
                _wait_for_lock(self._mine[other], given)
        self._mine[file] = fd

    def take_all(self, files: Iterable[OpenFile]) -> bool:
        """Lock open files in the order that is the same for everybody; False where one was replaced meanwhile.

        Then none is locked, and whoever wants them opens them anew.
        """
        ordered = sorted(files, key=lambda file: _identity(file.fd))
        for file in ordered:
            self.take(file.fd, file.given)
        if all(is_name_of(file.fd, file.name, folder=file.folder) for file in ordered):
            return True
        for file in ordered:
            self.forget(file.fd)
        return False

    def forget(self, fd: int) -> None:
        """Take no more account of a file that is about to be closed."""
        file = _identity(fd)
        if self._mine.get(file) == fd:
            del self._mine[file]


def _identity(fd: int) -> tuple[int, int]:
    info = os.fstat(fd)
    return info.st_dev, info.st_ino


def _wait_for_lock(fd: int, given: str) -> None:
    deadline = time.monotonic() + _LOCK_WAIT_SECONDS
    while not try_lock(fd):
        if time.monotonic() > deadline:
            raise TimeoutError(
                errno.ETIMEDOUT,
                f"another change or program held this file's lock for {_LOCK_WAIT_SECONDS:g} s; nothing was changed, "
                "try again",
                given,
            )
        time.sleep(_LOCK_LOOK_SECONDS)


@contextmanager
def hold(
    folder: int, name: str, *, given: str, access: int = os.O_RDWR, locks: Locks | None = None
) -> Generator[HeldFile]:
    """Keep other writers of this package, in any process, away from a file until the block ends.

    For read, change, replace: what was read inside the block is what is replaced. A file that does not exist yet
    cannot be held; then `fd` is None. Without `locks` it is only opened, and nobody is kept away.
    Raises `PermissionError` where the file may not be opened for `access`, `TimeoutError` where somebody holds it.
    """
    held = HeldFile(folder, name, given=given, fd=_open_held(folder, name, given=given, access=access, locks=locks))
    try:
        yield held
    finally:
        held.release()


def _open_held(folder: int, name: str, *, given: str, access: int, locks: Locks | None) -> int | None:
    while True:
        fd = open_for_change(folder, name, given=given, access=access)
        if fd is None or locks is None:
            return fd
        try:
            locks.take(fd, given)
            if is_name_of(fd, name, folder=folder):
                return fd
        except BaseException:
            os.close(fd)
            raise
        locks.forget(fd)
        os.close(fd)  # replaced while we waited: the lock is on a file that has no name any more


def open_for_change(folder: int, name: str, *, given: str, access: int) -> int | None:
    """Open an existing regular file as whoever writes in place would, so that it is refused where that would be."""
    try:
        # Asked before opening: opening a device for writing can already do something.
        refuse_irregular(os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode, given)
        fd = os.open(name, access | os.O_NONBLOCK | os.O_NOCTTY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=folder)
    except FileNotFoundError:
        return None
    return fd
