"""The rows of a unified diff, cut out of a text around its edits."""

from collections.abc import Iterator, Sequence
from typing import AnyStr

from toolhaft.editing.exact import Edit, spliced
from toolhaft.editing.line_diff import Change, line_changes
from toolhaft.editing.line_ends import line_marks, split_lines

__all__ = ["NO_NEWLINE", "Rows"]

NO_NEWLINE = "\\ No newline at end of file"


class Rows:
    """Collects the hunks of one file: `lines` (without their LF), and how many lines they add and remove."""

    def __init__(self, *, context: int, encoding: str) -> None:
        self.lines: list[str] = []
        self.added = 0
        self.removed = 0
        self._context = context
        self._encoding = encoding

    def add(self, text: AnyStr, edits: Sequence[Edit[AnyStr]]) -> None:
        """Add the hunks of `edits`, which are in rising order and do not overlap."""
        line_feed, _ = line_marks(text)
        number, counted_to = 0, 0
        for start, old, new, changes in self._regions(text, edits):
            number += text.count(line_feed, counted_to, start)
            counted_to = start
            for group in _grouped(changes, 2 * self._context):
                self._add_hunk(number, old, new, group)

    def _regions(
        self, text: AnyStr, edits: Sequence[Edit[AnyStr]]
    ) -> Iterator[tuple[int, list[AnyStr], list[AnyStr], list[Change]]]:
        """Whole lines around edits that lie near each other: where they start, before, after, and what changed."""
        first = 0
        while first < len(edits):
            start = _lines_back(text, edits[first].start, self._context)
            end, last, more = edits[first].start, first, self._context
            while True:
                while last < len(edits) and _lines_back(text, edits[last].start, self._context) <= end:
                    end = max(end, _lines_on(text, edits[last].end, self._context))
                    last += 1
                old = split_lines(text[start:end])
                new = split_lines(spliced(text, edits[first:last], start=start, end=end))
                changes = line_changes(old, new)
                if end == len(text) or not changes or changes[-1].old_end + self._context <= len(old):
                    break
                # Among repeated lines a change slides down, away from its edit: it needs context there.
                end, more = _lines_on(text, end, more), 2 * more + 1
            yield start, old, new, changes
            first = last

    def _add_hunk(self, number: int, old: Sequence[AnyStr], new: Sequence[AnyStr], group: list[Change]) -> None:
        """Add one hunk; `number` lines of the file lie before `old`."""
        at = max(group[0].old_start - self._context, 0)
        end = min(group[-1].old_end + self._context, len(old))
        grown = sum((change.new_end - change.new_start) - (change.old_end - change.old_start) for change in group)
        before, after = number + at, number + at + self.added - self.removed
        self.lines.append(f"@@ -{_range(before, end - at)} +{_range(after, end - at + grown)} @@")
        for change in group:
            self._add_rows(" ", old[at : change.old_start])
            self._add_rows("-", old[change.old_start : change.old_end])
            self._add_rows("+", new[change.new_start : change.new_end])
            at = change.old_end
            self.removed += change.old_end - change.old_start
            self.added += change.new_end - change.new_start
        self._add_rows(" ", old[at:end])

    def _add_rows(self, mark: str, lines: Sequence[AnyStr]) -> None:
        for line in lines:
            shown = line if isinstance(line, str) else line.decode(self._encoding, "replace")
            self.lines.append(mark + shown.removesuffix("\n"))
            if not shown.endswith("\n"):
                self.lines.append(NO_NEWLINE)


def _range(before: int, size: int) -> str:
    """`first,size` as diff writes it: an empty range names the line before it, a single line needs no size."""
    if size == 1:
        return str(before + 1)
    return f"{before + 1 if size else before},{size}"


def _grouped(changes: list[Change], gap: int) -> Iterator[list[Change]]:
    """Changes whose context would touch go into one hunk."""
    group: list[Change] = []
    for change in changes:
        if group and change.old_start - group[-1].old_end > gap:
            yield group
            group = []
        group.append(change)
    if group:
        yield group


def _lines_back(text: AnyStr, position: int, count: int) -> int:
    """Where the line begins that lies `count` lines before the one of `position`."""
    line_feed, _ = line_marks(text)
    for _ in range(count + 1):
        found = text.rfind(line_feed, 0, position)
        if found < 0:
            return 0
        position = found
    return position + 1


def _lines_on(text: AnyStr, position: int, count: int) -> int:
    """Where the line ends that lies `count` lines after the one of `position`."""
    line_feed, _ = line_marks(text)
    for _ in range(count + 1):
        position = text.find(line_feed, position) + 1
        if not position:
            return len(text)
    return position
