"""Editing, journal included: one replacement in files of three sizes, patches of three shapes, a miss."""

import asyncio
import os
import random
import subprocess
import tempfile
import time
from collections.abc import AsyncIterator
from pathlib import Path
from unittest import mock

from pydantic_ai import ModelRetry

from tests.benchmarks.measure import Figure, longest_stall, milliseconds, ratio
from toolhaft import LocalWorkspace, use_workspace
from toolhaft.tools import apply_patch, edit_file, update_file

SIZES = {"1 KB": (1_000, 3.5, 200), "1 MB": (1_000_000, 1.5, 40), "20 MB": (20_000_000, 1.25, 15)}
LINE = "a line of some forty characters, number {:06d}\n"


async def figures() -> AsyncIterator[Figure]:
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder, "ws")
        root.mkdir()
        with use_workspace(LocalWorkspace(root, journal_folder=f"{folder}/journal")):
            for name, (size, goal, rounds) in SIZES.items():
                with mock.patch.object(os, "fsync", return_value=None):
                    yield await _one_replacement(root, f"one replacement in {name}, no fsync / raw", size, goal, rounds)
            yield await _fsync_cost(root)
            async for figure in _patches(root, folder):
                yield figure
            (root / "long.py").write_text("".join(LINE.format(n) for n in range(10_000)))
            old = "".join(f"quite other text, line {n}\n" for n in range(200))
            yield await milliseconds("a tolerant miss in 10,000 lines", lambda: _miss(old), goal=1000, rounds=5)
            yield await longest_stall("event loop during that miss", lambda: _miss(old), goal=20)


def _raw(path: Path, old: bytes, new: bytes) -> None:
    data = path.read_bytes()
    assert data.count(old) == 1
    other = path.with_suffix(".tmp")
    other.write_bytes(data.replace(old, new))
    other.replace(path)


async def _one_replacement(root: Path, name: str, size: int, goal: float, rounds: int) -> Figure:
    for file in ("ours.txt", "raw.txt"):
        (root / file).write_text((LINE * (size // 47)).format(*range(size // 47)) + "needle-one\n")
    turns = {"ours.txt": 0, "raw.txt": 0}

    def words(file: str) -> tuple[str, str]:
        turns[file] += 1
        return ("needle-one", "needle-two") if turns[file] % 2 else ("needle-two", "needle-one")

    async def ours() -> None:
        await edit_file("ours.txt", *words("ours.txt"))

    async def raw() -> None:
        old, new = (word.encode() for word in words("raw.txt"))
        await asyncio.to_thread(_raw, root / "raw.txt", old, new)

    return await ratio(name, ours, raw, goal=goal, rounds=rounds)


async def _fsync_cost(root: Path) -> Figure:
    """What waiting for the disk adds to an edit of 1 KB."""
    (root / "s.txt").write_text("needle-one\n")
    turn = 0

    async def edit() -> None:
        nonlocal turn
        turn += 1
        await edit_file("s.txt", *(("needle-one", "needle-two") if turn % 2 else ("needle-two", "needle-one")))

    with mock.patch.object(os, "fsync", return_value=None):
        without = await milliseconds("", edit, goal=0, rounds=100)
    with_it = await milliseconds("", edit, goal=0, rounds=100)
    added = with_it.measured - without.measured
    return Figure(name="fsync of an edit of 1 KB, more", measured=added, goal=0.5, unit="ms", detail="")


async def _patches(root: Path, folder: str) -> AsyncIterator[Figure]:
    one = "--- a/one.py\n+++ b/one.py\n@@ -1 +1 @@\n-needle-{}\n+needle-{}\n"
    (root / "one.py").write_text("needle-one\n" + LINE.format(1) * 20)
    turns = iter(range(10**9))

    async def one_hunk() -> None:
        await apply_patch(one.format(*(("one", "two") if next(turns) % 2 == 0 else ("two", "one"))))

    with mock.patch.object(os, "fsync", return_value=None):
        yield await milliseconds("a patch of one hunk, no fsync", one_hunk, goal=1, rounds=100)
        for off in (0, 3):
            yield await _many_hunks(root, off)
        yield await _many_files(root, folder)


async def _many_hunks(root: Path, off: int) -> Figure:
    """200 hunks on 2 MB, each `off` lines from where it says."""
    lines = [LINE.format(n) for n in range(44_000)]
    hunks = []
    for number in range(200):
        at = 100 + number * 200
        body = f" {lines[at]}-{lines[at + 1]}+changed {number}\n {lines[at + 2]}"
        hunks.append(f"@@ -{at + 1 + off},3 +{at + 1 + off},3 @@\n{body}")
    patch = "--- a/big.py\n+++ b/big.py\n" + "".join(hunks)
    times = []
    for _ in range(9):
        (root / "big.py").write_text("".join(lines))
        started = time.perf_counter()
        await apply_patch(patch)
        times.append(time.perf_counter() - started)
    name = f"200 hunks on 2 MB, {'each off by some lines' if off else 'at their lines'}, no fsync"
    return Figure(
        name=name, measured=sorted(times)[4] * 1e3, goal=15, unit="ms", detail=f"(least {min(times) * 1e3:.1f})"
    )


async def _many_files(root: Path, folder: str) -> Figure:
    """50 files with 3 hunks each, against `git apply` of the same patch on the same files."""
    generator = random.Random(1)
    texts = {f"f{n}.py": [LINE.format(generator.randrange(10**6)) for _ in range(200)] for n in range(50)}
    patch = ""
    for name, lines in texts.items():
        patch += f"--- a/{name}\n+++ b/{name}\n"
        for at in (20, 90, 160):
            patch += f"@@ -{at + 1},3 +{at + 1},3 @@\n {lines[at]}-{lines[at + 1]}+changed\n {lines[at + 2]}"
    Path(folder, "p.patch").write_text(patch)
    git = Path(folder, "git")
    git.mkdir()
    ours, theirs = [], []
    for _ in range(9):
        for place in (root, git):
            for name, lines in texts.items():
                (place / name).write_text("".join(lines))
        started = time.perf_counter()
        await apply_patch(patch)
        ours.append(time.perf_counter() - started)
        started = time.perf_counter()
        subprocess.run(["git", "apply", f"{folder}/p.patch"], cwd=git, check=True)
        theirs.append(time.perf_counter() - started)
    a, b = sorted(ours)[4], sorted(theirs)[4]
    detail = f"({a * 1e3:.1f} ms against {b * 1e3:.1f} ms)"
    return Figure(name="50 files, 150 hunks, no fsync / git apply", measured=a / b, goal=2, unit="x", detail=detail)


async def _miss(old: str) -> None:
    try:
        await update_file("long.py", old, "new\n")
    except ModelRetry:
        return
    raise AssertionError("nothing like it is in the file")
