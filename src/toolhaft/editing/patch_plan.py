"""From a patch to the changes of all its files: every one of them, or none.

The plan is made on texts that a callable gives; nothing is written. Whoever writes the plan can do so all at once,
because every hunk of every file has its place before the first byte changes.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

from toolhaft.editing.exact import Edit, spliced
from toolhaft.editing.patch_apply import PlacedHunk, apply_hunks
from toolhaft.editing.patch_files import existing_path, matches_filepath, new_path, possible_paths
from toolhaft.editing.patch_model import FilePatch, Kind, PatchError, PatchProblem
from toolhaft.editing.patch_parse import parse_patch
from toolhaft.editing.refusal import Reason

__all__ = ["FileChange", "plan_patch"]

Read = Callable[[str], str | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class FileChange:
    """What becomes of one file.

    `path` is its name afterwards (for a deletion: its name), `old_path` the name it had or was copied from, where that
    is another. `old_text` and `text` are None where there is no file. `mode` is 0o644 or 0o755 where the patch sets it.
    `edits` lead from `old_text` to `text`; where `whole_text` is given, that is the text, and they do not count.
    """

    kind: Kind
    path: str
    old_path: str | None = None
    old_text: str | None = None
    whole_text: str | None = None
    mode: int | None = None
    hunks: tuple[PlacedHunk, ...] = ()
    edits: tuple[Edit[str], ...] = ()

    @property
    def text(self) -> str | None:
        """The text afterwards, made when it is asked for: it may be large."""
        if self.kind == "delete":
            return None
        if self.whole_text is not None or self.old_text is None:
            return self.whole_text
        return spliced(self.old_text, self.edits)


def plan_patch(
    patch: str, read: Read, *, filepath: str | None = None, reserve: Callable[[Iterable[str]], None] | None = None
) -> tuple[FileChange, ...]:
    r"""The changes that `patch` makes, one for each file; raises `PatchError` with every problem there is.

    `read` gives the text of a file, None where there is none; what it raises comes through. It is only asked for paths
    that are relative and without `..`, and for `filepath`. With `filepath` the patch may be about that file only; then
    its headers may be missing, or give only the end of the path. `reserve` is told every path that may be read, before
    the first one is: not all of them need exist.

    >>> plan_patch("--- a/f.txt\n+++ b/f.txt\n@@ -1 +1 @@\n-a\n+b\n", {"f.txt": "a\n"}.get)[0].text
    'b\n'
    """
    tree = _Tree(read)
    problems: list[PatchProblem] = []
    sections = parse_patch(patch)
    if reserve is not None and filepath is None:
        reserve(set[str]().union(*map(possible_paths, sections)))
    for section in sections:
        try:
            tree.make(_change(_meant(section, filepath), tree))
        except PatchError as refused:
            problems.extend(refused.problems)
    if problems:
        raise PatchError(*problems)
    return tuple(tree.changes)


class _Tree:
    """The files as they are after the changes planned so far: a patch may name a file twice."""

    def __init__(self, read: Read) -> None:
        self._read = read
        self._texts_before: dict[str, str | None] = {}
        self._changed: dict[str, FileChange | None] = {}
        self.changes: list[FileChange] = []

    def text(self, path: str) -> str | None:
        if path in self._changed:
            change = self._changed[path]
            return None if change is None else change.text
        return self.text_before(path)

    def exists(self, path: str) -> bool:
        return self.text(path) is not None

    def text_before(self, path: str) -> str | None:
        """The text that the file had before the patch: what a copy is made of, as git has it."""
        if path not in self._texts_before:
            self._texts_before[path] = self._read(path)
        return self._texts_before[path]

    def existed(self, path: str) -> bool:
        return self.text_before(path) is not None

    def make(self, change: FileChange) -> None:
        about = change.path if change.kind == "copy" else change.old_path or change.path
        before = next((made for made in self.changes if made.path == about), None)
        if before is not None:
            self.changes.remove(before)
            change = _joined(before, change)
        self.changes.append(change)
        if change.kind == "rename" and change.old_path is not None:
            self._changed[change.old_path] = None
        self._changed[change.path] = change


def _joined(before: FileChange, change: FileChange) -> FileChange:
    """Two changes of one file as one."""
    hunks, mode = before.hunks + change.hunks, change.mode or before.mode
    if change.kind == "change":
        return replace(before, whole_text=change.text, hunks=hunks, mode=mode)
    if before.kind == "change" and change.kind in ("delete", "rename"):
        return replace(change, old_text=before.old_text, whole_text=change.text, hunks=hunks, mode=mode)
    if before.kind == "delete" and change.kind == "add":
        return replace(change, kind="change", old_text=before.old_text)
    raise _refused(Reason.CONFLICT, f"the patch names it twice, to {before.kind} and to {change.kind} it.", change.path)


def _meant(section: FilePatch, filepath: str | None) -> FilePatch:
    """The section with `filepath` for its name, where that is given; it must not be about another file."""
    if filepath is None:
        if section.old_name is None and section.new_name is None:
            raise _refused(Reason.MALFORMED, "no file is named. Put --- and +++ lines before the hunks.", None)
        return section
    if section.kind in ("rename", "copy") or not matches_filepath(section, filepath):
        name = section.new_name or section.old_name
        raise _refused(
            Reason.CONFLICT,
            f"filepath limits the patch to {filepath!r}, but it is also about this file. Leave out filepath.",
            name,
        )
    old, new = None if section.kind == "add" else filepath, None if section.kind == "delete" else filepath
    return replace(section, old_name=old, new_name=new, names_are_plain=True)


def _change(section: FilePatch, tree: _Tree) -> FileChange:
    if section.kind == "add":
        return _added(section, tree)
    exists, read = (tree.existed, tree.text_before) if section.kind == "copy" else (tree.exists, tree.text)
    path = existing_path(section, exists)
    text = None if path is None else read(path)
    if path is None or text is None:
        if section.kind == "change" and _only_adds(section):
            return _added(section, tree)
        raise _refused(Reason.MISSING_FILE, "there is no such file.", _named(section))
    if section.kind == "delete":
        return _deleted(section, path, text)
    if section.kind in ("rename", "copy"):
        return _moved(section, tree, path, text)
    return _changed(section, path, text)


def _named(section: FilePatch) -> str:
    """The path to name where the file of a section is missing."""
    return new_path(replace(section, new_name=None) if section.kind in ("rename", "copy") else section)


def _only_adds(section: FilePatch) -> bool:
    """Whether its hunks say that there was nothing before: `-0,0` and added lines only."""
    return all(not hunk.old and hunk.old_start == 0 for hunk in section.hunks) and bool(section.hunks)


def _added(section: FilePatch, tree: _Tree) -> FileChange:
    path = new_path(section)
    body = [line for hunk in section.hunks for line in hunk.body]
    # A blank line that has lost its + can be nothing but a line of the new file.
    if any(mark == "-" or (mark == " " and line.strip("\r")) for mark, line in body):
        raise _refused(Reason.MALFORMED, "a new file has only added lines; begin every one with +.", path)
    unterminated = bool(section.hunks) and section.hunks[-1].new_unterminated
    text = "\n".join(line for _, line in body) + ("\n" if body and not unterminated else "")
    if tree.exists(path):
        if tree.text(path) == text:
            raise _refused(Reason.ALREADY_APPLIED, "it exists and has this very text: it is applied already.", path)
        raise _refused(Reason.FILE_EXISTS, "the patch makes it a new file, but it exists. Patch it instead.", path)
    placed = tuple(
        PlacedHunk(number=hunk.number, line=1, offset=0, added=len(hunk.body), removed=0) for hunk in section.hunks
    )
    return FileChange(kind="add", path=path, whole_text=text, mode=section.mode, hunks=placed)


def _deleted(section: FilePatch, path: str, text: str) -> FileChange:
    patched = apply_hunks(text, section.hunks, path=path)
    left = spliced(text, patched.edits)
    if left and not section.unchecked_delete:
        more = left.count("\n") or 1
        lines = "1 line" if more == 1 else f"{more:,} lines"
        raise _refused(
            Reason.CONFLICT,
            f"the patch deletes it, but does not show all that is in it ({lines} more). "
            "Read it again before deleting it.",
            path,
        )
    return FileChange(kind="delete", path=path, old_text=text, hunks=patched.hunks)


def _moved(section: FilePatch, tree: _Tree, path: str, text: str) -> FileChange:
    target = new_path(section)
    if target == path:
        return _changed(section, path, text)
    if tree.exists(target):
        raise _refused(Reason.FILE_EXISTS, f"{path!r} cannot take this name: there is such a file.", target)
    patched = apply_hunks(text, section.hunks, path=path, in_order=section.in_order)
    return FileChange(
        kind=section.kind,
        path=target,
        old_path=path,
        old_text=text,
        mode=section.mode,
        hunks=patched.hunks,
        edits=patched.edits,
    )


def _changed(section: FilePatch, path: str, text: str) -> FileChange:
    patched = apply_hunks(text, section.hunks, path=path, in_order=section.in_order)
    is_same = all(text[edit.start : edit.end] == edit.new for edit in patched.edits)
    if is_same and section.mode is None:
        raise _refused(Reason.SAME, "the patch changes nothing in it.", path)
    return FileChange(
        kind="change",
        path=path,
        old_text=text,
        mode=section.mode,
        hunks=patched.hunks,
        edits=patched.edits,
    )


def _refused(reason: Reason, message: str, path: str | None) -> PatchError:
    return PatchError(PatchProblem(reason=reason, message=message, path=path))
