"""Whether a change whose old text is not found is applied already: said only where nothing speaks against it.

The new text must stand in the file once, in whole lines or as a text that does not stand there by chance, at the place
that is more like the old text than any other, and it must show that it is the change: by lines that the change leaves
as they are, or by being nearly the old text. Where lines are only taken away, those on both sides must be there.
"""

from collections.abc import Sequence
from itertools import islice

from toolhaft.editing.exact import line_numbers, spans_of
from toolhaft.editing.file_lines import FileLines
from toolhaft.editing.line_diff import Change, line_changes
from toolhaft.editing.nearest import nearest_starts
from toolhaft.editing.similar import likeness

__all__ = ["applied_line"]

TELLING_CHARS = 8  # a text this long does not stand in a file by chance
LEAST_LIKENESS = 0.5
LEAST_LEAD = 0.1
MOST_RIVALS = 8


def applied_line(text: str, lines: FileLines, old: str, new: str) -> int | None:
    """The 1-based line where `new` stands in the place of `old`; None where that is not certain."""
    if not new.strip():
        return None
    spans = list(islice(spans_of(text, new, overlapping=True), 2))
    if len(spans) != 1 or not _says_something(text, *spans[0]):
        return None
    first, last = line_numbers(text, (spans[0][0], max(spans[0][1] - 1, spans[0][0])))
    if not _is_the_change(_split(old), _split(new)) or not _is_nearest(lines.bare, _split(old), first - 1, last):
        return None
    return first


def _says_something(text: str, start: int, end: int) -> bool:
    begins_line = start == 0 or text[start - 1] == "\n"
    ends_line = text[end : end + 1] in ("", "\r", "\n") or text[end - 1] == "\n"
    return end - start >= TELLING_CHARS or (begins_line and ends_line)


def _is_the_change(old: Sequence[str], new: Sequence[str]) -> bool:
    """Whether the new text alone shows that the old one stood there."""
    changes = list(line_changes(old, new))
    if any(change.new_start == change.new_end and not _is_enclosed(new, change) for change in changes):
        return False
    added = {at for change in changes for at in range(change.new_start, change.new_end)}
    keeps_a_line = any(line.strip() for at, line in enumerate(new) if at not in added)
    return keeps_a_line or likeness("\n".join(old), "\n".join(new)) >= LEAST_LIKENESS


def _is_enclosed(new: Sequence[str], change: Change) -> bool:
    before, behind = new[: change.new_start], new[change.new_end :]
    return any(line.strip() for line in before) and any(line.strip() for line in behind)


def _is_nearest(lines: Sequence[str], old: Sequence[str], first: int, last: int) -> bool:
    """Whether no place outside lines `first:last` is about as much like the old text."""
    wanted = "\n".join(old)
    here = likeness(wanted, "\n".join(lines[first:last]))
    others = [
        start for start in nearest_starts(lines, old, most=MOST_RIVALS) if start >= last or start + len(old) <= first
    ]
    return all(
        here - likeness(wanted, "\n".join(lines[max(at, 0) : max(at + len(old), 0)])) >= LEAST_LEAD for at in others
    )


def _split(text: str) -> list[str]:
    return [line.removesuffix("\r") for line in text.removesuffix("\n").split("\n")]
