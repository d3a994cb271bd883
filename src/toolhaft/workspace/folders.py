"""Folders below the root: listed, made and removed, each step on an open descriptor."""

import errno
import os
import shutil
import stat
from collections.abc import Callable, Generator
from contextlib import ExitStack, contextmanager, suppress
from typing import NamedTuple

from .beneath import O_PATH, Place, Root, naming
from .temporary import close_quietly, is_temporary


class DirEntry(NamedTuple):
    """One name in a folder. A link has the kind and size of what it leads to below the root, else neither."""

    name: str
    is_dir: bool
    is_link: bool
    size: int | None


def status(root: Root, path: str) -> os.stat_result:
    """Return the metadata of what a path leads to, links followed."""
    opened = root.open(path, O_PATH)
    try:
        return os.fstat(opened.fd)
    finally:
        os.close(opened.fd)


def scan(root: Root, path: str) -> list[DirEntry]:
    """List a folder by name; the temporary files of writers are no part of it.

    Raises `NotADirectoryError` for a file, `FileNotFoundError` for nothing.
    """
    opened = root.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        with naming(path), os.scandir(opened.fd) as entries:
            found = [_entry(root, opened.path, entry) for entry in entries if not is_temporary(entry.name)]
    finally:
        os.close(opened.fd)
    return sorted(found, key=lambda entry: entry.name)


def _entry(root: Root, folder: str, entry: "os.DirEntry[str]") -> DirEntry:
    mode, size = 0, 0
    with suppress(OSError):  # removed since it was listed, or a link that is broken or leads out
        info = status(root, f"{folder}/{entry.name}") if entry.is_symlink() else entry.stat(follow_symlinks=False)
        mode, size = info.st_mode, info.st_size
    return DirEntry(
        name=entry.name,
        is_dir=stat.S_ISDIR(mode),
        is_link=entry.is_symlink(),
        size=size if stat.S_ISREG(mode) else None,
    )


@contextmanager
def made_parents(place: Place) -> Generator[int]:
    """Hold the folder that a place is in open for listing and syncing, made where it was missing.

    Folders made here are removed again, if nobody put anything into them, where the body fails.
    """
    with ExitStack() as stack:
        folder = _open_folder(stack, ".", place.folder)
        for name in place.missing:
            _make(stack, name, folder)
            folder = _open_folder(stack, name, folder)
        yield folder


def _open_folder(stack: ExitStack, name: str, parent: int) -> int:
    fd = os.open(name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=parent)
    stack.callback(close_quietly, fd)
    return fd


def _make(stack: ExitStack, name: str, parent: int) -> None:
    try:
        os.mkdir(name, dir_fd=parent)
    except FileExistsError:  # made by another writer since the walk looked
        return

    def undo(failure: type[BaseException] | None, *_: object) -> None:
        if failure is not None:
            with suppress(OSError):
                os.rmdir(name, dir_fd=parent)

    stack.push(undo)
    os.fsync(parent)


def make_folder(place: Place) -> None:
    """Make a folder and what is missing above it; one that exists is left alone, a file is a `FileExistsError`."""
    if place.exists:
        if not stat.S_ISDIR(os.stat(place.name, dir_fd=place.folder, follow_symlinks=False).st_mode):
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), place.given)
        return
    with made_parents(place) as folder, suppress(FileExistsError):
        os.mkdir(place.name, dir_fd=folder)
        os.fsync(folder)


def remove(place: Place, *, check: Callable[[str], None]) -> None:
    """Remove a file, a link itself, or a folder with everything in it.

    `check` is asked about every path (relative to the root) before anything is removed, and raises to refuse all.
    """
    check(place.path)
    if not stat.S_ISDIR(os.stat(place.name, dir_fd=place.folder, follow_symlinks=False).st_mode):
        os.unlink(place.name, dir_fd=place.folder)
        return
    for folder, folders, files, _ in os.fwalk(place.name, dir_fd=place.folder):
        below = place.path + folder.removeprefix(place.name)
        for name in folders + files:
            check(f"{below}/{name}")
    shutil.rmtree(place.name, dir_fd=place.folder)
