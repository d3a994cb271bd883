"""The journal: what change sets did to the files of one workspace, kept so that it can be taken back.

A change set in the making has a record `open/<id>` (see `records.py`), and beside that folder the old content of every
file it changes, its before-images `<id>-<number>`. Its writer holds an `flock` on the record for as long as it lives.
When every file has its new content, renaming the record to `<id>.<bytes>` is the one step that makes the change set
done. So a record in `open` that nobody holds was left by a writer that was killed: see `recovery.py`.

A before-image is one more hard link to the old file where the journal lies on the same file system, which takes no
time and brings back the very file, and else a copy. The old file has no other name once the new one took its place,
so nothing changes it but a program that still has it open; a digest or version tells. A file that keeps other names
is copied once the change is done.

The journal is bounded: the oldest change sets go first, never one that is open. It is safe against kill -9; the
records of changes to a single file are not synced, so a power cut may take the undo of the last ones.
"""

import os
import re
import secrets
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass

from .records import Entry, Intent, entries_line, intent_line, parse
from .temporary import Temporary, close_quietly, is_name_of, link_open_file, sync_path, try_lock, write_all

_DONE = re.compile(r"(?P<id>[0-9a-f]{16})\.(?P<size>\d+)")
_IMAGE = re.compile(r"(?P<id>[0-9a-f]{16})-.*")
_DAY_SECONDS = 86_400
# This part of the bounds is made room for at once, so that they need not be looked at with every change.
_ROOM_PART = 8
# How long the first use of a workspace waits for another process that is publishing or repairing a change set.
_ADOPT_WAIT_SECONDS = 1.0
_ADOPT_LOOK_SECONDS = 0.001


@dataclass(frozen=True, slots=True, kw_only=True)
class Bounds:
    """How much the journal keeps."""

    change_sets: int = 200
    size_bytes: int = 200_000_000
    age_days: float = 14


class UnknownChangeError(LookupError):
    """The journal has no such change set, or has it no more."""


class Draft:
    """A change set in the making, with its record held. `folder` is the journal's."""

    def __init__(self, folder: str, name: str, *, record: int) -> None:
        self.folder = folder
        self.id = name
        self.size = 0
        self.images: list[str] = []
        self._record = record

    @property
    def record(self) -> str:
        """The path of the record while the change set is open."""
        return f"{self.folder}/open/{self.id}"

    def intend(self, intent: Intent) -> None:
        """Write down what is going to be done, before anything is made in the tree."""
        write_all(self._record, intent_line(intent))

    def keep(self, fd: int) -> str:
        """Keep the old file that `fd` has open; return the path of its image."""
        image = f"{self.folder}/{self.id}-{len(self.images)}"
        self.images.append(image)
        self.size += os.fstat(fd).st_size
        try:
            link_open_file(fd, image)
        except OSError:
            _copy(fd, image)
        return image

    def settle(self, fd: int, image: str) -> None:
        """Make an image private once its file has been replaced; a file with other names is copied instead."""
        info = os.fstat(fd)
        if not os.path.samestat(info, os.lstat(image)):
            return
        if info.st_nlink == 1:
            os.fchmod(fd, 0o600)
            return
        _copy(fd, f"{image}.copy")
        os.rename(f"{image}.copy", image)

    def write_down(self, entries: list[Entry], *, synced: bool) -> None:
        """Write down every file before and after, so that the change set can be taken back from here on."""
        write_all(self._record, entries_line(entries))
        if synced:
            os.fsync(self._record)
            for folder in (self.folder, f"{self.folder}/open"):
                sync_path(folder)

    def read(self) -> tuple[Intent | None, list[Entry]]:
        """Return what the record says, as far as it was written."""
        return parse(os.pread(self._record, os.fstat(self._record).st_size, 0))

    def close(self) -> None:
        """Let go of the record. An open change set is now one that the next opening takes back or finishes."""
        close_quietly(self._record)


class Journal:
    """The journal of one workspace. `folder` says where it lies, and raises `OSError` where it can lie nowhere."""

    def __init__(self, folder: Callable[[], str], *, bounds: Bounds | None = None) -> None:
        self.bounds = bounds or Bounds()
        self._find = folder
        self._found: str | None = None
        self._sets_until_pruned = 0
        self._bytes_until_pruned = 0

    @property
    def folder(self) -> str:
        """The folder of the journal."""
        if self._found is None:
            self._found = self._find()
        return self._found

    def begin(self) -> Draft:
        """Open a new change set."""
        while True:
            name = f"{time.time_ns() // 1_000_000:011x}{secrets.token_hex(3)[:5]}"
            draft = self._hold(name, os.O_CREAT | os.O_EXCL)
            if draft is not None:  # else another process took it for a dead one before it was held
                return draft

    def commit(self, draft: Draft) -> str | None:
        """Make a change set a done one; return its id, or None where it was too large to be kept."""
        done = f"{self.folder}/{draft.id}.{draft.size}"
        os.rename(draft.record, done)
        draft.close()
        kept = draft.size <= self.bounds.size_bytes
        self._sets_until_pruned -= 1
        self._bytes_until_pruned -= draft.size
        if not kept:
            _remove([*draft.images, done])
        elif self._sets_until_pruned < 0 or self._bytes_until_pruned < 0:
            self._prune()
        return draft.id if kept else None

    def discard(self, draft: Draft) -> None:
        """Forget a change set of which nothing is left in the tree."""
        images = draft.images or [f"{self.folder}/{name}" for name in os.listdir(self.folder) if _is_of(name, draft.id)]
        _remove([*images, draft.record])
        draft.close()

    def left_open(self) -> list[Draft]:
        """Return the change sets that dead writers left, held; those of the living are waited for, not long."""
        deadline = time.monotonic() + _ADOPT_WAIT_SECONDS
        try:
            names = sorted(os.listdir(f"{self.folder}/open"))
        except OSError:
            return []
        return [draft for name in names if (draft := self._adopt(name, deadline)) is not None]

    def find(self, change_id: str) -> tuple[Intent, list[Entry]]:
        """Return what a done change set did, else raise `UnknownChangeError`."""
        try:
            (name,) = [name for name in os.listdir(self.folder) if name.startswith(f"{change_id}.")]
            with open(f"{self.folder}/{name}", "rb") as record:
                intent, entries = parse(record.read())
        except (OSError, ValueError) as error:
            raise self.unknown(change_id) from error
        if intent is None:
            raise self.unknown(change_id)
        return intent, entries

    def unknown(self, change_id: str) -> UnknownChangeError:
        """Return the error for a change set that is not there, or not any more."""
        return UnknownChangeError(
            f"no change {change_id!r} is in the journal of this workspace: there was none, or it is older than the "
            f"journal keeps ({self.bounds.change_sets} changes, {self.bounds.size_bytes // 1_000_000} MB, "
            f"{self.bounds.age_days:g} days). Commands are not in it. Change the files back by hand."
        )

    def _adopt(self, name: str, deadline: float) -> Draft | None:
        while True:
            try:
                draft = self._hold(name, 0)
            except FileNotFoundError:
                return None
            if draft is not None or time.monotonic() > deadline:
                return draft
            time.sleep(_ADOPT_LOOK_SECONDS)

    def _hold(self, name: str, flags: int) -> Draft | None:
        """Return an open change set whose record nobody else holds, None where somebody does or it was done."""
        draft_record = _open_record(f"{self.folder}/open/{name}", flags)
        if try_lock(draft_record) and is_name_of(draft_record, f"{self.folder}/open/{name}"):
            return Draft(self.folder, name, record=draft_record)
        os.close(draft_record)
        return None

    def _prune(self) -> None:
        names = os.listdir(self.folder)
        sets, size_bytes = self.bounds.change_sets, self.bounds.size_bytes
        self._sets_until_pruned, self._bytes_until_pruned = sets // _ROOM_PART, size_bytes // _ROOM_PART
        oldest_ms = (time.time() - self.bounds.age_days * _DAY_SECONDS) * 1000
        dropped: dict[str, str] = {}
        total = 0
        done = sorted((name for name in names if _DONE.fullmatch(name)), reverse=True)
        for count, name in enumerate(done, start=1):
            change_id, size = name.split(".")
            total += int(size)
            too_many = count > max(1, sets - self._sets_until_pruned)
            too_large = count > 1 and total > size_bytes - self._bytes_until_pruned
            if too_many or too_large or int(change_id[:11], 16) < oldest_ms:
                dropped[change_id] = name
        images = [name for name in names if (match := _IMAGE.fullmatch(name)) and match["id"] in dropped]
        _remove(f"{self.folder}/{name}" for name in [*images, *dropped.values()])


def _is_of(name: str, change_id: str) -> bool:
    match = _IMAGE.fullmatch(name)
    return match is not None and match["id"] == change_id


def _remove(paths: Iterable[str]) -> None:
    for path in paths:
        with suppress(OSError):
            os.unlink(path)


def _open_record(path: str, flags: int) -> int:
    flags |= os.O_RDWR | os.O_APPEND | os.O_CLOEXEC
    try:
        return os.open(path, flags, 0o600)
    except FileNotFoundError:
        if not flags & os.O_CREAT:
            raise
        with suppress(FileExistsError):
            os.mkdir(os.path.dirname(path), 0o700)
        return os.open(path, flags, 0o600)


def _copy(fd: int, path: str) -> None:
    copy = Temporary(-1, path, os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
    try:
        copy.copy(fd, os.fstat(fd).st_size)
        os.fsync(copy.fd)
    finally:
        copy.close()
