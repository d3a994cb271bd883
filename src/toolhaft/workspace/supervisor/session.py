"""One command, from its start until nothing of it is left."""

import fcntl
import math
import os
import resource
import select
import signal
import socket
import time
from collections.abc import Callable
from contextlib import suppress

from . import family
from .capture import HeadAndTail, Ring
from .frames import Frames, Message, pack
from .landlock import Rules, become_subreaper, forbid_new_privileges
from .spawn import start, start_restricted
from .spill import Spill

_READ_BYTES = 1 << 18
_PIPE_BYTES = 1 << 20
_PACE_SECONDS = 0.0005
_PATIENT_READS = 20
# What a shell leaves behind at its end (`cmd > >(tee log)`) may finish within this; what goes on is ended.
_SETTLE_SECONDS = 0.04
_TERM_GRACE_SECONDS = 0.02
_WATCH_SECONDS = 0.1
_BLIND_WATCHES = 20  # others may end as many processes as the command starts
_MANY = 200


class _GoneError(Exception):
    """Nobody waits for the command any more."""


class Session:
    """A command and the socket of whoever wants it.

    Messages from there: the request; `{"op": "stop", "grace_seconds": s}`; `{"op": "poll", "limit_bytes": n, "number":
    i}` for a job. Messages to there: `failed`, or `started` where it was asked for; then for a command `done`, for a
    job an answer to every poll.
    """

    def __init__(self, line: socket.socket, *, lifelines: tuple[int, ...]) -> None:
        self._line = line
        self._lifelines = lifelines
        self._frames = Frames()
        self._poll = select.poll()
        self._handlers: dict[int, Callable[[], None]] = {}
        self._request: Message = {}
        self._buffer = bytearray(_READ_BYTES)
        self._owned: set[int] = set()
        self._pipes: set[int] = set()
        self._roomy = True
        self._last_read = 0.0
        self._hurried = 0
        self._pid = 0
        self._exit: int | None = None
        self._tasks_before = 0
        self._watches = 0
        self._killed_by: str | None = None
        self._left: list[str] = []
        self._notes: list[str] = []
        self._status: int | None = None
        self._spill: Spill | None = None
        self._dead = False
        self._grace = _TERM_GRACE_SECONDS
        self._seconds: float | None = None

    def run(self) -> None:
        """Serve the one request that arrives, then everything that is asked about it, until the line closes."""
        try:
            self._request = asked = self._first_request()
            self._output = self._make_output()
            try:
                self._start()
            except OSError as error:
                where = error.filename if isinstance(error.filename, str) else None
                self._send({"failed": {"errno": error.errno, "text": error.strerror or str(error), "path": where}})
                return
            self._watch(self._line.fileno(), self._on_line)
            for fd in self._lifelines:
                self._watch(fd, self._on_gone, events=0 if fd == self._lifelines[0] else select.POLLIN)
            if asked["announced"]:
                self._send({"started": self._pid})
            self._obey()  # what came together with the request
            self._until_exit()
            self._end()
            self._answer()
        except (_GoneError, BrokenPipeError, ConnectionResetError):
            pass

    def __enter__(self) -> "Session":
        return self

    def __exit__(self, *_: object) -> None:
        """Leave nothing: no process and no descriptor."""
        family.end_all()
        if self._spill:
            self._spill.close()
        for fd in self._owned | self._pipes:
            os.close(fd)

    @property
    def is_reusable(self) -> bool:
        """Whether this process can serve another command: one that has a child which cannot be killed cannot."""
        return not family.has_children()

    # --- start

    def _first_request(self) -> Message:
        while (message := self._frames.next()) is None:
            data = self._line.recv(1 << 16)
            if not data:
                raise _GoneError
            self._frames.feed(data)
        return message

    def _make_output(self) -> "HeadAndTail | Ring":
        asked = self._request
        if asked["background"]:
            return Ring(asked["kept_bytes"])
        if asked["spill_bytes"]:
            self._spill = Spill(asked["root"], limit_bytes=asked["spill_bytes"])
        return HeadAndTail(head_bytes=asked["head_bytes"], tail_bytes=asked["tail_bytes"], spill=self._spill)

    def _start(self) -> None:
        asked = self._request
        become_subreaper()
        with suppress(FileExistsError):
            os.mkdir(asked["home"])
        self._enter(asked["folder"], asked["root"])
        _limit(resource.RLIMIT_CORE, 0)
        _limit(resource.RLIMIT_FSIZE, asked["file_bytes"])
        _limit(resource.RLIMIT_AS, asked["memory_bytes"])
        self._tasks_before = _tasks_now()
        _limit(resource.RLIMIT_NPROC, self._tasks_before + asked["processes"], hard=False)
        forbid_new_privileges()
        self._started = time.monotonic()
        self._deadline = self._started + (math.inf if asked["timeout_seconds"] is None else asked["timeout_seconds"])
        self._next_watch = self._started + _WATCH_SECONDS
        self._spawn()

    def _enter(self, folder: str, root: str) -> None:
        os.chdir(folder)
        here = os.getcwd()
        if here != root and not here.startswith(root.rstrip("/") + "/"):
            raise OSError(0, "outside", folder)

    def _spawn(self) -> None:
        out_end = err_end = self._pipe("stdout")
        if not self._request["background"]:
            err_end = self._pipe("stderr")
        ends = {1: out_end, 2: err_end}
        if self._request["sandboxed"]:
            ends[3] = self._status_pipe()
        rules = self._request["landlock"]
        try:
            if rules is None:
                self._pid = start(self._request["argv"], self._request["env"], ends)
            else:
                self._pid = start_restricted(self._request["argv"], self._request["env"], ends, rules=Rules(**rules))
        finally:
            for end in set(ends.values()):
                os.close(end)
        self._pidfd = os.pidfd_open(self._pid)
        self._owned.add(self._pidfd)
        self._watch(self._pidfd, self._on_death)

    def _status_pipe(self) -> int:
        """Hear what bubblewrap says of itself; return its end of the pipe."""
        ours, theirs = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
        self._owned.add(ours)
        self._status = ours
        return theirs

    def _pipe(self, name: str) -> int:
        """Read what is written to a new pipe as one of the command's streams; return its other end."""
        ours, theirs = os.pipe2(os.O_CLOEXEC)
        try:
            fcntl.fcntl(ours, fcntl.F_SETPIPE_SZ, _PIPE_BYTES)
        except OSError:  # a user may have only so much memory in pipes
            self._roomy = False
        self._pipes.add(ours)
        self._watch(ours, lambda: self._drain(ours, name))
        return theirs

    # --- events

    def _watch(self, fd: int, handler: Callable[[], None], *, events: int = select.POLLIN) -> None:
        self._handlers[fd] = handler
        self._poll.register(fd, events)

    def _unwatch(self, fd: int) -> None:
        del self._handlers[fd]
        self._poll.unregister(fd)

    def _turn(self, until: float) -> bool:
        """Handle what happens until a time, or the first of it; return whether anything did."""
        wait = max(0.0, until - time.monotonic())
        events = self._poll.poll(None if wait == math.inf else math.ceil(wait * 1000))
        for fd, _ in events:
            if fd in self._handlers:
                self._handlers[fd]()
        return bool(events)

    def _drain(self, fd: int, name: str) -> None:
        size = os.readv(fd, [self._buffer])
        if not size:
            self._unwatch(fd)
            self._pipes.discard(fd)
            os.close(fd)
            return
        self._pace(size)
        data = memoryview(self._buffer)[:size]
        if isinstance(self._output, Ring):
            self._output.feed(data)
        else:
            self._output.feed(name, data)

    def _pace(self, size: int) -> None:
        """Let the pipe fill where a flood comes in small writes: waking up for each costs more than they do."""
        now = time.monotonic()
        if self._roomy and size < _PIPE_BYTES // 8 and now - self._last_read < _PACE_SECONDS:
            self._hurried += 1
            if self._hurried > _PATIENT_READS:
                time.sleep(_PACE_SECONDS)
        else:
            self._hurried = 0
        self._last_read = now

    def _on_death(self) -> None:
        self._unwatch(self._pidfd)
        self._bury()

    def _bury(self) -> None:
        for pid, code in family.reap():
            if pid == self._pid:
                self._dead = True
                if self._exit is None:
                    self._exit = 128 - code if code < 0 else code

    def _on_gone(self) -> None:
        raise _GoneError

    def _on_line(self) -> None:
        data = self._line.recv(1 << 16)
        if not data:
            raise _GoneError
        self._frames.feed(data)
        self._obey()

    def _obey(self) -> None:
        while (message := self._frames.next()) is not None:
            if message["op"] == "poll":
                self._answer_poll(message["limit_bytes"], message["number"])
            elif not self._over:
                self._killed_by = self._killed_by or "stop"
                self._grace = float(message["grace_seconds"])

    @property
    def _over(self) -> bool:
        return self._exit is not None or self._killed_by is not None

    # --- until the end

    def _until_exit(self) -> None:
        while not self._over:
            now = time.monotonic()
            if now >= self._deadline:
                self._killed_by = "timeout"
            elif now >= self._next_watch:
                self._count_processes(now)
            else:
                self._turn(min(self._deadline, self._next_watch))

    def _count_processes(self, now: float) -> None:
        self._bury()
        limit = self._request["processes"]
        # One small read tells that it cannot be: in a storm there is no time for thousands.
        self._watches += 1
        likely = _tasks_now() - self._tasks_before > limit or self._watches % _BLIND_WATCHES == 0
        if likely and len(family.descendants(os.getpid(), limit=limit)) > limit:
            self._killed_by = "processes"
            self._grace = 0
        self._next_watch = max(now + _WATCH_SECONDS, time.monotonic())

    def _end(self) -> None:
        if self._killed_by is None:
            self._settle(time.monotonic() + _SETTLE_SECONDS)
        running = self._running()
        names = (family.name_of(pid) for pid in running[:20])
        self._left = [name for name in names if name is not None]
        if running and self._grace and len(running) < _MANY:
            family.signal_all(running, signal.SIGTERM)
            self._settle(time.monotonic() + self._grace)
        stuck = family.end_all()
        self._dead = True
        self._notes += [f"could not be ended: {name}" for name in stuck]
        self._seconds = time.monotonic() - self._started
        self._rest_of_output()

    def _settle(self, until: float) -> None:
        """Wait until nothing of the command runs any more, but no longer than until a time."""
        while time.monotonic() < until and 0 < len(self._running()) < _MANY:
            self._turn(min(until, time.monotonic() + 0.004))

    def _running(self) -> list[int]:
        """Return what still runs of the command, without the machinery that confines it."""
        self._bury()
        if self._dead and not family.has_children():
            return []
        own = family.descendants(os.getpid(), limit=_MANY)
        if not self._request["sandboxed"]:
            return own
        return [pid for pid in own if pid != self._pid and family.inner_pid(pid) != 1]

    def _rest_of_output(self) -> None:
        """Read what the pipes still hold; whoever was handed an end of them elsewhere is not waited for."""
        give_up = time.monotonic() + 0.5
        poll = select.poll()
        for fd in self._pipes:
            poll.register(fd, select.POLLIN)
        while time.monotonic() < give_up and (ready := poll.poll(0)):
            for fd, _ in ready:
                self._handlers[fd]()
                if fd not in self._pipes:
                    poll.unregister(fd)

    # --- answers

    def _send(self, message: Message) -> None:
        self._line.sendall(pack(message))

    def _answer(self) -> None:
        if isinstance(self._output, HeadAndTail):
            pieces = self._output.pieces(max_lines=self._request["max_lines"])
            # Whoever stops a command waits for its end, but not for what it has to say.
            spill = self._spill.report() if self._spill and self._killed_by != "stop" else None
            self._send({"done": {**self._state(), "pieces": pieces, "spill": spill}})
            return
        while True:
            self._turn(math.inf)

    def _answer_poll(self, limit_bytes: int, number: int) -> None:
        assert isinstance(self._output, Ring)
        ended = self._seconds is not None
        state = self._state() if ended else None
        taken = self._output.take(limit_bytes, final=ended)
        self._send({"poll": {**taken, "ended": state, "number": number}})

    def _state(self) -> Message:
        return {
            "exit_code": None if self._killed_by else self._exit,
            "killed_by": self._killed_by,
            "seconds": self._seconds,
            "left_running": self._left,
            "notes": self._notes,
            "sandbox_failed": self._killed_by is None and self._sandbox_failed(),
        }

    def _sandbox_failed(self) -> bool:
        """Whether bubblewrap ended without a word about the exit code: then it never started the command."""
        return self._status is not None and b'"exit-code"' not in os.read(self._status, 1 << 12)


def _limit(what: int, value: int | None, *, hard: bool = True) -> None:
    """Lower a limit of this process and its children, for good if `hard`: the next command has the same ones."""
    if value is None:
        return
    _, highest = resource.getrlimit(what)
    value = value if highest == resource.RLIM_INFINITY else min(value, highest)
    resource.setrlimit(what, (value, value if hard else highest))


def _tasks_now() -> int:
    """Return how many threads there are on this machine: a user's own count is slow to find, and not more."""
    with open("/proc/loadavg", "rb", buffering=0) as file:
        return int(file.read().split()[3].split(b"/")[1])
