"""Where lines begin in a file, found by counting LFs and without holding more than one chunk of it.

Everything here works on *units*: one byte for each code unit of the encoding, in which 0x0A stands exactly where
there is an LF. For UTF-8 and all encodings built on ASCII that is the file itself; for UTF-16 and UTF-32 the bytes of
a unit are folded into one. So counting is always `bytes.count`, which runs at memory speed.

What a count over a large file found is kept as a sparse index: how many LFs lie before each chunk.
"""

import threading
import time
from array import array
from bisect import bisect_left
from collections import OrderedDict
from collections.abc import Generator, Hashable
from io import BufferedReader
from typing import BinaryIO, NamedTuple, cast

from .text import Encoding

# Large enough that a read costs little against its bytes, small enough for the processor's cache.
CHUNK_BYTES = 256 * 1024
_TAIL_CHUNK_BYTES = 64 * 1024
# 16 GiB worth of chunks, half a megabyte of memory. What lies behind is counted again each time.
_MAX_CHECKPOINTS = 65_536
# A file changed again within one tick of the file system's clock keeps its version. Linux ticks are up to 10 ms.
_SETTLED_NS = 50_000_000

_LF = b"\n"
_ZERO_OR_NOT = b"\0" + b"\xff" * 255


class Checkpoints(NamedTuple):
    """What is known of a file's lines: the LFs before chunk 0, 1, 2, ... and, if its end was reached, the lines."""

    lfs_before: "array[int]" = array("Q", [0])  # never changed; who counts on does so in a copy
    total_lines: int | None = None

    @property
    def at_least_lines(self) -> int:
        """How many lines the file has at least."""
        return self.lfs_before[-1] if self.total_lines is None else self.total_lines


class LineIndex:
    """Checkpoints of the files read last, by version; safe between threads, bounded in files and memory (8 MB)."""

    def __init__(self, *, max_files: int = 16) -> None:
        self._max_files = max_files
        self._known: OrderedDict[Hashable, Checkpoints] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, version: Hashable) -> Checkpoints:
        """Return what is known of a file in this version, at first nothing."""
        with self._lock:
            if version in self._known:
                self._known.move_to_end(version)
            return self._known.get(version) or Checkpoints()

    def put(self, version: Hashable, found: Checkpoints, *, changed_ns: int) -> None:
        """Remember what was found, unless more is known or the file changed so lately that its version may repeat."""
        if time.time_ns() - changed_ns < _SETTLED_NS:
            return
        with self._lock:
            known = self._known.get(version)
            if known is None or len(known.lfs_before) < len(found.lfs_before) or known.total_lines is None:
                self._known[version] = found
            self._known.move_to_end(version)
            while len(self._known) > self._max_files:
                self._known.popitem(last=False)


def seek_line(file: BinaryIO, line: int, encoding: Encoding, *, known: Checkpoints) -> tuple[int | None, Checkpoints]:
    """Return the byte at which a line begins and what is then known of the file; None where it has fewer lines.

    `line` counts from 1. After a None, `total_lines` is known.
    """
    if known.total_lines is not None and line > known.total_lines:
        return None, known
    if line == 1:
        start = len(encoding.bom)
        return (start, known) if read_at(file, start, 1) else (None, Checkpoints(total_lines=0))
    lfs = known.lfs_before[:]
    # Line 7 begins behind LF 6, which lies in the last chunk that has fewer than 6 before it.
    behind = line - 1
    chunk = bisect_left(lfs, behind) - 1
    seen, end = lfs[chunk], chunk * CHUNK_BYTES
    for units, count, end in _chunks(file, chunk, encoding):
        found = units.count(_LF, 0, count)
        if seen + found >= behind:
            start = chunk * CHUNK_BYTES + after_lf(units, behind - seen, end=count) * encoding.unit
            if start < end or read_at(file, start, 1):
                return start, Checkpoints(lfs_before=lfs, total_lines=known.total_lines)
            return None, Checkpoints(lfs_before=lfs, total_lines=behind)
        seen += found
        chunk += 1
        if chunk == len(lfs) < _MAX_CHECKPOINTS and end == chunk * CHUNK_BYTES:
            lfs.append(seen)
    return None, Checkpoints(lfs_before=lfs, total_lines=seen + (not ends_line(file, end, encoding)))


def seek_tail(file: BinaryIO, lines: int, encoding: Encoding, *, end: int) -> tuple[int, int]:
    """Return the byte at which the last `lines` lines begin, and how many there are: fewer in a shorter file.

    Reads from `end` backwards. Where the file was cut meanwhile, its new end counts.
    """
    unit, top = encoding.unit, len(encoding.bom)
    missing = lines + ends_line(file, end, encoding)
    found, at = 0, end
    while at > top:
        below = max(top, (at - 1) // _TAIL_CHUNK_BYTES * _TAIL_CHUNK_BYTES)
        data = read_at(file, below, at - below)
        if len(data) < at - below:
            return seek_tail(file, lines, encoding, end=below + len(data))
        units, count = _units(data, len(data), encoding)
        here = units.count(_LF)
        if found + here >= missing:
            return below + after_lf(units, here - (missing - found) + 1, end=count) * unit, lines
        found += here
        at = below
    return top, found + (not ends_line(file, end, encoding))


def after_lf(units: bytes | bytearray, number: int, *, end: int) -> int:
    """Return the place just behind LF `number` (from 1) of `units`, which has that many before `end`."""
    start = 0
    # Counting halves is faster than finding LFs one by one where lines are short.
    while end - start > 512:
        middle = (start + end) // 2
        left = units.count(_LF, start, middle)
        if number <= left:
            end = middle
        else:
            start, number = middle, number - left
    for _ in range(number):
        start = units.index(_LF, start) + 1
    return start


def ends_line(file: BinaryIO, end: int, encoding: Encoding) -> bool:
    """Whether no line is open at byte `end`: an LF is before it, or nothing is."""
    if end <= len(encoding.bom):
        return True
    return end % encoding.unit == 0 and read_at(file, end - encoding.unit, encoding.unit) == encoding.newline


def read_at(file: BinaryIO, start: int, size: int) -> bytes:
    """Return `size` bytes from `start` on, fewer only where the file ends. (A raw file may give less at a time.)"""
    file.seek(start)
    data = file.read(size)
    while 0 < len(data) < size and (more := file.read(size - len(data))):
        data += more
    return data


def _chunks(file: BinaryIO, first: int, encoding: Encoding) -> Generator[tuple[bytes | bytearray, int, int]]:
    """Yield the units of one chunk after the other, how many there are, and the byte where the chunk ends."""
    buffer = bytearray(CHUNK_BYTES)
    view = memoryview(buffer)
    # Every binary file that Python opens has `readinto`; the type lacks it.
    reader = cast(BufferedReader, file)
    start = first * CHUNK_BYTES
    while True:
        file.seek(start)
        size = 0
        while size < CHUNK_BYTES and (read := reader.readinto(view[size:])):
            size += read
        if size:
            yield *_units(buffer, size, encoding), start + size
        if size < CHUNK_BYTES:
            return
        start += size


def _units(data: bytes | bytearray, size: int, encoding: Encoding) -> tuple[bytes | bytearray, int]:
    """Fold `data[:size]` to one byte for each code unit, 0x0A for an LF and nothing else; return how many, too."""
    unit = encoding.unit
    if unit == 1:
        return data, size
    size -= size % unit
    low = encoding.newline.index(_LF)
    folded = int.from_bytes(data[low:size:unit], "little")
    for place in range(unit):
        if place != low:
            # A unit whose other bytes are not all zero becomes 0xFF.
            folded |= int.from_bytes(data[place:size:unit].translate(_ZERO_OR_NOT), "little")
    return folded.to_bytes(size // unit, "little"), size // unit
