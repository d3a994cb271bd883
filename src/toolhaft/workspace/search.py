"""A search in a workspace: by `rg` where there is one, here or where the workspace is, else by the Python engine.

Both answer alike. A search that is cancelled, or runs out of time, ends `rg` or its thread.
"""

import asyncio
import errno
import os
import posixpath
import stat
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import groupby
from typing import TypeVar

from toolhaft.searching.errors import EngineError, SearchError
from toolhaft.searching.glob import Sort, first_sorted
from toolhaft.searching.query import Query, Scope
from toolhaft.searching.results import Found, Listed
from toolhaft.searching.ripgrep import search
from toolhaft.searching.scan import scan, scan_names
from toolhaft.searching.tree import Tree

from .access import Access
from .beneath import PathTraversalError, Root
from .current import ToolWorkspace
from .direct import Elsewhere, Files
from .folders import status
from .local import LocalWorkspace
from .ripgrep import ripgrep_binary, ripgrep_in
from .ripgrep_elsewhere import ripgrep_elsewhere, runs_commands
from .search_tree import local_tree, quick_tree, remote_tree
from .sensitive import DEFAULT_SENSITIVE_FILES

T = TypeVar("T")
Stop = Callable[[], bool]

SEARCH_SECONDS = 60.0


async def search_contents(
    place: ToolWorkspace, path: str, query: Query, *, time_limit: float = SEARCH_SECONDS
) -> Found:
    """Return what a search finds below `path`, or in it where it is a file.

    After `time_limit` seconds it is what was found until then. Raises the `OSError` of a path that is not there,
    `PathTraversalError` for one that is outside, `PatternError` for a pattern that is not understood.
    """
    start = await _start(place, path)
    query, binary = (
        replace(query, scope=replace(query.scope, path=start.path, sensitive=start.sensitive)),
        ripgrep_binary(),
    )
    if start.local is not None and binary is not None:
        run = ripgrep_in(start.local.opener.real, binary=binary)
        return await search(query, local_tree(start.local), run, time_limit=time_limit)
    if start.local is None and start.is_dir and runs_commands(place):
        with suppress(EngineError):
            return await _by_ripgrep_elsewhere(place, start, query, time_limit=time_limit)
    return await _walked(place, start, lambda files, tree, stop: scan(query, tree, stop=stop), time_limit=time_limit)


async def _by_ripgrep_elsewhere(place: ToolWorkspace, start: "_Start", query: Query, *, time_limit: float) -> Found:
    loop = asyncio.get_running_loop()
    tree = remote_tree(Elsewhere(place, loop), place, loop, sensitive=start.sensitive)
    run = ripgrep_elsewhere(place, timeout_seconds=time_limit)

    async def in_thread(work: Callable[[], T]) -> T:
        return await place.in_thread(lambda _: work())

    return await search(query, tree, run, time_limit=time_limit, in_thread=in_thread)


async def search_names(
    place: ToolWorkspace,
    path: str,
    scope: Scope,
    *,
    sort: Sort = "path",
    max_results: int,
    time_limit: float = SEARCH_SECONDS,
) -> Listed:
    """Return the files of a scope below the folder `path`, sorted and then cut. Raises as `search_contents` does."""
    start = await _start(place, path)
    if not start.is_dir:
        raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), path)
    if start.local is None and sort == "modified":
        raise SearchError("This workspace does not tell when files were modified. Use sort='path' or sort='size'.")
    scope = replace(scope, path=start.path, sensitive=start.sensitive)

    def work(files: Files, tree: Tree, stop: Stop) -> Listed:
        names, unsearched = scan_names(scope, tree, stop=stop)
        entries = ((name, 0.0, 0) for name in names) if sort == "path" else _entries(files, names)
        shown, total = first_sorted(entries, sort, limit=max_results)
        return Listed(files=tuple(name for name, _, _ in shown), total=total, unsearched=unsearched)

    return await _walked(place, start, work, time_limit=time_limit)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Start:
    """Where a search begins. `local` is the workspace, where it is a local folder and nothing stands before it."""

    path: str
    is_dir: bool
    sensitive: tuple[str, ...]
    local: LocalWorkspace | None


async def _start(place: ToolWorkspace, path: str) -> _Start:
    """Find the start. Raises what is to be said of one that is not there or outside."""

    def find(files: Files) -> _Start | None:
        if not isinstance(files, LocalWorkspace):
            return None
        is_dir = stat.S_ISDIR(status(files.opener, path).st_mode)
        below = posixpath.normpath(files.relative(path))
        return _Start(path=below, is_dir=is_dir, sensitive=files.access.sensitive_files, local=files)

    return await place.in_thread(find) or await _start_elsewhere(place, path)


async def _start_elsewhere(place: ToolWorkspace, path: str) -> _Start:
    """Find the start in any other workspace. One that has no list of sensitive files is searched with the usual one."""
    below = posixpath.relpath(path, await place.working_dir()) if path.startswith("/") else posixpath.normpath(path)
    if below == ".." or below.startswith("../"):
        raise PathTraversalError(f"{path!r} leads out of the workspace. Give a path inside it.", path=path)
    access = getattr(place.backend, "access", None)
    sensitive = access.sensitive_files if isinstance(access, Access) else DEFAULT_SENSITIVE_FILES
    return _Start(path=below, is_dir=(await place.stat(below)).is_dir, sensitive=sensitive, local=None)


async def _walked(
    place: ToolWorkspace, start: _Start, work: Callable[[Files, Tree, Stop], T], *, time_limit: float
) -> T:
    """Let a worker thread walk the tree, until the caller is cancelled or the time is over."""
    loop, ended, end = asyncio.get_running_loop(), threading.Event(), time.monotonic() + time_limit

    def stop() -> bool:
        return ended.is_set() or time.monotonic() > end

    def in_thread(files: Files) -> T:
        if start.local is not None:
            with quick_tree(start.local) as tree:
                return work(files, tree, stop)
        start_file = None if start.is_dir else start.path
        tree = remote_tree(files, place, loop, sensitive=start.sensitive, start_file=start_file)
        return work(files, tree, stop)

    try:
        return await place.in_thread(in_thread)
    finally:
        ended.set()


def _entries(files: Files, names: Iterable[str]) -> Iterator[tuple[str, float, int]]:
    """Give names with the time and size that they are sorted by; what is gone by now is left out."""
    if isinstance(files, LocalWorkspace):
        yield from _local_entries(files.opener, names)
        return
    for folder, inside in groupby(sorted(names), key=posixpath.dirname):
        sizes = {entry.name: entry.size or 0 for entry in files.scan_dir(folder or ".")}
        for name in inside:
            yield name, 0.0, sizes.get(posixpath.basename(name), 0)


def _local_entries(root: Root, names: Iterable[str]) -> Iterator[tuple[str, float, int]]:
    """Ask for each name itself, which is all that one call needs; links are followed as paths of the workspace are."""
    top = root.open_root()
    try:
        for name in names:
            with suppress(OSError):
                info = os.stat(name, dir_fd=top, follow_symlinks=False)
                if stat.S_ISLNK(info.st_mode):
                    info = status(root, name)
                yield name, info.st_mtime, info.st_size
    finally:
        os.close(top)
