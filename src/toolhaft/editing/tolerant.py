"""Replacement that forgives what a model cannot see or easily gets wrong, and nothing else.

A ladder: the exact text; then, line by line, blanks at line ends; indentation shifted as a block, quotes, dashes and
blanks of Unicode; and last a block that is alike as a whole. A place is taken only if it is the only one on its rung.
Whatever the rung, only the lines that differ between the old and the new text are written: what the file has on the
other lines stays as the file has it.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice

from toolhaft.editing.applied import applied_line
from toolhaft.editing.diff import difference
from toolhaft.editing.exact import Edit, Replaced, line_numbers, replace_exact, spans_of, spliced
from toolhaft.editing.file_lines import FileLines, block_starts
from toolhaft.editing.indentation import Rule, indent_rule
from toolhaft.editing.line_diff import line_changes
from toolhaft.editing.line_ends import fit_line_ends
from toolhaft.editing.nearest import shown_nearest
from toolhaft.editing.placeholders import refuse_placeholder
from toolhaft.editing.refusal import EditError, Reason
from toolhaft.editing.similar import most_similar
from toolhaft.editing.typography import plain
from toolhaft.editing.wording import is_reworded, says_the_same

__all__ = ["replace_tolerant"]

MOST_CANDIDATES = 100
MOST_LINES_NAMED = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class Match:
    """A place for the old lines: for each its line in the file, if it has one there, and how to indent new lines."""

    rung: str
    lines: Sequence[int | None]
    rule: Rule

    @property
    def start(self) -> int:
        """The first line of the file that belongs to it."""
        return next(line for line in self.lines if line is not None)


def replace_tolerant(text: str, old: str, new: str, *, replace_all: bool = False) -> Replaced[str]:
    r"""`text` with `old` replaced by `new`: exactly where it stands so, else at the one place that can be meant.

    `rung` of the answer says how it was found: "exact", "trailing blanks", "indentation", "punctuation" or "similar".
    `replace_all` replaces every exact occurrence; on the other rungs there must be one place in any case. Raises
    `EditError`: like `replace_exact`, and also where `new` stands there already, where it leaves text out by a
    placeholder, and, with the nearest text shown, where nothing matches.

    >>> replace_tolerant("if x:\n    y = 1\n    z\n", "y = 1\nz", "y = 2\nz").text
    'if x:\n    y = 2\n    z\n'
    """
    refuse_placeholder(old, new)
    try:
        return replace_exact(text, old, new, replace_all=replace_all)
    except EditError as refused:
        if refused.reason is not Reason.NOT_FOUND or not old.strip():
            raise
    return _Search(text, old, new).replaced()


class _Search:
    """One search down the ladder, after the exact text was not found."""

    def __init__(self, text: str, old: str, new: str) -> None:
        self.text = text
        self.given = old, new
        while old.startswith("\n") and new.startswith("\n"):
            old, new = old[1:], new[1:]
        self.lines = FileLines(text)
        self.old = _lines_of(old)
        # An old text that ends with its newline, and nothing for it: its last line goes, newline and all.
        self.new = [] if not new and old.endswith("\n") else _lines_of(new) if old.endswith("\n") else new.split("\n")

    def replaced(self) -> Replaced[str]:
        by_characters = self._by_characters()
        if by_characters is not None:
            return by_characters
        match = self._by_lines()
        if match is None:
            self._check_not_applied()
            match = self._by_likeness()
        if match is None:
            raise self._not_found()
        return self._written(match)

    def _not_found(self) -> EditError:
        shown, lines = shown_nearest(self.lines.bare, self.old)
        return EditError(Reason.NOT_FOUND, f"The old text is not in the file, not even nearly. {shown}", lines)

    def _by_lines(self) -> Match | None:
        """The one match on the rungs that compare line by line."""
        found = [match for start in self._loose_starts() if (match := self._match_at(start)) is not None]
        closest = [match for match in found if match.rung == "trailing blanks"] or found
        if len(closest) > 1:
            raise _ambiguous([match.start for match in closest])
        if closest and self._is_applied(closest[0].start):
            raise _applied((closest[0].start + 1,))
        return closest[0] if closest else None

    def _loose_starts(self) -> list[int]:
        """Where all old lines stand, leaving aside blanks at both ends of a line and the kind of quotes and dashes."""
        block = [_loosened(line) for line in plain("\n".join(self.old)).split("\n")]
        texts = (plain("\n".join(lines)) for _, lines in self.lines.bare.pieces())
        keys = [_loosened(line) for text in texts for line in text.split("\n")]
        return list(islice(block_starts(keys, block), MOST_CANDIDATES))

    def _match_at(self, start: int) -> Match | None:
        found = self.lines.bare[start : start + len(self.old)]
        pairs = list(zip(self.old, found, strict=True))
        where = range(start, start + len(found))
        if all(wanted.rstrip(" \t\r") == there.rstrip(" \t\r") for wanted, there in pairs):
            return Match(rung="trailing blanks", lines=where, rule=lambda line: line)
        rule = indent_rule((wanted, plain(there)) for wanted, there in pairs)
        if rule is None:
            return None
        same = all(wanted.strip(" \t\r") == there.strip(" \t\r") for wanted, there in pairs)
        return Match(rung="indentation" if same else "punctuation", lines=where, rule=rule)

    def _is_applied(self, start: int) -> bool:
        """Whether the new lines stand over all of the match already, so that the change would be made twice."""
        new = self.new
        starts = range(max(start + len(self.old) - len(new), 0), start + 1)
        return any(line.strip() for line in new) and any(self.lines.bare[at : at + len(new)] == new for at in starts)

    def _by_characters(self) -> Replaced[str] | None:
        """The old text within a line, leaving aside the kind of quotes, dashes and blanks: a sign stands for a sign."""
        old, new = self.given
        if "\n" in old or (self.text.isascii() and old.isascii()):
            return None
        starts = [
            start for start, _ in islice(spans_of(plain(self.text), plain(old), overlapping=True), MOST_CANDIDATES)
        ]
        if len(starts) > 1:
            raise _ambiguous([number - 1 for number in line_numbers(self.text, starts)])
        if not starts:
            return None
        # What both begin and end with stays as the file has it.
        kept = difference(old, new)
        start, end = starts[0] + kept.start, starts[0] + kept.end
        edit = Edit(start=start, end=end, new=fit_line_ends(self.text, kept.new, start=start, end=end))
        if self.text[start:end] == edit.new:
            raise _applied(tuple(line_numbers(self.text, starts)))
        return Replaced(text=spliced(self.text, [edit]), edits=(edit,), rung="punctuation")

    def _check_not_applied(self) -> None:
        line = applied_line(self.text, self.lines, *self.given)
        if line is not None:
            raise _applied((line,))

    def _by_likeness(self) -> Match | None:
        pairing = most_similar(self.lines.bare, self.old)
        if pairing is None:
            return None
        pairs = [(wanted, self.lines.bare[at]) for wanted, at in zip(self.old, pairing, strict=True) if at is not None]
        same = [(wanted, plain(there)) for wanted, there in pairs if _is_same(wanted, there)]
        rule = indent_rule(same)
        return None if rule is None else Match(rung="similar", lines=pairing, rule=rule)

    def _written(self, match: Match) -> Replaced[str]:
        changes: list[tuple[int, int, list[str]]] = []
        changed = line_changes(self.old, self.new)
        for change in changed:
            start, end = self._lines_to_replace(match, change.old_start, change.old_end)
            added = [match.rule(line) for line in self.new[change.new_start : change.new_end]]
            changes.append((start, end, [self._indented(line) for line in added]))
        if match.rung == "similar":
            self._check_meant(match, {at for change in changed for at in range(change.old_start, change.old_end)})
        edit = self.lines.replaced(changes) if changes else None
        if edit is None or (edit.start == edit.end and not edit.new):
            raise _applied((match.start + 1,))
        return Replaced(text=spliced(self.text, [edit]), edits=(edit,), rung=match.rung)

    def _check_meant(self, match: Match, changed: set[int]) -> None:
        """Refuse a similar place that says something else than the old text, though not on the lines that change.

        The first and the last line name the place: they must be there and say the same. The others may be there in
        other words. A line that the file has twice in a row and the old text once could be either of the two.
        """
        said = [at for at, line in enumerate(self.old) if line.strip()]
        for at in said:
            there = match.lines[at]
            found = None if there is None else self.lines.bare[there]
            may_differ = at not in (said[0], said[-1])
            if found is None and not may_differ:
                raise self._not_found()
            if found is not None and at not in changed and not _says_as_much(self.old[at], found, may_differ):
                raise self._not_found()
        places = {there for there in match.lines if there is not None}
        for there in range(min(places), max(places)):
            twins = _is_same(self.lines.bare[there], self.lines.bare[there + 1])
            if twins and len(places & {there, there + 1}) == 1:
                raise self._not_found()

    def _lines_to_replace(self, match: Match, start: int, end: int) -> tuple[int, int]:
        """The lines of the file that old lines `start:end` are: all sure, and with the lines around them in a row."""
        around = range(max(start - 1, 0), min(end + 1, len(self.old)))
        surely = range(start, end) if end > start else around
        places = [match.lines[at] for at in around]
        known = [at for at in places if at is not None]
        sure = all(
            _is_same(self.old[at], self.lines.bare[there])
            for at, there in zip(around, known, strict=False)
            if at in surely
        )
        if len(known) < len(places) or known != list(range(known[0], known[0] + len(known))) or not sure:
            shown, lines = shown_nearest(self.lines.bare, self.old)
            raise EditError(
                Reason.CONFLICT,
                "Where the new text differs from the old, the file differs from the old text too, so it is not clear "
                f"what should become of it. {shown}",
                lines,
            )
        first = known[0] + (start - around[0])
        return first, first + end - start

    def _indented(self, line: str | None) -> str:
        if line is None:
            raise EditError(
                Reason.CONFLICT,
                "The old text is indented otherwise than the file, and the new text has lines for which that gives no "
                "indentation. Read the file again and copy the old text exactly.",
            )
        return line


def _lines_of(text: str) -> list[str]:
    return [line.removesuffix("\r") for line in text.removesuffix("\n").split("\n")]


def _loosened(line: str) -> str:
    return line.strip(" \t\r")


def _is_same(wanted: str, found: str) -> bool:
    return _loosened(plain(wanted)) == _loosened(plain(found))


def _says_as_much(wanted: str, found: str, may_differ: bool) -> bool:
    wanted, found = plain(wanted), plain(found)
    return says_the_same(wanted, found) or (may_differ and is_reworded(wanted, found))


def _applied(lines: tuple[int, ...]) -> EditError:
    named = ", ".join(f"{line:,}" for line in lines)
    return EditError(
        Reason.ALREADY_APPLIED,
        f"The old text is not in the file, but the new text is (line {named}): the change looks applied already. "
        "Read the file before changing it again.",
        lines,
    )


def _ambiguous(starts: Sequence[int]) -> EditError:
    lines = tuple(start + 1 for start in starts[:MOST_LINES_NAMED])
    rest = ", ..." if len(starts) > MOST_LINES_NAMED else ""
    return EditError(
        Reason.AMBIGUOUS,
        f"The old text does not stand in the file exactly, and nearly on {len(starts):,} places (lines "
        f"{', '.join(f'{line:,}' for line in lines)}{rest}). Read the file again and copy the text exactly.",
        lines,
    )
