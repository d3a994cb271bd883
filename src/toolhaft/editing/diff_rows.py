"""The rows of a unified diff, cut out of a text around its edits.

Only so many rows are made as are shown; what comes behind them is counted, line by line and in little memory, because
a replacement may change every line of a large file. For the same reason nothing here is one long call into C.
"""

from collections.abc import Iterator, Sequence
from typing import AnyStr, NamedTuple

from toolhaft.editing.exact import STEP, Edit, spliced
from toolhaft.editing.line_diff import Change, line_changes
from toolhaft.editing.line_ends import line_marks, split_lines

__all__ = ["MOST_COMPARED", "NO_NEWLINE", "Rows"]

NO_NEWLINE = "\\ No newline at end of file"
# What is longer on one side, before or after, is shown as one replaced block and not compared line by line.
MOST_COMPARED = 1 << 22


class _Region(NamedTuple):
    """Whole lines around edits that lie near each other, `start:end`; `last` is the first edit behind them."""

    start: int
    end: int
    last: int
    is_cut: bool


class Rows:
    """Collects the hunks of one file: `lines` (without their LF), and how many lines they add and remove.

    Once there are `most` lines the rest is only counted, and `is_cut`.
    """

    def __init__(self, *, context: int, encoding: str, most: int | None) -> None:
        self.lines: list[str] = []
        self.added = 0
        self.removed = 0
        self.is_cut = False
        self._context = context
        self._encoding = encoding
        self._most = most

    def add(self, text: AnyStr, edits: Sequence[Edit[AnyStr]]) -> None:
        """Add the hunks of `edits`, which are in rising order and do not overlap."""
        number = counted_to = first = 0
        while first < len(edits) and not self._is_full:
            region = self._region(text, edits, first, self._context)
            number += _count(text, counted_to, region.start)
            counted_to = region.start
            new = spliced(text, edits[first : region.last], start=region.start, end=region.end)
            if max(region.end - region.start, len(new)) > MOST_COMPARED:
                self.add_block(text, new, number, (region.start, region.end), (0, len(new)))
                first = region.last
            else:
                first = self._add_compared(text, edits, first, number, region, new)
            if region.is_cut:
                break
        if first < len(edits):
            self.is_cut = True
            self._count_rest(text, edits, first)

    def add_block(self, old: AnyStr, new: AnyStr, number: int, was: tuple[int, int], becomes: tuple[int, int]) -> None:
        """Add one hunk in which the whole lines `was` of `old` are replaced by those that are `becomes` in `new`."""
        removed, added = _count_lines(old, *was), _count_lines(new, *becomes)
        grown = self.added - self.removed
        self.lines.append(f"@@ -{_range(number, removed)} +{_range(number + grown, added)} @@")
        self._add_rows("-", _each_line(old, *was))
        self._add_rows("+", _each_line(new, *becomes))
        self.removed += removed
        self.added += added

    @property
    def _is_full(self) -> bool:
        return self._most is not None and len(self.lines) >= self._most

    def _region(self, text: AnyStr, edits: Sequence[Edit[AnyStr]], first: int, more: int) -> _Region:
        """Where the edit `first` and those near it lie, with context, and `more` lines of it behind."""
        start = _lines_back(text, edits[first].start, self._context)
        end, touched_to, last, touched = edits[first].start, -1, first, 0
        while last < len(edits) and _lines_back(text, edits[last].start, self._context) <= end:
            if edits[last].start >= touched_to:  # on lines that no other edit has changed
                if self._most is not None and touched > self._most:
                    return _Region(start, end, last, is_cut=True)
                touched += 1
            touched_to = _end_of_lines(text, edits[last])
            end = max(end, _lines_on(text, edits[last].end, more))
            last += 1
        return _Region(start, end, last, is_cut=False)

    def _add_compared(
        self, text: AnyStr, edits: Sequence[Edit[AnyStr]], first: int, number: int, region: _Region, new: AnyStr
    ) -> int:
        """Add the hunks of a region, compared line by line; return the first edit behind it."""
        more = self._context
        while True:
            old = split_lines(text[region.start : region.end])
            changes = line_changes(old, split_lines(new))
            reaches_end = region.end == len(text) or not changes or changes[-1].old_end + self._context <= len(old)
            if reaches_end or region.is_cut or region.end - region.start > MOST_COMPARED:
                break
            # Among repeated lines a change slides down, away from its edit: it needs context there.
            more = 2 * more + 1
            region = self._region(text, edits, first, more)
            new = spliced(text, edits[first : region.last], start=region.start, end=region.end)
        for group in _grouped(changes, 2 * self._context):
            self._add_hunk(number, old, split_lines(new), group)
        return region.last

    def _add_hunk(self, number: int, old: Sequence[AnyStr], new: Sequence[AnyStr], group: list[Change]) -> None:
        """Add one hunk; `number` lines of the file lie before `old`."""
        at = max(group[0].old_start - self._context, 0)
        end = min(group[-1].old_end + self._context, len(old))
        grown = sum((change.new_end - change.new_start) - (change.old_end - change.old_start) for change in group)
        before, after = number + at, number + at + self.added - self.removed
        self._add_row(f"@@ -{_range(before, end - at)} +{_range(after, end - at + grown)} @@")
        for change in group:
            self._add_rows(" ", old[at : change.old_start])
            self._add_rows("-", old[change.old_start : change.old_end])
            self._add_rows("+", new[change.new_start : change.new_end])
            at = change.old_end
            self.removed += change.old_end - change.old_start
            self.added += change.new_end - change.new_start
        self._add_rows(" ", old[at:end])

    def _add_row(self, row: str) -> None:
        if self._is_full:
            self.is_cut = True
        else:
            self.lines.append(row)

    def _add_rows(self, mark: str, lines: Sequence[AnyStr] | Iterator[AnyStr]) -> None:
        for line in lines:
            if self._is_full:
                self.is_cut = True
                return
            shown = line if isinstance(line, str) else line.decode(self._encoding, "replace")
            self.lines.append(mark + shown.removesuffix("\n"))
            if not shown.endswith("\n"):
                self._add_row(NO_NEWLINE)

    def _count_rest(self, text: AnyStr, edits: Sequence[Edit[AnyStr]], first: int) -> None:
        """Count the lines that the edits from `first` on add and remove."""
        line_feed, _ = line_marks(text)
        while first < len(edits):
            edit, last = edits[first], first + 1
            end = _end_of_lines(text, edit)
            while last < len(edits) and edits[last].start < end:
                end = _end_of_lines(text, edits[last])
                last += 1
            if last == first + 1 and line_feed not in edit.new and line_feed not in text[edit.start : edit.end]:
                self.removed += 1
                self.added += 1
            else:
                start = text.rfind(line_feed, 0, edit.start) + 1
                new = spliced(text, edits[first:last], start=start, end=end)
                for change in line_changes(split_lines(text[start:end]), split_lines(new)):
                    self.removed += change.old_end - change.old_start
                    self.added += change.new_end - change.new_start
            first = last


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


def _end_of_lines(text: AnyStr, edit: Edit[AnyStr]) -> int:
    """Where the lines end that an edit changes: at its own end, if that and the new text end a line."""
    line_feed, _ = line_marks(text)
    ends_line = text[edit.start : edit.end].endswith(line_feed)
    return edit.end if ends_line and edit.new.endswith(line_feed) else _lines_on(text, edit.end, 0)


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


def _count(text: AnyStr, start: int, end: int) -> int:
    """How many lines end in `text[start:end]`."""
    line_feed, _ = line_marks(text)
    return sum(text.count(line_feed, at, min(at + STEP, end)) for at in range(start, end, STEP))


def _count_lines(text: AnyStr, start: int, end: int) -> int:
    """How many lines `text[start:end]` has, the last one also where it does not end."""
    line_feed, _ = line_marks(text)
    return _count(text, start, end) + (end > start and text[end - 1 : end] != line_feed)


def _each_line(text: AnyStr, start: int, end: int) -> Iterator[AnyStr]:
    while start < end:
        behind = min(_lines_on(text, start, 0), end)
        yield text[start:behind]
        start = behind
