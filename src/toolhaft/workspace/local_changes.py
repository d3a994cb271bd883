"""A change set of a `LocalWorkspace`: its files are held as they are read, and published when the block ends."""

import errno
import os
from collections.abc import Iterable
from contextlib import ExitStack
from dataclasses import replace

from .beneath import Place
from .changes import Applied, ChangeSet
from .files import Locks, OpenFile, hold, open_for_change
from .local_target import LocalTarget, link_at
from .publication import Ground, Publication, shown
from .replace import HeldFile

# How often several files are opened anew because somebody replaced one of them while the others were waited for.
_MAX_ROUNDS = 100


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

    def hold(self, path: str, *, follow_last: bool = True, access: int = os.O_RDWR) -> LocalTarget:
        """Return the target that a path means, opened for `access` and held from now on."""
        with self.ground.root.locate(path, follow_last=follow_last) as place:
            self.ground.access.check_change(place.path, path)
            if place.path in self._targets:
                return self._targets[place.path]
            if not place.exists and path.endswith(("/", "/.")):
                raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), path)
            folder = self._open_folder(place)
            link = None if follow_last or not place.exists else link_at(place)
            if place.missing or link is not None:
                held = HeldFile(folder, place.name, given=path, fd=None)
            else:
                held = self._stack.enter_context(hold(folder, place.name, given=path, access=access, locks=self._locks))
            # The walk's own descriptors end here; this one stays.
            target = LocalTarget(replace(place, folder=folder), held, link=link)
        self._targets[place.path] = target
        return target

    def reserve(self, paths: Iterable[str]) -> None:
        """Hold several files in the order that is the same for every change."""
        names = list(paths)
        if self._locks is None or len(names) < 2:
            return
        for _ in range(_MAX_ROUNDS):
            with ExitStack() as stack:
                files = [file for name in names if (file := self._opened(name, stack)) is not None]
                if self._locks.take_all(files):
                    self._stack.enter_context(stack.pop_all())
                    return

    def _opened(self, path: str, stack: ExitStack) -> OpenFile | None:
        try:
            with self.ground.root.locate(path) as place:
                self.ground.access.check_change(place.path, path)
                if place.missing:
                    return None
                folder = self._open_folder(place)
                fd = open_for_change(folder, place.name, given=path, access=os.O_RDONLY)
        except (OSError, ValueError):  # told when the path is used
            return None
        if fd is None:
            return None
        stack.callback(os.close, fd)
        return OpenFile(fd=fd, folder=folder, name=place.name, given=path)

    def open_image(self, path: str) -> int:
        """Return a descriptor of a before-image, open until the block has ended."""
        fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
        self._stack.callback(os.close, fd)
        return fd

    def name(self, path: str) -> str:
        """Return a path as a model should see it."""
        return self.ground.relative(path)

    def apply(self) -> Applied:
        """Do what was staged, all of it or nothing."""
        targets = [target for target in self._targets.values() if target.changes]
        if self.preview:
            files = shown(targets, self.ground.relative)
            self._check_plan(files)
            self._applied = Applied(change_id=None, files=files)
        elif targets:
            self._applied = Publication(self.ground, self._operation, targets, check=self._check_plan).done()
        else:
            self._applied = Applied(change_id=None, files=())
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
