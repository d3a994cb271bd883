"""Folders as a search lists them: kinds come with the names, and a folder that is as it was is not listed again.

The kernel sets the time of change of a folder (`st_ctime`, which no program can choose) whenever a name in it is made,
removed, replaced or renamed. A listing is kept with what `stat` said before it was made, and given again while `stat`
says the same. One that was made within moments of a change is not kept: a second change could bear the same time.

So the second search of a tree costs one `stat` a folder.
"""

import os
import time
from functools import lru_cache

from toolhaft.searching.tree import Listing

from .beneath import Root
from .kernel import open_beneath
from .steady import SETTLED_NS
from .temporary import is_temporary

_MOST_NAMES = 1_000_000  # some 100 MB

_State = tuple[int, int, int, int]


class Listings:
    """The listings that are kept of the folders below one root. For any number of threads."""

    def __init__(self) -> None:
        self._kept: dict[str, tuple[_State, Listing]] = {}
        self._names = 0

    def scan(self, root: Root, path: str) -> Listing:
        """List a folder below `root`, which is always the same; raises what `Root.open` raises."""
        kept = self._kept.get(path)
        if kept is not None and kept[0] == _state_of(f"{root.real}/{path}"):
            return kept[1]
        folder = _opened(root, path)
        try:
            before, now = _state(os.fstat(folder)), time.time_ns()
            listing = _listed(folder)
        finally:
            os.close(folder)
        if before[2] < now - SETTLED_NS:
            self._keep(path, before, listing)
        return listing

    def _keep(self, path: str, state: _State, listing: Listing) -> None:
        self._names += 1 + len(listing.files) + len(listing.folders)
        if self._names > _MOST_NAMES:
            self._kept.clear()
            self._names = 0
        self._kept[path] = (state, listing)


@lru_cache(maxsize=4)
def listings_below(root: str) -> Listings:
    """Return what is kept of the folder `root`, a real path: what it says holds for every workspace there."""
    return Listings()


def _opened(root: Root, path: str) -> int:
    """Open a folder below the root, whatever its real path is; where the kernel does not, the root says why or does."""
    flags = os.O_RDONLY | os.O_DIRECTORY
    top = root.open_root()
    try:
        return open_beneath(path, flags, dir_fd=top)
    except OSError:
        return root.open(path, flags).fd
    finally:
        os.close(top)


def _state_of(path: str) -> _State | None:
    try:
        return _state(os.stat(path))
    except OSError:
        return None


def _state(info: os.stat_result) -> _State:
    return info.st_dev, info.st_ino, info.st_ctime_ns, info.st_mtime_ns


def _listed(folder: int) -> Listing:
    files: list[str] = []
    folders: list[str] = []
    links: list[str] = []
    others: list[str] = []
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.is_file(follow_symlinks=False):
                files.append(entry.name)
            elif entry.is_dir(follow_symlinks=False):
                folders.append(entry.name)
            elif entry.is_symlink():
                links.append(entry.name)
            else:
                others.append(entry.name)
    kept = [name for name in files if not name.startswith(".") or not is_temporary(name)]
    return Listing(files=tuple(kept), folders=tuple(folders), links=tuple(links), others=tuple(others))
