"""A file as a list of lines, for hunks to be placed in: looked up by content, put together again as it was."""

from array import array
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain
from typing import overload

from toolhaft.editing.diff import difference
from toolhaft.editing.exact import Edit, spliced

__all__ = ["FileLines", "Piece", "TextLines", "block_starts"]

_PIECE_CHARS = 1 << 15
_LINES_JOINED = 4096

Piece = tuple[int, int, list[str]]
"""Old lines `start:end`, and the lines (without their LF) that stand in their place."""


def block_starts(lines: Sequence[str], block: Sequence[str]) -> Iterator[int]:
    """Every line at which `block` stands in `lines`, in rising order.

    The searching is done on joined text, in time linear in it: lists of equal lines would be compared over and over.
    It is joined in steps, so that no call takes long.
    """
    wanted = "\n".join(["", *block, ""])
    step = max(_LINES_JOINED, 2 * len(block))
    for number in range(0, len(lines) if block else 0, step):
        text = "\n".join(["", *lines[number : number + step + len(block) - 1], ""])
        at, counted_to = text.find(wanted), 0
        while at >= 0:
            number += text.count("\n", counted_to, at)
            counted_to = at
            yield number
            at = text.find(wanted, at + 1)


class TextLines(Sequence[str]):
    """The lines of a text without their LF, `bare` also without the CR before that.

    They are split when they are looked at, some hundreds at a time: a list of them would take several times the room
    of the text. Behind a last line that no LF ends stands `more`.
    """

    def __init__(self, text: str, *, bare: bool = False, more: str = "") -> None:
        self._text = text
        self._bare = bare
        self._more = more
        self._starts = array("q")  # where each piece begins in the text
        self._numbers = array("q")  # and how many lines lie before it
        at = number = 0
        while at < len(text):
            self._starts.append(at)
            self._numbers.append(number)
            end = text.find("\n", at + _PIECE_CHARS) + 1 or len(text)
            number += text.count("\n", at, end)
            at = end
        self._len = number + (at > 0 and text[-1] != "\n")
        self._split = -1, [""]  # the piece that was looked at last, and its lines

    def __len__(self) -> int:
        return self._len

    def __iter__(self) -> Iterator[str]:
        return chain.from_iterable(lines for _, lines in self.pieces())

    @overload
    def __getitem__(self, at: int) -> str: ...
    @overload
    def __getitem__(self, at: slice) -> list[str]: ...
    def __getitem__(self, at: int | slice) -> str | list[str]:
        """One line, or a list of some that follow each other."""
        if not isinstance(at, slice):
            at = range(self._len)[at]
            return self._some(at, at + 1)[0]
        start, end, _ = at.indices(self._len)
        return self._some(start, end)

    def pieces(self) -> Iterator[tuple[int, list[str]]]:
        """All lines, some hundreds at a time, with the number of the first."""
        return ((self._numbers[piece], self._lines_in(piece)) for piece in range(len(self._starts)))

    def offset(self, line: int) -> int:
        """Where a line begins in the text, if these lines have their CR; for the line behind the last one, the end."""
        if line >= self._len:
            return len(self._text)
        piece = bisect_right(self._numbers, line) - 1
        before = line - self._numbers[piece]
        return self._starts[piece] + before + sum(map(len, self._lines_in(piece)[:before]))

    def _some(self, start: int, end: int) -> list[str]:
        found: list[str] = []
        piece = max(bisect_right(self._numbers, start) - 1, 0)
        while start + len(found) < end:
            first = start + len(found) - self._numbers[piece]
            found += self._lines_in(piece)[first : end - self._numbers[piece]]
            piece += 1
        return found

    def _lines_in(self, piece: int) -> list[str]:
        if self._split[0] != piece:
            self._split = piece, self._split_piece(piece)
        return self._split[1]

    def _split_piece(self, piece: int) -> list[str]:
        is_last = piece == len(self._starts) - 1
        lines = self._text[self._starts[piece] : None if is_last else self._starts[piece + 1]].split("\n")
        last = lines.pop()
        if self._bare:
            lines = [line.removesuffix("\r") for line in lines]
        return [*lines, last + self._more] if last else lines


class FileLines:
    r"""A file's lines without their LF: `raw` with each CR, `bare` without.

    `terminated` says whether a newline ends the last line. A last line that has none is lent the CR that it would have,
    were another line to follow it (`lent_cr`).
    """

    def __init__(self, text: str) -> None:
        self.text = text
        self.terminated = not text or text[-1] == "\n"
        line_end = text.rfind("\n")
        self.lent_cr = not self.terminated and line_end > 0 and text[line_end - 1] == "\r"
        self.raw = TextLines(text, more="\r" if self.lent_cr else "")
        # A CR that no LF follows is no part of a line end.
        self.bare = TextLines(text, bare=True) if "\r" in text else self.raw
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
        for number, lines in self.bare.pieces():
            for at in [at for at, line in enumerate(lines) if line in places]:
                places[lines[at]].append(number + at)
        self._places = places

    def starts_near(self, block: Sequence[str], expected: int, reach: int) -> list[int]:
        """Where the bare lines `block` could begin, in rising order, at most `reach` lines from `expected`."""
        longest = max(range(len(block)), key=lambda at: len(block[at]))
        first, last = max(expected + longest - reach, 0), max(expected + longest + reach, 0)
        return [first + at - longest for at, line in enumerate(self.bare[first : last + 1]) if line == block[longest]]

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

    def edits(self, pieces: Iterable[Piece], at_end: Callable[[list[str]], str]) -> Iterator[Edit[str]]:
        """What replaces the lines of each piece, in rising order, as edits of the text.

        `at_end` gives the text of the last lines of the file: there a line end may be missing before, after, or both.
        """
        for start, end, new in _joined(pieces):
            if end == len(self.raw):
                kept = max(start - 1, 0)  # its line end may come or go
                at = self.raw.offset(kept)
                edit = difference(self.text[at:], at_end([*self.raw[kept:start], *new]))
                yield Edit(start=at + edit.start, end=at + edit.end, new=edit.new)
            else:
                added = "".join(f"{line}\n" for line in new)
                yield Edit(start=self.raw.offset(start), end=self.raw.offset(end), new=added)

    def replaced(self, changes: Iterable[Piece]) -> Edit[str]:
        """What replaces the lines of each change, in rising order, as one edit of the text.

        A newline ends the text exactly if one did before.
        """
        changes = [(start, end, self.ended_alike(added, start, end)) for start, end, added in changes]
        edits = list(self.edits(changes, self._ended_as_before))
        start, end = edits[0].start, edits[-1].end
        edit = difference(self.text[start:end], spliced(self.text, edits, start=start, end=end))
        return Edit(start=start + edit.start, end=start + edit.end, new=edit.new)

    def _ended_as_before(self, raw: list[str]) -> str:
        if self.terminated or not raw:
            return "".join(f"{line}\n" for line in raw)
        return "\n".join([*raw[:-1], raw[-1].removesuffix("\r")])


def _joined(pieces: Iterable[Piece]) -> list[Piece]:
    """The pieces, those that touch made one."""
    joined: list[Piece] = []
    for start, end, new in pieces:
        if joined and joined[-1][1] == start:
            before, _, added = joined.pop()
            joined.append((before, end, [*added, *new]))
        else:
            joined.append((start, end, new))
    return joined
