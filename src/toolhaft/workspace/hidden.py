"""What a command must not see: credentials of this user, and the workspace's own sensitive files.

Only what exists now is hidden, because what is mounted over must exist. A hard link or a copy is another file.
"""

import os
import time
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from .sensitive import matches

_IN_HOME = [
    ".ssh",
    ".aws",
    ".azure",
    ".gnupg",
    ".kube",
    ".docker/config.json",
    ".netrc",
    ".git-credentials",
    ".npmrc",
    ".yarnrc.yml",
    ".pypirc",
    ".pgpass",
    ".my.cnf",
    ".vault-token",
    ".password-store",
    ".terraform.d/credentials.tfrc.json",
    ".cargo/credentials",
    ".cargo/credentials.toml",
    ".gem/credentials",
    ".m2/settings.xml",
    ".gradle/gradle.properties",
    ".composer/auth.json",
    ".bash_history",
    ".zsh_history",
    ".python_history",
    ".config/gcloud",
    ".config/gh",
    ".config/hub",
    ".config/git/credentials",
    ".config/op",
    ".config/rclone",
    ".config/containers/auth.json",
    ".config/google-chrome",
    ".config/chromium",
    ".mozilla",
    ".local/share/keyrings",
]
# Sockets here start programs outside, whatever confines who asks; and secrets that a service gets as files.
_DOORS = [
    "/run/user",
    "/run/dbus",
    "/run/docker.sock",
    "/run/containerd",
    "/run/podman",
    "/run/crio",
    "/run/snapd.socket",
    "/run/secrets",
    "/var/run/secrets",
    "/etc/shadow",
    "/etc/kubernetes",
]
# The time of a folder may stand still for a tick of the kernel while its names change.
_SETTLED_NS = 50_000_000
_MAX_FOLDERS = 50_000


def credentials(home: str) -> list[str]:
    """Return the real paths of what exists of the known places of keys, tokens and doors out of a confinement."""
    known = [*(os.path.join(home, name) for name in _IN_HOME), *_DOORS]
    return _outermost(os.path.realpath(path) for path in known if os.access(path, os.R_OK) and not _is_empty(path))


def _is_empty(path: str) -> bool:
    """Whether there is nothing in a folder: each that is hidden costs a mount."""
    try:
        return not os.listdir(path)
    except OSError:  # a file
        return False


class _Folder(NamedTuple):
    mtime_ns: int
    seen_ns: int
    subfolders: tuple[str, ...]
    sensitive: tuple[str, ...]

    def is_still(self, mtime_ns: int) -> bool:
        return mtime_ns == self.mtime_ns and self.seen_ns - self.mtime_ns > _SETTLED_NS


class SensitiveFiles:
    """Finds the sensitive files of a workspace; only folders whose time has changed are read again."""

    def __init__(self, root: str, patterns: Sequence[str]) -> None:
        self._root = root
        self._patterns = tuple(patterns)
        self._known: dict[str, _Folder] = {}

    def find(self) -> tuple[list[str], bool]:
        """Return the real paths of those that exist, and whether every folder was looked at."""
        if not self._patterns:
            return [], True
        known: dict[str, _Folder] = {}
        waiting = [""]
        while waiting and len(known) < _MAX_FOLDERS:
            below = waiting.pop()
            folder = self._look(below)
            if folder is not None:
                known[below] = folder
                waiting += folder.subfolders
        self._known = known
        found = (os.path.join(self._root, path) for folder in known.values() for path in folder.sensitive)
        return _outermost(os.path.realpath(path) for path in found if os.path.exists(path)), not waiting

    def _look(self, below: str) -> _Folder | None:
        path = os.path.join(self._root, below)
        try:
            mtime_ns = os.stat(path, follow_symlinks=False).st_mtime_ns
            known = self._known.get(below)
            if known is not None and known.is_still(mtime_ns):
                return known
            return self._read(path, below, mtime_ns)
        except OSError:  # gone, or not ours to look into: then not the command's either
            return None

    def _read(self, path: str, below: str, mtime_ns: int) -> _Folder:
        subfolders: list[str] = []
        sensitive: list[str] = []
        seen_ns = time.time_ns()
        with os.scandir(path) as entries:
            for entry in entries:
                name = f"{below}/{entry.name}" if below else entry.name
                if matches(name, self._patterns):
                    sensitive.append(name)
                elif entry.is_dir(follow_symlinks=False):
                    subfolders.append(name)
        return _Folder(mtime_ns, seen_ns, tuple(subfolders), tuple(sensitive))


def _outermost(paths: Iterable[str]) -> list[str]:
    """Leave out what lies in a folder that is there too."""
    kept: list[str] = []
    for path in sorted(set(paths)):
        if not kept or not is_below(path, kept[-1]):
            kept.append(path)
    return kept


def is_below(path: str, folder: str) -> bool:
    """Whether a real path is a folder's or below it."""
    return path == folder or path.startswith(folder.rstrip("/") + "/")
