"""How a change set of a `LocalWorkspace` reaches the disk: all of it or nothing, and written down before.

New content goes to temporary files beside the old ones; the old ones are kept in the journal; both are written down;
then each new file takes its name by compare-and-swap; the journal is told that it is done. A failure anywhere takes
back what was published (`recovery.take_back`), and so does, after a kill, the next opening of the workspace.
"""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass

from .access import Access
from .beneath import Place, Root, naming
from .changes import Applied, FileChange
from .journal import Draft, Journal
from .local_target import LocalTarget
from .records import Entry, Intent
from .recovery import take_back
from .replace import sync_folder

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


class Publication:
    """One change set on its way to the disk. `check` sees what is going to be done, right before it is."""

    def __init__(
        self,
        ground: Ground,
        operation: str,
        targets: list[LocalTarget],
        *,
        check: Callable[[tuple[FileChange, ...]], None],
    ) -> None:
        self._ground = ground
        self._operation = operation
        self._targets = targets
        self._check = check
        self._draft: Draft | None = None
        self._entries: list[Entry] = []
        self._notes = [*ground.unrepaired]

    def done(self) -> Applied:
        """Do it; return what was done."""
        with ExitStack() as stack:
            self._begin()
            try:
                for target in self._targets:
                    with naming(target.given):
                        target.prepare(stack)
                _flush(self._targets)
                files = shown(self._targets, self._ground.relative)
                self._check(files)
                self._write_down()
                for target in self._targets:
                    with naming(target.given):
                        target.publish()
            except BaseException as error:
                self._take_back(error)
                raise
            folders = {target.held.folder for target in self._targets}
            notes = [*(target.twins() for target in self._targets), *map(sync_folder, folders)]
            self._notes += filter(None, notes)
            return Applied(change_id=self._finish(), files=files, notes=tuple(self._notes))

    def _begin(self) -> None:
        try:
            self._draft = self._ground.journal.begin()
            self._draft.intend(
                Intent(
                    operation=self._operation,
                    paths=tuple(target.place.path for target in self._targets),
                    new_folders=tuple(folder for target in self._targets for folder in _new_folders(target.place)),
                )
            )
        except OSError as error:
            self._go_without_journal(error)

    def _go_without_journal(self, error: OSError) -> None:
        if self._draft is not None:
            self._ground.journal.discard(self._draft)
        self._draft = None
        self._entries.clear()
        if len(self._targets) > 1:
            raise OSError(
                error.errno,
                f"several files are changed all or none only with a journal, and it cannot be written "
                f"({error.strerror or error}). Change them one by one, or make its folder writable",
            ) from error
        self._notes.append(f"This change cannot be undone: the journal cannot be written ({error.strerror or error}).")

    def _write_down(self) -> None:
        if self._draft is None:
            return
        try:
            for target in self._targets:
                image = None if target.held.fd is None else self._draft.keep(target.held.fd)
                self._entries.append(
                    Entry(path=target.place.path, before=target.before(), after=target.after(), image=image)
                )
            self._draft.write_down(self._entries, synced=len(self._targets) > 1)
        except OSError as error:
            self._go_without_journal(error)

    def _take_back(self, error: BaseException) -> None:
        for target in self._targets:
            if target.waiting is not None and not target.published:
                target.waiting.discard()
        if self._draft is None:
            return
        try:
            # What somebody else made the same as it was to be is not ours to take back.
            pairs = zip(self._entries, self._targets, strict=False)
            take_back([entry for entry, target in pairs if target.published], self._ground.root)
        except OSError as failure:
            self._draft.close()
            error.add_note(f"What was changed already could not be taken back ({failure}); the next opening will try.")
            return
        self._ground.journal.discard(self._draft)

    def _finish(self) -> str | None:
        if self._draft is None:
            return None
        try:
            for target, entry in zip(self._targets, self._entries, strict=True):
                if target.held.fd is not None and entry.image is not None:
                    self._draft.settle(target.held.fd, entry.image)
            change_id = self._ground.journal.commit(self._draft)
        except OSError as error:
            self._notes.append(f"This change may not be undone: the journal could not be finished ({error}).")
            self._draft.close()
            return None
        if change_id is None:
            limit = self._ground.journal.bounds.size_bytes // 1_000_000
            self._notes.append(
                f"This change cannot be undone: what it replaced is larger than the journal keeps ({limit} MB)."
            )
        return change_id


def shown(targets: list[LocalTarget], relative: Callable[[str], str]) -> tuple[FileChange, ...]:
    """Return what is done to each file; one that is renamed is told under its new name only."""
    return tuple(target.told(relative) for target in targets if target.renamed_to is None)


def _new_folders(place: Place) -> list[str]:
    names = place.path.split("/")[:-1]
    return ["/".join(names[: len(names) - left]) for left in range(len(place.missing))]


def _flush(targets: list[LocalTarget]) -> None:
    waiting = [target for target in targets if target.waiting is not None]
    if len(waiting) == 1:
        _flush_one(waiting[0])
        return
    with ThreadPoolExecutor(_SYNC_THREADS) as pool:
        list(pool.map(_flush_one, waiting))


def _flush_one(target: LocalTarget) -> None:
    assert target.waiting is not None
    with naming(target.given):
        target.waiting.flush()
