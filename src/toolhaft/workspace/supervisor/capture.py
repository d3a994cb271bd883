"""Output of any size in constant memory: the head and the tail of each stream, or the last part of a job's.

Which stream wrote when is kept, as far as two pipes tell it, so that they can be shown in one text. A character is
never cut in two; bytes that are not UTF-8 become U+FFFD.
"""

import codecs
from collections import deque

from .frames import Message
from .spill import Spill

# Counting lines costs 1 ns a byte, more than reading does: beyond this nobody asks for the exact number.
_COUNTED_BYTES = 16 << 20
_CONTINUATION = range(0x80, 0xC0)

SentPiece = tuple[str, str, int, int | None]
"""Stream, text, bytes dropped, lines dropped; a gap has no text, and None lines where they were not counted."""


class _Run:
    """What one stream wrote without the other writing in between."""

    __slots__ = ("data", "turn")

    def __init__(self, turn: int, data: bytes | bytearray | memoryview) -> None:
        self.turn = turn
        self.data = bytearray(data)


class _Stream:
    def __init__(self, *, head_bytes: int, tail_bytes: int) -> None:
        self.dropped_bytes = 0
        self.dropped_lines = 0
        self._head: list[_Run] = []
        self._tail: deque[_Run] = deque()
        self._head_left = head_bytes
        self._tail_bytes = tail_bytes
        self._tail_size = 0

    def feed(self, turn: int, data: memoryview) -> None:
        if self._head_left:
            part = data[: self._head_left]
            self._head_left -= len(part)
            _append(self._head, turn, part)
            data = data[len(part) :]
        surplus = len(data) - self._tail_bytes
        if surplus >= 0:
            while self._tail:
                self._drop(self._tail.popleft().data)
            self._tail_size = 0
            self._drop(data[:surplus])
            data = data[surplus:]
        if data:
            _append(self._tail, turn, data)
            self._tail_size += len(data)
            self._shrink()

    def _shrink(self) -> None:
        while (surplus := self._tail_size - self._tail_bytes) > 0:
            first = self._tail[0].data
            part = first[:surplus]
            self._drop(part)
            self._tail_size -= len(part)
            if len(part) == len(first):
                self._tail.popleft()
            else:
                del first[:surplus]

    def _drop(self, data: bytearray | memoryview) -> None:
        self.dropped_bytes += len(data)
        if self.dropped_bytes <= _COUNTED_BYTES:
            self.dropped_lines += bytes(data).count(b"\n")

    def drops(self, size: int) -> bool:
        """Whether something is dropped when so many bytes more come."""
        return self._tail_size + max(0, size - self._head_left) > self._tail_bytes

    def runs(self) -> list[_Run]:
        """Return what is kept."""
        return [*self._head, *self._tail]

    def pieces(self, name: str) -> list[tuple[int, SentPiece]]:
        """Return the stream's pieces, each with the turn in which it was written."""
        decoder = codecs.getincrementaldecoder("utf-8")("replace")
        found: list[tuple[int, SentPiece]] = [
            (run.turn, (name, decoder.decode(bytes(run.data)), 0, 0)) for run in self._head
        ]
        if self.dropped_bytes:
            self.dropped_bytes += len(decoder.getstate()[0]) + self._skip_torn()
            decoder.reset()
            counted = self.dropped_lines if self.dropped_bytes <= _COUNTED_BYTES else None
            turn = self._tail[0].turn if self._tail else found[-1][0] if found else 0
            found.append((turn, (name, "", self.dropped_bytes, counted)))
        found += [(run.turn, (name, decoder.decode(bytes(run.data)), 0, 0)) for run in self._tail]
        if (rest := decoder.decode(b"", True)) and found:
            found.append((found[-1][0], (name, rest, 0, 0)))
        return found

    def _skip_torn(self) -> int:
        """Remove the rest of a character whose first byte was dropped."""
        if not self._tail:
            return 0
        data = self._tail[0].data
        torn = _torn(data)
        del data[:torn]
        return torn


class HeadAndTail:
    """The head and tail of stdout and stderr, with what was dropped between them; all of it goes to `spill`, if any."""

    def __init__(self, *, head_bytes: int, tail_bytes: int, spill: Spill | None = None) -> None:
        self._streams = {name: _Stream(head_bytes=head_bytes, tail_bytes=tail_bytes) for name in ("stdout", "stderr")}
        self._spill = spill
        self._last = ""
        self._turn = 0

    def feed(self, name: str, data: memoryview) -> None:
        """Add what a stream has written."""
        if name != self._last:
            self._turn += 1
            self._last = name
        stream = self._streams[name]
        if self._spill and (self._spill.is_open or stream.drops(len(data))):
            if not self._spill.is_open:
                self._spill.write(self._kept())
            self._spill.write(data)
        stream.feed(self._turn, data)

    def pieces(self, *, max_lines: int | None = None) -> list[SentPiece]:
        """Return what was kept of both streams, in the order in which it came.

        Whoever shows no more than `max_lines` of it finds the rest in the spill file.
        """
        if self._spill and not self._spill.is_open and max_lines is not None:
            kept = self._kept()
            if kept.count(b"\n") + (not kept.endswith(b"\n")) > max_lines:
                self._spill.write(kept)
        found = [piece for name, stream in self._streams.items() for piece in stream.pieces(name)]
        return [piece for _, piece in sorted(found, key=lambda one: one[0]) if piece[1] or piece[2]]

    def _kept(self) -> bytes:
        runs = [run for stream in self._streams.values() for run in stream.runs()]
        return b"".join(run.data for run in sorted(runs, key=lambda run: run.turn))


class Ring:
    """The last `limit_bytes` that a job wrote and that nobody has asked for yet."""

    def __init__(self, limit_bytes: int) -> None:
        self._limit = limit_bytes
        self._data = bytearray()
        self._dropped = 0
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")

    def feed(self, data: memoryview) -> None:
        """Add what was written, dropping the oldest where there is no room."""
        surplus = len(self._data) + len(data) - self._limit
        if surplus > 0:
            self._dropped += surplus + len(self._decoder.getstate()[0])
            self._decoder.reset()
            del self._data[:surplus]
            data = data[max(0, len(data) - self._limit) :]
        self._data += data

    def take(self, limit_bytes: int, *, final: bool) -> Message:
        """Return what is new, at most `limit_bytes` of it, and how much was dropped before it."""
        if limit_bytes:
            torn = _torn(self._data) if self._dropped else 0
            part = bytes(self._data[torn : torn + limit_bytes])
            del self._data[: torn + limit_bytes]
            dropped, self._dropped = self._dropped + torn, 0
            text = self._decoder.decode(part, final and not self._data)
        else:
            dropped, text = 0, ""
        return {"text": text, "dropped_bytes": dropped, "waiting_bytes": len(self._data)}


def _torn(data: bytearray) -> int:
    """Return how many bytes at the beginning belong to a character whose first byte was dropped."""
    torn = 0
    while torn < min(3, len(data)) and data[torn] in _CONTINUATION:
        torn += 1
    return torn


def _append(runs: "list[_Run] | deque[_Run]", turn: int, data: memoryview) -> None:
    if runs and runs[-1].turn == turn:
        runs[-1].data += data
    else:
        runs.append(_Run(turn, data))
