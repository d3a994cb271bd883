"""One run of ripgrep, from its arguments to what it said: results taken piece by piece, ended once there are enough."""

from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import Protocol

from .errors import EngineError
from .query import Query
from .results import FileMatches
from .ripgrep_output import LineReader, MatchReader, read_failure, shown_path

_MOST_COMPLAINTS = 20


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


class Sink(Protocol):
    """What takes the lines of a run, each of which ends with `end`."""

    end: bytes

    def take(self, line: bytes) -> bool:
        """Take a line; True means that it is enough."""
        ...


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


async def drive(run: Run, arguments: Sequence[str], sink: Sink) -> Said:
    """Run ripgrep and hand its results to `sink`, until the end or until it has enough."""
    said, status = Said(), 0
    output, errors = LineReader(sink.end), LineReader()
    async with aclosing(run(arguments)) as chunks:
        async for chunk in chunks:
            if isinstance(chunk, Exit):
                status = chunk.status
            elif chunk.is_error:
                for line in errors.feed(chunk.data):
                    said.take(line)
            elif any(map(sink.take, output.feed(chunk.data))):
                said.was_ended = True
                return said
    for line in errors.close():
        said.take(line)
    said.check(status)
    for line in output.close():
        sink.take(line)
    return said


class MatchSink:
    """Takes matches until there are more results than `limit`: lines, or files in the modes that give no lines."""

    end = b"\n"

    def __init__(self, query: Query, *, limit: int) -> None:
        self.binary: list[str] = []
        self._limit = limit
        self._in_lines = query.output_mode == "content"
        self._counted = 0
        self._files: list[FileMatches] = []
        self._reader = MatchReader(binary=self.binary.append, keep_lines=self._in_lines)

    def take(self, line: bytes) -> bool:
        """Take a line of output."""
        done, is_match = self._reader.take(line)
        if done is not None:
            self._files.append(done)
        self._counted += is_match if self._in_lines else done is not None
        return self._counted > self._limit

    def files(self) -> list[FileMatches]:
        """Give the files whose results were taken."""
        last = self._reader.finish()
        if last is not None:
            self._files.append(last)
        return list(self._files)


class NameSink:
    """Takes the names of `--files --null`."""

    end = b"\0"

    def __init__(self) -> None:
        self.names: list[str] = []

    def take(self, line: bytes) -> bool:
        """Take a name; it is never enough."""
        self.names.append(shown_path(line))
        return False
