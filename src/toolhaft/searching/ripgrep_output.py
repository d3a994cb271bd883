r"""ripgrep's output, taken in pieces as they arrive.

A result is `path NUL number \x01 column \x01 text`, a line of context `path NUL number \x02 text`. JSON would be four
times the bytes. A file that turns out binary is announced by a line without a NUL, after what was printed of it.
"""

import os
import re
from collections.abc import Callable

from .results import FileMatches, Line, window

_HEADER = re.compile(rb"(\d+)(?:\x01(?:(\d+)\x01)?|\x02)")
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


class MatchReader:
    """Makes files of the lines of a search; the lines of one file stand together. `binary` is told of a binary file."""

    def __init__(self, *, binary: Callable[[str], None], keep_lines: bool = True) -> None:
        self._binary = binary
        self._keep_lines = keep_lines
        self._path = b""
        self._count = 0
        self._lines: list[Line] = []

    def take(self, line: bytes) -> tuple[FileMatches | None, bool]:
        """Take a line. Gives the file that is complete with it, if one is, and whether the line is a match."""
        path, nul, rest = line.partition(b"\0")
        header = _HEADER.match(rest) if nul else None
        if header is None:
            self._take_notice(line)
            return None, False
        done = self.finish() if path != self._path else None
        self._path = path
        is_match = rest[header.end(1)] == 1
        self._count += is_match
        if self._keep_lines:
            at = int(header[2]) - 1 if header[2] else 0
            self._lines.append(Line(int(header[1]), window(rest[header.end() :], at), is_match))
        return done, is_match

    def finish(self) -> FileMatches | None:
        """Give the last file, when the output has ended."""
        lines, self._lines = tuple(self._lines), []
        count, self._count = self._count, 0
        return FileMatches(shown_path(self._path), count, lines) if count else None

    def _take_notice(self, line: bytes) -> None:
        notice = _BINARY.match(line)
        if notice is None:
            return
        if notice[1] == self._path:
            self.finish()
        self._binary(shown_path(notice[1]))


def read_failure(line: bytes) -> str | None:
    """Read a line of standard error: the path that could not be read, None where it says something else."""
    failed = _FAILED.match(os.fsdecode(line))
    return shown_path(os.fsencode(failed["path"])) if failed else None


def shown_path(path: bytes) -> str:
    """Give a path of ripgrep as the rest of the house writes it: no `./`, other bytes than UTF-8 as surrogates."""
    return os.fsdecode(path.removeprefix(b"./")) or "."
