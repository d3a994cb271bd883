"""A change set of a workspace that knows no more than whole files: published one by one, without a journal.

On an error it puts back what it wrote already; a kill in between, or a change that somebody makes at the same time,
is not guarded against, and nothing can be undone afterwards. The notes say so.
"""

from collections.abc import Iterable
from typing import Protocol

from .changes import Applied, ChangeSet, FileChange, Target
from .replace import changed

_NOTE = (
    "This workspace keeps no journal: the files were written one by one, and this change cannot be undone by its id."
)


class WholeFiles(Protocol):
    """The few things that a workspace elsewhere can do with a file."""

    def fetch(self, path: str) -> bytes:
        """Return the content of a file."""
        ...

    def put(self, path: str, data: bytes) -> None:
        """Write a whole file."""
        ...

    def remove(self, path: str) -> None:
        """Remove a file."""
        ...

    def exists(self, path: str) -> bool:
        """Whether there is a file or folder."""
        ...

    @property
    def allow_delete(self) -> bool:
        """Whether tools may delete files there."""
        ...

    def relative(self, path: str) -> str:
        """Return a path as a model should see it."""
        ...


class FarTarget(Target):
    """A file of a workspace elsewhere, with the content that was read, so that it can be put back."""

    def __init__(self, files: WholeFiles, path: str) -> None:
        self.given = path
        self.exists = files.exists(path)
        self.content: bytes | None = None
        self._files = files

    def read(self) -> bytes:
        """Return the content, fetched once."""
        if self.content is None:
            self.content = self._files.fetch(self.given)
        return self.content


class OneByOne(ChangeSet):
    """The change set of one block in a workspace elsewhere."""

    def __init__(self, files: WholeFiles, *, preview: bool = False, expected_plan: str | None = None) -> None:
        super().__init__(preview=preview, expected_plan=expected_plan)
        self._files = files
        self._targets: dict[str, FarTarget] = {}

    def reserve(self, paths: Iterable[str]) -> None:
        """Do nothing: there are no locks elsewhere."""

    def name(self, path: str) -> str:
        """Return a path as a model should see it."""
        return self._files.relative(path)

    def apply(self) -> Applied:
        """Write what was staged, file by file; on an error, put back what was written."""
        targets = [
            target for target in self._targets.values() if target.staged and (target.exists or target.will_exist)
        ]
        files = tuple(self._shown(target) for target in targets if target.renamed_to is None)
        self._check_plan(files)
        done: list[FarTarget] = []
        try:
            for target in () if self.preview else targets:
                self._check_unchanged(target)
                done.append(target)
                self._put(target.given, target.data)
        except BaseException:
            for target in reversed(done):
                self._put(target.given, target.content)
            raise
        notes = [_NOTE] if targets and not self.preview else []
        if any(target.mode is not None for target in targets):
            notes.append("Permission bits cannot be set in this workspace and were left as they are.")
        self._applied = Applied(change_id=None, files=files, notes=tuple(notes))
        return self._applied

    def _target(self, path: str, *, follow_last: bool = True, to_write: bool = True) -> FarTarget:
        name = self._files.relative(path)
        if name not in self._targets:
            self._targets[name] = FarTarget(self._files, path)
        return self._targets[name]

    def _check_delete(self, action: str) -> None:
        if not self._files.allow_delete:
            raise PermissionError(
                f"cannot {action}: this workspace does not say that deleting is allowed. Leave the file, or let "
                "whoever set up the workspace give its backend allow_delete=True."
            )

    def _check_unchanged(self, target: FarTarget) -> None:
        there = self._files.exists(target.given)
        if there != target.exists or (there and self._files.fetch(target.given) != target.content):
            raise changed(target.given)

    def _put(self, path: str, data: bytes | None) -> None:
        if data is not None:
            self._files.put(path, data)
        elif self._files.exists(path):
            self._files.remove(path)

    def _shown(self, target: FarTarget) -> FileChange:
        origin = target.renamed_from or target
        source = target.renamed_from or target.copied_from
        return FileChange(
            path=self._files.relative(target.given),
            old_path=None if source is None else self._files.relative(source.given),
            size=len(target.data or b""),
            created=not target.exists and origin is target,
            deleted=target.data is None,
            mode_asked=target.mode,
            before=origin.old,
            after=target.new,
        )
