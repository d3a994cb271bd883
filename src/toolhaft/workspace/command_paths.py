"""The files that a command names, judged as a file tool would judge them: `cat .env` is `read_file(".env")`.

A path is judged by its text and by where it leads from the folder in which the command stands, globs and links
included. This finds what a command says; what it does without saying so, confinement must stop.
"""

import glob
import os
import posixpath
import re
from collections.abc import Iterable, Iterator
from itertools import islice

from toolhaft.shell import PathUse

from .access import Access
from .hidden import is_below

_GLOB = re.compile(r"[*?\[]")
# A glob that matches more than this names no file in particular, and is not looked through to its end.
_MOST_MATCHES = 10_000


def check_paths(paths: Iterable[PathUse], access: Access, *, root: str, cwd: str) -> None:
    """Raise the `PermissionError` of the file tools for a path that these rules do not let be read or written.

    `root` is the real path of the workspace, `cwd` where the command starts, absolute or relative to it.
    """
    for use in paths:
        for name in _names(use, root, cwd):
            check_path(use, name, access)


def check_path_texts(paths: Iterable[PathUse], access: Access, *, cwd: str) -> None:
    """Do the same where no disk can be asked: by the text of the path alone."""
    for use in paths:
        if use.access != "unknown":
            check_path(use, posixpath.normpath(posixpath.join(cwd, use.folder or "", use.path)), access)


def check_path(use: PathUse, name: str, access: Access) -> None:
    """Judge one use of a path by a name of what it leads to, relative to the root."""
    if use.access == "read":
        access.check_read(name, use.path)
    else:
        access.check_change(name, use.path)


def _names(use: PathUse, root: str, cwd: str) -> Iterator[str]:
    """What to judge a path by: how it is written, and what it leads to, relative to the root where that is below it."""
    folder = posixpath.join(root, cwd, use.folder or "")
    is_glob = not use.exact and _GLOB.search(use.path) is not None
    if use.access != "unknown" and not is_glob:
        yield _inside(posixpath.normpath(posixpath.join(folder, use.path)), root)
    for path in _matches(use.path, folder) if is_glob else [use.path]:
        whole = posixpath.join(folder, path)
        if use.access != "unknown" or os.path.lexists(whole):
            yield _inside(os.path.realpath(whole), root)


def _matches(pattern: str, folder: str) -> Iterator[str]:
    pattern = pattern.replace("[^", "[!")  # bash knows both, Python one
    return islice(glob.iglob(pattern, root_dir=folder), _MOST_MATCHES)


def _inside(path: str, root: str) -> str:
    return os.path.relpath(path, root) if is_below(path, root) else path.lstrip("/")
