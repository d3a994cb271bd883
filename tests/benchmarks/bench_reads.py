"""Pages of files of any size: time, memory, and the event loop meanwhile."""

import asyncio
import subprocess
import sys
import tempfile
from collections.abc import AsyncIterator
from pathlib import Path

from tests.benchmarks.measure import Figure, longest_stall, milliseconds, ratio
from toolhaft import LocalWorkspace, use_workspace
from toolhaft.tools import read_file

LINE = b"2026-11-30 12:00:00 INFO a line of a log that goes on for some time, seventy-five\n"
LINES = 1_000_000_000 // len(LINE)
DEEP = LINES * 9 // 10


async def figures() -> AsyncIterator[Figure]:
    with tempfile.TemporaryDirectory() as folder:
        big = Path(folder, "big.log")
        with big.open("wb") as file:
            for _ in range(LINES // 10_000):
                file.write(LINE * 10_000)
        with use_workspace(folder):
            yield await milliseconds("200 lines at line 10 of 1 GB", lambda: read_file("big.log", 10, 200), goal=2)
            yield await ratio(
                "the last 200 lines of 1 GB / tail as a process",
                lambda: read_file("big.log", -200, 200),
                lambda: _process("tail", "-n", "200", str(big)),
                goal=1,
            )
            yield await ratio(
                "line 11 million of 1 GB, first time / counting newlines",
                lambda: _first_time(folder),
                lambda: asyncio.to_thread(_count_newlines, big, DEEP),
                goal=1.2,
                rounds=5,
            )
            await read_file("big.log", DEEP, 200)
            yield await milliseconds("the same line, second time", lambda: read_file("big.log", DEEP, 200), goal=5)
            yield await longest_stall("event loop during that first time", lambda: _first_time(folder), goal=20)
        yield await _memory(folder)


async def _first_time(folder: str) -> None:
    """A new workspace knows no line of the file yet."""
    with use_workspace(LocalWorkspace(folder)):
        await read_file("big.log", DEEP, 200)


async def _process(*command: str) -> None:
    process = await asyncio.create_subprocess_exec(*command, stdout=subprocess.PIPE)
    await process.communicate()


def _count_newlines(path: Path, wanted: int) -> int:
    """The least that finding a line costs: 1 MiB chunks, newlines counted, to the chunk that holds it."""
    buffer = bytearray(1 << 20)
    count = 0
    with path.open("rb", buffering=0) as file:
        while count < wanted and (size := file.readinto(buffer)):
            count += buffer.count(b"\n", 0, size)
    return count


async def _memory(folder: str) -> Figure:
    """Peak memory of a page, in a process of its own, over what the same process needs for a small file."""
    Path(folder, "small.log").write_bytes(LINE * 400)
    grown = await _peak_kilobytes(folder, "big.log") - await _peak_kilobytes(folder, "small.log")
    return Figure(name="extra memory for a page of 1 GB", measured=grown / 1024, goal=8, unit="MB", detail="")


async def _peak_kilobytes(folder: str, name: str) -> int:
    code = (
        "import asyncio, resource, sys\n"
        "from toolhaft import use_workspace\n"
        "from toolhaft.tools import read_file\n"
        "with use_workspace(sys.argv[1]):\n"
        "    asyncio.run(read_file('small.log', 1, 200))\n"
        f"    asyncio.run(read_file(sys.argv[2], {DEEP} if sys.argv[2] == 'big.log' else 200, 200))\n"
        "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)\n"
    )
    process = await asyncio.create_subprocess_exec(sys.executable, "-c", code, folder, name, stdout=subprocess.PIPE)
    out, _ = await process.communicate()
    return int(out)
