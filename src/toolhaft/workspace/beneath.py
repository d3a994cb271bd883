"""Open a path below a root folder; no link, race or `..` leads out.

On Linux the kernel does it in one call (`openat2` with `RESOLVE_BENEATH`). Where that call is missing, refused or
too strict (it takes every absolute link for an escape, also one that leads back inside), the path is walked by
hand, one descriptor a folder: see `walk.py`. The walk alone decides that a path is an escape.

There is no check before the use: what was resolved is the open descriptor that is then read or written.
"""

import errno
import os
import stat
from collections.abc import Generator
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import NamedTuple, TypeVar

from .kernel import open_beneath
from .walk import PathTraversalError, Place, Walk, names_in

__all__ = ["O_PATH", "Opened", "PathTraversalError", "Place", "Root", "validate_path"]

AnyPath = TypeVar("AnyPath", str, Path)

# A descriptor that only names a file: enough for its metadata. macOS lacks it and must open the file for that.
O_PATH = getattr(os, "O_PATH", os.O_RDONLY)
# Answers of openat2 that are not about the file: leads out or absolute link, raced, interrupted, missing, filtered.
_ASK_THE_WALK = frozenset({errno.EXDEV, errno.EAGAIN, errno.EINTR, errno.ENOSYS, errno.EPERM})
# The kernel's own limit (include/uapi/linux/limits.h, PATH_MAX with its NUL): the walk alone would know none, and a
# write could make folders that no other program can name.
_MAX_PATH_BYTES = 4095
# How often a name may turn into a link between the walk that saw it and the open, before that is an error.
_MAX_RACES = 40


class Opened(NamedTuple):
    """An open descriptor and the real path of what it opened, relative to the root."""

    fd: int
    path: str


class Root:
    """A folder that paths are opened below.

    A path is relative to it, or absolute and inside it. `..` means what it means to the kernel (the parent of the
    folder a link led to) and may not leave the root at any point, not even to come back.
    """

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self.given = os.path.join(os.getcwd(), os.path.expanduser(folder))

    @cached_property
    def real(self) -> str:
        """The real path of the root, as it was at first use."""
        return os.path.realpath(self.given)

    def open_root(self) -> int:
        """Open the root; one that is gone is a `FileNotFoundError`."""
        return os.open(self.real, O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)

    @contextmanager
    def _descriptor(self) -> Generator[int]:
        fd = self.open_root()
        try:
            yield fd
        finally:
            os.close(fd)

    def below(self, path: str) -> str | None:
        """Return a path relative to the root, as text, or None for an absolute one that is not below it."""
        if not path.startswith("/"):
            return path
        names = names_in(path)
        for root in (names_in(self.real), names_in(self.given)):
            if names[: len(root)] == root:
                below = "/".join(names[len(root) :]) or "."
                return f"{below}/" if path.endswith(("/", "/.")) else below
        return None

    def contains_root(self, path: str) -> bool:
        """Whether an absolute path is, as text, the root or a folder above it."""
        names = names_in(path)
        return path.startswith("/") and any(names_in(root)[: len(names)] == names for root in (self.real, self.given))

    def open(self, path: str, flags: int) -> Opened:
        """Open an existing file or folder, without ever waiting for a FIFO or a device.

        Raises `PathTraversalError` where the path leads out, `ValueError` where it is no path, else the kernel's
        `OSError`, with the path as it was given.
        """
        below = self._relative(path)
        if not flags & O_PATH:  # openat2 takes no other flag beside O_PATH
            flags |= os.O_NONBLOCK | os.O_NOCTTY
        root = self.open_root()
        try:
            fd = open_beneath(below, flags, dir_fd=root)
        except OSError as error:
            if error.errno not in _ASK_THE_WALK:
                raise OSError(error.errno, error.strerror, path) from error
            return self._open_by_walk(path, flags)
        finally:
            os.close(root)
        real = self._real_path(fd)
        if real is not None:
            return Opened(fd=fd, path=real)
        os.close(fd)
        return self._open_by_walk(path, flags)

    @contextmanager
    def locate(self, path: str, *, follow_last: bool = True) -> Generator[Place]:
        """Hold open the folder where a path ends, for making, replacing or removing what is there.

        Links are followed, also in the last place, so that a write goes through an inner link. The path need not exist.
        """
        below = self._relative(path)
        with naming(path), self._descriptor() as root:
            walk = Walk(root, given=path, below_root=self.below)
            try:
                yield walk.to(below, follow_last=follow_last)
            finally:
                walk.close()

    def realpath(self, path: str) -> str:
        """Return the absolute real path; missing names stay as they are, as in `os.path.realpath(strict=False)`."""
        below = self._relative(path)
        with naming(path), self._descriptor() as root:
            walk = Walk(root, given=path, below_root=self.below)
            try:
                return os.path.normpath(os.path.join(self.real, walk.to(below, keep_missing=True).path))
            finally:
                walk.close()

    def _relative(self, path: str) -> str:
        if not path or "\0" in path:
            raise ValueError(
                f"{path!r} is no path: it is empty or holds a NUL character. Give a path in the workspace."
            )
        try:
            encoded = os.fsencode(path)
        except UnicodeEncodeError as error:
            raise ValueError(
                f"{path!r} is no path: its character {error.object[error.start]!r} cannot be part of a file name. "
                "Give the name as a listing shows it."
            ) from error
        if len(encoded) > _MAX_PATH_BYTES:
            raise OSError(errno.ENAMETOOLONG, os.strerror(errno.ENAMETOOLONG), path)
        below = self.below(path)
        if below is None:
            raise PathTraversalError(
                f"{path!r} is an absolute path outside the workspace. Use a path relative to the workspace root.",
                path=path,
            )
        return below

    def _open_by_walk(self, path: str, flags: int) -> Opened:
        for _ in range(_MAX_RACES):
            with self.locate(path) as place:
                if not place.exists:
                    raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), path)
                opened = _open_unless_link(place, flags)
            if opened is not None:
                return opened
        raise OSError(errno.ELOOP, "the path kept changing into a link while it was opened", path)

    def _real_path(self, fd: int) -> str | None:
        """Return what `/proc` says a descriptor is, or None where it cannot say or says something outside."""
        try:
            path = os.readlink(f"/proc/self/fd/{fd}")
        except OSError:
            return None
        if os.fstat(fd).st_nlink == 0:
            path = path.removesuffix(" (deleted)")
        if path == self.real:
            return "."
        prefix = self.real.rstrip("/") + "/"
        return path.removeprefix(prefix) if path.startswith(prefix) else None


def _open_unless_link(place: Place, flags: int) -> Opened | None:
    try:
        fd = os.open(place.name, flags | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=place.folder)
    except OSError as error:
        if error.errno == errno.ELOOP:
            return None
        raise
    # With O_PATH, O_NOFOLLOW opens the link itself.
    if stat.S_ISLNK(os.fstat(fd).st_mode):
        os.close(fd)
        return None
    return Opened(fd=fd, path=place.path)


@contextmanager
def naming(path: str) -> Generator[None]:
    """Let every `OSError` of the kernel name the path as it was given, not the part of it that was in hand."""
    try:
        yield
    except OSError as error:
        if error.errno is None or error.filename == path:
            raise
        raise OSError(error.errno, error.strerror, path) from error


def validate_path(path: AnyPath, root: str | os.PathLike[str]) -> AnyPath:
    """Return the real path of `path` if it lies in `root`, of the type it was given in.

    For tools that must hand a path to something else. It is check-then-use: whoever can change the folder may swap
    a link in after the check, so only `workspace()`, which opens what it checked, is free of races.
    Raises `PathTraversalError` where the path leads out, `ValueError` where it is no path.

    >>> validate_path(".", "/")
    '/'
    """
    return type(path)(Root(root).realpath(os.fspath(path)))
