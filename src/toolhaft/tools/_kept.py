"""What a tool keeps from call to call: a JSON file in `.toolhaft`, the folder of the workspace that is ours.

A change is one thread hop and one change set: read, changed and written by compare-and-swap, so that whoever changes
the same file at the same time loses nothing. What cannot be read is never overwritten.
"""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Generic, TypeVar

from pydantic import TypeAdapter, ValidationError

from toolhaft.exceptions import ToolExecutionError
from toolhaft.workspace import Files, workspace
from toolhaft.workspace.changes import ChangeSet
from toolhaft.workspace.files import FileChangedError

FOLDER = ".toolhaft"
_ATTEMPTS = 20  # each fails only where somebody else's has just succeeded

T = TypeVar("T")
R = TypeVar("R")


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept(Generic[T]):
    """One file of a tool: `folder` is the tool's own below `.toolhaft`, `shape` what the file holds."""

    tool: str
    folder: str
    file: str
    shape: TypeAdapter[T]
    empty: Callable[[], T]

    @property
    def path(self) -> str:
        """Where it is, relative to the workspace."""
        return f"{FOLDER}/{self.folder}/{self.file}"

    async def read(self) -> T:
        """Return what is kept."""

        def read(files: Files) -> T:
            try:
                with files.open_file(self.path) as file:
                    return self._loaded(file.read())
            except FileNotFoundError:
                return self.empty()

        return await workspace().in_thread(read)

    async def change(self, edit: Callable[[T], R]) -> R:
        """Return what `edit` answers, with what it made of the kept value written; nothing is, where it raises."""

        def change(files: Files) -> R:
            for _ in range(_ATTEMPTS - 1):
                with suppress(FileChangedError):
                    return self._changed(files, edit)
            return self._changed(files, edit)

        return await workspace().in_thread(change)

    def _changed(self, files: Files, edit: Callable[[T], R]) -> R:
        with files.change(self.tool) as change:
            try:
                value = self._loaded(change.read(self.path))
            except FileNotFoundError:
                value = self.empty()
                self._keep_out_of_searches(change)
            answer = edit(value)
            change.write(self.path, self.shape.dump_json(value, indent=1) + b"\n")
        return answer

    def _keep_out_of_searches(self, change: ChangeSet) -> None:
        ignore_file = f"{FOLDER}/{self.folder}/.gitignore"
        try:
            change.read(ignore_file)
        except FileNotFoundError:
            change.write(ignore_file, b"*\n")

    def _loaded(self, data: bytes) -> T:
        try:
            return self.shape.validate_json(data)
        except ValidationError as error:
            raise ToolExecutionError(
                self.tool,
                f"what it keeps in {self.path!r} cannot be read: {error.errors(include_url=False)[0]['msg']}.",
                error,
                suggested_fix="Repair that file, or move it out of the way; it is never overwritten unread.",
            ) from error
