"""Unified diffs for people and models: exact where whole, bounded, and saying so where cut.

The work is done around the edits alone, so that a one-line change of a huge file costs one line: only the lines of an
edit and its context are cut out, decoded and compared.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import AnyStr

from toolhaft.editing.diff_rows import MOST_COMPARED, Rows
from toolhaft.editing.exact import STEP, Edit, line_numbers
from toolhaft.editing.line_ends import line_marks
from toolhaft.editing.patch_names import header_name

__all__ = ["UnifiedDiff", "difference", "edits_diff", "unified_diff"]

MAX_LINES = 400
MAX_LINE_CHARS = 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class UnifiedDiff:
    """A unified diff; `added` and `removed` count all lines, also those a `truncated` text leaves out."""

    text: str
    added: int
    removed: int
    truncated: bool


def unified_diff(
    old: AnyStr | None,
    new: AnyStr | None,
    *,
    path: str,
    old_path: str | None = None,
    is_copy: bool = False,
    context: int = 3,
    max_lines: int | None = MAX_LINES,
    max_line_chars: int | None = MAX_LINE_CHARS,
    encoding: str = "utf-8",
) -> UnifiedDiff:
    r"""The diff that leads from `old` to `new`; None stands for "no such file". Equal texts give an empty diff.

    `old_path` is given for a file that was renamed, or is a copy (`is_copy`). `max_lines` bounds the diff's lines,
    `max_line_chars` each of them (None: no bound); a diff that was cut says so in its last line and cannot be applied.
    Bytes are decoded by `encoding`, only where they are shown.

    >>> print(unified_diff("a\nb\n", "a\nB\n", path="f.txt").text, end="")
    --- a/f.txt
    +++ b/f.txt
    @@ -1,2 +1,2 @@
     a
    -b
    +B
    """
    present = old if old is not None else new
    before = old if old is not None or present is None else present[:0]
    after = new if new is not None or present is None else present[:0]
    names = (None if old is None else old_path or path, None if new is None else path)
    rows = Rows(context=context, encoding=encoding, most=max_lines)
    if before is not None and after is not None:
        _compare(rows, before, after)
    heading = _heading(names, bool(rows.lines), "copy" if is_copy else "rename")
    return _bounded(rows, heading, max_lines, max_line_chars)


def edits_diff(
    text: AnyStr,
    edits: Sequence[Edit[AnyStr]],
    *,
    path: str,
    context: int = 3,
    max_lines: int | None = MAX_LINES,
    max_line_chars: int | None = MAX_LINE_CHARS,
    encoding: str = "utf-8",
) -> UnifiedDiff:
    """The same diff from the edits themselves (of the text before, in rising order), without reading the rest."""
    rows = Rows(context=context, encoding=encoding, most=max_lines)
    rows.add(text, edits)
    return _bounded(rows, _heading((path, path), bool(rows.lines)), max_lines, max_line_chars)


def _compare(rows: Rows, old: AnyStr, new: AnyStr) -> None:
    """Add what leads from `old` to `new`; where that is very long it is never copied."""
    start, end, new_end = _differing(old, new)
    if max(end, new_end) - start <= MOST_COMPARED:
        rows.add(old, [Edit(start=start, end=end, new=new[start:new_end])])
        return
    line_feed, _ = line_marks(old)
    start = old.rfind(line_feed, 0, start) + 1
    tail = (old.find(line_feed, end) + 1 or len(old)) - end
    rows.add_block(old, new, line_numbers(old, [start])[0] - 1, (start, end + tail), (start, new_end + tail))


def _bounded(rows: Rows, heading: list[str], max_lines: int | None, max_line_chars: int | None) -> UnifiedDiff:
    shown = (heading + rows.lines)[:max_lines]
    is_short = rows.is_cut or len(shown) < len(heading) + len(rows.lines)
    cut = is_short
    if max_line_chars is not None and any(len(line) > max_line_chars for line in shown):
        cut = True
        shown = [_shortened(line, max_line_chars) for line in shown]
    if is_short:
        shown.append(f"... the rest of this diff is not shown; in all it has +{rows.added:,} -{rows.removed:,} lines")
    text = "".join(f"{line}\n" for line in shown)
    return UnifiedDiff(text=text, added=rows.added, removed=rows.removed, truncated=cut)


def _shortened(line: str, most: int) -> str:
    return line if len(line) <= most else f"{line[:most]}... ({len(line):,} characters)"


def _heading(names: tuple[str | None, str | None], changed: bool, verb: str = "rename") -> list[str]:
    old, new = names
    heading: list[str] = []
    if old is not None and new is not None and old != new:
        heading += [f"diff --git {header_name('a/', old)} {header_name('b/', new)}"]
        heading += [f"{verb} from {header_name('', old)}", f"{verb} to {header_name('', new)}"]
    elif not changed and (old is None) != (new is None):
        name = old if new is None else new
        heading += [f"diff --git {header_name('a/', name or '')} {header_name('b/', name or '')}"]
        heading += ["deleted file mode 100644" if new is None else "new file mode 100644"]
    if changed:
        heading += ["--- " + _tabbed(header_name("a/", old)), "+++ " + _tabbed(header_name("b/", new))]
    return heading


def _tabbed(name: str) -> str:
    """As git does it: a tab ends a name with a blank in it, so that no reader takes the rest for a time stamp."""
    return f"{name}\t" if " " in name else name


def difference(old: AnyStr, new: AnyStr) -> Edit[AnyStr]:
    """One edit from `old` to `new`: all but what they share at the beginning and at the end."""
    start, end, new_end = _differing(old, new)
    return Edit(start=start, end=end, new=new[start:new_end])


def _differing(old: AnyStr, new: AnyStr) -> tuple[int, int, int]:
    """Where the two begin to differ, and where that ends in the old one and in the new one."""
    shorter = min(len(old), len(new))
    start = _shared(old, new, shorter, from_end=False)
    tail = _shared(old, new, shorter - start, from_end=True)
    return start, len(old) - tail, len(new) - tail


def _shared(old: AnyStr, new: AnyStr, most: int, *, from_end: bool) -> int:
    """How many characters the two share at one end: step by step, and in the last one by halving."""
    low, high = 0, min(STEP, most)
    while low < most:
        here = slice(len(old) - high, len(old) - low) if from_end else slice(low, high)
        there = slice(len(new) - high, len(new) - low) if from_end else slice(low, high)
        if old[here] != new[there]:
            break
        low, high = high, min(high + STEP, most)
    while low < high:
        size = (low + high + 1) // 2
        here = slice(len(old) - size, len(old) - low) if from_end else slice(low, size)
        there = slice(len(new) - size, len(new) - low) if from_end else slice(low, size)
        low, high = (size, high) if old[here] == new[there] else (low, size - 1)
    return low
