"""What a search found and what it did not look at."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple, Protocol

from .glob import path_key
from .query import Query

WINDOW_BYTES = 400
_BEFORE_BYTES = 120


class Reason(StrEnum):
    """Why something was not searched. A binary file is searched, but what matches in it is not shown."""

    IGNORED = "ignored"
    HIDDEN = "hidden"
    SENSITIVE = "sensitive"
    BINARY = "binary"
    TOO_LARGE = "too_large"
    UNREADABLE = "unreadable"
    LINKED_OUT = "linked_out"
    NOT_DECODABLE = "not_decodable"
    NOT_A_FILE = "not_a_file"
    OUT_OF_TIME = "out_of_time"


@dataclass(frozen=True, slots=True)
class Unsearched:
    """How many files and whole folders were left out for one reason, and the first of them by path."""

    reason: Reason
    count: int
    example: str


class Ledger:
    """Counts what was left out. An ignored folder is one entry, whatever it holds: nobody looked inside."""

    def __init__(self) -> None:
        self._entries: dict[Reason, set[str]] = {}

    def note(self, reason: Reason, path: str) -> None:
        """Count `path`, once for each reason."""
        self._entries.setdefault(reason, set()).add(path)

    def has(self, reason: Reason, path: str) -> bool:
        """Tell whether `path` was counted for this reason."""
        return path in self._entries.get(reason, ())

    def entries(self, *, until: str | None = None) -> tuple[Unsearched, ...]:
        """Give the counts in the order of `Reason`, with the first path of each; `until` cuts behind a path."""
        end = path_key(until) if until is not None else None
        held = {
            reason: [path for path in paths if end is None or path_key(path) <= end]
            for reason, paths in self._entries.items()
        }
        return tuple(
            Unsearched(reason, len(held[reason]), min(held[reason], key=path_key))
            for reason in Reason
            if held.get(reason)
        )


class Line(NamedTuple):
    """A line of a file, counted from 1; lines end at LF. `text` is a window around the match where it is long."""

    number: int
    text: str
    is_match: bool = True


@dataclass(frozen=True, slots=True)
class FileMatches:
    """The matching lines of one file, how many they are, and those shown, context between them."""

    path: str
    count: int
    lines: tuple[Line, ...] = ()

    def first(self, limit: int) -> tuple[Line, ...]:
        """Give the first lines."""
        return self.lines[:limit]


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """The answer of an engine: what is shown, what there is, and what was not searched.

    `total` counts matching lines and `total_files` the files they are in; both are exact where `is_complete`, else
    there are at least so many. `shown` is the number of matching lines in `files`.
    """

    files: tuple[FileMatches, ...]
    shown: int
    total: int
    total_files: int
    is_complete: bool
    unsearched: tuple[Unsearched, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Listed:
    """The answer to a question for names: those shown, how many there are, and what was left out."""

    files: tuple[str, ...]
    total: int
    unsearched: tuple[Unsearched, ...]

    @property
    def is_complete(self) -> bool:
        """Whether `total` is all there is."""
        return all(entry.reason is not Reason.OUT_OF_TIME for entry in self.unsearched)


Cut = tuple[FileMatches, int | None]  # a file with the matches to show, and the line of the first that is not shown


class Matching(Protocol):
    """A file that matches, as an engine holds it: its lines are made when they are shown."""

    @property
    def path(self) -> str: ...
    @property
    def count(self) -> int: ...
    def first(self, limit: int) -> tuple[Line, ...]:
        """Give the first matching lines."""
        ...


class Tally:
    """Collects the files of one search up to `count_limit` and makes the answer of them, in the order of paths."""

    def __init__(self, query: Query) -> None:
        self._query = query
        self._files: dict[str, Matching] = {}
        self._total = 0

    def add(self, file: Matching) -> None:
        """Take a file with its matches, once for each path."""
        if file.path not in self._files:
            self._files[file.path] = file
            self._total += file.count

    @property
    def is_full(self) -> bool:
        """Whether more was found than is counted."""
        counted = self._total if self._query.output_mode == "content" else len(self._files)
        return counted > self._query.most_counted

    @property
    def counted(self) -> tuple[int, int]:
        """The matching lines and the files taken so far."""
        return self._total, len(self._files)

    @property
    def shown(self) -> int:
        """How many results an answer would show."""
        counted = self._total if self._query.output_mode == "content" else len(self._files)
        return min(counted, self._query.max_results)

    def found(
        self, ledger: Ledger, *, complete: Callable[[Cut], FileMatches], at_least: tuple[int, int] | None = None
    ) -> Found:
        """Give the answer: the first results by path, cut to `max_results`, each made `complete` with its context.

        Where the search stopped because more was found than is counted, the ledger is about the part of the tree that
        comes before the last file shown; `at_least` is what an earlier run counted.
        """
        files = [complete(cut) for cut in self._first()]
        is_full = self.is_full or at_least is not None
        last = files[-1] if is_full and files else None
        if last and self._query.output_mode == "content":  # nobody may have read the last file to its end
            files[-1] = FileMatches(last.path, sum(line.is_match for line in last.lines), last.lines)
        unsearched = ledger.entries(until=last.path if last else None)
        total, total_files = at_least or self.counted
        return Found(
            files=tuple(files),
            shown=sum(line.is_match for file in files for line in file.lines),
            total=total,
            total_files=total_files,
            is_complete=not is_full and all(entry.reason is not Reason.OUT_OF_TIME for entry in unsearched),
            unsearched=unsearched,
        )

    def _first(self) -> Iterator[Cut]:
        files = sorted(self._files.values(), key=lambda file: path_key(file.path))
        if self._query.output_mode != "content":
            for file in files[: self._query.max_results]:
                yield FileMatches(file.path, file.count), None
            return
        left = self._query.max_results
        for file in files:
            if left == 0:
                return
            lines = file.first(left + 1)
            yield FileMatches(file.path, file.count, lines[:left]), lines[left].number if len(lines) > left else None
            left -= min(left, len(lines))


def window(line: bytes, at: int) -> str:
    r"""Give the text of a line without CRs at its end, or of a long line the part around the byte `at`.

    >>> window(b"a short line\r", 2)
    'a short line'
    """
    line = line.rstrip(b"\r")
    if len(line) <= WINDOW_BYTES:
        return line.decode("utf-8", "replace")
    begin = max(0, min(at - _BEFORE_BYTES, len(line) - WINDOW_BYTES))
    part = line[begin : begin + WINDOW_BYTES]
    if begin:
        part = part.lstrip(bytes(range(0x80, 0xC0))) or part  # no half of a character
    text = part.decode("utf-8", "replace").rstrip("\ufffd")
    return f"{'…' if begin else ''}{text}{'…' if begin + WINDOW_BYTES < len(line) else ''}"
