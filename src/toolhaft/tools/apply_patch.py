"""Apply a patch to one file or many: all of it, or nothing."""

import re
from collections.abc import Sequence
from dataclasses import asdict, replace
from typing import Any

from toolhaft.decorators import base_tool
from toolhaft.decorators.routing import route_file
from toolhaft.editing.diff import UnifiedDiff, edits_diff
from toolhaft.editing.exact import Edit, spliced
from toolhaft.editing.patch_plan import FileChange, plan_patch
from toolhaft.editing.refusal import EditError, Reason
from toolhaft.spec import ToolKind, ToolText
from toolhaft.tools._changing import (
    Staged,
    change_files,
    content_diff,
    counted,
    decode_loosely,
    edits_in_bytes,
    encode_loosely,
)
from toolhaft.workspace.changes import ChangeSet
from toolhaft.workspace.text import UTF_8, Encoding, encode

_EXECUTABLE = 0o111
# A patch as diff and git make it, of a file that begins with a byte order mark or gets one.
_SHOWS_MARK = r"(?m)^[ +-]\ufeff"
_NO_DIFF = UnifiedDiff(text="", added=0, removed=0, truncated=False)


async def _preview(patch: str, filepath: str | None = None, expected_hash: str | None = None) -> ToolText:
    return await _apply(patch, filepath, expected_hash, preview=True)


@base_tool(kind=ToolKind.WRITE, preview=_preview)
async def apply_patch(patch: str, filepath: str | None = None, expected_hash: str | None = None) -> str:
    """Apply a unified diff, or a patch in the form `*** Begin Patch`, to all its files or to none; answer the diffs.

    Files are changed, added, deleted, renamed and given modes. The body of a hunk counts, not its numbers: it is
    applied where its lines stand exactly, at the nearest place if that is the only one. With `filepath` the patch may
    be about that file only, and its headers may be missing.

    Raises `ModelRetry` with every hunk's reason where it does not fit; then nothing has changed.
    """
    try:
        return await _apply(patch, filepath, expected_hash, preview=False)
    except OSError as error:
        named = filepath or getattr(error, "path", None) or error.filename or "the patch"
        raise route_file("apply_patch", error, filepath=str(named), writes=True) from error


async def _apply(patch: str, filepath: str | None, expected_hash: str | None, *, preview: bool) -> ToolText:
    def stage(change: ChangeSet) -> Staged:
        encode(patch)  # what cannot be written at all is refused before anything else
        return _Patch(change, shows_mark=bool(re.search(_SHOWS_MARK, patch))).staged(patch, filepath)

    return await change_files("apply_patch", stage, filepath=filepath, expected_hash=expected_hash, preview=preview)


class _Patch:
    """One patch on its way into a change set; remembers how each file that it read is encoded.

    With `shows_mark` a byte order mark counts as a character of the first line, as the patch shows it; else the patch
    knows nothing of it, and it stays.
    """

    def __init__(self, change: ChangeSet, *, shows_mark: bool) -> None:
        self._change = change
        self._shows_mark = shows_mark
        self._encodings: dict[str, Encoding] = {}
        self._before: dict[str, bytes] = {}

    def staged(self, patch: str, filepath: str | None) -> Staged:
        planned = [*plan_patch(patch, self._read, filepath=filepath, reserve=self._change.reserve)]
        self._check_apart(planned)
        told = ", ".join(_told(change) for change in planned)
        facts = {"hunks": [_hunk(change.path, asdict(hunk)) for change in planned for hunk in change.hunks]}
        diffs = dict.fromkeys([change.path for change in planned], _NO_DIFF)
        # What goes away is staged first, so that a name that becomes free can be taken.
        planned.sort(key=lambda change: change.kind in ("delete", "rename"))
        while planned:  # a text, which may be large, is let go of before the new content is made
            change, edits = self._without_text(planned.pop())
            diffs[change.path] = self._staged(change, edits)
        return Staged(
            sentence=f"Applied the patch ({told}): {counted(list(diffs.values()))}.", diffs=diffs, facts=facts
        )

    def _check_apart(self, planned: Sequence[FileChange]) -> None:
        """Refuse a patch that reaches one file by two names: the second change would undo the first."""
        names: dict[object, str] = {}
        for change in planned:
            other = names.setdefault(self._change.key(change.path), change.path)
            if other != change.path:
                raise EditError(
                    Reason.CONFLICT,
                    f"The patch was not applied; no file was changed. {other!r} and {change.path!r} are one file "
                    "by two names (a link). Name it once.",
                )

    def _read(self, path: str) -> str | None:
        try:
            self._before[path] = self._change.read(path)
        except (FileNotFoundError, NotADirectoryError):
            return None
        text, encoding = decode_loosely(self._before[path])
        if self._shows_mark and encoding.bom:
            text, encoding = f"\ufeff{text}", encoding._replace(bom=b"")
        self._encodings[path] = encoding
        return text

    def _without_text(self, change: FileChange) -> tuple[FileChange, list[Edit[bytes]] | None]:
        """The change with edits of the file's bytes, where they are UTF-8, and then without its texts."""
        encoding = self._encodings.get(change.old_path or change.path, UTF_8)
        if change.old_text is None or change.whole_text is not None or encoding.codec != UTF_8.codec:
            return change, None
        return replace(change, old_text=None, edits=()), edits_in_bytes(change.old_text, change.edits, encoding)

    def _staged(self, change: FileChange, edits: list[Edit[bytes]] | None) -> UnifiedDiff:
        """Stage one change and return its diff."""
        before = None if change.kind == "add" else self._before.get(change.old_path or change.path)
        if change.kind == "delete":
            self._change.delete(change.path)
            return content_diff(change.path, before, None)
        if change.kind == "rename" and change.old_path is not None:
            self._change.rename(change.old_path, change.path)
        if change.kind == "copy" and change.old_path is not None:
            self._change.copy(change.old_path, change.path)
        new = self._content(change) if before is None or edits is None else spliced(before, edits)
        self._change.write(change.path, new, mode=self._mode(change))
        if change.kind == "change" and before is not None and edits is not None:
            return edits_diff(before, edits, path=change.path)
        return content_diff(change.path, before, new, old_path=change.old_path, is_copy=change.kind == "copy")

    def _mode(self, change: FileChange) -> int | None:
        """The mode to set: of what git knows, only whether a file can be executed is taken over to one that exists."""
        if change.mode is None or (old := self._change.mode(change.path)) is None:
            return change.mode
        return old | _EXECUTABLE if change.mode & _EXECUTABLE else old & ~_EXECUTABLE

    def _content(self, change: FileChange) -> bytes:
        assert change.text is not None
        return encode_loosely(change.text, self._encodings.get(change.old_path or change.path, UTF_8))


def _told(change: FileChange) -> str:
    verb = {"add": "added", "change": "changed", "delete": "deleted", "rename": "renamed", "copy": "copied"}[
        change.kind
    ]
    off = [f"hunk {hunk.number} {hunk.offset:+} lines" for hunk in change.hunks if hunk.offset]
    name = change.path if change.old_path is None else f"{change.old_path} to {change.path}"
    mode = "" if change.mode is None else f", mode {change.mode:o}"
    return f"{verb} {name}{mode}" + (f", {', '.join(off)} off" if off else "")


def _hunk(path: str, hunk: dict[str, Any]) -> dict[str, Any]:
    return {"path": path, **hunk}
