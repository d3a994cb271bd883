"""Commands: what judging, confining and watching one costs, and what a flood of output does."""

import asyncio
import os
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median

from tests.benchmarks.measure import Figure, longest_stall, milliseconds, ratio
from tests.workspace.processes import mine, resident_bytes
from toolhaft import LocalWorkspace, ToolExecutionError, use_workspace
from toolhaft.shell import classify
from toolhaft.tools import bash
from toolhaft.workspace import CommandRules
from toolhaft.workspace.confine import ConfinementChoice, bubblewrap

TYPICAL = (
    "git status --short && git diff HEAD~1 | head -50",
    "cd src && python -m pytest -q tests/test_app.py 2>&1 | tail -20",
    "grep -rn 'def main' src --include='*.py' | sort | uniq -c | head",
    "ls -la src",
)
LINE = 'if grep -q "foo" src/a.py; then echo "found $x"; else for f in *.py; do wc -l "$f"; done; fi\n'
SCRIPT = LINE * (4096 // len(LINE))
FLOOD_BYTES = 200_000_000
FLOOD = f"head -c {FLOOD_BYTES} /dev/zero | tr '\\0' 'x'"
KEPT_BYTES = 24_000


async def figures() -> AsyncIterator[Figure]:
    for name, commands, goal in (("a typical command", TYPICAL, 100), ("a script of 4 KB", [SCRIPT], 2_000)):
        yield _classified(name, commands, goal)
    with _acting("none") as place:
        yield await ratio("true, not confined / raw bash -c", lambda: bash("true"), _raw, goal=1.15, rounds=200)
        yield await _late()
        yield await milliseconds("sleep 3 & echo hi", lambda: bash("sleep 3 & echo hi"), goal=150, rounds=5)
        yield await ratio("200 MB of output / a bounded drain", lambda: bash(FLOOD), _bounded, goal=1.2, rounds=5)
        yield await longest_stall("event loop meanwhile", lambda: bash(FLOOD), goal=20)
        yield await _memory()
        await place.aclose()
    if not bubblewrap()[0]:
        print(f"  no bubblewrap here: {bubblewrap()[1]}")
        return
    with _acting("bubblewrap") as place:
        yield await ratio("true, in bubblewrap / raw bash -c", lambda: bash("true"), _raw, goal=4.5, rounds=100)
        yield await _more("the same, the difference", _raw, goal=6)
        await place.aclose()
    with _acting("bubblewrap", secrets=50) as hiding, _acting("bubblewrap") as plain:
        yield await _more("50 sensitive files hidden, the difference", lambda: _true_in(plain), hiding, goal=20)
        await hiding.aclose()
        await plain.aclose()


@contextmanager
def _acting(means: ConfinementChoice, *, secrets: int = 0) -> Iterator[LocalWorkspace]:
    # Not below /tmp, of which a confined command has one of its own.
    with tempfile.TemporaryDirectory(dir="/var/tmp") as folder:
        for number in range(secrets):
            Path(folder, f"{number}.pem").touch()
        place = LocalWorkspace(folder, commands=CommandRules(confinement=means))
        with use_workspace(place):
            yield place


def _classified(name: str, commands: "tuple[str, ...] | list[str]", goal: float) -> Figure:
    times = []
    for _ in range(200):
        started = time.perf_counter()
        for command in commands:
            classify(command)
        times.append((time.perf_counter() - started) / len(commands) * 1e6)
    return Figure(
        name=f"classify {name}", measured=median(times), goal=goal, unit="us", detail=f"(best {min(times):.0f})"
    )


async def _raw() -> None:
    process = await asyncio.create_subprocess_exec(
        "bash",
        "-c",
        "true",
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        start_new_session=True,
    )
    await process.communicate()


async def _bounded() -> None:
    """The least that draining a flood costs: chunks, the first and the last of them kept."""
    process = await asyncio.create_subprocess_exec(
        "bash", "-c", FLOOD, stdout=asyncio.subprocess.PIPE, stdin=asyncio.subprocess.DEVNULL, limit=1 << 20
    )
    assert process.stdout is not None
    head, tail = b"", b""
    while data := await process.stdout.read(1 << 18):
        head += data[: KEPT_BYTES - len(head)]
        tail = (tail + data)[-KEPT_BYTES:]
    await process.wait()


async def _true_in(place: LocalWorkspace) -> None:
    with use_workspace(place):
        await bash("true")


async def _more(name: str, reference, place: LocalWorkspace | None = None, *, goal: float) -> Figure:
    """How many milliseconds more than a reference, in turn."""
    ours, theirs = [], []
    for _ in range(60):
        started = time.perf_counter()
        await (bash("true") if place is None else _true_in(place))
        ours.append(time.perf_counter() - started)
        started = time.perf_counter()
        await reference()
        theirs.append(time.perf_counter() - started)
    more = (median(ours[1:]) - median(theirs[1:])) * 1e3
    return Figure(name=name, measured=more, goal=goal, unit="ms", detail=f"(of {median(ours) * 1e3:.1f})")


async def _late() -> Figure:
    """How long after its deadline a command is over and everything of it gone."""
    late = []
    for _ in range(3):
        started = time.perf_counter()
        try:
            await bash("sleep 100 & (sleep 100); sleep 100", timeout=1)
        except ToolExecutionError:
            late.append((time.perf_counter() - started - 1) * 1e3)
    return Figure(name="a timeout, after its deadline", measured=median(late), goal=50, unit="ms", detail="")


async def _memory() -> Figure:
    """What a flood adds to the greatest memory of this process and of those that watch the command."""
    watching = [os.getpid(), *mine()]
    await bash(FLOOD)
    before = [resident_bytes(pid) for pid in watching]
    await bash(FLOOD)
    grown = sum(resident_bytes(pid) - was for pid, was in zip(watching, before, strict=True))
    first = await _first_flood()
    return Figure(
        name="extra memory for 200 MB of output",
        measured=max(grown, first) / 1e6,
        goal=8,
        unit="MB",
        detail=f"(the first time {first / 1e6:.1f})",
    )


async def _first_flood() -> int:
    """The same in a process of its own, whose first flood it is; the watching session is a child of it too."""
    code = (
        "import asyncio, os, sys\n"
        "from tests.workspace.processes import resident_bytes\n"
        "from toolhaft import LocalWorkspace, use_workspace\n"
        "from toolhaft.tools import bash\n"
        "from toolhaft.workspace import CommandRules\n"
        "async def main():\n"
        "    with use_workspace(LocalWorkspace(sys.argv[1], commands=CommandRules(confinement='none'))):\n"
        "        await bash('seq 1 200000')\n"
        "        before = resident_bytes()\n"
        f"        await bash({FLOOD!r})\n"
        "        print(resident_bytes() - before)\n"
        "asyncio.run(main())\n"
    )
    with tempfile.TemporaryDirectory(dir="/var/tmp") as folder:
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-c", code, folder, stdout=asyncio.subprocess.PIPE
        )
        out, _ = await process.communicate()
    return int(out)
