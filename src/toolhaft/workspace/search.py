"""A search in a workspace: by `rg` in a local one, by the Python engine where there is no `rg` or no local folder.

Both answer alike. A search that is cancelled, or runs out of time, ends `rg` or its thread.
"""

import asyncio
import errno
import os
import posixpath
import stat
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import TypeVar

from toolhaft.searching.errors import SearchError
from toolhaft.searching.glob import Sort, first_sorted
from toolhaft.searching.query import Query, Scope
from toolhaft.searching.results import Found, Listed
from toolhaft.searching.ripgrep import list_files, search
from toolhaft.searching.scan import scan, scan_names
from toolhaft.searching.tree import Tree

from .beneath import PathTraversalError
from .current import ToolWorkspace
from .direct import Files
from .folders import status
from .local import LocalWorkspace
from .ripgrep import ripgrep_binary, ripgrep_in
from .search_tree import local_tree, quick_tree, remote_tree, root_of
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
    local, scope, _ = await _begun(place, path, query.scope)
    query, binary = replace(query, scope=scope), ripgrep_binary()
    if local is not None and binary is not None:
        run = ripgrep_in(root_of(local).real, binary=binary)
        return await search(query, local_tree(local), run, time_limit=time_limit)
    return await _in_python(place, lambda tree, stop: scan(query, tree, stop=stop), time_limit=time_limit)


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
    local, scope, is_dir = await _begun(place, path, scope)
    if not is_dir:
        raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), path)
    if local is None and sort == "modified":
        raise SearchError("This workspace does not tell when files were modified. Use sort='path' or sort='size'.")
    binary = ripgrep_binary()
    if local is not None and binary is not None:
        run = ripgrep_in(root_of(local).real, binary=binary)
        names, unsearched = await list_files(scope, local_tree(local), run)
    else:
        names, unsearched = await _in_python(
            place, lambda tree, stop: scan_names(scope, tree, stop=stop), time_limit=time_limit
        )

    def cut(files: Files) -> Listed:
        shown, total = first_sorted(_entries(files, names, needs_status=sort != "path"), sort, limit=max_results)
        return Listed(files=tuple(name for name, _, _ in shown), total=total, unsearched=unsearched)

    return await place.in_thread(cut)


def _entries(files: Files, names: list[str], *, needs_status: bool) -> Iterator[tuple[str, float, int]]:
    """Give names with the time and size that they are sorted by; a file that is gone by now has neither."""
    if not needs_status:
        yield from ((name, 0.0, 0) for name in names)
    elif isinstance(files, LocalWorkspace):
        for name in names:
            try:
                info = status(root_of(files), name)
            except OSError:
                continue
            yield name, info.st_mtime, info.st_size
    else:
        sizes: dict[str, dict[str, int]] = {}
        for name in names:
            folder, _, base = name.rpartition("/")
            if folder not in sizes:
                sizes[folder] = {entry.name: entry.size or 0 for entry in files.scan_dir(folder or ".")}
            yield name, 0.0, sizes[folder].get(base, 0)


async def _begun(place: ToolWorkspace, path: str, scope: Scope) -> tuple[LocalWorkspace | None, Scope, bool]:
    """Say where a search begins: the local workspace that may be gone through, the path below its root, its kind."""

    def begin(files: Files) -> tuple[LocalWorkspace, str, bool] | None:
        if not isinstance(files, LocalWorkspace):
            return None
        info = status(root_of(files), path)  # raises what is to be said of a start that is not there
        return files, posixpath.normpath(files.relative(path)), stat.S_ISDIR(info.st_mode)

    local, below, is_dir = await place.in_thread(begin) or (None, await _below_root(place, path), False)
    if local is None:
        is_dir = (await place.stat(below)).is_dir
    return local, replace(scope, path=below, sensitive=_sensitive(place)), is_dir


async def _below_root(place: ToolWorkspace, path: str) -> str:
    if path.startswith("/"):
        path = posixpath.relpath(path, await place.working_dir())
    path = posixpath.normpath(path)
    if path == ".." or path.startswith("../"):
        raise PathTraversalError(f"{path!r} leads out of the workspace. Give a path inside it.", path=path)
    return path


def _sensitive(place: ToolWorkspace) -> tuple[str, ...]:
    """Return the patterns of the workspace, the usual ones where it has none."""
    backend = place.backend
    return backend.access.sensitive_files if isinstance(backend, LocalWorkspace) else DEFAULT_SENSITIVE_FILES


async def _in_python(place: ToolWorkspace, work: Callable[[Tree, Stop], T], *, time_limit: float) -> T:
    loop, ended, end = asyncio.get_running_loop(), threading.Event(), time.monotonic() + time_limit

    def stop() -> bool:
        return ended.is_set() or time.monotonic() > end

    def in_thread(files: Files) -> T:
        if isinstance(files, LocalWorkspace):
            with quick_tree(files) as tree:
                return work(tree, stop)
        return work(remote_tree(files, place, loop, sensitive=_sensitive(place)), stop)

    try:
        return await place.in_thread(in_thread)
    finally:
        ended.set()
