"""Where in a file a block of lines most nearly stands: the place to show when an exact match is not there.

Every line of the file that also stands in the block votes for the place where the block would then begin; rare and long
lines weigh most. Where no line is equal, words vote. One pass over the file, whatever it holds.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from heapq import nlargest

from toolhaft.editing.visible import block_diff

__all__ = ["nearest_starts", "shown_nearest"]

MOST_VOTES = 20_000
MOST_LINES_FOR_WORDS = 20_000
LONGEST_LINE_FOR_WORDS = 500
_WORD = re.compile(r"\w{2,}")


def nearest_starts(lines: Sequence[str], block: Sequence[str], *, most: int = 1) -> list[int]:
    """The 0-based lines at which `block` most nearly begins in `lines`, best first; empty where nothing is alike."""
    votes = _votes(_line_keys(lines), dict(_grouped(_line_keys(block))))
    if not votes and len(lines) <= MOST_LINES_FOR_WORDS:
        votes = _votes(_words(lines), dict(_grouped(_words(block))))
    return nlargest(most, votes, key=lambda start: (votes[start], -start))


def shown_nearest(lines: Sequence[str], block: Sequence[str]) -> tuple[str, tuple[int, ...]]:
    """A sentence and a comparison that show the nearest place, and its first and last 1-based line."""
    starts = nearest_starts(lines, block)
    first = max(starts[0], 0) if starts else 0
    last = min(first + len(block), len(lines))
    if not starts or first == last:
        return "Nothing in the file is like it.", ()
    where = f"lines {first + 1:,} to {last:,}" if last > first + 1 else f"line {last:,}"
    compared = block_diff(list(block), list(lines[first:last]))
    return f"Nearest is {where} (- is what was looked for, + is what the file has):\n{compared}", (first + 1, last)


def _line_keys(lines: Sequence[str]) -> Iterator[tuple[int, str]]:
    return ((at, key) for at, line in enumerate(lines) if (key := line.strip()))


def _words(lines: Sequence[str]) -> Iterator[tuple[int, str]]:
    return ((at, word) for at, line in enumerate(lines) for word in set(_WORD.findall(line[:LONGEST_LINE_FOR_WORDS])))


def _grouped(keys: Iterable[tuple[int, str]]) -> Iterator[tuple[str, list[int]]]:
    places: dict[str, list[int]] = defaultdict(list)
    for at, key in keys:
        places[key].append(at)
    return iter(places.items())


def _votes(keys: Iterable[tuple[int, str]], wanted: dict[str, list[int]]) -> dict[int, float]:
    """How much speaks for each start; the rarest keys vote first, until `MOST_VOTES` were given."""
    votes: dict[int, float] = defaultdict(float)
    given = 0
    found = _grouped((at, key) for at, key in keys if key in wanted)
    for key, places in sorted(found, key=lambda item: len(item[1])):
        for at in places[: MOST_VOTES // len(wanted[key])]:
            for offset in wanted[key]:
                votes[at - offset] += (len(key) + 1) / len(places)
        given += len(places) * len(wanted[key])
        if given > MOST_VOTES:
            break
    return votes
