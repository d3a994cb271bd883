"""The journal: what change sets did to the files of one workspace, kept so that it can be taken back.

A change set in the making has a folder `open/<id>` with its `record` (see `records.py`) and the old content of every
file it changes, its before-images. Its writer holds an `flock` on the record for as long as it lives. When every file
has its new content, renaming that folder to `<id>.<bytes>` is the one step that makes the change set done. So a folder
in `open` whose record nobody holds was left by a writer that was killed: see `recovery.py`.

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
import shutil
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass

from .records import Entry, Intent, entries_line, intent_line, parse
from .temporary import Temporary, close_quietly, is_name_of, try_lock, write_all

_DONE = re.compile(r"(?P<id>[0-9a-f]{16})\.(?P<size>\d+)")
_ID = re.compile(r"[0-9a-f]{16}")
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
    """A change set in the making, in its own folder of the journal, with its record held."""

    def __init__(self, folder: str, *, dir_fd: int, record: int) -> None:
        self.folder = folder
        self.size = 0
        self._dir_fd = dir_fd
        self._record = record
        self._images = 0

    @property
    def id(self) -> str:
        """The name of the change set."""
        return os.path.basename(self.folder)

    def intend(self, intent: Intent) -> None:
        """Write down what is going to be done, before anything is made in the tree."""
        write_all(self._record, intent_line(intent))

    def keep(self, fd: int) -> str:
        """Keep the old file that `fd` has open; return the name of its image."""
        name = f"before-{self._images}"
        self._images += 1
        try:
            # The link in /proc leads to the file that is open, whatever its name means by now.
            os.link(f"/proc/self/fd/{fd}", name, dst_dir_fd=self._dir_fd, follow_symlinks=True)
        except OSError:
            self._copy(fd, name)
        self.size += os.fstat(fd).st_size
        return name

    def settle(self, fd: int, name: str) -> None:
        """Make an image private once its file has been replaced; a file with other names is copied instead."""
        info = os.fstat(fd)
        if not os.path.samestat(info, os.stat(name, dir_fd=self._dir_fd, follow_symlinks=False)):
            return
        if info.st_nlink == 1:
            os.fchmod(fd, 0o600)
            return
        self._copy(fd, f"{name}.copy")
        os.rename(f"{name}.copy", name, src_dir_fd=self._dir_fd, dst_dir_fd=self._dir_fd)

    def write_down(self, entries: list[Entry], *, synced: bool) -> None:
        """Write down every file before and after, so that the change set can be taken back from here on."""
        write_all(self._record, entries_line(entries))
        if synced:
            for fd in (self._record, self._dir_fd):
                os.fsync(fd)

    def read(self) -> tuple[Intent | None, list[Entry]]:
        """Return what the record says, as far as it was written."""
        return parse(os.pread(self._record, os.fstat(self._record).st_size, 0))

    def close(self) -> None:
        """Let go of the record. An open change set is now one that the next opening takes back or finishes."""
        close_quietly(self._record)
        close_quietly(self._dir_fd)

    def _copy(self, fd: int, name: str) -> None:
        flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
        copy = Temporary(self._dir_fd, name, os.open(name, flags, 0o600, dir_fd=self._dir_fd))
        try:
            copy.copy(fd, os.fstat(fd).st_size)
        finally:
            close_quietly(copy.fd)


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
            folder = os.path.join(self.folder, "open", name)
            with suppress(FileNotFoundError):  # another process took it for a dead one before it was held
                _make_folder(folder)
                draft = _held(folder, create=True)
                if draft is not None:
                    return draft

    def commit(self, draft: Draft) -> str | None:
        """Make a change set a done one; return its id, or None where it was too large to be kept."""
        done = os.path.join(self.folder, f"{draft.id}.{draft.size}")
        os.rename(draft.folder, done)
        draft.close()
        kept = draft.size <= self.bounds.size_bytes
        self._sets_until_pruned -= 1
        self._bytes_until_pruned -= draft.size
        if self._sets_until_pruned < 0 or self._bytes_until_pruned < 0:
            self._prune()
        if not kept:
            shutil.rmtree(done, ignore_errors=True)
        return draft.id if kept else None

    def discard(self, draft: Draft) -> None:
        """Forget a change set of which nothing is left in the tree."""
        shutil.rmtree(draft.folder, ignore_errors=True)
        draft.close()

    def left_open(self) -> list[Draft]:
        """Return the change sets that dead writers left, held; those of the living are waited for, not long."""
        deadline = time.monotonic() + _ADOPT_WAIT_SECONDS
        try:
            names = sorted(os.listdir(os.path.join(self.folder, "open")))
        except OSError:
            return []
        adopted = (self._adopt(os.path.join(self.folder, "open", name), deadline) for name in names)
        return [draft for draft in adopted if draft is not None]

    def find(self, change_id: str) -> tuple[str, list[Entry]]:
        """Return the folder and the entries of a done change set, else raise `UnknownChangeError`."""
        try:
            names = [name for name in os.listdir(self.folder) if _ID.fullmatch(change_id) and name[:16] == change_id]
            folder = os.path.join(self.folder, names[0])
            with open(os.path.join(folder, "record"), "rb") as record:
                return folder, parse(record.read())[1]
        except (OSError, IndexError) as error:
            raise UnknownChangeError(
                f"no change {change_id!r} is in the journal of this workspace: there was none, or it is older than the "
                f"journal keeps ({self.bounds.change_sets} changes, {self.bounds.size_bytes // 1_000_000} MB, "
                f"{self.bounds.age_days:g} days). Commands are not in it. Make the change back by hand."
            ) from error

    def _adopt(self, folder: str, deadline: float) -> Draft | None:
        while os.path.isdir(folder):
            with suppress(FileNotFoundError):
                draft = _held(folder, create=False)
                if draft is not None:
                    return draft
            with suppress(OSError):
                os.rmdir(folder)  # its writer was killed before there was a record
            if time.monotonic() > deadline:
                return None
            time.sleep(_ADOPT_LOOK_SECONDS)
        return None

    def _prune(self) -> None:
        done = [match for name in os.listdir(self.folder) if (match := _DONE.fullmatch(name))]
        sets, size_bytes = self.bounds.change_sets, self.bounds.size_bytes
        self._sets_until_pruned, self._bytes_until_pruned = sets // _ROOM_PART, size_bytes // _ROOM_PART
        oldest_ms = (time.time() - self.bounds.age_days * _DAY_SECONDS) * 1000
        total = 0
        for count, match in enumerate(sorted(done, key=lambda match: match["id"], reverse=True), start=1):
            total += int(match["size"])
            too_many = count > max(1, sets - self._sets_until_pruned)
            too_large = count > 1 and total > size_bytes - self._bytes_until_pruned
            if too_many or too_large or int(match["id"][:11], 16) < oldest_ms:
                shutil.rmtree(os.path.join(self.folder, match.string), ignore_errors=True)


def _make_folder(folder: str) -> None:
    try:
        os.mkdir(folder, 0o700)
    except FileNotFoundError:
        with suppress(FileExistsError):
            os.mkdir(os.path.dirname(folder), 0o700)
        os.mkdir(folder, 0o700)


def _held(folder: str, *, create: bool) -> Draft | None:
    """Return an open change set whose record nobody else holds, None where somebody does or it is gone."""
    dir_fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        made = os.O_CREAT | os.O_EXCL if create else 0
        record = os.open("record", os.O_RDWR | os.O_APPEND | os.O_CLOEXEC | made, 0o600, dir_fd=dir_fd)
    except BaseException:
        os.close(dir_fd)
        raise
    draft = Draft(folder, dir_fd=dir_fd, record=record)
    # A change set that was done meanwhile took its record with it to another name.
    if try_lock(record) and is_name_of(record, "record", folder=dir_fd) and _is_folder(dir_fd, folder):
        return draft
    draft.close()
    return None


def _is_folder(dir_fd: int, folder: str) -> bool:
    try:
        return os.path.samestat(os.fstat(dir_fd), os.lstat(folder))
    except FileNotFoundError:
        return False
