"""Replace a file's content whole: at every moment, also after a crash, the file is the old one or the new one.

New content goes to a temporary file in the same folder, gets the old file's owner, mode and attributes, is synced
and only then takes the name; the folder is synced after that. Nothing before that last step touches the old file.
The steps are apart (`HeldFile.prepare`, `Temporary.flush`, `publish` or `take_away`, `sync_folder`), because a change
of many files takes each of them for all of its files before the next.

A caller that says what it has `Seen` gets a compare-and-swap: the two files trade places in one step, what came out
is looked at, and when it is not what was seen they trade back. So a change that somebody else made a moment before is
not lost. (A kill between the two trades would still lose it.)
"""

import errno
import os
import stat
import sys
from dataclasses import dataclass
from typing import Self

from . import kernel
from .digest import digest_of_file
from .temporary import Temporary, close_quietly, make_temporary, temporary_name

# A write in place would make the kernel drop or recompute these; a copy of them would be wrong for the new content.
_ATTRIBUTES_OF_CONTENT = frozenset({"security.capability", "security.ima", "security.evm"})
# renameat2 on a file system or kernel that has not the wanted form of it.
_NO_SUCH_RENAME = frozenset({errno.ENOSYS, errno.EINVAL, errno.EOPNOTSUPP, errno.EPERM})


@dataclass(frozen=True, slots=True, kw_only=True)
class Version:
    """A token for one state of a file's content: equal tokens mean that nobody wrote to it in between.

    As fine as the file system's clock: a change of equal size within one tick (up to 10 ms before Linux 6.13) of the
    state before it can go unseen.
    """

    size: int
    mtime_ns: int
    inode: int

    @classmethod
    def of(cls, info: os.stat_result) -> Self:
        """Return the version of the file that `os.stat` or `os.fstat` describes."""
        return cls(size=info.st_size, mtime_ns=info.st_mtime_ns, inode=info.st_ino)


class FileChangedError(OSError):
    """A file is not in the state that the change was made for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """The state in which a file was seen; in another version, but with the same content, it is still in that state.

    Without a digest the version alone decides.
    """

    version: Version
    sha256: str | None = None

    def is_still(self, name: str, *, folder: int) -> bool:
        """Whether the file that `name` means now is in that state."""
        try:
            info = os.stat(name, dir_fd=folder, follow_symlinks=False)
        except FileNotFoundError:
            return False
        if Version.of(info) == self.version:
            return True
        if not stat.S_ISREG(info.st_mode) or info.st_size != self.version.size:
            return False
        return self.sha256 is not None and digest_of_file(name, folder=folder) == self.sha256


class HeldFile:
    """A file that no other writer of this package can change: see `files.hold`."""

    def __init__(self, folder: int, name: str, *, given: str, fd: int | None) -> None:
        self.folder = folder
        self.name = name
        self.given = given
        self.fd = fd

    @property
    def info(self) -> os.stat_result | None:
        """The metadata of the held file, None where there is no file."""
        return None if self.fd is None else os.fstat(self.fd)

    def read(self) -> bytes:
        """Return the whole content."""
        assert self.fd is not None
        with open(self.fd, "rb", closefd=False) as file:
            file.seek(0)
            return file.read()

    def prepare(
        self, data: bytes, *, copy_of: int | None = None, like: int | None = None, mode: int | None = None
    ) -> Temporary:
        """Write new content to a temporary file beside the held one, complete but for `flush`.

        The content is that of the descriptor `copy_of`, if any, and `data` behind it. The file gets owner, mode and
        attributes of the file that the descriptor `like` has open, mostly the held one, and then the permission bits
        `mode`. Where there is no such file, the kernel's defaults.
        """
        model = self.fd if like is None else like
        new = self._make_temporary(private=model is not None)
        try:
            if copy_of is not None:
                new.copy(copy_of, os.fstat(copy_of).st_size)
            new.write(data)
            if model is not None:
                _keep_owner(model, new.fd)
                os.fchmod(new.fd, stat.S_IMODE(os.fstat(model).st_mode))
                _keep_attributes(model, new.fd)
            if mode is not None:
                os.fchmod(new.fd, mode)
        except BaseException:
            new.discard()
            raise
        return new

    def release(self) -> None:
        """Let other writers in."""
        if self.fd is not None:
            close_quietly(self.fd)
            self.fd = None

    def _make_temporary(self, *, private: bool) -> Temporary:
        try:
            return make_temporary(self.folder, mode=0o600 if private else 0o666)
        except OSError as error:
            if self.fd is None or error.errno not in (errno.EACCES, errno.EPERM, errno.EROFS):
                raise
            raise OSError(
                error.errno,
                "its folder cannot be written, and a file is changed by a new one that takes its place there; "
                "make the folder writable, or change a copy",
            ) from error


def publish_new(new: str, name: str, *, folder: int) -> None:
    """Rename a prepared file to a name that is free, else raise `FileExistsError`."""
    try:
        kernel.rename_new(new, name, dir_fd=folder)
    except OSError as error:
        if error.errno not in _NO_SUCH_RENAME:
            raise
        os.link(new, name, src_dir_fd=folder, dst_dir_fd=folder, follow_symlinks=False)
        os.unlink(new, dir_fd=folder)


def publish(new: Temporary, name: str, *, seen: Seen | None, given: str) -> None:
    """Give a prepared file the name of an old one; with `seen`, only of one in that state: `FileChangedError`."""
    if seen is None:
        os.rename(new.name, name, src_dir_fd=new.folder, dst_dir_fd=new.folder)
        return
    try:
        kernel.exchange(new.name, name, dir_fd=new.folder)
    except FileNotFoundError as error:
        raise changed(given) from error
    except OSError as error:
        if error.errno not in _NO_SUCH_RENAME:
            raise
        if not seen.is_still(name, folder=new.folder):
            raise changed(given) from error
        os.rename(new.name, name, src_dir_fd=new.folder, dst_dir_fd=new.folder)
        return
    if not seen.is_still(new.name, folder=new.folder):
        kernel.exchange(new.name, name, dir_fd=new.folder)
        raise changed(given)
    os.unlink(new.name, dir_fd=new.folder)


def take_away(folder: int, name: str, *, seen: Seen, given: str) -> None:
    """Remove a file that is in the state `seen`; any other is left: `FileChangedError`.

    It gets another name first, so that what is looked at is what is removed.
    """
    aside = temporary_name()
    try:
        os.rename(name, aside, src_dir_fd=folder, dst_dir_fd=folder)
    except FileNotFoundError as error:
        raise changed(given) from error
    if not seen.is_still(aside, folder=folder):
        publish_new(aside, name, folder=folder)
        raise changed(given)
    os.unlink(aside, dir_fd=folder)


def sync_folder(folder: int) -> str:
    """Make the names in a folder safe; return a note for the caller where that failed, mostly nothing."""
    try:
        os.fsync(folder)
    except OSError as error:
        return f"The new content is in place, but the folder could not be synced ({error.strerror})."
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


def changed(path: str) -> FileChangedError:
    """Return the error for a file that somebody else changed."""
    return FileChangedError(
        f"{path!r} was changed or removed by somebody else since it was read, and was left as it is. "
        "Read it again and repeat the change on what is there now."
    )
