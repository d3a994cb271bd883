r"""Exact replacement: the old text stands in the file once, or nothing happens.

It works on `str` and on `bytes` alike. On bytes every byte outside the span is the same one by construction, whatever
the file holds elsewhere; use them wherever the encoding lets a text be found as bytes (UTF-8, ASCII and the single-byte
encodings; not UTF-16, UTF-32 or the East Asian multi-byte ones, where a match may begin inside a character).
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any, AnyStr, Generic

from toolhaft.editing.line_ends import fit_line_ends, line_marks
from toolhaft.editing.refusal import EditError, Reason

__all__ = ["Edit", "Replaced", "line_numbers", "replace_exact", "spans_of", "spliced"]

MOST_COUNTED = 1000
MOST_LINES_NAMED = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class Edit(Generic[AnyStr]):
    """`start:end` of the text before, and what stands there after."""

    start: int
    end: int
    new: AnyStr


@dataclass(frozen=True, slots=True, kw_only=True)
class Replaced(Generic[AnyStr]):
    """The whole text after, the edits that made it (in order, of the text before), and the rung that found them."""

    text: AnyStr
    edits: tuple[Edit[AnyStr], ...]
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
    spans = list(spans_of(text, old)) if replace_all else _only_span(text, old)
    if not spans:
        raise EditError(
            Reason.NOT_FOUND,
            f"The old text {_shortened(old)} is not in the file. Read the file again and copy the text exactly, "
            "blanks and indentation included.",
        )
    edits = tuple(_edit(text, span, old, new) for span in spans)
    if all(text[edit.start : edit.end] == edit.new for edit in edits):
        raise EditError(Reason.SAME, "The file already reads as the new text does there, so nothing would change.")
    return Replaced(text=spliced(text, edits), edits=edits)


def spans_of(text: AnyStr, old: AnyStr, *, overlapping: bool = False) -> Iterator[tuple[int, int]]:
    """Where `old` stands in `text` from left to right, as (start, end); an LF in it matches CR LF too."""
    line_feed, carriage_return = line_marks(text)
    if line_feed in old and carriage_return not in old and carriage_return in text:
        return _spans_over_line_ends(text, old, overlapping)
    return _literal_spans(text, old, overlapping)


def spliced(text: AnyStr, edits: Iterable[Edit[AnyStr]], *, start: int = 0, end: int | None = None) -> AnyStr:
    """`text[start:end]` with `edits`, which lie in it in rising order, made."""
    source: Any = memoryview(text) if isinstance(text, bytes) else text  # a view is not copied twice
    pieces: list[Any] = []
    for edit in edits:
        pieces.append(source[start : edit.start])
        pieces.append(edit.new)
        start = edit.end
    pieces.append(source[start:end])
    return text[:0].join(pieces)


def line_numbers(text: AnyStr, positions: Iterable[int]) -> list[int]:
    """The 1-based lines on which the rising `positions` lie."""
    line_feed, _ = line_marks(text)
    numbers: list[int] = []
    number, counted_to = 1, 0
    for position in positions:
        number += text.count(line_feed, counted_to, position)
        counted_to = position
        numbers.append(number)
    return numbers


def _literal_spans(text: AnyStr, old: AnyStr, overlapping: bool) -> Iterator[tuple[int, int]]:
    at = text.find(old)
    while at >= 0:
        yield at, at + len(old)
        at = text.find(old, at + 1 if overlapping else at + len(old))


def _spans_over_line_ends(text: AnyStr, old: AnyStr, overlapping: bool) -> Iterator[tuple[int, int]]:
    pattern = re.compile(_either_line_end(old))
    match = pattern.search(text)
    while match:
        yield match.span()
        match = pattern.search(text, match.start() + 1 if overlapping else match.end())


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
    lines = tuple(line_numbers(text, starts[:MOST_LINES_NAMED]))
    count = f"more than {MOST_COUNTED:,}" if len(starts) > MOST_COUNTED else f"{len(starts):,}"
    rest = ", ..." if len(starts) > MOST_LINES_NAMED else ""
    raise EditError(
        Reason.AMBIGUOUS,
        f"The old text {_shortened(old)} stands in the file {count} times, on lines "
        f"{', '.join(map(str, lines))}{rest}. Add surrounding lines until it names one place, or replace every one "
        "with replace_all=true.",
        lines,
    )


def _edit(text: AnyStr, span: tuple[int, int], old: AnyStr, new: AnyStr) -> Edit[AnyStr]:
    start, end = span
    if _bare(old) != _bare(new):  # else the line ends are the very thing to be changed
        new = fit_line_ends(text, new, start=start, end=end)
    return Edit(start=start, end=end, new=new)


def _bare(text: AnyStr) -> AnyStr:
    line_feed, carriage_return = line_marks(text)
    crlf: Any = carriage_return + line_feed
    return text.replace(crlf, line_feed)


def _shortened(text: AnyStr) -> str:
    shown = repr(text[:60])
    return f"{shown}... ({len(text):,} long)" if len(text) > 60 else shown
