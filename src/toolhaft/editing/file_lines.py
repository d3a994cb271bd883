"""A file as a list of lines, for hunks to be placed in: looked up by content, put together again as it was."""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress

__all__ = ["FileLines", "block_starts"]


def block_starts(lines: Sequence[str], block: Sequence[str]) -> Iterator[int]:
    """Every line at which `block` stands in `lines`, in rising order.

    The searching is done on joined text, in time linear in it: lists of equal lines would be compared over and over.
    """
    text, wanted = "\n".join(["", *lines, ""]), "\n".join(["", *block, ""])
    number, counted_to = 0, 0
    at = text.find(wanted) if block else -1
    while at >= 0:
        number += text.count("\n", counted_to, at)
        counted_to = at
        yield number
        at = text.find(wanted, at + 1)


class FileLines:
    r"""A file's lines without their LF: `raw` with each CR, `bare` without.

    `terminated` says whether a newline ends the last line. A last line that has none is lent the CR that it would have,
    were another line to follow it (`lent_cr`).
    """

    def __init__(self, text: str) -> None:
        self.raw = text.split("\n")
        self.terminated = self.raw[-1] == ""
        self.lent_cr = False
        if self.terminated:
            self.raw.pop()
        elif len(self.raw) > 1 and self.raw[-2].endswith("\r"):
            self.raw[-1] += "\r"
            self.lent_cr = True
        self.bare = [line.removesuffix("\r") for line in self.raw] if "\r" in text else self.raw
        if self.raw and not self.terminated and not self.lent_cr:
            self.bare[-1] = self.raw[-1]  # a CR that no LF follows is no part of a line end
        self._places: dict[str, list[int]] = {}

    @property
    def indexed(self) -> bool:
        """Whether `index` has been called."""
        return bool(self._places)

    def index(self, wanted: Iterable[str]) -> None:
        """Look up in one pass where each of the `wanted` bare lines stands; done once."""
        if self.indexed:
            return
        places: dict[str, list[int]] = {line: [] for line in wanted}
        for at in [at for at, line in enumerate(self.bare) if line in places]:
            places[self.bare[at]].append(at)
        self._places = places

    def starts_near(self, block: Sequence[str], expected: int, reach: int) -> list[int]:
        """Where the bare lines `block` could begin, in rising order, at most `reach` lines from `expected`."""
        longest = max(range(len(block)), key=lambda at: len(block[at]))
        at, last = max(expected + longest - reach, 0), expected + longest + reach
        starts: list[int] = []
        with suppress(ValueError):  # which ends the search
            while True:
                at = self.bare.index(block[longest], at, last + 1) + 1
                starts.append(at - 1 - longest)
        return starts

    def starts(self, block: Sequence[str]) -> list[int]:
        """Where the indexed lines `block` could begin, in rising order: wherever the rarest of them stands."""
        rarest = min(range(len(block)), key=lambda at: len(self._places[block[at]]))
        return [at - rarest for at in self._places[block[rarest]]]

    def ended_alike(self, added: Sequence[str], start: int, end: int) -> list[str]:
        """The `added` lines as they stand in the place of `start:end`.

        Each ends as the line it replaces, or else as the line before, or behind.
        """
        ends = [line.endswith("\r") for line in self.raw[start:end] or self.raw[max(start - 1, 0) : max(start, 1)]] or [
            False
        ]
        return [line.removesuffix("\r") + "\r" * ends[min(at, len(ends) - 1)] for at, line in enumerate(added)]

    def replaced(self, changes: Iterable[tuple[int, int, Sequence[str]]]) -> str:
        """The text with the lines `start:end` of each change, in rising order, replaced by others.

        A newline ends the text exactly if one did before.
        """
        raw: list[str] = []
        copied = 0
        for start, end, added in changes:
            raw += self.raw[copied:start]
            raw += self.ended_alike(added, start, end)
            copied = end
        raw += self.raw[copied:]
        if self.terminated or not raw:
            return "".join(f"{line}\n" for line in raw)
        if copied == len(self.raw) or self.lent_cr:
            raw[-1] = raw[-1].removesuffix("\r")
        return "\n".join(raw)
