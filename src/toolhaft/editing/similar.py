"""The last rung: a block that is alike as a whole, though some of its lines are not.

It must be clearly alike, clearly more so than any other place, and about as long. What it answers is which line of the
file each line of the block is; lines in which the two differ are for the caller to leave alone.
"""

from collections.abc import Sequence

from toolhaft.editing.nearest import nearest_starts
from toolhaft.editing.typography import plain

__all__ = ["likeness", "most_similar"]

MOST_LINES = 400
FEWEST_LINES = 3  # with text in them: fewer prove too little
LEAST_SIMILARITY = 0.8
LEAST_LEAD = 0.1
BAND = 3  # how many lines the block may have more or less than the file, up to any line of it
LEAST_LINE_SIMILARITY = 0.5
LONGEST_LINE = 400

Alignment = tuple[float, list[int | None]]


def most_similar(lines: Sequence[str], block: Sequence[str]) -> list[int | None] | None:
    """For each line of `block` the line of `lines` that it is, None for one that is not there; or None for no place."""
    if not sum(bool(line.strip()) for line in block) >= FEWEST_LINES or len(block) > MOST_LINES:
        return None
    aligned: list[Alignment] = []
    for start in nearest_starts(lines, block, most=8):
        aligned.append(_aligned(lines, block, start))
    aligned.sort(key=lambda alignment: alignment[0], reverse=True)
    if not aligned or aligned[0][0] < LEAST_SIMILARITY:
        return None
    best = _first(aligned[0][1])
    rivals = [score for score, pairing in aligned[1:] if abs(_first(pairing) - best) > BAND]
    return aligned[0][1] if not rivals or aligned[0][0] - rivals[0] >= LEAST_LEAD else None


def _first(pairing: Sequence[int | None]) -> int:
    return next((at for at in pairing if at is not None), -1)


def _aligned(lines: Sequence[str], block: Sequence[str], start: int) -> Alignment:
    """How alike `block` is to the lines from about `start` on (0 to 1), and which line of it is which."""
    low = max(start - BAND, 0)
    found = [plain(line.strip()) for line in lines[low : max(start + len(block) + BAND, 0)]]
    wanted = [plain(line.strip()) for line in block]
    pairing: list[int | None] = [None] * len(wanted)
    for at, there in _best_path(wanted, found, start - low):
        pairing[at] = low + there
    places = [there - low for there in pairing if there is not None]
    if not places:
        return 0.0, pairing
    alike = sum(
        _weight(line) * likeness(line, found[there - low])
        for line, there in zip(wanted, pairing, strict=True)
        if there is not None
    )
    whole = sum(map(_weight, wanted)) + sum(map(_weight, found[places[0] : places[-1] + 1]))
    return 2 * alike / whole, pairing


def _best_path(wanted: Sequence[str], found: Sequence[str], expected: int) -> list[tuple[int, int]]:
    """Pairs of alike lines in rising order, the most alike in sum, each within `BAND` of where it is expected."""
    # For each count of lines of `found` that are used up: the best score so far, and the step that led to it.
    rows: list[dict[int, tuple[float, bool]]] = [dict.fromkeys(range(len(found) + 1), (0.0, False))]
    for number, line in enumerate(wanted):
        row: dict[int, tuple[float, bool]] = {}
        centre = expected + number + 1
        for at in range(max(centre - BAND, 0), min(centre + BAND, len(found)) + 1):
            score, paired = max(rows[-1].get(at, (0.0, False))[0], row.get(at - 1, (0.0, False))[0]), False
            before = rows[-1].get(at - 1)
            alike = likeness(line, found[at - 1]) if before else 0.0
            if before and alike >= LEAST_LINE_SIMILARITY and before[0] + alike * _weight(line) > score:
                score, paired = before[0] + alike * _weight(line), True
            row[at] = (score, paired)
        rows.append(row)
    return _walked_back(rows)


def _walked_back(rows: list[dict[int, tuple[float, bool]]]) -> list[tuple[int, int]]:
    path: list[tuple[int, int]] = []
    number = len(rows) - 1
    at = max(rows[number], key=lambda used: rows[number][used][0], default=0)
    while number and at in rows[number]:
        score, paired = rows[number][at]
        if paired:
            path.append((number - 1, at - 1))
            number, at = number - 1, at - 1
        elif rows[number].get(at - 1, (-1.0, False))[0] == score:
            at -= 1
        else:
            number -= 1
    return path[::-1]


def _weight(line: str) -> int:
    return len(line) + 1


def likeness(wanted: str, found: str) -> float:
    """How many pairs of neighbouring characters two lines share (Dice's coefficient)."""
    if wanted == found:
        return 1.0
    ours, theirs = _pairs(wanted), _pairs(found)
    return 2 * len(ours & theirs) / (len(ours) + len(theirs)) if ours and theirs else 0.0


def _pairs(line: str) -> set[str]:
    line = line[:LONGEST_LINE]
    return {line[at : at + 2] for at in range(len(line) - 1)}
