"""The `Tree` that the searching engines walk: a local folder through descriptors, any other workspace step by step."""

import asyncio
import errno
import os
import posixpath
import stat
import time
from collections.abc import Collection, Coroutine, Generator
from contextlib import contextmanager
from functools import partial
from typing import Any, BinaryIO, TypeVar

from pydantic_ai.workspaces import Workspace, WorkspaceError

from toolhaft.searching.tree import Entry, Kind, Listing, Tree

from .beneath import O_PATH
from .direct import Files
from .folders import DirEntry
from .listings import listings_below
from .local import LocalWorkspace
from .sensitive import matches
from .steady import steady_files

T = TypeVar("T")
_MOST_FETCHED_BYTES = 50_000_000
_READ = os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_NOFOLLOW | os.O_CLOEXEC


def local_tree(workspace: LocalWorkspace) -> Tree:
    """Return the tree of a local workspace, for any number of threads."""
    root, sensitive, made_ns = workspace.opener, workspace.access.sensitive_files, time.time_ns()
    listings = listings_below(root.real)

    def resolve(path: str) -> tuple[str, Kind] | None:
        try:
            opened = root.open(path, O_PATH)
        except OSError:
            return None
        try:
            return opened.path, _kind_of_mode(os.fstat(opened.fd).st_mode)
        finally:
            os.close(opened.fd)

    def withheld(real: str) -> bool:
        return matches(real, sensitive) is not None

    def steady(paths: Collection[str]) -> set[str]:
        return steady_files(root, paths, since_ns=made_ns)

    scan = partial(listings.scan, root)
    return Tree(scan=scan, open=workspace.open_file, resolve=resolve, withheld=withheld, steady=steady)


@contextmanager
def quick_tree(workspace: LocalWorkspace) -> Generator[Tree]:
    """Give the same tree for one thread that reads many files: the folder of the last one stays open.

    A file is opened from there and never through a link; where its name is a link, the workspace opens it.
    """
    root = workspace.opener
    held: list[tuple[str, int]] = []

    def close() -> None:
        while held:
            os.close(held.pop()[1])

    def open_file(path: str) -> BinaryIO:
        folder, _, name = path.rpartition("/")
        if not held or held[0][0] != folder:
            close()
            held.append((folder, root.open(folder or ".", O_PATH | os.O_DIRECTORY).fd))
        try:
            fd = os.open(name, _READ, dir_fd=held[0][1])
        except OSError:  # a link, or what the workspace can say better
            return workspace.open_file(path)
        if not stat.S_ISREG(os.fstat(fd).st_mode):
            os.close(fd)
            return workspace.open_file(path)
        return open(fd, "rb")

    tree = local_tree(workspace)
    try:
        yield Tree(scan=tree.scan, open=open_file, resolve=tree.resolve, withheld=tree.withheld)
    finally:
        close()


def remote_tree(
    files: Files,
    place: Workspace,
    loop: asyncio.AbstractEventLoop,
    *,
    sensitive: tuple[str, ...],
    start_file: str | None = None,
) -> Tree:
    """Return the tree of any workspace, for a worker thread: each step is one of the workspace's own coroutines.

    A folder that is a link is known by its real path, which costs a step for each folder. Where a workspace cannot tell
    real paths, only its own limit on paths ends a circle. A file is judged as sensitive by its own name. A file is
    fetched whole, so one that a walk meets and that is larger than 50 MB is left out.
    """

    def wait(coroutine: Coroutine[Any, Any, T]) -> T:
        return asyncio.run_coroutine_threadsafe(coroutine, loop).result()

    def real_path(path: str) -> str | None:
        try:
            return wait(place.realpath(path))
        except (OSError, WorkspaceError):
            return None

    def kind_of(entry: DirEntry, folder: str, real: str | None) -> Kind:
        if not entry.is_dir:
            return "file"
        is_link = real_path(posixpath.join(folder, entry.name)) != posixpath.join(real or "", entry.name)
        return "link" if is_link else "folder"

    too_large: set[str] = set()

    def open_file(path: str) -> BinaryIO:
        if path in too_large:
            raise OSError(errno.EFBIG, os.strerror(errno.EFBIG), path)
        return files.open_file(path)

    def scan(path: str) -> Listing:
        if path == start_file:  # what `list_dir` says of a file differs from workspace to workspace
            raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), path)
        entries, real = files.scan_dir(path), real_path(path)
        sizes = {posixpath.normpath(posixpath.join(path, entry.name)): entry.size or 0 for entry in entries}
        too_large.update(name for name, size in sizes.items() if size > _MOST_FETCHED_BYTES)
        return Listing.of(Entry(entry.name, kind_of(entry, path, real)) for entry in entries)

    def resolve(path: str) -> tuple[str, Kind] | None:
        real, top = real_path(path), real_path(".")
        if real is None or top is None or posixpath.commonpath((real, top)) != top:
            return None
        try:
            kind: Kind = "folder" if wait(place.stat(path)).is_dir else "file"
        except OSError:
            return None
        return posixpath.relpath(real, top), kind

    def withheld(real: str) -> bool:
        return matches(real, sensitive) is not None

    return Tree(scan=scan, open=open_file, resolve=resolve, withheld=withheld)


def _kind_of_mode(mode: int) -> Kind:
    return "folder" if stat.S_ISDIR(mode) else "file" if stat.S_ISREG(mode) else "other"
