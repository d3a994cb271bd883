"""One file of a change set in a `LocalWorkspace`: held as it was found, made new beside it, put in its place."""

import os
import stat
from collections.abc import Callable
from contextlib import ExitStack, suppress
from dataclasses import replace

from .beneath import Place
from .changes import FileChange, Target
from .folders import made_parents
from .records import FileState
from .replace import HeldFile, Seen, Version, changed, publish, publish_new, take_away
from .temporary import Temporary


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
    def seen(self) -> Seen:
        """The state in which a file was found; of a link or a free name there is none."""
        assert self.info is not None
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

    def prepare(self, stack: ExitStack) -> None:
        """Write the new content, if any, to a temporary file that waits until the stack ends."""
        if self.data is None:
            return
        if self.place.missing:
            self.held.folder = stack.enter_context(made_parents(self.place))
        like = self.like
        if self.renamed_from is not None:
            assert isinstance(self.renamed_from, LocalTarget)
            like = self.renamed_from.held.fd
        self.waiting = self.held.prepare(self.data, copy_of=self.copy_of, like=like, mode=self.mode)
        stack.callback(self.waiting.close)

    def publish(self) -> None:
        """Let what was staged take its place; raises `FileChangedError` where somebody else changed the file."""
        self.published = True  # also where an interrupt comes right after it was done
        try:
            self._take_place()
        except OSError:
            self.published = False
            raise

    def _take_place(self) -> None:
        folder, name = self.held.folder, self.place.name
        if self.link is not None:
            if link_at(replace(self.place, folder=folder)) != self.link:
                raise changed(self.given)
            os.unlink(name, dir_fd=folder)
        elif self.new_link is not None:
            os.symlink(self.new_link, name, dir_fd=folder)
        elif self.waiting is None:
            take_away(folder, name, seen=self.seen, given=self.given)
        elif self.info is None:
            publish_new(self.waiting.name, name, folder=folder)
        else:
            publish(self.waiting, name, seen=self.seen if self.compared else None, given=self.given)

    def twins(self) -> str:
        """Return a note where the file that was replaced has other names, mostly nothing."""
        other_names = 0 if self.info is None else self.info.st_nlink - 1
        if other_names < 1 or self.data is None:
            return ""
        return f"The file has {other_names} more name(s) (hard links); those keep the old content."

    def told(self, relative: Callable[[str], str]) -> FileChange:
        """Return what was done to it, or will be."""
        origin = self.renamed_from if isinstance(self.renamed_from, LocalTarget) else self
        source = self.renamed_from or self.copied_from
        before, after = origin.before(), self.after()
        version = None if after is None or after.seen is None else after.seen.version
        mode_before = None if before is None or before.link is not None else before.mode
        return FileChange(
            path=relative(self.given),
            old_path=None if source is None else relative(source.given),
            size=len(self.data or b"") if version is None else version.size,
            version=version,
            created=not self.exists and origin is self,
            deleted=self.data is None and self.new_link is None,
            mode_before=mode_before,
            mode_asked=self.mode,
            means=_means(self) + (() if source is None else _means(source)),
            mode_after=self._mode_after(after, mode_before),
            before=origin.old,
            after=self.new,
        )

    def _mode_after(self, after: FileState | None, mode_before: int | None) -> int | None:
        if self.data is None:
            return None
        if after is not None:
            return after.mode
        return self.mode if self.mode is not None else mode_before


def _means(target: Target) -> tuple[str, ...]:
    assert isinstance(target, LocalTarget)
    return (target.place.path,) if target.link is None else (target.place.path, target.link)


def link_at(place: Place) -> str | None:
    """Return where the link at a place leads; None where there is no link."""
    with suppress(FileNotFoundError):
        if stat.S_ISLNK(os.stat(place.name, dir_fd=place.folder, follow_symlinks=False).st_mode):
            return os.readlink(place.name, dir_fd=place.folder)
    return None
