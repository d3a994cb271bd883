r"""Lines end at LF and nowhere else; a CR before it is how this line ends.

Form feeds, U+0085, U+2028 and lone CRs are ordinary characters: `str.splitlines` must not be used in this package. A
model writes LF. What it writes into a file takes the line ends of the file: a line that stays keeps its own, a line
that is replaced hands its own on, a line that is added ends as its neighbours do.
"""

from collections.abc import Sequence
from typing import Any, AnyStr

from toolhaft.editing.line_diff import line_changes

__all__ = ["fit_line_ends", "line_marks", "split_lines"]


def line_marks(text: AnyStr) -> tuple[AnyStr, AnyStr]:
    """LF and CR in the type of `text`."""
    if isinstance(text, str):
        return "\n", "\r"
    return b"\n", b"\r"


def split_lines(text: AnyStr) -> list[AnyStr]:
    r"""The lines of `text`, each with its line end; only the last may be without one.

    >>> split_lines("a\r\nb\x0cc\nd")
    ['a\r\n', 'b\x0cc\n', 'd']
    """
    line_feed, _ = line_marks(text)
    parts: list[Any] = text.split(line_feed)
    last = parts.pop()
    lines = [part + line_feed for part in parts]
    return [*lines, last] if last else lines


def fit_line_ends(text: AnyStr, new: AnyStr, *, start: int, end: int) -> AnyStr:
    r"""`new` as it must be written over `text[start:end]` so that its lines end as those of the file.

    A CR that `new` brings itself is left alone.

    >>> fit_line_ends("a\r\nb\r\n", "B1\nB2", start=3, end=4)
    'B1\r\nB2'
    """
    line_feed, carriage_return = line_marks(text)
    if line_feed not in new or carriage_return not in text:
        return new
    *lines, last = list[Any](new.split(line_feed))
    replaced: list[Any] = text[start:end].split(line_feed)
    ends = [line.endswith(carriage_return) for line in replaced[:-1]]
    if len(set(ends)) < 2:
        wants_cr = [ends[0] if ends else _ends_in_cr_lf(text, start, end)] * len(lines)
    else:
        bare = [line.removesuffix(carriage_return) for line in replaced]
        wants_cr = [ends[min(at, len(ends) - 1)] for at in _sources(bare, [*lines, last])]
    for at, line in enumerate(lines):
        if wants_cr[at] and not line.endswith(carriage_return):
            lines[at] = line + carriage_return
    return line_feed.join([*lines, last])


def _sources(old: Sequence[str], new: Sequence[str]) -> list[int]:
    """For each new line the old line it is, or takes the place of."""
    sources: list[int] = []
    at_old = 0
    for change in line_changes(old, new):
        sources.extend(range(at_old, change.old_start))
        last = max(change.old_end - 1, change.old_start - 1, 0)
        sources.extend(min(change.old_start + offset, last) for offset in range(change.new_end - change.new_start))
        at_old = change.old_end
    return [*sources, *range(at_old, len(old))]


def _ends_in_cr_lf(text: AnyStr, start: int, end: int) -> bool:
    """Whether the line in which the span ends, or else the one before it, ends in CR LF."""
    line_feed, carriage_return = line_marks(text)
    at = text.find(line_feed, end)
    if at < 0:
        at = text.rfind(line_feed, 0, start)
    return at > 0 and text[at - 1 : at] == carriage_return
