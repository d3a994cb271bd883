"""A change set of a `LocalWorkspace`: files held as they are read, published all or none, written down before.

The way of a block's end: new content goes to temporary files beside the old ones; the old ones are kept in the
journal; both are written down; then each new file takes its name by compare-and-swap; the journal is told that it is
done. A failure anywhere takes back what was published (`recovery.take_back`), and so does, after a kill, the next
opening of the workspace.
"""

import errno
import os
import stat
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass, replace

from .access import Access
from .beneath import Place, Root, naming
from .changes import Applied, ChangeSet, FileChange, Target
from .files import Locks, hold
from .folders import made_parents
from .journal import Draft, Journal
from .records import Entry, FileState, Intent
from .recovery import take_back
from .replace import (
    HeldFile,
    Seen,
    Version,
    changed,
    publish,
    publish_new,
    sync_folder,
    take_away,
)
from .temporary import Temporary

_SYNC_THREADS = 16  # one commit of a file system's journal serves all who wait for it


@dataclass(frozen=True, slots=True, kw_only=True)
class Ground:
    """What a change set needs to know of its workspace. `sweep` removes what dead writers left in a folder;
    `unrepaired` says which of their changes could not be taken back, for the notes.
    """

    root: Root
    access: Access
    allow_delete: bool
    journal: Journal
    relative: Callable[[str], str]
    sweep: Callable[[int], None]
    unrepaired: list[str]


class LocalTarget(Target):
    """A file, link or free name in an open folder, held until the block ends."""

    def __init__(self, place: Place, held: HeldFile, *, link: str | None) -> None:
        self.place = place
        self.given = place.given
        self.held = held
        self.link = link
        self.is_link = link is not None
        self.info = held.info
        self.exists = self.is_link or self.info is not None
        self.permissions = None if self.info is None else stat.S_IMODE(self.info.st_mode)
        self.compared = True
        self.copy_of: int | None = None
        self.like: int | None = None
        self.new_link: str | None = None
        self.waiting: Temporary | None = None
        self.published = False

    def read(self) -> bytes:
        """Return the content of the held file."""
        return self.held.read()

    def stage_unhashed(self, data: bytes, *, append: bool, compared: bool) -> None:
        """Stage a content that nobody asks a digest of: the versions tell what changed.

        What is appended to is what is copied, so there a change in between is always seen.
        """
        self.staged, self.data = True, data
        self.copy_of = self.held.fd if append else None
        self.compared = compared or append

    @property
    def changes(self) -> bool:
        """Whether something is to be done: not for a file that was only read, or made and removed again."""
        return self.staged and (self.exists or self.data is not None or self.new_link is not None)

    @property
    def seen(self) -> Seen | None:
        """The state in which the file was read; None where it was not, or is none."""
        if self.info is None:
            return None
        return Seen(version=Version.of(self.info), sha256=None if self.old is None else self.old.hex)

    def before(self) -> FileState | None:
        """The state that the change set found."""
        if self.info is None:
            return None if self.link is None else FileState(link=self.link)
        return FileState(seen=self.seen, mode=stat.S_IMODE(self.info.st_mode))

    def after(self) -> FileState | None:
        """The state that the change set makes, known once its new content waits."""
        if self.waiting is None:
            return None if self.new_link is None else FileState(link=self.new_link)
        info = os.fstat(self.waiting.fd)
        seen = Seen(version=Version.of(info), sha256=None if self.new is None else self.new.hex)
        return FileState(seen=seen, mode=stat.S_IMODE(info.st_mode))


class LocalChangeSet(ChangeSet):
    """The change set of one block; `close` it when the block has ended, applied or not."""

    def __init__(
        self, ground: Ground, operation: str, *, preview: bool = False, expected_plan: str | None = None
    ) -> None:
        super().__init__(preview=preview, expected_plan=expected_plan)
        self.ground = ground
        self._operation = operation
        self._targets: dict[str, LocalTarget] = {}
        self._asked: dict[tuple[str, bool], LocalTarget] = {}
        self._folders: dict[tuple[int, int], int] = {}
        self._locks = None if preview else Locks()
        self._stack = ExitStack()
        self._notes: list[str] = []

    def hold(self, path: str, *, follow_last: bool = True, access: int = os.O_RDWR) -> LocalTarget:
        """Return the target that a path means, opened for `access` and held from now on."""
        with self.ground.root.locate(path, follow_last=follow_last) as place:
            self.ground.access.check_change(place.path, path)
            if place.path in self._targets:
                return self._targets[place.path]
            if not place.exists and path.endswith("/"):
                raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), path)
            folder = self._open_folder(place)
            link = None if follow_last or not place.exists else _link_at(place)
            if place.missing or link is not None:
                held = HeldFile(folder, place.name, given=path, fd=None)
            else:
                held = self._stack.enter_context(hold(folder, place.name, given=path, access=access, locks=self._locks))
            # The walk's own descriptors end here; this one stays.
            target = LocalTarget(replace(place, folder=folder), held, link=link)
        self._targets[place.path] = target
        return target

    def open_image(self, path: str) -> int:
        """Return a descriptor of a before-image, open until the block has ended."""
        fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
        self._stack.callback(os.close, fd)
        return fd

    def apply(self) -> Applied:
        """Do what was staged, all of it or nothing."""
        targets = [target for target in self._targets.values() if target.changes]
        if self.preview:
            files = _shown(targets, self.ground.relative)
            self._check_plan(files)
            self._applied = Applied(change_id=None, files=files)
            return self._applied
        with ExitStack() as stack:
            self._applied = self._carry_out(targets, stack) if targets else Applied(change_id=None, files=())
        return self._applied

    def close(self) -> None:
        """Let go of every file."""
        self._stack.close()

    def _target(self, path: str, *, follow_last: bool = True, to_write: bool = True) -> LocalTarget:
        asked = (path, follow_last)
        if asked not in self._asked:
            # A file that may not be written can still be removed: that is a matter of its folder.
            access = os.O_RDWR if to_write else os.O_RDONLY
            self._asked[asked] = self.hold(path, follow_last=follow_last, access=access)
        return self._asked[asked]

    def _check_delete(self, action: str) -> None:
        if not self.ground.allow_delete:
            raise PermissionError(
                f"cannot {action}: this workspace does not allow deleting, and a rename takes a name away too. "
                "Leave the file, or let whoever set up the workspace pass allow_delete=True."
            )

    def _open_folder(self, place: Place) -> int:
        fd = os.open(".", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC, dir_fd=place.folder)
        info = os.fstat(fd)
        known = self._folders.setdefault((info.st_dev, info.st_ino), fd)
        if known != fd:
            os.close(fd)
            return known
        self._stack.callback(os.close, fd)
        if not self.preview:
            self.ground.sweep(fd)
        return fd

    def _carry_out(self, targets: list[LocalTarget], stack: ExitStack) -> Applied:
        self._notes += self.ground.unrepaired
        draft = self._draft(targets)
        entries: list[Entry] = []
        try:
            for target in targets:
                with naming(target.given):
                    _prepare(target, stack)
            _flush([target.waiting for target in targets if target.waiting], [target.given for target in targets])
            files = _shown(targets, self.ground.relative)
            self._check_plan(files)
            if draft is not None:
                draft = self._write_down(draft, targets, entries)
            for target in targets:
                with naming(target.given):
                    _publish(target)
        except BaseException as error:
            self._take_back(draft, entries, targets, error)
            raise
        self._notes += [note for target in targets if (note := _twins(target))]
        self._notes += [note for folder in {target.held.folder for target in targets} if (note := sync_folder(folder))]
        return Applied(change_id=self._done(draft, entries, targets), files=files, notes=tuple(self._notes))

    def _draft(self, targets: list[LocalTarget]) -> Draft | None:
        try:
            draft = self.ground.journal.begin()
        except OSError as error:
            self._without_journal(targets, error)
            return None
        try:
            draft.intend(
                Intent(
                    operation=self._operation,
                    paths=tuple(target.place.path for target in targets),
                    new_folders=tuple(folder for target in targets for folder in _new_folders(target.place)),
                )
            )
        except OSError as error:
            self.ground.journal.discard(draft)
            self._without_journal(targets, error)
            return None
        return draft

    def _without_journal(self, targets: list[LocalTarget], error: OSError) -> None:
        if len(targets) > 1:
            raise OSError(
                error.errno,
                f"several files are changed all or none only with a journal, and it cannot be written "
                f"({error.strerror or error}). Change them one by one, or make its folder writable",
            ) from error
        self._notes.append(f"This change cannot be undone: the journal cannot be written ({error.strerror or error}).")

    def _write_down(self, draft: Draft, targets: list[LocalTarget], entries: list[Entry]) -> Draft | None:
        try:
            for target in targets:
                image = None if target.held.fd is None else draft.keep(target.held.fd)
                entries.append(Entry(path=target.place.path, before=target.before(), after=target.after(), image=image))
            draft.write_down(entries, synced=len(targets) > 1)
        except OSError as error:
            entries.clear()
            self._without_journal(targets, error)
            self.ground.journal.discard(draft)
            return None
        return draft

    def _take_back(
        self, draft: Draft | None, entries: list[Entry], targets: list[LocalTarget], error: BaseException
    ) -> None:
        for target in targets:
            if target.waiting is not None and not target.published:
                target.waiting.discard()
        if draft is None:
            return
        try:
            # What somebody else made the same as it was to be is not ours to take back.
            published = [entry for entry, target in zip(entries, targets, strict=False) if target.published]
            take_back(published, self.ground.root)
        except OSError as failure:
            draft.close()
            error.add_note(f"What was changed already could not be taken back ({failure}); the next opening will try.")
            return
        self.ground.journal.discard(draft)

    def _done(self, draft: Draft | None, entries: list[Entry], targets: list[LocalTarget]) -> str | None:
        if draft is None:
            return None
        try:
            for target, entry in zip(targets, entries, strict=True):
                if target.held.fd is not None and entry.image is not None:
                    draft.settle(target.held.fd, entry.image)
            change_id = self.ground.journal.commit(draft)
        except OSError as error:
            self._notes.append(f"This change may not be undone: the journal could not be finished ({error}).")
            draft.close()
            return None
        if change_id is None:
            limit = self.ground.journal.bounds.size_bytes // 1_000_000
            self._notes.append(
                f"This change cannot be undone: what it replaced is larger than the journal keeps ({limit} MB)."
            )
        return change_id


def _link_at(place: Place) -> str | None:
    try:
        return os.readlink(place.name, dir_fd=place.folder)
    except OSError as error:
        if error.errno not in (errno.EINVAL, errno.ENOENT):
            raise
        return None


def _new_folders(place: Place) -> list[str]:
    names = place.path.split("/")[:-1]
    return ["/".join(names[: len(names) - left]) for left in range(len(place.missing))]


def _prepare(target: LocalTarget, stack: ExitStack) -> None:
    if target.data is None:
        return
    if target.place.missing:
        target.held.folder = stack.enter_context(made_parents(target.place))
    like = target.like
    if target.renamed_from is not None:
        assert isinstance(target.renamed_from, LocalTarget)
        like = target.renamed_from.held.fd
    target.waiting = target.held.prepare(target.data, copy_of=target.copy_of, like=like, mode=target.mode)
    stack.callback(target.waiting.close)


def _flush(waiting: list[Temporary], given: list[str]) -> None:
    if len(waiting) == 1:
        with naming(given[0]):
            waiting[0].flush()
        return

    def flush(pair: tuple[Temporary, str]) -> None:
        with naming(pair[1]):
            pair[0].flush()

    with ThreadPoolExecutor(_SYNC_THREADS) as pool:
        list(pool.map(flush, zip(waiting, given, strict=False)))


def _publish(target: LocalTarget) -> None:
    target.published = True  # also where an interrupt comes right after it was done
    try:
        _take_place(target)
    except OSError:
        target.published = False
        raise


def _take_place(target: LocalTarget) -> None:
    folder, name = target.held.folder, target.place.name
    if target.link is not None:
        if _link_at(replace(target.place, folder=folder)) != target.link:
            raise changed(target.given)
        os.unlink(name, dir_fd=folder)
    elif target.new_link is not None:
        os.symlink(target.new_link, name, dir_fd=folder)
    elif target.waiting is None:
        assert target.seen is not None
        take_away(folder, name, seen=target.seen, given=target.given)
    elif target.info is None:
        publish_new(target.waiting.name, name, folder=folder)
    else:
        publish(target.waiting, name, seen=target.seen if target.compared else None, given=target.given)


def _twins(target: LocalTarget) -> str:
    other_names = 0 if target.info is None else target.info.st_nlink - 1
    if other_names < 1 or target.data is None:
        return ""
    return f"The file has {other_names} more name(s) (hard links); those keep the old content."


def _shown(targets: list[LocalTarget], relative: Callable[[str], str]) -> tuple[FileChange, ...]:
    return tuple(_file_change(target, relative) for target in targets if target.renamed_to is None)


def _file_change(target: LocalTarget, relative: Callable[[str], str]) -> FileChange:
    origin = target.renamed_from if isinstance(target.renamed_from, LocalTarget) else target
    source = target.renamed_from or target.copied_from
    before = origin.before()
    after = target.after()
    version = None if after is None or after.seen is None else after.seen.version
    mode_before = None if before is None or before.link is not None else before.mode
    return FileChange(
        path=relative(target.given),
        old_path=None if source is None else relative(source.given),
        size=len(target.data or b"") if version is None else version.size,
        version=version,
        created=not target.exists and origin is target,
        deleted=target.data is None and target.new_link is None,
        mode_before=mode_before,
        mode_asked=target.mode,
        mode_after=_mode_after(target, after, mode_before),
        before=origin.old,
        after=target.new,
    )


def _mode_after(target: LocalTarget, after: FileState | None, mode_before: int | None) -> int | None:
    if target.data is None:
        return None
    if after is not None:
        return after.mode
    return target.mode if target.mode is not None else mode_before
