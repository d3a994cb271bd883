"""Take back a change set: bytes, modes and existence, as a change set of its own, so that this can be undone too."""

import errno
import os
import stat

from .changes import Applied, UndoRefusedError
from .digest import Digest
from .local_changes import LocalChangeSet
from .local_target import LocalTarget
from .publication import Ground
from .records import Entry, FileState, is_in
from .recovery import remove_new_folders
from .replace import Version

_SOMETHING_ELSE = frozenset({errno.EISDIR, errno.ENOTDIR, errno.EINVAL, errno.ELOOP})


def undo(ground: Ground, change_id: str) -> Applied:
    """Return what was changed back.

    Raises `UnknownChangeError`, and `UndoRefusedError` where a file has changed since; then nothing is changed.
    """
    intent, entries = ground.journal.find(change_id)
    change = LocalChangeSet(ground, f"undo {change_id}")
    try:
        change.reserve(entry.path for entry in entries)
        held = [(entry, _hold(change, entry)) for entry in entries]
        changed = [entry.path for entry, target in held if target is None or not _is_as_left(entry, target)]
        if changed:
            raise UndoRefusedError(
                f"change {change_id!r} cannot be undone, and nothing was: {', '.join(map(repr, changed))} changed "
                "since. Look at what is there now and change it back by hand."
            )
        try:
            for entry, target in held:
                assert target is not None
                _stage(change, entry, target)
        except FileNotFoundError as error:  # an image that was pruned meanwhile
            raise ground.journal.unknown(change_id) from error
        applied = change.apply()
    finally:
        change.close()
    remove_new_folders(intent, ground.root)
    return applied


def _hold(change: LocalChangeSet, entry: Entry) -> LocalTarget | None:
    """Hold a file of the change set; None where a folder, a FIFO or the like has its name or stands in its way now."""
    access = os.O_RDONLY if entry.before is None else os.O_RDWR
    try:
        return change.hold(entry.path, follow_last=False, access=access)
    except OSError as error:
        if error.errno not in _SOMETHING_ELSE:
            raise
        return None


def _is_as_left(entry: Entry, target: LocalTarget) -> bool:
    if target.place.missing:
        return entry.after is None
    if not is_in(entry.after, target.place.name, folder=target.place.folder):
        return False
    return target.info is None or not _mode_changes(entry) or stat.S_IMODE(target.info.st_mode) == _mode(entry.after)


def _mode_changes(entry: Entry) -> bool:
    return entry.before is not None and _mode(entry.before) != _mode(entry.after)


def _mode(state: FileState | None) -> int | None:
    return None if state is None else state.mode


def _stage(change: LocalChangeSet, entry: Entry, target: LocalTarget) -> None:
    if target.held.fd is not None:
        target.old = Digest(target.read())
    if entry.before is None:
        target.stage(None)
    elif entry.before.link is not None:
        target.stage(None)
        target.new_link = entry.before.link
    else:
        assert entry.image is not None
        image = change.open_image(entry.image)
        target.stage(_content(entry, image), mode=entry.before.mode if _mode_changes(entry) else None)
        if not target.exists:
            target.like = image  # the owner and the attributes are known from nowhere else


def _content(entry: Entry, image: int) -> bytes:
    """Return the old content, unless a program that still had the old file open wrote to it."""
    assert entry.before is not None
    assert entry.before.seen is not None
    with open(image, "rb", closefd=False) as file:
        content = file.read()
    seen, now = entry.before.seen, Version.of(os.fstat(image))
    if seen.sha256 is not None:
        intact = Digest(content).hex == seen.sha256
    else:
        intact = now == seen.version if now.inode == seen.version.inode else now.size == seen.version.size
    if not intact:
        raise UndoRefusedError(
            f"the change of {entry.path!r} cannot be undone, and nothing was: a program that had the old file open "
            "wrote to it since, so what it held before is not known any more. Change it back by hand."
        )
    return content
