"""Kill writers at random moments, or before and after every system call they make, and look at what they left.

    python -m tests.faults.killed_writers at-random FOLDER KILLS
    python -m tests.faults.killed_writers at-every-call FOLDER create|overwrite|append|swap

A process of its own with one thread, because it forks. Prints one JSON object; an AssertionError says what broke.
"""

import ctypes
import json
import os
import random
import signal
import stat
import sys
import time
from collections.abc import Callable
from pathlib import Path

from toolhaft.workspace import LocalWorkspace
from toolhaft.workspace.temporary import is_temporary

OLD = b"old" * 100
NEW = b"new and longer" * 100
BIG = 5_000_000
MODE = 0o640
# include/uapi/linux/ptrace.h
TRACEME, SYSCALL, SETOPTIONS = 0, 24, 0x4200
KILL_WITH_TRACER, MARK_SYSCALLS = 0x100000, 1
CANNOT_TRACE = 3

LIBC = ctypes.CDLL(None, use_errno=True)
LIBC.ptrace.argtypes = (ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p)


def leftovers(folder: Path) -> list[str]:
    """Return the temporary files in a folder, and assert that nothing else strange is there."""
    names = os.listdir(folder)
    assert set(names) <= {"a.txt", "other.txt", *filter(is_temporary, names)}, names
    return list(filter(is_temporary, names))


def check(folder: Path, *, allowed: set[bytes | None]) -> int:
    """Assert that the file is whole and kept its mode; return the number of temporary files beside it."""
    file = folder / "a.txt"
    content = file.read_bytes() if file.exists() else None
    assert content in allowed, f"torn: {content[:50] if content is not None else None!r}"
    assert content is None or None in allowed or stat.S_IMODE(file.stat().st_mode) == MODE
    left = leftovers(folder)
    listed = {entry.name for entry in LocalWorkspace(folder).scan_dir(".")}
    assert listed <= {"a.txt", "other.txt"}, listed
    assert len(left) <= 1, left
    return len(left)


def child(work: Callable[[], object]) -> int:
    """Fork a process that does the work and ends; return its id."""
    pid = os.fork()
    if pid == 0:
        try:
            work()
        finally:
            os._exit(0)
    return pid


def at_random(folder: Path, kills: int) -> dict[str, int]:
    """Kill a writer and editor of a 5 MB file 0 to 50 ms after its start, again and again."""
    contents = (b"a" * BIG, b"b" * BIG)
    swapped = bytes.maketrans(b"ab", b"ba")
    file = folder / "a.txt"
    file.write_bytes(contents[0])
    file.chmod(MODE)

    def write_forever() -> None:
        workspace = LocalWorkspace(folder)
        while True:
            workspace.replace_file("a.txt", contents[1])
            with workspace.change("edit") as change:  # as the tools that edit and patch do
                change.write("a.txt", change.read("a.txt").translate(swapped))

    most = 0
    for _ in range(kills):
        pid = child(write_forever)
        time.sleep(random.uniform(0, 0.05))
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        most = max(most, check(folder, allowed=set(contents)))
    LocalWorkspace(folder).replace_file("other.txt", b"")
    return {"kills": kills, "most_leftovers": most, "after_next_writer": len(leftovers(folder))}


def operation(kind: str, folder: Path) -> tuple[Callable[[], object], set[bytes | None]]:
    """Return one write and the contents that are right whenever it is cut off."""
    workspace = LocalWorkspace(folder)
    match kind:
        case "create":
            return lambda: workspace.replace_file("a.txt", NEW, mode="create"), {None, NEW}
        case "overwrite":
            return lambda: workspace.replace_file("a.txt", NEW), {OLD, NEW}
        case "append":
            return lambda: workspace.replace_file("a.txt", NEW, mode="append"), {OLD, OLD + NEW}
        case _:
            return lambda: swap(workspace), {OLD, NEW}


def swap(workspace: LocalWorkspace) -> None:
    """Replace the file in the version it has."""
    with workspace.change("swap") as change:
        change.read("a.txt")
        change.write("a.txt", NEW)


def prepare(folder: Path, kind: str) -> None:
    """Put the old file there, or none, and nothing else."""
    for name in os.listdir(folder):
        (folder / name).unlink()
    if kind != "create":
        (folder / "a.txt").write_bytes(OLD)
        (folder / "a.txt").chmod(MODE)


def traced(work: Callable[[], object]) -> int:
    """Fork a process that waits to be traced and then does the work."""

    def wait_and_work() -> None:
        if LIBC.ptrace(TRACEME, 0, None, None) < 0:
            os._exit(CANNOT_TRACE)
        os.kill(os.getpid(), signal.SIGSTOP)
        work()

    pid = child(wait_and_work)
    if os.WIFEXITED(os.waitpid(pid, 0)[1]):
        sys.exit(CANNOT_TRACE)
    LIBC.ptrace(SETOPTIONS, pid, None, KILL_WITH_TRACER | MARK_SYSCALLS)
    return pid


def killed_at(stop: int, work: Callable[[], object]) -> bool:
    """Let a process run to its Nth entry into or exit from the kernel and kill it; False where it ended before."""
    pid = traced(work)
    for _ in range(stop):
        LIBC.ptrace(SYSCALL, pid, None, None)
        if os.WIFEXITED(os.waitpid(pid, 0)[1]):
            return False
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    return True


def at_every_call(folder: Path, kind: str) -> dict[str, int]:
    """Cut one write off at every boundary between the program and the kernel."""
    prepare(folder, kind)
    operation(kind, folder)[0]()  # so that nothing is imported or compiled in the traced runs
    stops = most = old = new = 0
    while True:
        prepare(folder, kind)
        work, allowed = operation(kind, folder)
        if not killed_at(stops, work):
            break
        stops += 1
        most = max(most, check(folder, allowed=allowed))
        file = folder / "a.txt"
        is_old = not file.exists() or file.read_bytes() == OLD
        old, new = old + is_old, new + (not is_old)
        LocalWorkspace(folder).replace_file("other.txt", b"")
        assert leftovers(folder) == []
    return {"stops": stops, "old": old, "new": new, "most_leftovers": most}


def main() -> None:
    """Do what the command line says and print what came out."""
    how, folder, what = sys.argv[1:]
    outcome = at_random(Path(folder), int(what)) if how == "at-random" else at_every_call(Path(folder), what)
    sys.stdout.write(json.dumps(outcome))


if __name__ == "__main__":
    main()
