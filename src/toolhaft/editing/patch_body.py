r"""The body of a hunk: its lines are the authority, its counts only a hint.

A model counts badly, so the body ends where it ends: at the next header, fence or line of prose. The counts decide
only what the text leaves open: whether `--- x` under `+++ y` is a header or a removed `-- x` and an added `++ y`,
whether blank lines at the end belong to the hunk, and whether `-- ` is the mail signature of `git format-patch`.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import islice

from toolhaft.editing.patch_model import Hunk, Mark, PatchError, PatchProblem
from toolhaft.editing.refusal import Reason

__all__ = ["HUNK_START", "read_hunk"]

HUNK_START = "@@"
_NUMBERS = re.compile(r"@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@")
_VERSION = re.compile(r"\d+(\.\d+)+")
_HEADING = re.compile(r"@@+(?:\s*[-+\d,. ]*@@)?\s*(.*?)(?:\s*@@)?\s*$")
_BULLET = re.compile(r"[-+] \S")
_NOT_PROSE = (HUNK_START, "diff --git ", "```", "--- ", "+++ ", "*** ", "Index: ")
_MARKS: dict[str, Mark] = {" ": " ", "-": "-", "+": "+"}


@dataclass(slots=True)
class _Body:
    """The lines read so far, and what the header's counts still expect (None: it has no counts)."""

    counts: tuple[int, int] | None
    lines: list[tuple[Mark, str]] = field(default_factory=list[tuple[Mark, str]])
    blanks: int = 0  # how many of the last lines were blank, without even the mark of a context line
    unterminated: set[Mark] = field(default_factory=set[Mark])

    def missing(self) -> tuple[int, int]:
        """How many old and new lines the counts still expect."""
        if self.counts is None:
            return 0, 0
        old = sum(mark != "+" for mark, _ in self.lines)
        new = sum(mark != "-" for mark, _ in self.lines)
        return self.counts[0] - old, self.counts[1] - new


def read_hunk(lines: Sequence[str], at: int, number: int) -> tuple[Hunk, int]:
    """The hunk whose `@@` line is `lines[at]`, and the index of the first line behind it."""
    match = _NUMBERS.match(lines[at])
    body = _Body(counts=(int(match[2] or 1), int(match[4] or 1)) if match else None)
    end = _read_body(lines, at + 1, body, number)
    _check_nothing_lost(lines, end, body, number)
    _drop_trailing_blanks(body)
    if not body.lines:
        raise _malformed(number, f"{lines[at]!r} is followed by no line that begins with a blank, + or -.")
    heading = "" if match else (_HEADING.match(lines[at].rstrip("\r")) or [""])[1]
    hunk = Hunk(
        number=number,
        body=tuple(body.lines),
        old_start=int(match[1]) if match else None,
        anchors=(heading,) if heading.strip(". ") else (),
        old_unterminated="-" in body.unterminated or " " in body.unterminated,
        new_unterminated="+" in body.unterminated or " " in body.unterminated,
    )
    return hunk, end


def _read_body(lines: Sequence[str], at: int, body: _Body, number: int) -> int:
    while at < len(lines):
        line = lines[at]
        mark = _MARKS.get(line[:1])
        if mark is not None:
            if line.startswith("--") and (_is_file_header(lines, at, body) or _is_signature(lines, at, body)):
                break
            if body.unterminated:
                _check_still_open(body, number, mark)
            body.lines.append((mark, line[1:]))
            body.blanks = 0
        elif not line.strip("\r"):
            body.lines.append((" ", line))
            body.blanks += 1
        elif line.startswith("\\"):
            _no_newline(body, number)
        else:
            break
        at += 1
    return at


def _is_file_header(lines: Sequence[str], at: int, body: _Body) -> bool:
    """Whether `--- x` begins the next file: a `+++ y` follows it, and a hunk follows that or the counts are used up."""
    if not lines[at].startswith("--- ") or at + 1 >= len(lines) or not lines[at + 1].startswith("+++ "):
        return False
    old, new = body.missing()
    if at + 2 < len(lines) and lines[at + 2].startswith(HUNK_START):
        return not (old == 1 and new == 1)
    return body.counts is not None and old <= 0 and new <= 0


def _is_signature(lines: Sequence[str], at: int, body: _Body) -> bool:
    """Whether the mail signature `-- ` begins here: two dashes, and the version of git under them."""
    if lines[at].rstrip("\r") not in ("-- ", "--") or max(body.missing()) > 0:
        return False
    return at + 1 < len(lines) and _VERSION.match(lines[at + 1]) is not None


def _no_newline(body: _Body, number: int) -> None:
    if not body.lines:
        raise _malformed(number, "it begins with '\\ No newline at end of file', which belongs behind a line.")
    body.unterminated.add(body.lines[-1][0])


def _check_still_open(body: _Body, number: int, mark: Mark) -> None:
    """Nothing of the same side may come after a line that ends the file without a newline."""
    closed = body.unterminated
    if " " in closed or mark in closed or (mark == " " and closed):
        raise _malformed(
            number,
            "'\\ No newline at end of file' stands in its middle; it belongs behind the last line of the file.",
        )


def _check_nothing_lost(lines: Sequence[str], end: int, body: _Body, number: int) -> None:
    """A context line whose blank is missing looks like prose; then the rest of the hunk must not pass for prose."""
    if end == len(lines) or lines[end].startswith(_NOT_PROSE) or _is_signature(lines, end, body):
        return
    counted = body.counts is not None and body.missing() == (0, 0)
    for line in islice(lines, end, None):
        if line.startswith(_NOT_PROSE):
            return
        if line.startswith(("-", "+")) and not (counted and _BULLET.match(line)):
            raise _malformed(
                number,
                f"the line {lines[end]!r} begins with neither a blank, + nor -, but lines of the hunk follow it. "
                "Put a blank before every line that stays.",
            )


def _drop_trailing_blanks(body: _Body) -> None:
    """Blank lines between a hunk and what follows are not part of it, unless its counts need them."""
    while body.blanks and (body.counts is None or body.missing() != (0, 0)):
        body.lines.pop()
        body.blanks -= 1


def _malformed(number: int, message: str) -> PatchError:
    return PatchError(PatchProblem(reason=Reason.MALFORMED, hunk=number, message=message))
