"""What the journal writes down about a change set: for every file, what was there before and what is after.

A record is two lines of JSON. The first is written before anything is made in the tree and says what may be found
there if the writer is killed; the second, when all new content waits in temporary files and before any takes its name.
A record without a second line is about a change that did not begin.
"""

import json
import os
import stat
from dataclasses import dataclass
from typing import Any

from .replace import Seen, Version


@dataclass(frozen=True, slots=True, kw_only=True)
class FileState:
    """A file as a change set met or made it; for a link, `link` is what it points to, and nothing else counts."""

    seen: Seen | None = None
    mode: int = 0
    link: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One file of a change set. `path` is its real path relative to the root, `image` where its old content is kept."""

    path: str
    before: FileState | None
    after: FileState | None
    image: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Intent:
    """What a change set is about to do: the files it will change and the folders it will make, real paths."""

    operation: str
    paths: tuple[str, ...]
    new_folders: tuple[str, ...]


def is_in(state: FileState | None, name: str, *, folder: int) -> bool:
    """Whether a name in a folder is in a state now; None is the state of a name without a file."""
    try:
        info = os.stat(name, dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:
        return state is None
    if state is None:
        return False
    if state.seen is None:
        return stat.S_ISLNK(info.st_mode) and os.readlink(name, dir_fd=folder) == state.link
    return state.seen.is_still(name, folder=folder)


def intent_line(intent: Intent) -> bytes:
    """Return the first line of a record."""
    return _line({"operation": intent.operation, "paths": intent.paths, "new_folders": intent.new_folders})


def entries_line(entries: list[Entry]) -> bytes:
    """Return the second line of a record."""
    return _line(
        [
            {"path": entry.path, "before": _row(entry.before), "after": _row(entry.after), "image": entry.image}
            for entry in entries
        ]
    )


def parse(record: bytes) -> tuple[Intent | None, list[Entry]]:
    """Return what a record says, as far as it was written."""
    lines = [json.loads(line) for line in record.splitlines(keepends=True) if line.endswith(b"\n")]
    if not lines:
        return None, []
    first = lines[0]
    intent = Intent(operation=first["operation"], paths=tuple(first["paths"]), new_folders=tuple(first["new_folders"]))
    return intent, [_entry(entry) for entry in lines[1]] if len(lines) > 1 else []


def _line(value: object) -> bytes:
    # ASCII, so that names that are no valid UTF-8 survive as the escapes Python has for them.
    return json.dumps(value, separators=(",", ":")).encode() + b"\n"


def _row(state: FileState | None) -> dict[str, object] | None:
    if state is None:
        return None
    if state.seen is None:
        return {"link": state.link}
    version = state.seen.version
    return {
        "mode": state.mode,
        "size": version.size,
        "mtime_ns": version.mtime_ns,
        "inode": version.inode,
        "sha256": state.seen.sha256,
    }


def _entry(value: dict[str, Any]) -> Entry:
    return Entry(path=value["path"], before=_state(value["before"]), after=_state(value["after"]), image=value["image"])


def _state(row: dict[str, Any] | None) -> FileState | None:
    if row is None:
        return None
    if "link" in row:
        return FileState(link=row["link"])
    version = Version(size=row["size"], mtime_ns=row["mtime_ns"], inode=row["inode"])
    return FileState(seen=Seen(version=version, sha256=row["sha256"]), mode=row["mode"])
