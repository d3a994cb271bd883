"""Whether a path led, for a process that was given it by name, to what the workspace itself would open.

What opens paths one name at a time, as `rg` does, can be led out by whoever swaps a folder for a link meanwhile, and
the link may be gone when anybody looks. But the kernel sets the time of change of a folder (`st_ctime`, which no
program can choose) whenever a name in it is made, removed, replaced or renamed. So where all the folders that lead to
a file are folders now, and none of them has changed since before the process started, the path led to this file.
"""

import os
import stat
from collections.abc import Collection, Iterator

from .beneath import Root

# Longer than a tick of any file system's clock, which is 2 s on FAT and milliseconds elsewhere.
SETTLED_NS = 3_000_000_000


def steady_files(root: Root, paths: Collection[str], *, since_ns: int) -> set[str]:
    """Return those of `paths`, files below the root, that led nowhere else since `since_ns`, by the clock of the day.

    What has changed in the moments before that is not among them either: its time could be the same.
    """
    limit = since_ns - SETTLED_NS
    folders = {folder for path in paths for folder in _folders(path)}
    steady: dict[str, bool] = {}
    # From the deepest up: a folder that has not changed when it is looked at held, until then, what was looked at.
    for folder in sorted(folders, key=lambda folder: folder.count("/") + (folder != "."), reverse=True):
        steady[folder] = _is_unchanged(f"{root.real}/{folder}", limit)
    return {path for path in paths if all(steady[folder] for folder in _folders(path))}


def _folders(path: str) -> Iterator[str]:
    """Give the folders that lead to a path, the nearest first and the root, ".", last."""
    while path := path.rpartition("/")[0]:
        yield path
    yield "."


def _is_unchanged(folder: str, limit: int) -> bool:
    try:
        info = os.lstat(folder)
    except OSError:
        return False
    return stat.S_ISDIR(info.st_mode) and info.st_ctime_ns < limit
