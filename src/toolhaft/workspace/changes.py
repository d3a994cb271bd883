"""A change set in the making: what a tool reads, wants written, removed or renamed, before any of it happens.

```python
with files.change("edit_file") as change:
    old = change.read("a.txt")
    change.write("a.txt", old.replace(b"colour", b"color"))
print(change.applied.change_id)
```

Nothing is changed before the block ends, and nothing at all where it raises. This module says what a change set is to
its user; how it reaches the disk is in `publication.py`, and for other workspaces in `one_by_one.py`.
"""

import errno
import hashlib
import json
import os
from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property

from .digest import Digest
from .replace import FileChangedError, Version


class UndoRefusedError(Exception):
    """A change cannot be taken back as things are, and nothing was."""


@dataclass(frozen=True, kw_only=True)
class FileChange:
    """What a change set did, or in a preview would do, to one file.

    `path` is relative to the workspace as a model should see it, `old_path` the one before a rename, or in a file that
    was `created` the one it is a copy of. `size` and `version` are those of the new file; a preview and other
    workspaces know no version. Modes are permission bits, None where there is no file or the workspace does not tell;
    `mode_asked` are those the change named. `means` is what the paths mean once links are followed, for the plan; and
    of a link that is removed itself, where it leads.
    """

    path: str
    old_path: str | None = None
    size: int = 0
    version: Version | None = None
    created: bool = False
    deleted: bool = False
    mode_before: int | None = None
    mode_after: int | None = None
    mode_asked: int | None = None
    means: tuple[str, ...] = ()
    before: Digest | None = field(default=None, repr=False, compare=False)
    after: Digest | None = field(default=None, repr=False, compare=False)

    @property
    def before_hash(self) -> str | None:
        """The SHA-256 of the content before, in hexadecimal digits; None where there was no file."""
        return None if self.before is None else self.before.hex

    @property
    def after_hash(self) -> str | None:
        """The SHA-256 of the content after, in hexadecimal digits; None where there is no file."""
        return None if self.after is None else self.after.hex


@dataclass(frozen=True, kw_only=True)
class Applied:
    """What a change set did. `change_id` takes it back (`undo`), None after a preview and where the notes say so."""

    change_id: str | None
    files: tuple[FileChange, ...]
    notes: tuple[str, ...] = ()

    @cached_property
    def plan_id(self) -> str:
        """A digest of what is changed from what to what: the same plan on the same bytes has the same."""
        return plan_id(self.files)


def plan_id(files: tuple[FileChange, ...]) -> str:
    """Return the digest of a plan over path and what it means, content before and after, and mode of every file."""
    rows = [
        [file.path, file.old_path, *file.means, file.before_hash, file.after_hash, file.mode_asked]
        for file in sorted(files, key=lambda file: file.path)
    ]
    return hashlib.sha256(json.dumps(rows).encode()).hexdigest()[:32]


class Target(ABC):
    """One file of a change set: what is there, and what is to be there."""

    given: str
    exists: bool
    is_link: bool = False
    old: Digest | None = None
    new: Digest | None = None
    data: bytes | None = None
    mode: int | None = None
    permissions: int | None = None
    staged = False
    renamed_from: "Target | None" = None
    renamed_to: "Target | None" = None
    copied_from: "Target | None" = None

    @abstractmethod
    def read(self) -> bytes:
        """Return the content that is there."""

    @property
    def will_exist(self) -> bool:
        """Whether there is a file once the change set is done, as far as it is staged."""
        return self.data is not None if self.staged else self.exists

    def stage(self, data: bytes | None, *, mode: int | None = None) -> None:
        """Say what is to be there; None is nothing."""
        self.staged, self.data = True, data
        self.mode = self.mode if mode is None else mode
        self.new = None if data is None else Digest(data)


class ChangeSet(ABC):
    """Reads and staged changes of one block; see the head of this module."""

    def __init__(self, *, preview: bool, expected_plan: str | None = None) -> None:
        self.preview = preview
        self._expected_plan = expected_plan
        self._applied: Applied | None = None

    @property
    def applied(self) -> Applied:
        """What was done, once the block has ended."""
        if self._applied is None:
            raise RuntimeError("a change is applied when its block ends, and not if it raises. Ask after the block.")
        return self._applied

    @abstractmethod
    def reserve(self, paths: Iterable[str]) -> None:
        """Hold several files before the first is read, so that of two changes of the same files none is refused.

        Otherwise each is held as it is read, and of two changes that want what the other holds one gives way. Paths
        that mean no file that can be held are passed over; what is wrong with them is told when they are used.
        """

    def read(self, path: str) -> bytes:
        """Return what a file holds, or is staged to hold; nobody else's tools change it before the block ends.

        Raises `FileNotFoundError`, `IsADirectoryError`, `PermissionError` as opening it would, `TimeoutError` where
        somebody else holds it.
        """
        target = self._target(path)
        if not target.will_exist:
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), path)
        if target.staged:
            assert target.data is not None
            return target.data
        return self._content(target)

    def expect(self, path: str, sha256: str) -> None:
        """Raise `FileChangedError` unless the content of a file has this SHA-256 (hexadecimal digits)."""
        content = self.read(path)
        target = self._target(path)
        found = target.new if target.staged else target.old
        assert found is not None, content
        if found.hex != sha256.strip().lower():
            raise FileChangedError(
                f"{path!r} is not what was expected: its content has the hash {found.hex}, not {sha256}. "
                "Read it again and repeat the change on what is there now."
            )

    def write(self, path: str, data: bytes, *, mode: int | None = None) -> None:
        """Stage new content. An existing file keeps mode, owner and attributes; a missing one is made, with folders.

        `mode` are permission bits to set. A file that somebody else makes meanwhile is a `FileChangedError`.
        """
        target = self._target(path)
        if target.exists and target.old is None:
            self._content(target)  # what it replaces must be known, to notice a change and to take it back
        target.stage(data, mode=mode)

    def delete(self, path: str) -> bytes | None:
        """Stage the removal of a file, and return its content; of a link itself, and return None.

        A folder is an `IsADirectoryError`; in a workspace that does not allow deleting, a `PermissionError`.
        """
        self._check_delete(f"delete {path!r}")
        target = self._target(path, follow_last=False, to_write=False)
        if not target.will_exist:
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), path)
        content = None if target.is_link else target.data if target.staged else self._content(target)
        target.stage(None)
        return content

    @abstractmethod
    def name(self, path: str) -> str:
        """Return a path as a model should see it: relative to the workspace, however it was given."""

    def key(self, path: str) -> object:
        """Return what tells a file from every other one, by whatever name it is called."""
        return self._target(path)

    def mode(self, path: str) -> int | None:
        """Return the permission bits of a file as it was found; None where there is none, or nobody tells them.

        For a name that a file is renamed or copied to they are that file's.
        """
        target = self._target(path)
        return (target.renamed_from or target.copied_from or target).permissions

    def rename(self, old: str, new: str) -> None:
        """Stage that a file's content, mode, owner and attributes go to a name that is free.

        It takes the old name away, so it is refused like `delete` where deleting is not allowed. Links are refused.
        """
        self._check_delete(f"rename {old!r}")
        source = self._target(old, follow_last=False, to_write=False)
        if source.is_link:
            raise ValueError(f"{old!r} is a link, and only files are renamed. Delete it, or rename what it points to.")
        content = self.read(old)
        target = self._target(new)
        if target.will_exist:
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), new)
        target.renamed_from, source.renamed_to = source, target
        target.stage(content, mode=source.mode)
        source.stage(None)

    def copy(self, old: str, new: str) -> None:
        """Stage that the content a file was found with, and its mode, also go to a name that is free."""
        source, target = self._target(old), self._target(new)
        content = self._content(source)
        if target.will_exist:
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), new)
        target.copied_from = source
        target.stage(content, mode=source.permissions)

    def _content(self, target: Target) -> bytes:
        content = target.read()
        if target.old is None:
            target.old = Digest(content)
        return content

    def _check_plan(self, files: tuple[FileChange, ...]) -> None:
        if self._expected_plan is not None and (found := plan_id(files)) != self._expected_plan:
            raise FileChangedError(
                f"this is not the plan {self._expected_plan!r} but {found!r}: the files, or the change, are not those "
                "that were previewed. Preview it again and apply the plan that comes out."
            )

    @abstractmethod
    def _target(self, path: str, *, follow_last: bool = True, to_write: bool = True) -> Target:
        """Return the target that a path means, the same one for every path to one file."""

    @abstractmethod
    def _check_delete(self, action: str) -> None:
        """Raise `PermissionError` where the workspace does not allow deleting."""
