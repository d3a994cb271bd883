"""Blanks that can be seen: what a model or a person must see to understand why two lines differ."""

import re

from toolhaft.editing.line_diff import line_changes

__all__ = ["block_diff", "visible_blanks"]

MOST_ROWS = 40
LONGEST_ROW = 200

_SYMBOLS = {"\t": "→", " ": "·", "\r": "␍", "\n": "␊", "\xa0": "⍽"}
_EDGES = re.compile(r"^\s+|\s+$")
_ODD = re.compile(r"[\x00-\x1f\x7f\xa0\u1680\u2000-\u200f\u2028-\u202f\u205f\u2060\u3000\ufeff]")


def visible_blanks(line: str) -> str:
    r"""`line` with its leading and trailing blanks, and every blank or control that is not a space, made visible.

    >>> visible_blanks("\tif x: y \r")
    '→if x: y·␍'
    """
    line = _EDGES.sub(lambda match: match[0].replace(" ", "·"), line)
    return _ODD.sub(lambda match: _SYMBOLS.get(match[0], f"<U+{ord(match[0]):04X}>"), line)


def block_diff(wanted: list[str], found: list[str]) -> str:
    """What `wanted` (marked -) and `found` (marked +) have in common and not, one line a row, differences visible.

    Lines may come with their line ends: a CR that only one side has is shown, and so is an LF that one side lacks.
    """
    rows: list[str] = []
    at = 0
    for change in line_changes(wanted, found):
        rows += [f" {_ended(line)}" for line in wanted[at : change.old_start]]
        ours, theirs = wanted[change.old_start : change.old_end], found[change.new_start : change.new_end]
        if [*map(_ended, ours)] != [*map(_ended, theirs)]:  # else it is the LF at the end of the file that differs
            ours, theirs = [*map(_ended, ours)], [*map(_ended, theirs)]
        rows += [f"-{visible_blanks(line)}" for line in ours]
        rows += [f"+{visible_blanks(line)}" for line in theirs]
        at = change.old_end
    rows += [f" {_ended(line)}" for line in wanted[at:]]
    shown = [row if len(row) <= LONGEST_ROW else f"{row[:LONGEST_ROW]}... ({len(row):,} long)" for row in rows]
    if len(shown) > MOST_ROWS:
        shown[MOST_ROWS:] = [f"... {len(shown) - MOST_ROWS:,} more rows of this comparison are not shown"]
    return "\n".join(shown)


def _ended(line: str) -> str:
    return line.removesuffix("\n")
