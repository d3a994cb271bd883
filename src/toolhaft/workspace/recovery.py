"""What becomes of a change set whose writer was killed, or failed, between two files.

Where every file has its new content, the change set is finished: only its last step was missing. Else it is taken back:
files that have their new content get the old one again, the very file where its before-image is a hard link. Each step
is a compare-and-swap, so a file that somebody changed since keeps what they wrote, and taking back may itself be
killed and begun again.
"""

import os
from contextlib import suppress

from .beneath import Place, Root, naming
from .journal import Draft, Journal
from .records import Entry, FileState, Intent, is_in
from .replace import FileChangedError, HeldFile, publish, publish_new, sync_folder, take_away
from .temporary import Temporary, link_temporary, remove_leftovers


def recover(journal: Journal, root: Root) -> list[str]:
    """Finish or take back every change set that was left open; return what could not be done, mostly nothing."""
    return [problem for draft in journal.left_open() for problem in _recovered(draft, journal, root)]


def _recovered(draft: Draft, journal: Journal, root: Root) -> list[str]:
    try:
        intent, entries = draft.read()
        is_whole = bool(entries) and all(_has(entry.after, entry, root) for entry in entries)
        if not is_whole:
            take_back(entries, root)
        if intent is not None:
            _remove_temporaries(intent, root)  # of a whole change too: one may be the old file, set aside
        if is_whole:
            _finish(draft, entries, journal)
        else:
            if intent is not None:
                remove_new_folders(intent, root)
            journal.discard(draft)
    except OSError as error:
        draft.close()  # it stays open: the next opening tries again
        return [f"The change {draft.id} was cut off and could not be taken back ({error}); that will be tried again."]
    return []


def _finish(draft: Draft, entries: list[Entry], journal: Journal) -> None:
    for entry in entries:
        if entry.image is not None:
            draft.images.append(entry.image)
            with open(entry.image, "rb") as image:
                draft.size += os.fstat(image.fileno()).st_size
                draft.settle(image.fileno(), entry.image)
    journal.commit(draft)


def take_back(entries: list[Entry], root: Root) -> None:
    """Bring every file back to what it was before, unless somebody else has changed it since."""
    for entry in reversed(entries):
        with suppress(FileNotFoundError), naming(entry.path), root.locate(entry.path, follow_last=False) as place:
            if not place.missing and is_in(entry.after, place.name, folder=place.folder):
                with suppress(FileChangedError, FileExistsError):
                    _restore(entry, place)


def _restore(entry: Entry, place: Place) -> None:
    folder = os.open(".", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC, dir_fd=place.folder)
    try:
        if entry.before is None:
            assert entry.after is not None
            _remove(folder, place.name, entry.after)
        elif entry.before.link is not None:
            os.symlink(entry.before.link, place.name, dir_fd=folder)
        else:
            _put_back(_old_file(entry, folder), place.name, entry.after)
        sync_folder(folder)
    finally:
        os.close(folder)


def _remove(folder: int, name: str, state: FileState) -> None:
    if state.seen is None:
        os.unlink(name, dir_fd=folder)
    else:
        take_away(folder, name, seen=state.seen, given=name)


def _put_back(old: Temporary, name: str, after: FileState | None) -> None:
    try:
        if after is None:
            publish_new(old.name, name, folder=old.folder)
        else:
            publish(old, name, seen=after.seen, given=name)
    finally:
        old.discard()


def _old_file(entry: Entry, folder: int) -> Temporary:
    """Make a temporary file that is the before-image, or where that cannot be, a synced copy like it."""
    assert entry.image is not None
    assert entry.before is not None
    with suppress(OSError):  # what is in the way of a copy too is raised there
        return link_temporary(folder, source=entry.image)
    with open(entry.image, "rb") as file:
        copy = HeldFile(folder, "", given=entry.path, fd=None).prepare(
            b"", copy_of=file.fileno(), like=file.fileno(), mode=entry.before.mode
        )
    copy.flush()
    return copy


def _has(state: FileState | None, entry: Entry, root: Root) -> bool:
    with root.locate(entry.path, follow_last=False) as place:
        return state is None if place.missing else is_in(state, place.name, folder=place.folder)


def _remove_temporaries(intent: Intent, root: Root) -> None:
    for folder in {os.path.dirname(path) for path in intent.paths}:
        with suppress(OSError):
            opened = root.open(folder or ".", os.O_RDONLY | os.O_DIRECTORY)
            try:
                remove_leftovers(opened.fd)
            finally:
                os.close(opened.fd)


def remove_new_folders(intent: Intent, root: Root) -> None:
    """Remove the folders that a change set made, if nobody put anything into them."""
    for folder in sorted(intent.new_folders, key=len, reverse=True):
        with suppress(OSError), root.locate(folder, follow_last=False) as place:
            os.rmdir(place.name, dir_fd=place.folder)
