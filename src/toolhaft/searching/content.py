"""The content of one file, read in pieces and searched line by line; a line ends at LF and nowhere else."""

import codecs
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from io import BytesIO
from typing import BinaryIO

from .dialect import Pattern, readable
from .query import Query
from .results import Cut, FileMatches, Line, window
from .tree import Tree

_PIECE_BYTES = 64 * 1024  # what is matched at once, between two looks at the clock
_MOST_LINE_BYTES = 64 * 1024 * 1024
_UTF16 = {codecs.BOM_UTF16_LE: "utf-16-le", codecs.BOM_UTF16_BE: "utf-16-be"}


def pieces(file: BinaryIO) -> Iterator[bytes]:
    """Give the content as UTF-8 without its byte order mark, some 64 KiB at a time and always whole lines.

    UTF-16 is known by its mark alone. Bytes that are no UTF-8 stay as they are. A line of over 64 MiB is cut.
    """
    head = file.read(_PIECE_BYTES)
    encoding = _UTF16.get(head[:2])
    if encoding:
        yield from _in_lines(_decoded(head[2:], file, encoding))
    elif len(head) < _PIECE_BYTES:
        yield head.removeprefix(codecs.BOM_UTF8)
    else:
        yield from _in_lines(_rest(head.removeprefix(codecs.BOM_UTF8), file))


def _rest(head: bytes, file: BinaryIO) -> Iterator[bytes]:
    yield head
    yield from iter(partial(file.read, _PIECE_BYTES), b"")


def _decoded(head: bytes, file: BinaryIO, encoding: str) -> Iterator[bytes]:
    decoder = codecs.getincrementaldecoder(encoding)("replace")
    for data in _rest(head, file):
        yield decoder.decode(data).encode()
    yield decoder.decode(b"", final=True).encode()


def _in_lines(chunks: Iterable[bytes]) -> Iterator[bytes]:
    held, size = list[bytes](), 0
    for chunk in chunks:
        end = chunk.rfind(b"\n") + 1
        if end or size > _MOST_LINE_BYTES:
            yield b"".join((*held, chunk[:end]))
            held.clear()
            size = 0
        held.append(chunk[end:])
        size += len(chunk) - end
    yield b"".join(held)


@dataclass(frozen=True, slots=True)
class Hit:
    """A matching line: its number, its bytes without the LF, and the byte near which the match is."""

    number: int
    line: bytes
    at: int


def hits(parts: Iterable[bytes], pattern: Pattern, *, stop: Callable[[], bool]) -> Iterator[Hit]:
    """Give the matching lines of parts that are whole lines. Ends early once `stop` is true, asked at every part."""
    number, before = 1, b""
    for part in parts:
        if stop():
            return
        number, before = number + before.count(b"\n"), part
        if pattern.literal is not None:
            yield from _literal_hits(part, pattern.literal, number)
        elif part and pattern.matches(readable(part)):
            yield from _pattern_hits(part, pattern, number)


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
    last, here, found = max(numbers, default=0), 1, dict[int, bytes]()
    for part in pieces(file):
        ends = part.count(b"\n")
        if not numbers.isdisjoint(range(here, here + ends + 1)):
            for number, line in enumerate(BytesIO(part), here):
                if number in numbers:
                    found.setdefault(number, line.removesuffix(b"\n"))
        here += ends
        if here > last:
            break
    return found


def _literal_hits(data: bytes, needle: bytes, number: int) -> Iterator[Hit]:
    counted, at = 0, data.find(needle)
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
