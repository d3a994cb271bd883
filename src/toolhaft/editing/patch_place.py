"""Where a hunk belongs: the place where all its old lines stand, at its line number or nearest to it.

No context is ever ignored. Lines are looked up by content, all hunks in one pass over the file, and a hunk is tried
only where its rarest line stands: the cost is that of the file, not of the file times the hunks.
"""

from bisect import bisect_left
from collections.abc import Sequence
from math import inf

from toolhaft.editing.file_lines import FileLines, block_starts
from toolhaft.editing.nearest import shown_nearest
from toolhaft.editing.patch_model import Hunk, PatchProblem
from toolhaft.editing.refusal import Reason

__all__ = ["Unplaced", "is_literal", "place_hunk"]

MOST_PLACES_NAMED = 10
# How many lines around the claimed one, beyond the drift, are searched before the whole file is looked up.
REACH = 20
LONGEST_REACH = 1000


class Unplaced(Exception):  # noqa: N818 -- caught in this package; what reaches callers is a PatchError
    """The hunk has no place, or more than one."""

    def __init__(self, reason: Reason, message: str) -> None:
        super().__init__(message)
        self.reason = reason
        self.message = message

    def problem(self, path: str, hunk: Hunk) -> PatchProblem:
        """The same, as what is told to the caller."""
        return PatchProblem(reason=self.reason, message=self.message, path=path, hunk=hunk.number)


def place_hunk(lines: FileLines, hunk: Hunk, hunks: Sequence[Hunk], *, behind: int | None, drift: int = 0) -> int:
    """The 0-based line at which `hunk` applies; raises `Unplaced`.

    `hunks` are all of the file (they are looked up together). `behind` is given where order counts: the line behind the
    hunk before it, from which a hunk without a number is looked for. `drift` is how far that one was off: this one may
    be found as fast, but it is not preferred there.
    """
    if all(mark == "+" for mark, _ in hunk.body):
        return _place_addition(lines, hunk)
    fits = _Fit(lines, hunk)
    if hunk.old_start is None:
        lines.index(line for other in hunks for line in other.bare_old)
        return _only(lines, hunk, [start for start in lines.starts(fits.old) if fits(start)], behind)
    expected = max(hunk.old_start - 1, 0)
    start = expected if fits(expected) else None
    reach = abs(drift) + REACH
    if start is None and reach <= LONGEST_REACH and not lines.indexed:
        start = _nearest(lines.starts_near(fits.old, expected, reach), expected, fits)
    if start is None:
        lines.index(line for other in hunks for line in other.bare_old)
        start = _nearest(lines.starts(fits.old), expected, fits)
    if start is None:
        raise _not_found(lines, hunk)
    _check_end_of_file(fits, hunk, start)
    return start


def is_literal(lines: FileLines, hunk: Hunk, start: int) -> bool:
    """Whether the hunk's old lines stand there with their very line ends, so that its new lines are taken as is."""
    old = hunk.old
    if hunk.old_unterminated and lines.lent_cr:
        old = [*old[:-1], old[-1] + "\r"]
    return lines.raw[start : start + len(old)] == old


class _Fit:
    """Asks whether a hunk fits at a line."""

    def __init__(self, lines: FileLines, hunk: Hunk) -> None:
        self.lines = lines
        self.hunk = hunk
        self.old = hunk.bare_old
        self.last = len(lines.bare) - len(self.old)
        self.ends_file = hunk.at_end or hunk.old_unterminated or hunk.new_unterminated

    def __call__(self, start: int) -> bool:
        if not 0 <= start <= self.last or (self.ends_file and start != self.last):
            return False
        if self.lines.bare[start : start + len(self.old)] != self.old:
            return False
        if self.hunk.old_unterminated and self.lines.terminated:
            return False
        return is_literal(self.lines, self.hunk, start) or not self.hunk.is_about_line_ends


def _place_addition(lines: FileLines, hunk: Hunk) -> int:
    if hunk.at_end or not lines.raw:
        return len(lines.raw)
    raise Unplaced(
        Reason.AMBIGUOUS,
        "it only adds lines, so nothing shows where they belong. Add unchanged lines before and behind them.",
    )


def _nearest(starts: Sequence[int], expected: int, fits: _Fit) -> int | None:
    """The start nearest to `expected` that fits, tried outwards from it."""
    right = bisect_left(starts, expected)
    left = right - 1
    while left >= 0 or right < len(starts):
        before = expected - starts[left] if left >= 0 else inf
        after = starts[right] - expected if right < len(starts) else inf
        tried = [*([starts[left]] if before <= after else []), *([starts[right]] if after <= before else [])]
        fitting = [start for start in tried if fits(start)]
        if len(fitting) > 1:
            apart = "1 line" if before == 1 else f"{before:,} lines"
            raise Unplaced(
                Reason.AMBIGUOUS,
                f"its old lines stand on line {fitting[0] + 1:,} and on line {fitting[1] + 1:,}, both {apart} from "
                f"line {expected + 1:,} where it claims to be. Correct its line number or add context lines.",
            )
        if fitting:
            return fitting[0]
        left, right = left - (before <= after), right + (after <= before)
    return None


def _only(lines: FileLines, hunk: Hunk, starts: list[int], behind: int | None) -> int:
    """The one start there is, or the one that its anchors or the order of the hunks leave."""
    if not starts:
        raise _not_found(lines, hunk)
    left = starts
    if len(left) > 1 and hunk.anchors:
        left = _first_behind_anchors(lines, hunk, left, behind or 0) or left
    if len(left) > 1 and behind is not None:
        left = [start for start in left if start >= behind] or left
    if len(left) > 1:
        named = ", ".join(f"{start + 1:,}" for start in starts[:MOST_PLACES_NAMED])
        rest = ", ..." if len(starts) > MOST_PLACES_NAMED else ""
        raise Unplaced(
            Reason.AMBIGUOUS,
            f"it has no line number and its old lines stand in {len(starts):,} places (lines {named}{rest}). "
            "Give it a line number or add context lines.",
        )
    return left[0]


def _first_behind_anchors(lines: FileLines, hunk: Hunk, starts: list[int], behind: int) -> list[int]:
    """For every place where the anchors stand one behind the other, the first start from there on."""
    places = [behind]
    for anchor in hunk.anchors:
        stands = [at for at, line in enumerate(lines.bare) if line.strip() == anchor.strip() and at >= places[0]]
        places = stands if places == [behind] else _first_from(stands, places)
        if not places:
            return []
    return _first_from(starts, places)


def _first_from(rising: Sequence[int], places: Sequence[int]) -> list[int]:
    """For every place the first of the `rising` numbers from there on; each only once."""
    found = (bisect_left(rising, place) for place in places)
    return sorted({rising[at] for at in found if at < len(rising)})


def _check_end_of_file(fits: _Fit, hunk: Hunk, start: int) -> None:
    """A diff leaves out context behind a change only at the end of the file; a model leaves it out anywhere."""
    has_context = any(mark == " " for mark, _ in hunk.body)
    if not has_context or hunk.body[-1][0] == " " or start == fits.last or not fits(fits.last):
        return
    raise Unplaced(
        Reason.AMBIGUOUS,
        f"no line of context follows its change, and it fits on line {start + 1:,} as well as at the end of the file "
        f"(line {fits.last + 1:,}). Add a line of context behind the change.",
    )


def _not_found(lines: FileLines, hunk: Hunk) -> Unplaced:
    new = [line.removesuffix("\r") for line in hunk.new]
    at = next(block_starts(lines.bare, new), None) if len(hunk.old) < len(hunk.body) else None
    if at is not None:
        return Unplaced(
            Reason.ALREADY_APPLIED,
            f"its old lines are not in the file, but its new lines stand on line {at + 1:,}: it is applied already.",
        )
    old = hunk.bare_old
    ended = next(block_starts(lines.bare, old), None)
    if ended is not None:
        return Unplaced(
            Reason.NOT_FOUND,
            f"its old lines stand on line {ended + 1:,}, but not as the end of the file or not with the line ends that "
            "it says. Leave out '\\ No newline at end of file', or put it where the file has no newline at its end.",
        )
    shown, _ = shown_nearest(lines.bare, old)
    return Unplaced(Reason.NOT_FOUND, f"its old lines are not in the file. {shown}")
