"""One run of ripgrep, from its arguments to what it said: results taken piece by piece, ended once there are enough."""

import asyncio
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field

from .errors import EngineError
from .query import Query
from .ripgrep_output import FileRows, LineReader, MatchReader, read_failure

_MOST_COMPLAINTS = 20
_MOST_HELD_BYTES = 1024 * 1024


@dataclass(frozen=True, slots=True)
class Chunk:
    """A piece of what a command wrote, to its standard error if `is_error`."""

    data: bytes
    is_error: bool = False


@dataclass(frozen=True, slots=True)
class Exit:
    """The end of a command: its exit status, negative for a signal."""

    status: int


# Runs `rg` with these arguments at the root, `Exit` last; closing the generator kills `rg` and waits until it is gone.
Run = Callable[[Sequence[str]], AsyncGenerator[Chunk | Exit, None]]


@dataclass(slots=True)
class Said:
    """What one run said beside its results. `was_ended` tells that the sink had enough before the end."""

    was_ended: bool = False
    unreadable: list[str] = field(default_factory=list[str])
    complaints: list[bytes] = field(default_factory=list[bytes])

    def take(self, line: bytes) -> None:
        """Take a line of standard error."""
        path = read_failure(line)
        if path is not None:
            self.unreadable.append(path)
        elif len(self.complaints) < _MOST_COMPLAINTS:
            self.complaints.append(line)

    def check(self, status: int) -> None:
        """Raise `EngineError` for a failure. Status 2 is also that of a run that could not read one file."""
        if status not in (0, 1) and not (status == 2 and self.unreadable):
            complaint = b"\n".join(self.complaints).decode("utf-8", "replace") or "it said nothing."
            raise EngineError(f"rg ended with status {status}: {complaint}")


async def drive(run: Run, arguments: Sequence[str], sink: "MatchSink") -> Said:
    """Run ripgrep and hand its results to `sink`, until the end or until it has enough.

    What comes last is left to the caller: `sink.work()` in a thread of its own.
    """
    said, status = Said(), 0
    errors = LineReader()
    async with aclosing(run(arguments)) as chunks:
        async for chunk in chunks:
            if isinstance(chunk, Exit):
                status = chunk.status
            elif chunk.is_error:
                for line in errors.feed(chunk.data):
                    said.take(line)
            elif sink.take(chunk.data) and await asyncio.to_thread(sink.work):
                said.was_ended = True
                return said
    for line in errors.close():
        said.take(line)
    said.check(status)
    return said


class MatchSink:
    """Takes matches until there are more results than `limit`: lines, or files in the modes that give no lines."""

    def __init__(self, query: Query, *, limit: int) -> None:
        self._limit = limit
        self._in_lines = query.output_mode == "content"
        self._reader = MatchReader(most_rows=query.max_results + 1 if self._in_lines else 0)
        self._output = LineReader()
        self._pieces: list[bytes] = []
        self._held = 0
        self._seen = 0

    def take(self, data: bytes) -> bool:
        """Take a piece; there is work once it may be enough, or is much."""
        self._pieces.append(data)
        self._held += len(data)
        self._seen += data.count(b"\n")
        return self._held > _MOST_HELD_BYTES or self._seen > self._limit

    def work(self) -> bool:
        """Read the pieces."""
        data, self._held = b"".join(self._pieces), 0
        self._pieces.clear()
        self._reader.take(self._output.feed(data))
        return (self._reader.count if self._in_lines else len(self._reader.files)) > self._limit

    def files(self) -> dict[str, FileRows]:
        """Give the files whose results were taken."""
        self.work()
        return {file.path: file for file in self._reader.files.values()}

    @property
    def last(self) -> str:
        """The file whose matches came last."""
        return self._reader.last

    @property
    def binary(self) -> list[str]:
        """The binary files that match."""
        return self._reader.binary
