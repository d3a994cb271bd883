"""Hidden files in which new content waits until it is complete.

A temporary file lies in the folder of the file it will replace, under a short name of its own, so that a target with
a name of 255 bytes works too. Its writer holds an `flock` on it for as long as it lives. One that nobody
holds was left by a writer that was killed, and whoever gets its lock may remove it.
"""

import errno
import fcntl
import os
import re
import secrets
import stat
from collections.abc import Generator
from contextlib import contextmanager, suppress
from dataclasses import dataclass

_NAME = re.compile(r"\.toolhaft-[0-9a-f]{16}\.tmp")
_O_PATH = getattr(os, "O_PATH", os.O_RDONLY)
_CHUNK_BYTES = 1 << 20


@dataclass(slots=True, eq=False)
class Temporary:
    """A temporary file being written: its name in `folder` and an open, locked descriptor."""

    folder: int
    name: str
    fd: int

    def write(self, data: bytes) -> None:
        """Write all of `data`, in as many calls as the system takes for it."""
        write_all(self.fd, data)

    def copy(self, source: int, size: int) -> None:
        """Write the first `size` bytes of the descriptor `source`, within the kernel where it can."""
        done = 0
        try:
            while done < size and (copied := os.copy_file_range(source, self.fd, size - done, offset_src=done)):
                done += copied
        except (AttributeError, OSError):  # no such call here, or not for these files: what fails below too is real
            pass
        while chunk := os.pread(source, min(_CHUNK_BYTES, size - done), done):
            self.write(chunk)
            done += len(chunk)

    def flush(self) -> None:
        """Bring the content to the disk; file systems that report a failed write only at `close` are asked too."""
        os.fsync(self.fd)
        os.close(os.dup(self.fd))

    def discard(self) -> None:
        """Remove what is left under the temporary name and let go of the lock."""
        with suppress(OSError):
            os.unlink(self.name, dir_fd=self.folder)
        self.close()

    def close(self) -> None:
        """Let go of the lock, once: by the next time the number may be another file's."""
        if self.fd >= 0:
            close_quietly(self.fd)
            self.fd = -1


def write_all(fd: int, data: bytes) -> None:
    """Write all of `data`, in as many calls as the system takes for it."""
    left = memoryview(data)
    while left:
        left = left[os.write(fd, left) :]


def close_quietly(fd: int) -> None:
    """Close a descriptor whose content is safe or given up: an error of `close` has nothing to say any more."""
    with suppress(OSError):
        os.close(fd)


def temporary_name() -> str:
    """Return a name for a temporary file that nobody has used."""
    return f".toolhaft-{secrets.token_hex(8)}.tmp"


def make_temporary(folder: int, *, mode: int) -> Temporary:
    """Make an empty temporary file that no other process can have opened for writing."""
    while True:
        name = temporary_name()
        flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        fd = os.open(name, flags, mode, dir_fd=folder)
        # Between these two calls a cleaner may have taken it for a leftover.
        if try_lock(fd) and os.fstat(fd).st_nlink:
            return Temporary(folder, name, fd)
        os.close(fd)


def link_temporary(folder: int, *, source: str) -> Temporary:
    """Make a temporary file that is one more name of the file `source`, an absolute path, and not a copy of it."""
    fd = os.open(source, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC)
    name = temporary_name()
    try:
        try_lock(fd)  # where another descriptor of ours has its lock already, that one keeps cleaners away
        os.link(source, name, dst_dir_fd=folder, follow_symlinks=False)
    except BaseException:
        close_quietly(fd)
        raise
    return Temporary(folder, name, fd)


def link_open_file(fd: int, path: str) -> None:
    """Give an open file one more name, whatever its first one means by now."""
    folder = os.open(os.path.dirname(path), _O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        # Python asks linkat to follow the link in /proc only where a folder is given.
        os.link(f"/proc/self/fd/{fd}", os.path.basename(path), dst_dir_fd=folder, follow_symlinks=True)
    finally:
        os.close(folder)


def sync_path(folder: str) -> None:
    """Make the names in a folder safe."""
    fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


def try_lock(fd: int) -> bool:
    """Take the lock of an open file if no other open descriptor of it has it."""
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def is_temporary(name: str) -> bool:
    """Whether a file name is one that `make_temporary` gives."""
    return _NAME.fullmatch(name) is not None


def remove_leftovers(folder: int) -> None:
    """Remove the temporary files that killed writers left in a folder; those of living writers stay."""
    for name in filter(is_temporary, os.listdir(folder)):
        with suppress(OSError), _opened_for_removal(name, folder) as fd:
            if try_lock(fd) and is_name_of(fd, name, folder=folder):
                os.unlink(name, dir_fd=folder)


@contextmanager
def _opened_for_removal(name: str, folder: int) -> Generator[int]:
    fd = os.open(name, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=folder)
    try:
        if not stat.S_ISREG(os.fstat(fd).st_mode):
            raise OSError(errno.EINVAL, "not one of our temporary files", name)
        yield fd
    finally:
        close_quietly(fd)


def is_name_of(fd: int, name: str, *, folder: int | None = None) -> bool:
    """Whether `name` in `folder` still means the file that `fd` has open."""
    try:
        return os.path.samestat(os.fstat(fd), os.stat(name, dir_fd=folder, follow_symlinks=False))
    except FileNotFoundError:
        return False
