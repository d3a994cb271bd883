"""A command in the background: it goes on while its caller does something else, and its output waits for a while."""

import asyncio
from dataclasses import dataclass, replace

from .outcome import Confinement, ending
from .supervision import Line
from .supervisor.frames import Message

_READ_BYTES = 48_000
_STOP_POLL_SECONDS = 0.01


@dataclass(frozen=True, slots=True, kw_only=True)
class JobOutput:
    """What a job wrote since it was last asked, stdout and stderr as they came.

    `dropped_bytes` were overwritten before anybody asked; `waiting_bytes` are to be had by asking again.
    While it runs, `running` is true and `exit_code`, `killed_by` and `seconds` are None; else they are those of a
    `CommandOutcome`.
    """

    text: str
    dropped_bytes: int
    waiting_bytes: int
    running: bool
    exit_code: int | None
    killed_by: str | None
    seconds: float | None
    left_running: tuple[str, ...]


_NOTHING_YET = JobOutput(
    text="",
    dropped_bytes=0,
    waiting_bytes=0,
    running=True,
    exit_code=None,
    killed_by=None,
    seconds=None,
    left_running=(),
)


class Job:
    """One background job. It belongs to the workspace's `Commands`, and ends with them."""

    def __init__(
        self, job_id: str, command: str, *, line: Line, confinement: Confinement, notes: tuple[str, ...]
    ) -> None:
        self.job_id = job_id
        self.command = command
        self.confinement = confinement
        self.notes = notes
        self._line = line
        self._lock: tuple[asyncio.AbstractEventLoop, asyncio.Lock] | None = None
        self._asked = 0
        self._unread = _NOTHING_YET

    async def read(self, *, limit_bytes: int = _READ_BYTES) -> JobOutput:
        """Return what is new, at most about `limit_bytes` of it."""
        # Shielded, so that a caller that is cancelled takes no output with it: the next one gets it.
        await asyncio.shield(asyncio.ensure_future(self._ask(limit_bytes)))
        output, self._unread = self._unread, replace(self._unread, text="", dropped_bytes=0)
        return output

    async def stop(self, *, grace_seconds: float = 2.0) -> JobOutput:
        """End the job: SIGTERM, then after a grace SIGKILL, to all of its processes; return what is new at its end."""
        await self._line.send({"op": "stop", "grace_seconds": grace_seconds})
        await self._ask(0)
        while self._unread.running:
            await asyncio.sleep(_STOP_POLL_SECONDS)
            await self._ask(0)
        return await self.read()

    def close(self) -> None:
        """Kill the job, if it runs, and forget its output."""
        self._line.close()

    @property
    def ended(self) -> bool:
        """Whether it had ended when it was last asked."""
        return not self._unread.running

    def _one_at_a_time(self) -> asyncio.Lock:
        """Return a lock of the running loop: a job outlives the loop in which it was started."""
        loop = asyncio.get_running_loop()
        if self._lock is None or self._lock[0] is not loop:
            self._lock = (loop, asyncio.Lock())
        return self._lock[1]

    async def _ask(self, limit_bytes: int) -> None:
        async with self._one_at_a_time():
            self._asked += 1
            await self._line.send({"op": "poll", "limit_bytes": limit_bytes, "number": self._asked})
            number = 0
            while number != self._asked:  # the answer to one who asked in a loop that is closed comes first
                answer = (await self._line.receive())["poll"]
                number = answer["number"]
                self._unread = _joined(self._unread, _output(answer))


def _joined(earlier: JobOutput, later: JobOutput) -> JobOutput:
    return replace(later, text=earlier.text + later.text, dropped_bytes=earlier.dropped_bytes + later.dropped_bytes)


def _output(message: Message) -> JobOutput:
    ended = message["ended"]
    exit_code, killed_by = (None, None) if ended is None else ending(ended)
    return JobOutput(
        text=message["text"],
        dropped_bytes=message["dropped_bytes"],
        waiting_bytes=message["waiting_bytes"],
        running=ended is None,
        exit_code=exit_code,
        killed_by=killed_by,
        seconds=None if ended is None else ended["seconds"],
        left_running=() if ended is None else tuple(ended["left_running"]),
    )
