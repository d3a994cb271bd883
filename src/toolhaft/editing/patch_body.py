r"""The body of a hunk: its lines are the authority, its counts only a hint.

A model counts badly, so the body ends where it ends: at the next header, fence or line of prose. A body may also come
without its `@@` line. What follows must not be lines that were lost to it: those are refused. The counts decide only
what the text leaves open: whether `--- x` under `+++ y` is a header or a removed `-- x` and an added `++ y`, whether
blank lines at the end belong to the hunk, whether `-- ` is the mail signature of `git format-patch`, and whether a list
behind the hunk is prose or its lines.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from toolhaft.editing.patch_model import Hunk, Mark, PatchError, PatchProblem
from toolhaft.editing.refusal import Reason

__all__ = ["HUNK_START", "begins_body", "is_stray", "read_hunk", "starts_names"]

HUNK_START = "@@"
# A number that no file has lines for is none.
_NUMBERS = re.compile(r"@@ -(\d{1,9})(?:,(\d{1,9}))? \+(\d{1,9})(?:,(\d{1,9}))? @@")
_VERSION = re.compile(r"\d+(\.\d+)+")
_HEADING = re.compile(r"@@+(?:\s*[-+\d,. ]*@@)?\s*(.*?)(?:\s*@@)?\s*$")
_BULLET = re.compile(r"[-+] \S")
_RULE = re.compile(r"-{2,}\s*$|\+{2,}\s*$")
_NAMED = re.compile(r"(?:---|\+\+\+) \S")
_HEADERS = (HUNK_START, "diff --git ", "*** Begin Patch", "*** Update File: ", "*** Add File: ", "*** Delete File: ")
_FENCE = "```"
_MARKS: dict[str, Mark] = {" ": " ", "-": "-", "+": "+"}


@dataclass(slots=True)
class _Body:
    """The lines read so far, and what the header's counts still expect (None: it has no counts)."""

    counts: tuple[int, int] | None
    lines: list[tuple[Mark, str]] = field(default_factory=list[tuple[Mark, str]])
    blanks: int = 0  # how many of the last lines were blank, without even the mark of a context line
    unterminated: set[Mark] = field(default_factory=set[Mark])
    headed: bool = True  # an `@@` line stands before it

    def missing(self) -> tuple[int, int]:
        """How many old and new lines the counts still expect."""
        if self.counts is None:
            return 0, 0
        old = sum(mark != "+" for mark, _ in self.lines)
        new = sum(mark != "-" for mark, _ in self.lines)
        return self.counts[0] - old, self.counts[1] - new


def starts_names(lines: Sequence[str], at: int) -> bool:
    """Whether a `---` or `+++` line with a name stands here, and something that makes it a header follows."""
    line, following = lines[at], lines[at + 1] if at + 1 < len(lines) else ""
    if not _NAMED.match(line):
        return False
    if line.startswith("--- ") and following.startswith("+++ "):
        return True
    return following.startswith((HUNK_START, "+", "-"))


def begins_body(lines: Sequence[str], at: int) -> bool:
    """Whether the lines of a hunk stand here without the `@@` line that belongs before them."""
    for here in range(at, len(lines)):
        line = lines[here]
        if line.startswith(("+", "-")):
            return not (starts_names(lines, here) or _is_version_mark(lines, here))
        if line.strip() and not line.startswith(" "):
            return False
    return False


def read_hunk(lines: Sequence[str], at: int, number: int) -> tuple[Hunk, int]:
    """The hunk whose `@@` line (or first line, without it) is `lines[at]`, and the index of the first line behind."""
    match = _NUMBERS.match(lines[at])
    headed = lines[at].startswith(HUNK_START)
    body = _Body(counts=(int(match[2] or 1), int(match[4] or 1)) if match else None, headed=headed)
    end = _read_body(lines, at + headed, body, number)
    _check_whole(lines, at, end, body, number)
    if not _is_signature(lines, end, body):
        # What stands behind the fence around the whole patch is prose, however badly the lines are counted.
        missing = (0, 0) if end < len(lines) and _closes_fence(lines, at, end) else body.missing()
        _check_nothing_lost(lines, end, missing, number)
    _drop_trailing_blanks(body)
    if not body.lines:
        raise _malformed(number, f"{lines[at]!r} is followed by no line that begins with a blank, + or -.")
    heading = "" if match or not headed else (_HEADING.match(lines[at].rstrip("\r")) or [""])[1]
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
    if not body.headed:
        return True
    if at + 2 < len(lines) and lines[at + 2].startswith(HUNK_START):
        return not (old == 1 and new == 1)
    return body.counts is not None and old <= 0 and new <= 0


def _is_signature(lines: Sequence[str], at: int, body: _Body) -> bool:
    """Whether the mail signature `-- ` begins here: two dashes, and the version of git under them."""
    return at < len(lines) and max(body.missing()) <= 0 and _is_version_mark(lines, at)


def _is_version_mark(lines: Sequence[str], at: int) -> bool:
    if lines[at].rstrip("\r") not in ("-- ", "--"):
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


def _check_nothing_lost(lines: Sequence[str], end: int, missing: tuple[int, int], hunk: int) -> None:
    """Refuse lines that change something and stand between here and the next header, where they belong to no hunk.

    A list in prose looks like them; while the counts of a hunk miss some lines, it is none.
    """
    for at in range(end, len(lines)):
        if lines[at].startswith(_HEADERS) or starts_names(lines, at):
            return
        if is_stray(lines, at, missing):
            raise _malformed(
                hunk,
                f"the line {lines[end]!r} begins with neither a blank, + nor -, but lines that change something "
                f"follow it ({lines[at]!r}). Put a blank before every line that stays, + or - before every other.",
            )


def is_stray(lines: Sequence[str], at: int, missing: tuple[int, int] = (0, 0)) -> bool:
    """Whether a line outside of every hunk changes something; a list or a rule in prose only looks so."""
    line = lines[at]
    if not line.startswith(("-", "+")) or _is_version_mark(lines, at):
        return False
    return missing[line[0] == "+"] > 0 or not (_BULLET.match(line) or _RULE.match(line))


def _check_whole(lines: Sequence[str], at: int, end: int, body: _Body, number: int) -> None:
    """Refuse a new file that seems to end before its counts do: what follows may be its lines, without their +."""
    if body.counts is None or body.counts[0] or body.missing()[1] <= 0 or end >= len(lines):
        return
    if lines[end].startswith((*_HEADERS, "--- ")) or _closes_fence(lines, at, end):
        return
    raise _malformed(
        number,
        f"its counts miss {body.missing()[1]:,} more of its lines where the line {lines[end]!r} stands. Begin every "
        "line of a new file with +.",
    )


def _closes_fence(lines: Sequence[str], at: int, end: int) -> bool:
    """Whether the fence here closes one that was opened before the hunk, and no other follows."""
    if lines[end].rstrip() != _FENCE:
        return False
    fences = [here for here, line in enumerate(lines) if line.startswith(_FENCE)]
    before = sum(here < at for here in fences)
    return before % 2 == 1 and fences[-1] == end


def _drop_trailing_blanks(body: _Body) -> None:
    """Blank lines between a hunk and what follows are not part of it, unless its counts need them."""
    while body.blanks and (body.counts is None or body.missing() != (0, 0)):
        body.lines.pop()
        body.blanks -= 1


def _malformed(number: int, message: str) -> PatchError:
    return PatchError(PatchProblem(reason=Reason.MALFORMED, hunk=number, message=message))
