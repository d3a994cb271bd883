"""What a command did, and what it was allowed."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from .supervisor.capture import SentPiece
from .supervisor.frames import Message

# "workspace" is one that runs commands in its own way: what that keeps inside, only it knows.
ConfinedBy = Literal["bubblewrap", "landlock", "none", "workspace"]
# What people read instead of 128 + N; numbers below 16 are the same on every Linux.
_SIGNALS = {1: "SIGHUP", 2: "SIGINT", 3: "SIGQUIT", 4: "SIGILL", 6: "SIGABRT", 8: "SIGFPE", 9: "SIGKILL"} | {
    7: "SIGBUS",
    11: "SIGSEGV",
    13: "SIGPIPE",
    14: "SIGALRM",
    15: "SIGTERM",
    24: "SIGXCPU",
    25: "SIGXFSZ",
    31: "SIGSYS",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """How much a command may use. None is no limit.

    `processes` ends a command that has more at a time; `file_bytes` is for each file that it writes (`RLIMIT_FSIZE`),
    `memory_bytes` for the address space of each process (`RLIMIT_AS`). Of each stream `head_bytes` and `tail_bytes`
    are kept; where that, or `lines`, is not all of it, the first `spill_bytes` of both go to a file (0 makes none). Of
    a background job the last `job_bytes` that were not yet asked for are kept.
    """

    processes: int = 1_000
    file_bytes: int | None = 10 << 30
    memory_bytes: int | None = None
    head_bytes: int = 24_000
    tail_bytes: int = 24_000
    lines: int | None = None
    spill_bytes: int = 64 << 20
    job_bytes: int = 1 << 20
    jobs: int = 20

    def __str__(self) -> str:
        file, memory = (_size(limit) for limit in (self.file_bytes, self.memory_bytes))
        return f"at most {self.processes} processes, {file} a file, {memory} of memory a process"


@dataclass(frozen=True, slots=True, kw_only=True)
class Confinement:
    """What kept a command inside: the kernel's means, why this one, and what it cannot do."""

    by: ConfinedBy
    reason: str
    network: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Piece:
    """A part of the output in the order in which it came; a gap has no text but a size.

    `dropped_lines` is None where there were too many to count.
    """

    stream: str
    text: str = ""
    dropped_bytes: int = 0
    dropped_lines: int | None = 0

    def __str__(self) -> str:
        if not self.dropped_bytes:
            return self.text
        lines = "" if self.dropped_lines is None else f"{self.dropped_lines} lines, "
        return f"\n[... {lines}{self.dropped_bytes} bytes of {self.stream} left out ...]\n"


@dataclass(frozen=True, slots=True, kw_only=True)
class Spilled:
    """The file that holds the whole output: its path from the root, its size, and what was over the quota."""

    path: str
    size: int
    dropped_bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandOutcome:
    """How a command ended.

    `exit_code` is the shell's, None where we ended it; `killed_by` says what did: "timeout", "processes" (there were
    more than allowed), "stop", "output" (more than another workspace holds), or the signal that the exit code stands
    for. `left_running` names what still ran at the
    end, and was ended; `spilled` where the whole output is, if it was long; `notes` what else the caller should know.
    """

    exit_code: int | None
    pieces: tuple[Piece, ...]
    seconds: float
    killed_by: str | None
    left_running: tuple[str, ...]
    confinement: Confinement
    notes: tuple[str, ...]
    spilled: Spilled | None = None

    @property
    def was_ended(self) -> bool:
        """Whether it did not come to its own end, good or bad."""
        return self.exit_code is None

    @property
    def timed_out(self) -> bool:
        """Whether the command was ended because its time was over."""
        return self.killed_by == "timeout"

    @property
    def stdout(self) -> str:
        """The head and tail of stdout, with a line about what was left out between them."""
        return "".join(str(piece) for piece in self.pieces if piece.stream == "stdout")

    @property
    def stderr(self) -> str:
        """The head and tail of stderr, with a line about what was left out between them."""
        return "".join(str(piece) for piece in self.pieces if piece.stream == "stderr")

    @property
    def output(self) -> str:
        """Both streams as they came, as far as two pipes tell it."""
        return "".join(map(str, self.pieces))

    @property
    def dropped_bytes(self) -> int:
        """How many bytes of both streams were left out."""
        return sum(piece.dropped_bytes for piece in self.pieces)


def ending(state: Message) -> tuple[int | None, str | None]:
    """Return exit code and cause of death from what a session says about the end."""
    code: int | None = state["exit_code"]
    killed_by: str | None = state["killed_by"]
    if code is not None and code > 128:
        killed_by = _SIGNALS.get(code - 128)
    return code, killed_by


def pieces_of(sent: Iterable[SentPiece]) -> tuple[Piece, ...]:
    """Return the pieces of a session's message."""
    return tuple(
        Piece(stream=stream, text=text, dropped_bytes=dropped_bytes, dropped_lines=dropped_lines)
        for stream, text, dropped_bytes, dropped_lines in sent
    )


def spilled_of(sent: Message | None) -> tuple[Spilled | None, tuple[str, ...]]:
    """Return what a session says of the file with the whole output, and what is to be noted of it."""
    if sent is None:
        return None, ()
    if sent["problem"]:
        return None, (f"the whole output could not be kept: {sent['problem']}",)
    return Spilled(path=sent["path"], size=sent["size"], dropped_bytes=sent["dropped_bytes"]), ()


def _size(limit: int | None) -> str:
    return "any size" if limit is None else f"{limit} bytes"
