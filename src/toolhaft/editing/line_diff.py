"""Which lines differ between two lists of lines, in bounded time.

`difflib` is quadratic on repeated lines, so it is not used. A greedy search (E. Myers, "An O(ND) difference algorithm",
1986) finds the shortest answer while few lines differ. Where more differ, lines that occur exactly once on both sides
hold the two together (Bram Cohen's "patience" idea), and each gap between them is searched by itself. A gap with
neither is one replaced block: always right, only longer than it need be.
"""

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import NamedTuple, TypeVar

__all__ = ["Change", "line_changes"]

Item = TypeVar("Item", str, bytes)

# Work in one gap grows with the square of this; beyond it the unique lines take over.
MOST_DIFFERENCES = 100


class Change(NamedTuple):
    """Lines `old_start:old_end` of the one list became lines `new_start:new_end` of the other (0-based, half open)."""

    old_start: int
    old_end: int
    new_start: int
    new_end: int


def line_changes(old: Sequence[Item], new: Sequence[Item]) -> list[Change]:
    """The changes that lead from `old` to `new`, in order; between two changes the lines are equal.

    >>> line_changes(["a", "b", "c"], ["a", "B", "c"])
    [Change(old_start=1, old_end=2, new_start=1, new_end=2)]
    """
    found: list[Change] = []
    gaps = [Change(0, len(old), 0, len(new))]
    while gaps:
        gap = _trimmed(old, new, gaps.pop())
        if gap.old_start == gap.old_end or gap.new_start == gap.new_end:
            if gap.old_start != gap.old_end or gap.new_start != gap.new_end:
                found.append(gap)
            continue
        shortest = _shortest(old[gap.old_start : gap.old_end], new[gap.new_start : gap.new_end])
        if shortest is not None:
            found.extend(_moved(change, gap) for change in shortest)
        elif anchors := _anchors(old, new, gap):
            gaps.extend(_between(anchors, gap))
        else:
            found.append(gap)
    return sorted(found)


def _trimmed(old: Sequence[Item], new: Sequence[Item], gap: Change) -> Change:
    old_start, old_end, new_start, new_end = gap
    while old_start < old_end and new_start < new_end and old[old_start] == new[new_start]:
        old_start, new_start = old_start + 1, new_start + 1
    while old_start < old_end and new_start < new_end and old[old_end - 1] == new[new_end - 1]:
        old_end, new_end = old_end - 1, new_end - 1
    return Change(old_start, old_end, new_start, new_end)


def _moved(change: Change, gap: Change) -> Change:
    at_old, at_new = gap.old_start, gap.new_start
    return Change(
        change.old_start + at_old, change.old_end + at_old, change.new_start + at_new, change.new_end + at_new
    )


def _shortest(old: Sequence[Item], new: Sequence[Item]) -> list[Change] | None:
    """The shortest list of changes, or None where more than `MOST_DIFFERENCES` lines come and go."""
    furthest = {1: 0}  # on each diagonal (x - y): how far in `old` the best path reaches
    steps: list[dict[int, int]] = []
    for differences in range(min(MOST_DIFFERENCES, len(old) + len(new)) + 1):
        steps.append(dict(furthest))
        for diagonal in range(-differences, differences + 1, 2):
            x = _arrival(furthest, diagonal, differences)
            y = x - diagonal
            while x < len(old) and y < len(new) and old[x] == new[y]:
                x, y = x + 1, y + 1
            furthest[diagonal] = x
            if x >= len(old) and y >= len(new):
                return _walked_back(steps, len(old), len(new))
    return None


def _arrival(furthest: dict[int, int], diagonal: int, differences: int) -> int:
    """Where a path enters `diagonal`: from above (a line added) or from the left (a line removed)."""
    from_above = diagonal == -differences or (
        diagonal != differences and furthest[diagonal - 1] < furthest[diagonal + 1]
    )
    return furthest[diagonal + 1] if from_above else furthest[diagonal - 1] + 1


def _walked_back(steps: list[dict[int, int]], x: int, y: int) -> list[Change]:
    changes: list[Change] = []
    for differences in range(len(steps) - 1, 0, -1):
        furthest, diagonal = steps[differences], x - y
        entered = _arrival(furthest, diagonal, differences)
        from_above = diagonal == -differences or (
            diagonal != differences and furthest[diagonal - 1] < furthest[diagonal + 1]
        )
        before_x = entered if from_above else entered - 1
        before_y = before_x - (diagonal + 1 if from_above else diagonal - 1)
        _grow(changes, Change(before_x, entered, before_y, entered - diagonal))
        x, y = before_x, before_y
    return changes[::-1]


def _grow(changes: list[Change], step: Change) -> None:
    """Put one step before the changes found so far (they come backwards), joined to the last where they touch."""
    if changes and changes[-1].old_start == step.old_end and changes[-1].new_start == step.new_end:
        step = Change(step.old_start, changes[-1].old_end, step.new_start, changes.pop().new_end)
    changes.append(step)


def _anchors(old: Sequence[Item], new: Sequence[Item], gap: Change) -> list[tuple[int, int]]:
    """Pairs of equal lines, unique on both sides, in rising order on both (the longest such row)."""
    once_in_old = _once(old, gap.old_start, gap.old_end)
    once_in_new = _once(new, gap.new_start, gap.new_end)
    pairs = [(at, once_in_new[line]) for line, at in once_in_old.items() if line in once_in_new]
    ends: list[int] = []
    ends_at: list[int] = []
    previous: list[int] = []
    for number, (_, at_new) in enumerate(pairs):
        length = bisect_left(ends, at_new)
        previous.append(ends_at[length - 1] if length else -1)
        ends[length : length + 1] = [at_new]
        ends_at[length : length + 1] = [number]
    return list(_row(pairs, previous, ends_at[-1] if ends_at else -1))[::-1]


def _once(lines: Sequence[Item], start: int, end: int) -> dict[Item, int]:
    counts = Counter(lines[start:end])
    return {lines[at]: at for at in range(start, end) if counts[lines[at]] == 1}


def _row(pairs: list[tuple[int, int]], previous: list[int], number: int) -> Iterator[tuple[int, int]]:
    while number >= 0:
        yield pairs[number]
        number = previous[number]


def _between(anchors: list[tuple[int, int]], gap: Change) -> Iterator[Change]:
    at_old, at_new = gap.old_start, gap.new_start
    for anchor_old, anchor_new in [*anchors, (gap.old_end, gap.new_end)]:
        yield Change(at_old, anchor_old, at_new, anchor_new)
        at_old, at_new = anchor_old + 1, anchor_new + 1
