"""The host's side of the supervisor: one process for a workspace, one socket for a command.

Everything ends when its socket closes, so that nothing here must run for it: not when a task is cancelled, not when
the interpreter ends, not when the host is killed.
"""

import asyncio
import os
import shutil
import signal
import socket
import sys
import tempfile
import threading
import time
import weakref
from contextlib import suppress

from .supervisor.frames import Frames, Message, pack

_CONTROL = 3
_START = """import sys
sys.path.append(sys.argv[1])
from supervisor.nursery import main
main(int(sys.argv[2]), host=int(sys.argv[3]), private=sys.argv[4])
"""
_PATIENCE_SECONDS = 3.0


class SupervisorLostError(RuntimeError):
    """The process that runs commands died in the middle of one."""


class Supervisor:
    """Starts the supervisor when it is first needed, and again where somebody killed it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._running: _Running | None = None

    @property
    def private(self) -> str:
        """The private temporary folder of the commands; it is removed when the supervisor ends."""
        return self._live().private

    def connect(self) -> socket.socket:
        """Return the host's end of the line to a session of its own."""
        running = self._live()
        ours, theirs = socket.socketpair()
        with theirs:
            socket.send_fds(running.control, [b"c"], [theirs.fileno()])
        ours.setblocking(False)
        return ours

    def close(self) -> None:
        """End everything that was started and wait until it has ended."""
        with self._lock:
            if self._running is not None:
                self._running.end()
                self._running = None

    def _live(self) -> "_Running":
        with self._lock:
            if self._running is None or not self._running.is_alive():
                self._running = _Running()
            return self._running


class _Running:
    """A supervisor process, ended when nobody refers to it any more."""

    def __init__(self) -> None:
        interpreter = _interpreter()
        self.private = tempfile.mkdtemp(prefix="toolhaft-")
        self._host = os.getpid()
        self.control, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            self._pid = _spawn(interpreter, theirs.fileno(), self.private)
        self.end = weakref.finalize(self, _end, self.control, self._pid, self.private, self._host)

    def is_alive(self) -> bool:
        """Whether it still runs; in a fork of the host it is not ours to use."""
        if self._host != os.getpid():
            return False
        try:
            return os.waitpid(self._pid, os.WNOHANG)[0] == 0
        except ChildProcessError:  # somebody else buried it
            return False


def _interpreter() -> str:
    if not sys.executable or sys.platform != "linux":
        raise NotImplementedError(
            f"commands run on Linux, under the interpreter of this process; here are {sys.platform!r} and "
            f"{sys.executable!r}. Attach a container as the workspace."
        )
    return sys.executable


def _spawn(interpreter: str, control: int, private: str) -> int:
    here = os.path.dirname(os.path.abspath(__file__))
    argv = [interpreter, "-I", "-S", "-B", "-c", _START, here, str(_CONTROL), str(os.getpid()), private]
    actions = [(os.POSIX_SPAWN_OPEN, fd, os.devnull, os.O_RDWR, 0) for fd in range(3)]
    # Nothing of our environment: the supervisor's own is readable for what it starts.
    env = {name: os.environ[name] for name in ("LD_LIBRARY_PATH",) if name in os.environ}
    return os.posix_spawn(
        interpreter,
        argv,
        env,
        file_actions=[*actions, (os.POSIX_SPAWN_DUP2, control, _CONTROL)],
        setsid=True,
        setsigmask=(),
        setsigdef=(signal.SIGCHLD,),
    )


def _end(control: socket.socket, pid: int, private: str, host: int) -> None:
    """Hang up and wait for the supervisor to end what it started; in a fork of the host, only forget it."""
    if os.getpid() == host:
        hang_up(control)
        _bury(pid)
        shutil.rmtree(private, ignore_errors=True)  # where the supervisor was killed before it could
    control.close()


def _bury(pid: int) -> None:
    give_up = time.monotonic() + _PATIENCE_SECONDS
    with suppress(ChildProcessError):
        while time.monotonic() < give_up:
            if os.waitpid(pid, os.WNOHANG)[0]:
                return
            time.sleep(0.001)
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)


def hang_up(end: socket.socket) -> None:
    """Let the other end of a socket see its end, even if a fork of ours has this one open too."""
    with suppress(OSError):
        end.shutdown(socket.SHUT_RDWR)


class Line:
    """The socket of one command, for whichever event loop is running."""

    def __init__(self, end: socket.socket) -> None:
        self._socket = end
        self._frames = Frames()
        self._hang_up = weakref.finalize(self, _close, end)

    async def send(self, message: Message) -> None:
        """Send a message whole."""
        await asyncio.get_running_loop().sock_sendall(self._socket, pack(message))

    async def receive(self) -> Message:
        """Return the next message; raises `SupervisorLostError` where none can come any more."""
        loop = asyncio.get_running_loop()
        while (message := self._frames.next()) is None:
            try:
                data = await loop.sock_recv(self._socket, 1 << 18)
            except ConnectionResetError:
                data = b""
            if not data:
                raise SupervisorLostError(
                    "the process that runs commands was killed, so it is unknown how this one ended. "
                    "What it had started was ended. Look at what it did before you run it again."
                )
            self._frames.feed(data)
        if "crashed" in message:
            raise SupervisorLostError(f"the process that runs commands failed; report this:\n{message['crashed']}")
        return message

    def close(self) -> None:
        """Hang up: what still runs at the other end is killed. A line that is forgotten does it too."""
        self._hang_up()


def _close(end: socket.socket) -> None:
    hang_up(end)
    end.close()
