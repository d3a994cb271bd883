"""The process that keeps a session ready, and outlives none of them."""

import gc
import os
import select
import shutil
import signal
import socket
import struct
import traceback
from contextlib import suppress

from . import family
from .frames import pack
from .landlock import become_subreaper
from .session import Session

# A session that has served stays for a while: the next command then costs no fork.
_IDLE_SECONDS = 20
_NEWS = struct.Struct("=cI")
_TAKEN, _IDLE = b"t", b"i"


def main(control: int, *, host: int, private: str) -> None:
    """Serve the host until its socket closes or it dies; then end everything and remove the private folder."""
    os.closerange(control + 1, 1 << 16)
    os.set_inheritable(control, False)
    become_subreaper()
    lifeline = os.pidfd_open(host)
    if os.getppid() == host:
        _Nursery(socket.socket(fileno=control), lifeline).run()
    shutil.rmtree(private, ignore_errors=True)


class _Nursery:
    def __init__(self, control: socket.socket, host: int) -> None:
        self._control = control
        self._control.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, struct.pack("ll", _IDLE_SECONDS, 0))
        self._host = host
        self._news, self._news_end = os.pipe2(os.O_CLOEXEC)
        self._deaths, self._deaths_end = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
        self._sessions: set[int] = set()
        self._idle: set[int] = set()

    def run(self) -> None:
        signal.signal(signal.SIGCHLD, _wake_up)
        signal.set_wakeup_fd(self._deaths_end, warn_on_full_buffer=False)
        poll = select.poll()
        poll.register(self._control, 0)
        for fd in (self._host, self._news, self._deaths):
            poll.register(fd, select.POLLIN)
        while True:
            if not self._idle:
                self._fork()
            ready = {fd for fd, _ in poll.poll()}
            if ready & {self._control.fileno(), self._host}:
                break
            if self._news in ready:
                self._hear()
            if self._deaths in ready:
                self._bury()
        signal.set_wakeup_fd(-1)
        signal.pthread_sigmask(signal.SIG_BLOCK, (signal.SIGCHLD,))
        self._wait_for_sessions()

    def _fork(self) -> None:
        gc.freeze()  # a collection in the child would copy the pages that it shares with us
        pid = os.fork()
        if pid == 0:
            _be_a_session(self._control, self._host, self._news_end)
        self._sessions.add(pid)
        self._idle.add(pid)

    def _hear(self) -> None:
        for news, pid in _NEWS.iter_unpack(os.read(self._news, 100 * _NEWS.size)):
            if news == _TAKEN:
                self._idle.discard(pid)
            elif pid in self._sessions:
                self._idle.add(pid)

    def _bury(self) -> None:
        os.read(self._deaths, 1 << 12)
        for pid, _ in family.reap():
            self._sessions.discard(pid)
            self._idle.discard(pid)
        # What a session had when somebody killed it has come to us.
        for pid in set(family.children(os.getpid())) - self._sessions:
            family.kill_groups([pid, *family.descendants(pid)])

    def _wait_for_sessions(self) -> None:
        # They see what we saw and end what they have; what is left after that is ended by us.
        while self._sessions:
            pid, _ = os.waitpid(-1, 0)
            self._sessions.discard(pid)
        family.end_all()


def _wake_up(_number: int, _frame: object) -> None:
    """Let the descriptor of `set_wakeup_fd` be written, which an ignored signal does not."""


def _be_a_session(control: socket.socket, host: int, news: int) -> None:
    """Take commands from the control socket, one after the other, in a process of our own."""
    signal.set_wakeup_fd(-1)
    signal.pthread_sigmask(signal.SIG_BLOCK, (signal.SIGCHLD,))
    fresh = True
    while (line := _next_line(control, patient=fresh)) is not None:
        os.write(news, _NEWS.pack(_TAKEN, os.getpid()))
        with line:
            reusable = _serve(line, control=control, host=host)
        if not reusable:
            break
        fresh = False
        os.write(news, _NEWS.pack(_IDLE, os.getpid()))
    os._exit(0)


def _serve(line: socket.socket, *, control: socket.socket, host: int) -> bool:
    try:
        with Session(line, lifelines=(control.fileno(), host)) as session:
            session.run()
            return session.is_reusable
    except Exception:  # noqa: BLE001 - the host must hear of any mistake of ours; nobody reads our stderr
        with suppress(OSError):
            line.sendall(pack({"crashed": traceback.format_exc()}))
        return False


def _next_line(control: socket.socket, *, patient: bool) -> socket.socket | None:
    while True:
        try:
            _, fds, _, _ = socket.recv_fds(control, 1, 1)
        except BlockingIOError:
            if patient:
                continue
            return None
        if not fds:
            return None
        os.set_inheritable(fds[0], False)  # it arrives inheritable, and Python ignores the flag against it
        return socket.socket(fileno=fds[0])
