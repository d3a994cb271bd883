"""Files as a tool meets them: opened for reading without ever blocking, changed whole or not at all.

The words for it (`Version`, `WriteMode`, `Written`) and the two ways in: `open_regular` to read, `hold` to change.
What a change does step by step is in `replace.py`.
"""

import errno
import os
import stat
import time
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import BinaryIO, Literal

from .beneath import Root
from .replace import FileChangedError, HeldFile, Version
from .temporary import is_name_of, try_lock

__all__ = [
    "FileChangedError",
    "HeldFile",
    "Version",
    "WriteMode",
    "Written",
    "hold",
    "open_regular",
    "refuse_irregular",
]

WriteMode = Literal["create", "overwrite", "append"]

# How long to wait for another writer of the same file before saying so, and how often to look.
_LOCK_WAIT_SECONDS = 10.0
_LOCK_LOOK_SECONDS = 0.001


@dataclass(frozen=True, slots=True, kw_only=True)
class Written:
    """What a write did: `path` relative to the root, whether it made the file, its size and version now.

    `note` says what the caller should know besides (a hard link that keeps the old content), else it is empty.
    """

    path: str
    created: bool
    size: int
    version: Version
    note: str = ""


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


@contextmanager
def hold(folder: int, name: str, *, given: str, readable: bool = True) -> Generator[HeldFile]:
    """Keep other writers of this package, in any process, away from a file until the block ends.

    For read, change, replace: what was read inside the block is what is replaced. A file that does not exist yet
    cannot be held; then `fd` is None and `replace` makes it only if nobody else did meanwhile.
    Raises `PermissionError` where the file may not be written, `TimeoutError` where somebody holds it for 10 seconds.
    """
    held = HeldFile(folder, name, given=given, fd=_open_held(folder, name, given=given, readable=readable))
    try:
        yield held
    finally:
        held.release()


def _open_held(folder: int, name: str, *, given: str, readable: bool) -> int | None:
    deadline = time.monotonic() + _LOCK_WAIT_SECONDS
    while True:
        fd = _open_for_change(folder, name, given=given, readable=readable)
        if fd is None:
            return None
        try:
            _wait_for_lock(fd, given, deadline)
            if is_name_of(fd, name, folder=folder):
                return fd
        except BaseException:
            os.close(fd)
            raise
        os.close(fd)  # replaced while we waited: the lock is on a file that has no name any more


def _open_for_change(folder: int, name: str, *, given: str, readable: bool) -> int | None:
    """Open an existing regular file as whoever writes in place would, so that it is refused where that would be."""
    access = os.O_RDWR if readable else os.O_WRONLY
    try:
        # Asked before opening: opening a device for writing can already do something.
        refuse_irregular(os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode, given)
        fd = os.open(name, access | os.O_NONBLOCK | os.O_NOCTTY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=folder)
    except FileNotFoundError:
        return None
    return fd


def _wait_for_lock(fd: int, given: str, deadline: float) -> None:
    while not try_lock(fd):
        if time.monotonic() > deadline:
            raise TimeoutError(
                errno.ETIMEDOUT, f"another program held this file's lock for {_LOCK_WAIT_SECONDS:g} s", given
            )
        time.sleep(_LOCK_LOOK_SECONDS)
