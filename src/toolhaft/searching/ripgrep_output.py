r"""ripgrep's output, taken in pieces as they arrive.

A result is `path NUL number \x01 column \x01 text`. JSON would be four times the bytes. A file that turns out binary
is announced by a line without a NUL, after what was printed of it. A path begins with `./`; one that holds a line end
comes as several lines.
"""

import os
import re
from collections.abc import Iterable

from .results import Line, window

_LONG_ROW = 2_000  # bytes above which only the window around the match is kept
_BINARY = re.compile(rb"(.*): (?:WARNING: stopped searching )?binary file (?:after match|matches) \(found ", re.DOTALL)
_FAILED = re.compile(r"rg: (?P<path>.*): (?P<why>[^:]*) \(os error \d+\)$", re.DOTALL)


_MOST_LINE_BYTES = 64 * 1024 * 1024


class LineReader:
    """Cuts bytes into lines, whatever the pieces they come in. Of a line of over 64 MiB the head is kept."""

    def __init__(self, end: bytes = b"\n") -> None:
        self._end = end
        self._rest: list[bytes] = []
        self._held = 0

    def feed(self, data: bytes) -> list[bytes]:
        """Give the lines that `data` completes, without their ends."""
        *lines, rest = data.split(self._end)
        if lines:
            lines[0] = b"".join((*self._rest, lines[0]))
            self._rest.clear()
            self._held = 0
        if rest and self._held < _MOST_LINE_BYTES:
            self._rest.append(rest)
            self._held += len(rest)
        return lines

    def close(self) -> list[bytes]:
        """Give what is left when the output ends in the middle of a line."""
        rest = b"".join(self._rest)
        self._rest.clear()
        return [rest] if rest else []


class FileRows:
    """The matches of one file as ripgrep wrote them."""

    __slots__ = ("count", "path", "rows")

    def __init__(self, path: str) -> None:
        self.path = path
        self.count = 0
        self.rows: list[bytes | Line] = []

    def first(self, limit: int) -> tuple[Line, ...]:
        """Give the first matching lines."""
        return tuple(row if isinstance(row, Line) else _line(row) for row in self.rows[:limit])


class MatchReader:
    """Makes files of the lines of a search; the lines of one file stand together.

    `files` are by the bytes of their paths, `binary` the paths of binary files that match.
    """

    def __init__(self, *, most_rows: int) -> None:
        self.files: dict[bytes, FileRows] = {}
        self.binary: list[str] = []
        self.count = 0
        self._most_rows = most_rows
        self._path = b""
        self._file = FileRows("")
        self._begun: list[bytes] = []  # lines that begin a path

    @property
    def last(self) -> str:
        """The file of the last match."""
        return self._file.path

    def take(self, lines: Iterable[bytes]) -> None:
        """Take lines without their ends."""
        for line in lines:
            path, nul, row = line.partition(b"\0")
            if not nul:
                self._take_notice(line)
                continue
            if path[:2] != b"./":
                path = b"\n".join((*self._begun, path))
            if path != self._path:
                self._begun.clear()
                self._path = path
                self._file = self.files[path] = FileRows(shown_path(path))
            file = self._file
            file.count += 1
            self.count += 1
            if len(file.rows) < self._most_rows:
                file.rows.append(row if len(row) < _LONG_ROW else _line(row))

    def _take_notice(self, line: bytes) -> None:
        notice = _BINARY.match(line)
        if notice is None:
            self._begun.append(line)
            return
        dropped = self.files.pop(notice[1], None)
        if dropped is not None:
            self.count -= dropped.count
        self._path = b""
        self.binary.append(shown_path(notice[1]))


def _line(row: bytes) -> Line:
    number, _, rest = row.partition(b"\x01")
    column, found, text = rest.partition(b"\x01")
    if not (found and column.isdigit()):
        column, text = b"1", rest
    return Line(int(number), window(text, int(column) - 1))


def read_failure(line: bytes) -> str | None:
    """Read a line of standard error: the path that could not be read, None where it says something else."""
    failed = _FAILED.match(os.fsdecode(line))
    return shown_path(os.fsencode(failed["path"])) if failed else None


def shown_path(path: bytes) -> str:
    """Give a path of ripgrep as the rest of the house writes it: no `./`, other bytes than UTF-8 as surrogates."""
    return os.fsdecode(path.removeprefix(b"./")) or "."
