r"""ripgrep's output, taken in pieces as they arrive: `-n --null --column` text, counts, names, and what `--debug` says.

A result is `path NUL number \x01 column \x01 text`, a line of context `path NUL number \x02 text`. JSON would be four
times the bytes. A file that turns out binary after a match is announced in the middle of the text, by a line without a NUL.
"""

import os
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from .results import FileMatches, Line, Reason, window

_HEADER = re.compile(rb"(\d+)(?:\x01(?:(\d+)\x01)?|\x02)")
_BINARY = re.compile(rb"(.*): (?:WARNING: stopped searching )?binary file (?:after match|matches) \(found ", re.DOTALL)
_SKIPPED = re.compile(
    r"rg: DEBUG\|[^|]*\|[^|]*?:\d+: ignoring (?P<path>.*?): "
    r"(?:Ignore\(IgnoreMatch\((?P<rule>\w+)|(?P<size>\d+) bytes$|(?P<binary>found binary data)|failed to pass)",
    re.DOTALL,
)
_FAILED = re.compile(r"rg: (?P<path>.*): (?P<why>[^:]*) \(os error \d+\)$", re.DOTALL)


class LineReader:
    """Cuts bytes into lines, whatever the pieces they come in."""

    def __init__(self, end: bytes = b"\n") -> None:
        self._end = end
        self._rest: list[bytes] = []

    def feed(self, data: bytes) -> list[bytes]:
        """Give the lines that `data` completes, without their ends."""
        *lines, rest = data.split(self._end)
        if lines:
            lines[0] = b"".join((*self._rest, lines[0]))
            self._rest.clear()
        if rest:
            self._rest.append(rest)
        return lines

    def close(self) -> list[bytes]:
        """Give what is left when the output ends in the middle of a line."""
        rest = b"".join(self._rest)
        self._rest.clear()
        return [rest] if rest else []


class MatchReader:
    """Makes files of the lines of a search; the lines of one file stand together. `binary` tells of a binary file."""

    def __init__(self, *, binary: Callable[[str], None]) -> None:
        self._binary = binary
        self._path = b""
        self._lines: list[Line] = []

    def take(self, line: bytes) -> tuple[FileMatches | None, bool]:
        """Take a line. Gives the file that is complete with it, if one is, and whether the line is a match."""
        path, nul, rest = line.partition(b"\0")
        header = _HEADER.match(rest) if nul else None
        if header is None:
            notice = _BINARY.match(line)
            if notice:
                self._lines.clear()
                self._binary(shown_path(notice[1]))
            return None, False
        done = self.finish() if path != self._path else None
        self._path = path
        at = int(header[2]) - 1 if header[2] else 0
        is_match = rest[header.end(1)] == 1
        self._lines.append(Line(int(header[1]), window(rest[header.end() :], at), is_match))
        return done, is_match

    def finish(self) -> FileMatches | None:
        """Give the last file, when the output has ended."""
        lines, self._lines = tuple(self._lines), []
        count = sum(line.is_match for line in lines)
        return FileMatches(shown_path(self._path), count, lines) if count else None


@dataclass(frozen=True, slots=True)
class Skip:
    """Something that ripgrep says it left out. `reason` is None where a rule did it: our own rules judge that."""

    path: str
    reason: Reason | None


def read_skip(line: bytes) -> Skip | None:
    """Read a line of standard error: what was left out, or None where it says nothing about that."""
    text = os.fsdecode(line)
    found = _SKIPPED.match(text)
    if found is None:
        failed = _FAILED.match(text)
        return Skip(shown_path(os.fsencode(failed["path"])), Reason.UNREADABLE) if failed else None
    if found["rule"] in ("Types", "Hidden") or not (found["rule"] or found["size"] or found["binary"]):
        return None  # files of another kind were not asked for; hidden names, links and devices the survey counts
    reason = Reason.TOO_LARGE if found["size"] else Reason.BINARY if found["binary"] else None
    return Skip(shown_path(os.fsencode(found["path"])), reason)


def read_count(line: bytes) -> FileMatches | None:
    """Read a line of `-c`: a path and how many lines match, or None for anything else."""
    path, _, count = line.removesuffix(b"\r").partition(b"\0")  # --crlf ends these lines with CRLF too
    return FileMatches(shown_path(path), int(count)) if count.isdigit() else None


def read_names(names: list[bytes]) -> Iterator[str]:
    """Read the names of `--files --null`."""
    return map(shown_path, names)


def shown_path(path: bytes) -> str:
    """Give a path of ripgrep as the rest of the house writes it: no `./`, other bytes than UTF-8 as surrogates."""
    return os.fsdecode(path.removeprefix(b"./")) or "."
