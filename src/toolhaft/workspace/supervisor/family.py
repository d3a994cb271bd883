"""The processes that descend from one, as `/proc` tells it, and how all of them are ended."""

import os
import signal
import time
from collections.abc import Iterable, Iterator
from contextlib import suppress

_SHOWN_CHARACTERS = 80
# A process in an uninterruptible wait (a dead network disk) cannot be killed: say so, rather than wait with it.
# Thousands of a fork storm take their time to die.
_PATIENCE_SECONDS = 10.0
_LOOK_AGAIN_SECONDS = 0.005


def descendants(pid: int, *, limit: int | None = None) -> list[int]:
    """Return the living and dead-but-unburied descendants of a process, not many more than `limit` of them."""
    found: list[int] = []
    waiting = [pid]
    while waiting and (limit is None or len(found) <= limit):
        born = children(waiting.pop())
        found += born
        waiting += born
    return found


def children(pid: int) -> list[int]:
    """Return the children of a process, of all of its threads."""
    pids: list[int] = []
    with suppress(OSError):
        for thread in os.listdir(f"/proc/{pid}/task"):
            pids += map(int, _read(f"/proc/{pid}/task/{thread}/children").split())
    return pids


def name_of(pid: int) -> str | None:
    """Return a process's command line, shortened, or None for one that is dead."""
    state = _read(f"/proc/{pid}/stat").rpartition(b") ")[2][:1]
    if state in (b"", b"Z", b"X"):
        return None
    line = _read(f"/proc/{pid}/cmdline").rstrip(b"\0").replace(b"\0", b" ") or _read(f"/proc/{pid}/comm").strip()
    text = " ".join(line.decode(errors="replace").split())
    return text if len(text) <= _SHOWN_CHARACTERS else text[: _SHOWN_CHARACTERS - 3] + "..."


def inner_pid(pid: int) -> int:
    """Return the number that a process has in its own, innermost pid namespace; 0 for one that is gone."""
    for line in _read(f"/proc/{pid}/status").splitlines():
        if line.startswith(b"NSpid:"):
            return int(line.split()[-1])
    return 0


def signal_all(pids: Iterable[int], number: signal.Signals) -> None:
    """Send a signal to each of them that is still there."""
    for pid in pids:
        with suppress(ProcessLookupError, PermissionError):
            os.kill(pid, number)


def reap() -> Iterator[tuple[int, int]]:
    """Bury what has died of our children, also inherited ones: pid and exit code, -N for signal N."""
    with suppress(ChildProcessError):
        while True:
            pid, status = os.waitpid(-1, os.WNOHANG)
            if not pid:
                return
            yield pid, os.waitstatus_to_exitcode(status)


def has_children() -> bool:
    """Whether we have a child, dead ones that nobody buried included."""
    try:
        os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    except ChildProcessError:
        return False
    return True


def end_all() -> list[str]:
    """Kill every descendant and return when none is left; names of any that would not die within ten seconds.

    SIGCHLD must be blocked: that a child has died is waited for by it.
    """
    give_up = time.monotonic() + _PATIENCE_SECONDS
    while has_children():
        if not any(reap()):
            # Orphans come to us, so the groups of our own children are soon those of all.
            kill_groups(children(os.getpid()))
            left = descendants(os.getpid())
            if time.monotonic() > give_up:
                return [name for pid in left if (name := name_of(pid))]
            kill_groups(left)
            signal.sigtimedwait((signal.SIGCHLD,), _LOOK_AGAIN_SECONDS)
    return []


def kill_groups(pids: Iterable[int]) -> None:
    """Kill the process groups of some of our descendants, each in one step, which a fork storm cannot outrun.

    Every descendant began with a session of its own, so nobody else is in their groups.
    """
    groups: set[int] = set()
    for pid in pids:
        with suppress(ProcessLookupError):
            groups.add(os.getpgid(pid))
    for group in groups - {os.getpgrp()}:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(group, signal.SIGKILL)


def _read(path: str) -> bytes:
    try:
        with open(path, "rb", buffering=0) as file:
            return file.read()
    except OSError:
        return b""
