"""What tests of commands ask the machine: who still runs, what is open."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from toolhaft.workspace.confine import ConfinementChoice, bubblewrap
from toolhaft.workspace.supervisor import landlock

CHOICES: tuple[ConfinementChoice, ...] = ("bubblewrap", "landlock", "none")


def skip_without(choice: ConfinementChoice) -> None:
    """Skip a test whose means of confinement this machine lacks, and say which."""
    if choice == "bubblewrap" and not bubblewrap()[0]:
        pytest.skip(f"no bubblewrap: {bubblewrap()[1]}")
    if choice == "landlock" and not landlock.version():
        pytest.skip("no Landlock: this kernel has none")


def with_argument(argument: str) -> list[int]:
    """Return the pids of living processes that have this text among their arguments."""
    return [pid for pid, line in _command_lines() if argument.encode() in line.split(b"\0")]


def mine() -> set[int]:
    """Return the pids of this process's children, dead ones that nobody buried included."""
    return {int(pid) for task in Path("/proc/self/task").iterdir() for pid in (task / "children").read_text().split()}


def open_descriptors() -> int:
    """Return how many descriptors this process has open."""
    return len(os.listdir("/proc/self/fd"))


def threads() -> int:
    """Return how many threads this process has."""
    return len(os.listdir("/proc/self/task"))


def resident_bytes(pid: int | str = "self") -> int:
    """Return the greatest memory that a process had at a time."""
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) * 1024
    return 0


def _command_lines() -> Iterator[tuple[int, bytes]]:
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            yield int(name), Path(f"/proc/{name}/cmdline").read_bytes()
        except OSError:  # it has ended meanwhile
            continue
