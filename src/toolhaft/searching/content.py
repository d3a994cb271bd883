"""The content of one file, read within bounds and searched line by line; a line ends at LF and nowhere else."""

import codecs
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from io import BytesIO
from typing import BinaryIO

from .dialect import Pattern, readable
from .query import MAX_FILE_BYTES, Query
from .results import Cut, FileMatches, Line, window
from .tree import Tree

_BLOCK_BYTES = 64 * 1024  # what is matched at once, between two looks at the clock
_HEAD_BYTES = 64 * 1024
_UTF16 = {codecs.BOM_UTF16_LE: "utf-16-le", codecs.BOM_UTF16_BE: "utf-16-be"}


def load(file: BinaryIO, *, limit: int) -> bytes | None:
    """Give the content as UTF-8 without its byte order mark, None where there is more than `limit` bytes.

    UTF-16 is known by its mark alone. Bytes that are no UTF-8 stay as they are.
    """
    data = file.read(_HEAD_BYTES)
    if len(data) == _HEAD_BYTES:  # a read takes memory for all it is asked for, so only large files are asked for much
        size = file.seek(0, 2)
        file.seek(_HEAD_BYTES)
        data += file.read(min(size, limit) + 1 - _HEAD_BYTES)
    if len(data) > limit:
        return None
    encoding = _UTF16.get(data[:2])
    if encoding:
        data = data[2:].decode(encoding, "replace").encode()
    return data.removeprefix(codecs.BOM_UTF8)


@dataclass(frozen=True, slots=True)
class Hit:
    """A matching line: its number, its bytes without the LF, and the byte near which the match is."""

    number: int
    line: bytes
    at: int


def hits(data: bytes, pattern: Pattern, *, stop: Callable[[], bool]) -> Iterator[Hit]:
    """Give the matching lines. Ends early once `stop` is true, which is asked before every block."""
    if pattern.literal is not None:
        yield from _literal_hits(data, pattern.literal)
        return
    number = 1
    for block in _blocks(data):
        if stop():
            return
        if pattern.matches(readable(block)):
            yield from _pattern_hits(block, pattern, number)
        number += block.count(b"\n")


def shown(found: list[Hit]) -> tuple[Line, ...]:
    """Give the lines to show: windows around the matches."""
    return tuple(Line(hit.number, window(hit.line, hit.at)) for hit in found)


def with_context(cut: Cut, query: Query, tree: Tree) -> FileMatches:
    """Give a file with the lines around its matches, as they are now; without them where it cannot be read any more."""
    file, end = cut
    if not query.context_lines:
        return file
    matches = {line.number: line for line in file.lines}
    near = {
        number
        for match in matches
        for number in range(max(match - query.context_lines, 1), match + query.context_lines + 1)
        if end is None or number < end
    }
    try:
        with tree.open(file.path) as content:
            around = _lines_at(content, near - matches.keys())
    except OSError:
        return file
    lines = matches | {number: Line(number, window(line, 0), is_match=False) for number, line in around.items()}
    return FileMatches(file.path, file.count, tuple(lines[number] for number in sorted(lines)))


def _lines_at(file: BinaryIO, numbers: set[int]) -> dict[int, bytes]:
    last, found = max(numbers, default=0), dict[int, bytes]()
    for number, line in enumerate(_lines(file), 1):
        if number in numbers:
            found[number] = line.removesuffix(b"\n")
        if number >= last:
            break
    return found


def _lines(file: BinaryIO) -> Iterator[bytes]:
    """Give the lines of a file as UTF-8, reading no more of it than is asked for, but for UTF-16."""
    first = file.readline()
    if first[:2] not in _UTF16:
        yield first.removeprefix(codecs.BOM_UTF8)
        yield from file
        return
    file.seek(0)
    yield from BytesIO(load(file, limit=MAX_FILE_BYTES) or b"")


def _literal_hits(data: bytes, needle: bytes) -> Iterator[Hit]:
    number, counted, at = 1, 0, data.find(needle)
    while at >= 0:
        begin = data.rfind(b"\n", 0, at) + 1
        end = data.find(b"\n", at)
        end = len(data) if end < 0 else end
        number += data.count(b"\n", counted, begin)
        counted = begin
        yield Hit(number, data[begin:end], at - begin)
        at = data.find(needle, end)


def _pattern_hits(block: bytes, pattern: Pattern, number: int) -> Iterator[Hit]:
    for offset, line in enumerate(block.removesuffix(b"\n").split(b"\n")):
        text = readable(line)
        if pattern.matches(text.removesuffix("\r")):
            at = len(text[: pattern.locate(text)].encode()) if len(line) > 300 else 0
            yield Hit(number + offset, line, at)


def _blocks(data: bytes) -> Iterator[bytes]:
    begin = 0
    while begin < len(data):
        end = data.find(b"\n", begin + _BLOCK_BYTES) + 1 or len(data)
        yield data[begin:end]
        begin = end
