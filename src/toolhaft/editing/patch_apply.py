"""Applies the hunks of one file to its text: all of them, or none.

Every hunk is placed on the text as it was before, then the order is checked: hunks may share context, but none may lie
on lines that another changes. Lines that stay are taken from the file, never from the patch.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from toolhaft.editing.exact import Edit
from toolhaft.editing.file_lines import FileLines, Piece
from toolhaft.editing.patch_model import Hunk, PatchError, PatchProblem
from toolhaft.editing.patch_place import Unplaced, is_literal, place_hunk
from toolhaft.editing.refusal import Reason

__all__ = ["Patched", "PlacedHunk", "apply_hunks"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Patched:
    """Where each hunk was placed, and the edits that apply them all."""

    hunks: tuple["PlacedHunk", ...] = ()
    edits: tuple[Edit[str], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class PlacedHunk:
    """Where a hunk was applied: the 1-based `line` of the text before, and how far that is from where it claimed."""

    number: int
    line: int
    offset: int
    added: int
    removed: int


def apply_hunks(text: str, hunks: Sequence[Hunk], *, path: str, in_order: bool = False) -> Patched:
    """How all `hunks` are applied to `text`; raises `PatchError` with a problem for every hunk that has no place.

    `in_order`: a hunk without a line number is looked for behind the one before it.
    """
    lines = FileLines(text)
    problems: list[PatchProblem] = []
    placed: list[tuple[Hunk, int]] = []
    behind = drift = 0
    for hunk in hunks:
        try:
            start = place_hunk(lines, hunk, hunks, behind=behind if in_order else None, drift=drift)
            _check_order(placed, hunk, start)
        except Unplaced as unplaced:
            problems.append(unplaced.problem(path, hunk))
        else:
            placed.append((hunk, start))
            behind = start + hunk.changed[1]
            drift = _offset(hunk, start)
    if problems:
        raise PatchError(*problems)
    if not placed:
        return Patched()
    pieces = [_piece(lines, *where) for where in placed]
    edits = tuple(lines.edits(pieces, lambda raw: _at_end(lines, raw, placed)))
    return Patched(hunks=tuple(_report(*where) for where in placed), edits=edits)


def _check_order(placed: Sequence[tuple[Hunk, int]], hunk: Hunk, start: int) -> None:
    if not placed:
        return
    before, at = placed[-1]
    first, behind = (at + offset for offset in before.changed)
    if start >= behind:
        return
    end = start + len(hunk.old)
    problem = "out of order: it lies before" if end <= first else "overlapping: it lies on lines that are changed by"
    raise Unplaced(
        Reason.CONFLICT,
        f"it is {problem} hunk {before.number} (line {at + 1:,}; this one fits on line {start + 1:,}). "
        "Send hunks from top to bottom, joined to one where they touch.",
    )


def _piece(lines: FileLines, hunk: Hunk, at: int) -> Piece:
    first, last = hunk.changed
    return at + first, at + last, _new_lines(lines, hunk, at, first, last)


def _new_lines(lines: FileLines, hunk: Hunk, start: int, first: int, last: int) -> list[str]:
    """What stands in the place of the old lines `first:last` of the hunk."""
    literal = not lines.raw or is_literal(lines, hunk, start)
    made: list[str] = []
    at = 0
    added: list[str] = []
    removed = 0
    for mark, line in [*hunk.body, (" ", "")]:
        if mark == "+":
            added.append(line)
        elif mark == "-":
            removed += 1
            at += 1
        else:
            if added:
                made += added if literal else lines.ended_alike(added, start + at - removed, start + at)
                added = []
            removed = 0
            if first <= at < last:
                made.append(lines.raw[start + at])
            at += 1
    return made


def _at_end(lines: FileLines, raw: list[str], placed: Sequence[tuple[Hunk, int]]) -> str:
    if not raw:
        return ""
    if _terminated(lines, placed):
        return "\n".join(raw) + "\n"
    hunk, start = placed[-1]
    keeps_its_last = start + hunk.changed[1] < len(lines.raw)
    says_its_last = hunk.new_unterminated and is_literal(lines, hunk, start)
    if lines.lent_cr if keeps_its_last else not says_its_last:
        raw[-1] = raw[-1].removesuffix("\r")  # it was the CR of a line end that is no longer there
    return "\n".join(raw)


def _terminated(lines: FileLines, placed: Sequence[tuple[Hunk, int]]) -> bool:
    """Whether a newline ends the new text: as before, unless the patch says otherwise."""
    for hunk, _ in placed:
        if hunk.new_unterminated:
            return False
        if hunk.old_unterminated:
            return True
    return lines.terminated


def _report(hunk: Hunk, start: int) -> PlacedHunk:
    return PlacedHunk(
        number=hunk.number,
        line=start + 1,
        offset=_offset(hunk, start),
        added=len(hunk.body) - len(hunk.old),
        removed=len(hunk.body) - len(hunk.new),
    )


def _offset(hunk: Hunk, start: int) -> int:
    return 0 if hunk.old_start is None else start - max(hunk.old_start - 1, 0)
