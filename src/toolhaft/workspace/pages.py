"""A page: the window of a file that a model reads at once, bounded in lines and characters.

Time and memory are bounded by the page and not by the file: a page at the beginning or the end of a file of any size
takes well under a millisecond, one in the middle as long as counting the LFs before it, and the second time, with an
index, hardly longer than the first kind. A line longer than a page is cut, and `column` goes on within it.

Everything is read through one open file. So a file that is replaced or removed meanwhile is still read whole, and
one that is cut or written to ends where it ends; `Page.changed` tells.
"""

import codecs
import os
import sys
from io import BytesIO, UnsupportedOperation
from typing import BinaryIO, Literal, NamedTuple

from .files import Version
from .lines import Checkpoints, LineIndex, read_at, seek_line, seek_tail
from .magic import IMAGES, kind_of
from .text import SAMPLE_BYTES, UTF_8, Encoding, detect

MAX_LINES = 2_000
MAX_CHARACTERS = 60_000
# What providers take in one image; Anthropic allows 5 MB.
MAX_IMAGE_BYTES = 5_000_000
# Up to this size the lines of a file are counted to its end, which takes 0.2 ms.
_COUNTED_BYTES = 1_048_576
# Files of the kernel say that they have no size; of those this much is read.
_MAX_SIZELESS_BYTES = 8_388_608
_BLOCK_BYTES = 65_536


class PageError(ValueError):
    """There is no such page; the message says which ones there are."""


class Page(NamedTuple):
    """Lines of a text file, without their line ends.

    Lines count from 1; where that number is not known, which is near the end of a large file, `first_line` is
    negative: -1 is the last line. `total_lines` is None where it was not counted; there are `at_least_lines` then.
    `stopped` says what ended the page, and `next_offset` and `next_column` what to ask for to go on; at the end of
    the file `next_offset` is None. `undecoded` characters stand as U+FFFD for bytes that are not text. `version` is
    None where the file is not one of this machine.
    """

    lines: tuple[str, ...]
    first_line: int
    first_column: int
    total_lines: int | None
    at_least_lines: int
    stopped: Literal["end", "lines", "characters"]
    next_offset: int | None
    next_column: int
    encoding: Encoding
    undecoded: int
    size: int
    version: Version | None
    changed: bool

    @property
    def last_line(self) -> int:
        """The number of the last line of the page; one less than the first where the page is empty."""
        return self.first_line + len(self.lines) - 1

    @property
    def truncated(self) -> bool:
        """Whether the file goes on behind the page."""
        return self.next_offset is not None

    def numbered(self) -> str:
        """Return the lines as a model reads them: right-aligned number, tab, line."""
        width = max(len(str(self.first_line)), len(str(self.last_line)))
        numbered = enumerate(self.lines, self.first_line)
        # Five times as fast as a format with a width in it.
        return "\n".join([f"{str(number).rjust(width)}\t{line}" for number, line in numbered])


class Binary(NamedTuple):
    """A file that is not text: its kind in words or as the media type of an image, and the image unless too large."""

    kind: str
    size: int
    version: Version | None
    image: bytes | None = None


def read_page(
    file: BinaryIO,
    *,
    offset: int = 1,
    limit: int = MAX_LINES,
    column: int = 1,
    name: str = "file",
    index: LineIndex | None = None,
    max_characters: int = MAX_CHARACTERS,
) -> Page | Binary:
    """Return the lines of a file from line `offset` on, at most `limit`, or what kind of file it is.

    A negative `offset` counts from the end: -200 is the last 200 lines, or all where there are fewer. The first line
    begins at character `column`, counted from 1. `name` is for messages. `index` makes the next page deep inside a
    large file cheap.

    Raises `PageError` where there is no such line or column; it says how many there are.
    """
    _check(offset, limit, column)
    status = _status(file)
    sample = read_at(file, 0, SAMPLE_BYTES)
    source, size = _source(file, sample, status, name)
    version = Version.of(status) if status else None
    encoding = detect(sample, complete=size == len(sample))
    if encoding is None:
        return _binary(source, sample, size, version)
    key = (status.st_dev, version) if status else None
    known = index.get(key) if index and key else Checkpoints()
    if offset < 0:  # for the lines' true numbers
        known = _counted(source, encoding, known=known, size=size)
    start, first_line, known = _locate(source, offset, encoding, known=known, size=size)
    if index and status and size > _COUNTED_BYTES and not _changed(file, version):
        index.put(key, known, changed_ns=status.st_mtime_ns)
    if start is None:
        raise _past_end(offset, known.total_lines or 0, name)
    window = _Window(source, start, encoding, blind=sample.isascii())
    window.skip_to(column, f"line {first_line} of {name!r}")
    lines, stopped, cut = window.take(limit, max_characters)
    if stopped != "end":
        known = _counted(source, encoding, known=known, size=size)
    behind = first_line + len(lines)
    return Page(
        lines=tuple(lines),
        first_line=first_line,
        first_column=column,
        total_lines=behind - 1 if stopped == "end" and first_line > 0 else known.total_lines,
        at_least_lines=max(known.at_least_lines, behind - (stopped == "end" or cut)),
        stopped=stopped,
        next_offset=None if stopped == "end" else behind - cut,
        next_column=column + len(lines[0]) if cut else 1,
        encoding=window.encoding,
        undecoded=sum(line.count("\ufffd") for line in lines) if window.damaged else 0,
        size=size,
        version=version,
        changed=_changed(file, version),
    )


class _Window:
    """The text of a file from one byte on, decoded block by block."""

    def __init__(self, file: BinaryIO, start: int, encoding: Encoding, *, blind: bool) -> None:
        self._file = file
        self._at = start
        self._decoder = codecs.getincrementaldecoder(encoding.codec)()
        # The sample was ASCII, which says nothing about what the other characters are encoded in.
        self._blind = blind and encoding == UTF_8
        self._text = ""
        self._ended = False
        self.encoding = encoding
        self.damaged = False

    def skip_to(self, column: int, line_name: str) -> None:
        """Drop the characters before `column` of the first line."""
        self._read()
        passed = 0
        while passed + len(self._text) < column and "\n" not in self._text and not self._ended:
            passed += len(self._text)
            self._text = ""
            self._read()
        line, ended, _ = self._text.partition("\n")
        length = passed + len(line.removesuffix("\r") if ended else line)
        if column > max(length, 1):
            raise PageError(
                f"column={column} is past the end of {line_name} ({length:,} characters). Use 1 to {max(length, 1)}."
            )
        self._text = self._text[column - 1 - passed :]

    def take(self, limit: int, max_characters: int) -> tuple[list[str], Literal["end", "lines", "characters"], bool]:
        """Return whole lines, what ended them, and whether the only line had to be cut."""
        limit = min(limit, max_characters + 1)
        while len(self._text) <= max_characters + 1 and self._text.count("\n") < limit and not self._ended:
            self._read()
        # A line fits when its LF is at most one character behind the page, its CRLF at most two.
        fits = max_characters + 1 + self._text.startswith("\r\n", max_characters)
        page = self._text[:fits]
        *lines, rest = page.split("\n", limit)
        if "\r\n" in page:
            lines = [line.removesuffix("\r") for line in lines]
        if len(lines) < limit and self._ended and len(self._text) <= max_characters:
            return ([*lines, rest] if rest else lines), "end", False
        if not lines:
            return [rest[:max_characters]], "characters", True
        if rest or self._goes_on(len(page)):
            return lines, "lines" if len(lines) == limit else "characters", False
        return lines, "end", False

    def _goes_on(self, length: int) -> bool:
        """Whether there is text behind the first `length` characters."""
        while len(self._text) <= length and not self._ended:
            self._read()
        return len(self._text) > length

    def _read(self) -> None:
        data = read_at(self._file, self._at, _BLOCK_BYTES)
        self._at += len(data)
        self._ended = len(data) < _BLOCK_BYTES
        pending, _ = self._decoder.getstate()
        try:
            text = self._decoder.decode(data, self._ended)
        except UnicodeDecodeError:
            text = self._decode_anyway(pending + data)
        if "\0" in text:
            # Some providers and databases refuse a text with NUL in it.
            text, self.damaged = text.replace("\0", "\ufffd"), True
        self._text += text

    def _decode_anyway(self, data: bytes) -> str:
        found = detect(data, complete=self._ended) if self._blind else None
        if found is None or found == UTF_8:
            self.damaged = True
            self._decoder = codecs.getincrementaldecoder(self.encoding.codec)("replace")
        else:
            self.encoding = found
            self._decoder = codecs.getincrementaldecoder(found.codec)("replace")
        return self._decoder.decode(data, self._ended)


def _check(offset: int, limit: int, column: int) -> None:
    if offset == 0:
        raise PageError("offset=0 is no line. Lines count from 1; -1 is the last line.")
    if limit < 1:
        raise PageError(f"limit={limit} asks for no line. Use 1 or more.")
    if column < 1:
        raise PageError(f"column={column} is no character of a line. Characters count from 1.")


def _status(file: BinaryIO) -> os.stat_result | None:
    try:
        return os.fstat(file.fileno())
    except UnsupportedOperation:  # a file in memory
        return None


def _changed(file: BinaryIO, version: Version | None) -> bool:
    return version is not None and Version.of(os.fstat(file.fileno())) != version


def _source(file: BinaryIO, sample: bytes, status: os.stat_result | None, name: str) -> tuple[BinaryIO, int]:
    """Return the file, or what is in memory of it already where that is all, and its size."""
    if len(sample) < SAMPLE_BYTES:
        return BytesIO(sample), len(sample)
    size = status.st_size if status else file.seek(0, os.SEEK_END)
    if size:
        return file, size
    content = read_at(file, 0, _MAX_SIZELESS_BYTES)
    if len(content) == _MAX_SIZELESS_BYTES:
        raise OSError(f"{name!r} does not say its size and has more than {_MAX_SIZELESS_BYTES:,} bytes.")
    return BytesIO(content), len(content)


def _counted(file: BinaryIO, encoding: Encoding, *, known: Checkpoints, size: int) -> Checkpoints:
    """Count the lines of a file where that costs next to nothing."""
    if size > _COUNTED_BYTES or known.total_lines is not None:
        return known
    return seek_line(file, sys.maxsize, encoding, known=known)[1]


def _locate(
    file: BinaryIO, offset: int, encoding: Encoding, *, known: Checkpoints, size: int
) -> tuple[int | None, int, Checkpoints]:
    """Return where a page begins (None: past the end), the number of that line, and what is known of the lines."""
    if offset == 1:
        return len(encoding.bom), 1, known
    if offset > 1:
        start, known = seek_line(file, offset, encoding, known=known)
        return start, offset, known
    start, count = seek_tail(file, -offset, encoding, end=size)
    if start == len(encoding.bom):
        return start, 1, known
    return start, -count if known.total_lines is None else known.total_lines - count + 1, known


def _past_end(offset: int, total: int, name: str) -> PageError:
    if total == 0:
        return PageError(f"offset={offset} is past the end of {name!r}, which is empty (0 lines). Use 1.")
    return PageError(
        f"offset={offset} is past the end of {name!r} ({total} lines). "
        f"Use 1 to {total}, or a negative offset to count from the end."
    )


def _binary(file: BinaryIO, sample: bytes, size: int, version: Version | None) -> Binary:
    kind = kind_of(sample)
    image = read_at(file, 0, size) if kind in IMAGES and size <= MAX_IMAGE_BYTES else None
    return Binary(kind=kind or "binary data of no known kind", size=size, version=version, image=image)
