"""Replace a file's content whole: at every moment, also after a crash, the file is the old one or the new one.

New content goes to a temporary file in the same folder, gets the old file's owner, mode and attributes, is synced
and only then takes the name; the folder is synced after that. Nothing before that last step touches the old file.

A caller that says which version it read (`expected`) gets a compare-and-swap: the two files trade places in one
step, what came out is looked at, and when it is not that version they trade back. So a change that somebody else made
a moment before is not lost. (A kill between the two trades would still lose it.)
"""

import errno
import os
import stat
import sys
from dataclasses import dataclass
from typing import Self

from . import kernel
from .temporary import Temporary, close_quietly, make_temporary

# A write in place would make the kernel drop or recompute these; a copy of them would be wrong for the new content.
_ATTRIBUTES_OF_CONTENT = frozenset({"security.capability", "security.ima", "security.evm"})
# renameat2 on a file system or kernel that has not the wanted form of it.
_NO_SUCH_RENAME = frozenset({errno.ENOSYS, errno.EINVAL, errno.EOPNOTSUPP, errno.EPERM})


@dataclass(frozen=True, slots=True, kw_only=True)
class Version:
    """A token for one state of a file's content: equal tokens mean that nobody wrote to it in between.

    As fine as the file system's clock: a change of equal size within one tick (up to 10 ms before Linux 6.13) of the
    state before it can go unseen. What is read and replaced within one `files.hold` does not rest on it.
    """

    size: int
    mtime_ns: int
    inode: int

    @classmethod
    def of(cls, info: os.stat_result) -> Self:
        """Return the version of the file that `os.stat` or `os.fstat` describes."""
        return cls(size=info.st_size, mtime_ns=info.st_mtime_ns, inode=info.st_ino)


class FileChangedError(OSError):
    """A file is not in the version that the change was made for."""


class HeldFile:
    """A file that no other writer of this package can change: see `files.hold`."""

    def __init__(self, folder: int, name: str, *, given: str, fd: int | None) -> None:
        self.folder = folder
        self.name = name
        self.given = given
        self.fd = fd

    @property
    def version(self) -> Version | None:
        """The version of the held file, None where there is no file yet."""
        return None if self.fd is None else Version.of(os.fstat(self.fd))

    def read(self) -> bytes:
        """Return the whole content."""
        if self.fd is None:
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), self.given)
        with open(self.fd, "rb", closefd=False) as file:
            file.seek(0)
            return file.read()

    def replace(self, data: bytes, *, append: bool = False, expected: Version | None = None) -> str:
        """Give the file new content, or the old content and `data`; return a note for the caller, mostly empty.

        Afterwards the new file is held. Raises `FileChangedError` where the file is not `expected`, `FileExistsError`
        where there was no file and somebody made one, else the kernel's `OSError`; then nothing has changed.
        """
        if expected is not None and self.version != expected:
            raise _changed(self.given)
        new = self._prepare(data, append=append)
        try:
            note = self._publish(new, expected=expected)
        except BaseException:
            new.discard()
            raise
        self.release()
        self.fd = new.fd
        return note + self._sync_folder()

    def release(self) -> None:
        """Let other writers in."""
        if self.fd is not None:
            close_quietly(self.fd)
            self.fd = None

    def _prepare(self, data: bytes, *, append: bool) -> Temporary:
        new = self._make_temporary()
        try:
            if append and self.fd is not None:
                new.copy(self.fd, os.fstat(self.fd).st_size)
            new.write(data)
            if self.fd is not None:
                _keep_owner(self.fd, new.fd)
                os.fchmod(new.fd, stat.S_IMODE(os.fstat(self.fd).st_mode))
                _keep_attributes(self.fd, new.fd)
            new.flush()
        except BaseException:
            new.discard()
            raise
        return new

    def _make_temporary(self) -> Temporary:
        try:
            return make_temporary(self.folder, mode=0o666 if self.fd is None else 0o600)
        except OSError as error:
            if self.fd is None or error.errno not in (errno.EACCES, errno.EPERM, errno.EROFS):
                raise
            raise OSError(
                error.errno,
                "its folder cannot be written, and a file is changed by a new one that takes its place there; "
                "make the folder writable, or change a copy",
            ) from error

    def _publish(self, new: Temporary, *, expected: Version | None) -> str:
        if self.fd is None:
            self._take_free_name(new)
            return ""
        other_names = os.fstat(self.fd).st_nlink - 1
        if expected is None:
            os.rename(new.name, self.name, src_dir_fd=self.folder, dst_dir_fd=self.folder)
        else:
            self._swap(new, expected)
        if other_names < 1:
            return ""
        return f"The file has {other_names} more name(s) (hard links); those keep the old content. "

    def _take_free_name(self, new: Temporary) -> None:
        try:
            kernel.rename_new(new.name, self.name, dir_fd=self.folder)
        except OSError as error:
            if error.errno not in _NO_SUCH_RENAME:
                raise
            os.link(new.name, self.name, src_dir_fd=self.folder, dst_dir_fd=self.folder, follow_symlinks=False)
            os.unlink(new.name, dir_fd=self.folder)

    def _swap(self, new: Temporary, expected: Version) -> None:
        try:
            kernel.exchange(new.name, self.name, dir_fd=self.folder)
        except FileNotFoundError as error:
            raise _changed(self.given) from error
        except OSError as error:
            if error.errno not in _NO_SUCH_RENAME:
                raise
            self._check_and_rename(new, expected)
            return
        if self._version_of(new.name) != expected:
            kernel.exchange(new.name, self.name, dir_fd=self.folder)
            raise _changed(self.given)
        os.unlink(new.name, dir_fd=self.folder)

    def _check_and_rename(self, new: Temporary, expected: Version) -> None:
        if self._version_of(self.name) != expected:
            raise _changed(self.given)
        os.rename(new.name, self.name, src_dir_fd=self.folder, dst_dir_fd=self.folder)

    def _version_of(self, name: str) -> Version | None:
        try:
            return Version.of(os.stat(name, dir_fd=self.folder, follow_symlinks=False))
        except FileNotFoundError:
            return None

    def _sync_folder(self) -> str:
        try:
            os.fsync(self.folder)
        except OSError as error:
            return f"The new content is in place, but the folder could not be synced ({error.strerror}). "
        return ""


def _keep_owner(old: int, new: int) -> None:
    before, after = os.fstat(old), os.fstat(new)
    if (before.st_uid, before.st_gid) == (after.st_uid, after.st_gid):
        return
    try:
        os.fchown(new, before.st_uid, before.st_gid)
    except PermissionError as error:
        raise PermissionError(
            errno.EPERM,
            f"it belongs to user {before.st_uid}, group {before.st_gid}, and a replacement made by "
            f"user {after.st_uid} cannot be given to them; change a copy, or run as that user",
        ) from error


def _keep_attributes(old: int, new: int) -> None:
    """Give the new file the extended attributes of the old one, access control lists among them."""
    if sys.platform == "linux":
        before, after = _attributes(old), _attributes(new)
        for name in after.keys() - before.keys():
            os.removexattr(new, name)
        for name, value in before.items():
            if after.get(name) != value:
                os.setxattr(new, name, value)


def _attributes(fd: int) -> dict[str, bytes]:
    try:
        names = os.listxattr(fd)
    except OSError as error:
        if error.errno in (errno.EOPNOTSUPP, errno.ENOSYS):
            return {}
        raise
    return {name: os.getxattr(fd, name) for name in names if name not in _ATTRIBUTES_OF_CONTENT}


def _changed(path: str) -> FileChangedError:
    return FileChangedError(
        f"{path!r} was changed or removed by somebody else since it was read, and was left as it is. "
        "Read it again and repeat the change on what is there now."
    )
