r"""Exact replacement: the old text stands in the file once, or nothing happens.

It works on `str` and on `bytes` alike. On bytes every byte outside the span is the same one by construction, whatever
the file holds elsewhere; use them wherever the encoding lets a text be found as bytes (UTF-8, ASCII and the single-byte
encodings; not UTF-16, UTF-32 or the East Asian multi-byte ones, where a match may begin inside a character).
"""

import re
from array import array
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from io import BytesIO
from itertools import islice
from typing import Any, AnyStr, Generic, NamedTuple, overload

from toolhaft.editing.line_ends import fit_line_ends, line_marks
from toolhaft.editing.refusal import EditError, Reason

__all__ = ["Edit", "Edits", "Replaced", "line_numbers", "replace_exact", "spans_of", "spliced"]

MOST_COUNTED = 1000
MOST_LINES_NAMED = 10
# One step of a search runs in C and keeps every other thread waiting: it may take some milliseconds, no more.
STEP = 1 << 18


class Edit(NamedTuple, Generic[AnyStr]):
    """`start:end` of the text before, and what stands there after."""

    start: int
    end: int
    new: AnyStr


class Edits(Sequence[Edit[AnyStr]]):
    """Edits in rising order, held as numbers and made into an `Edit` when one is looked at.

    There may be hundreds of thousands, and so many objects would be walked through by every garbage collection.
    """

    def __init__(self) -> None:
        self._starts, self._ends = array("q"), array("q")
        self._new: list[AnyStr] = []

    def append(self, start: int, end: int, new: AnyStr) -> None:
        """Add one behind the others."""
        self._starts.append(start)
        self._ends.append(end)
        self._new.append(new)

    def __len__(self) -> int:
        return len(self._new)

    def __iter__(self) -> Iterator[Edit[AnyStr]]:
        return map(Edit, self._starts, self._ends, self._new)

    @overload
    def __getitem__(self, at: int) -> Edit[AnyStr]: ...
    @overload
    def __getitem__(self, at: slice) -> Sequence[Edit[AnyStr]]: ...
    def __getitem__(self, at: int | slice) -> Edit[AnyStr] | Sequence[Edit[AnyStr]]:
        """One of them, or some."""
        if isinstance(at, slice):
            return list(map(Edit, self._starts[at], self._ends[at], self._new[at]))
        return Edit(start=self._starts[at], end=self._ends[at], new=self._new[at])


@dataclass(frozen=True, slots=True, kw_only=True)
class Replaced(Generic[AnyStr]):
    """The whole text after, the edits that made it (in order, of the text before), and the rung that found them."""

    text: AnyStr
    edits: Sequence[Edit[AnyStr]]
    rung: str = "exact"

    @property
    def count(self) -> int:
        """How many places were replaced."""
        return len(self.edits)


def replace_exact(text: AnyStr, old: AnyStr, new: AnyStr, *, replace_all: bool = False) -> Replaced[AnyStr]:
    r"""`text` with its one occurrence of `old` replaced by `new`; with `replace_all`, every one from left to right.

    An LF in `old` matches CR LF too, and what `new` brings ends its lines as the file does. Occurrences that overlap
    count: `aa` stands twice in `aaa`. Raises `EditError` for an empty `old`, for a change that changes nothing, and
    for none or several occurrences.

    >>> replace_exact("a\r\nb\r\n", "a\nb", "a\nB").text
    'a\r\nB\r\n'
    """
    if not old:
        raise EditError(Reason.EMPTY, "The old text is empty, so it names no place. Give the text to be replaced.")
    if old == new:
        raise EditError(Reason.SAME, "The old and the new text are the same, so nothing would change.")
    edits = Edits[AnyStr]()
    is_about_line_ends = _bare(old) == _bare(new)  # then it brings the line ends that it wants
    for start, end in spans_of(text, old) if replace_all else _only_span(text, old):
        edits.append(start, end, new if is_about_line_ends else fit_line_ends(text, new, start=start, end=end))
    if not edits:
        raise EditError(
            Reason.NOT_FOUND,
            f"The old text {_shortened(old)} is not in the file. Read the file again and copy the text exactly, "
            "blanks and indentation included.",
        )
    if all(text[edit.start : edit.end] == edit.new for edit in edits):
        raise EditError(Reason.SAME, "The file already reads as the new text does there, so nothing would change.")
    return Replaced(text=spliced(text, edits), edits=edits)


def spans_of(text: AnyStr, old: AnyStr, *, overlapping: bool = False) -> Iterator[tuple[int, int]]:
    """Where `old` stands in `text` from left to right, as (start, end); an LF in it matches CR LF too."""
    line_feed, carriage_return = line_marks(text)
    if line_feed in old and carriage_return not in old and carriage_return in text:
        return _spans_over_line_ends(text, old, overlapping)
    return _literal_spans(text, old, overlapping)


def spliced(text: AnyStr, edits: Sequence[Edit[AnyStr]], *, start: int = 0, end: int | None = None) -> AnyStr:
    """`text[start:end]` with `edits`, which lie in it in rising order, made."""
    end = len(text) if end is None else end
    if isinstance(text, bytes):
        return _spliced_bytes(text, edits, start, end)
    pieces: list[Any] = []
    for edit in edits:
        pieces += text[start : edit.start], edit.new
        start = edit.end
    joined: Any = "".join([*pieces, text[start:end]])
    return joined


def _spliced_bytes(text: bytes, edits: Sequence[Edit[Any]], start: int, end: int) -> bytes:
    """The same in room for the result alone and in steps; a join takes room for all pieces, in one call."""
    grown = sum(len(edit.new) - (edit.end - edit.start) for edit in edits)
    made = BytesIO(bytes(end - start + grown))  # as large as it will be, so that it is never moved
    source = memoryview(text)
    for edit in edits:
        _copy(source[start : edit.start], made)
        made.write(edit.new)
        start = edit.end
    _copy(source[start:end], made)
    return made.getvalue()


def _copy(source: memoryview, target: BytesIO) -> None:
    for at in range(0, len(source), STEP):
        target.write(source[at : at + STEP])


def line_numbers(text: AnyStr, positions: Iterable[int]) -> list[int]:
    """The 1-based lines on which the rising `positions` lie."""
    line_feed, _ = line_marks(text)
    numbers: list[int] = []
    number, counted_to = 1, 0
    for position in positions:
        for start in range(counted_to, position, STEP):
            number += text.count(line_feed, start, min(start + STEP, position))
        counted_to = position
        numbers.append(number)
    return numbers


def _literal_spans(text: AnyStr, old: AnyStr, overlapping: bool) -> Iterator[tuple[int, int]]:
    at = _find(text, old, 0)
    while at >= 0:
        yield at, at + len(old)
        at = _find(text, old, at + 1 if overlapping else at + len(old))


def _find(text: AnyStr, old: AnyStr, start: int) -> int:
    while start < len(text):
        at = text.find(old, start, start + STEP + len(old) - 1)
        if at >= 0:
            return at
        start += STEP
    return -1


def _spans_over_line_ends(text: AnyStr, old: AnyStr, overlapping: bool) -> Iterator[tuple[int, int]]:
    # A pattern that begins with a line end is slow to look for: those are looked at once the rest is found.
    line_feed, _ = line_marks(old)
    rest = old.lstrip(line_feed) or old
    line_ends, longest = len(old) - len(rest), len(rest) + rest.count(line_feed)
    pattern = re.compile(_either_line_end(rest))
    behind = 0
    match = _search(pattern, text, 0, longest)
    while match:
        start = _before_line_ends(text, match.start(), line_ends)
        if start is not None and start >= behind:
            yield start, match.end()
            behind = start + 1 if overlapping else match.end()
        match = _search(pattern, text, max(match.start() + 1, behind), longest)


def _search(pattern: re.Pattern[AnyStr], text: AnyStr, start: int, longest: int) -> re.Match[AnyStr] | None:
    while start < len(text):
        match = pattern.search(text, start, start + STEP + longest)
        if match:
            return match
        start += STEP
    return None


def _before_line_ends(text: AnyStr, at: int, count: int) -> int | None:
    """Where the `count` line ends right before `at` begin; None where there are not so many."""
    line_feed, carriage_return = line_marks(text)
    for _ in range(count):
        if at == 0 or text[at - 1 : at] != line_feed:
            return None
        at -= 2 if at > 1 and text[at - 2 : at - 1] == carriage_return else 1
    return at


def _either_line_end(old: AnyStr) -> AnyStr:
    """A pattern in which a line end is one thing: it never matches the LF of a CR LF alone."""
    line_feed, _ = line_marks(old)
    lines: list[Any] = [re.escape(line) for line in list[Any](old.split(line_feed))]
    if isinstance(old, str):
        return r"(?:\r\n|(?<!\r)\n)".join(lines)
    return rb"(?:\r\n|(?<!\r)\n)".join(lines)


def _only_span(text: AnyStr, old: AnyStr) -> list[tuple[int, int]]:
    spans = list(islice(spans_of(text, old, overlapping=True), 2))
    if len(spans) < 2:
        return spans
    starts = [start for start, _ in islice(spans_of(text, old, overlapping=True), MOST_COUNTED + 1)]
    on_lines = Counter(line_numbers(text, starts))
    lines = tuple(islice(on_lines.elements(), MOST_LINES_NAMED))
    count = f"more than {MOST_COUNTED:,}" if len(starts) > MOST_COUNTED else f"{len(starts):,}"
    raise EditError(
        Reason.AMBIGUOUS,
        f"The old text {_shortened(old)} stands in the file {count} times, {_places(on_lines)}. Add surrounding lines "
        "until it names one place, or replace every one with replace_all=true.",
        lines,
    )


def _places(on_lines: Counter[int]) -> str:
    """On which lines, and how often on each; the last one counted may have more than were counted."""
    named = [f"{line:,}" + (f" ({times:,} times)" if times > 1 else "") for line, times in on_lines.items()]
    if len(named) == 1 and on_lines.total() <= MOST_COUNTED:
        return f"all on line {next(iter(on_lines)):,}"
    rest = ", ..." if len(named) > MOST_LINES_NAMED or on_lines.total() > MOST_COUNTED else ""
    return f"on lines {', '.join(named[:MOST_LINES_NAMED])}{rest}"


def _bare(text: AnyStr) -> AnyStr:
    line_feed, carriage_return = line_marks(text)
    crlf: Any = carriage_return + line_feed
    return text.replace(crlf, line_feed)


def _shortened(text: str | bytes) -> str:
    shown = text if isinstance(text, str) else text.decode("utf-8", "replace")
    return f"{shown[:60]!r}... ({len(shown):,} long)" if len(shown) > 60 else repr(shown)
