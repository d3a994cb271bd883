"""Editing, journal included: one replacement in files of three sizes, patches of three shapes, a miss."""

import asyncio
import os
import random
import tempfile
import time
from collections.abc import AsyncIterator
from functools import partial
from pathlib import Path
from statistics import median
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
            async for figure in _stalls(root):
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
    """Each patch against `git apply` of it. The goals of 1 ms and 15 ms were set where that took 1.46 and 20.7 ms."""
    against_git = partial(_against_git, root, Path(folder, "git"))
    one = {"one.py": [LINE.format(n) for n in range(21)]}
    yield await against_git("one hunk", one, _patch(one, every=100), goal=1 / 1.46, rounds=40)
    big = {"big.py": [LINE.format(n) for n in range(44_000)]}
    yield await against_git("200 hunks on 2 MB", big, _patch(big, every=220), goal=15 / 20.7)
    off = _patch(big, every=220, off=3)
    yield await against_git("200 hunks on 2 MB, each off by some lines", big, off, goal=15 / 20.7)
    generator = random.Random(1)
    many = {f"f{n}.py": [LINE.format(generator.randrange(10**6)) for _ in range(200)] for n in range(50)}
    yield await against_git("50 files, 150 hunks", many, _patch(many, every=70), goal=2)


async def _stalls(root: Path) -> AsyncIterator[Figure]:
    """The longest time for which the event loop waits while a file of 20 MB is changed."""
    lines = [LINE.format(n) for n in range(440_000)]
    middle = {"large.txt": lines[:20] + lines[220_000:220_040]}
    patch = _patch(middle, every=30)
    changes = {
        "edit_file": partial(edit_file, "large.txt", lines[220_000], "new\n"),
        "update_file": partial(update_file, "large.txt", lines[220_000], "new\n"),
        "apply_patch, hunks far off": partial(apply_patch, patch),
        "replace_all in 440,000 places": partial(edit_file, "large.txt", "forty", "fifty", replace_all=True),
    }
    for name, change in changes.items():
        (root / "large.txt").write_text("".join(lines))
        yield await longest_stall(f"event loop during {name} in 20 MB", change, goal=20)


def _patch(files: dict[str, list[str]], *, every: int, off: int = 0) -> str:
    """A patch with a hunk in every so many lines of each file, each `off` lines from where it says."""
    patch = ""
    for name, lines in files.items():
        patch += f"--- a/{name}\n+++ b/{name}\n"
        for at in range(10, len(lines) - 3, every):
            number = at + 1 + off
            patch += f"@@ -{number},3 +{number},3 @@\n {lines[at]}-{lines[at + 1]}+changed {at}\n {lines[at + 2]}"
    return patch


async def _against_git(
    root: Path, git: Path, name: str, files: dict[str, list[str]], patch: str, *, goal: float, rounds: int = 11
) -> Figure:
    git.mkdir(exist_ok=True)
    (git / "the.patch").write_text(patch)
    ours, theirs = [], []
    for _ in range(rounds):
        for place in (root, git):
            for file, lines in files.items():
                (place / file).write_text("".join(lines))
        with mock.patch.object(os, "fsync", return_value=None):
            started = time.perf_counter()
            await apply_patch(patch)
            ours.append(time.perf_counter() - started)
        started = time.perf_counter()
        await (await asyncio.create_subprocess_exec("git", "apply", "the.patch", cwd=git)).wait()
        theirs.append(time.perf_counter() - started)
    a, b = median(ours), median(theirs)
    detail = f"({a * 1e3:.1f} ms against {b * 1e3:.1f} ms)"
    return Figure(name=f"patch, no fsync / git apply: {name}", measured=a / b, goal=goal, unit="x", detail=detail)


async def _miss(old: str) -> None:
    try:
        await update_file("long.py", old, "new\n")
    except ModelRetry:
        return
    raise AssertionError("nothing like it is in the file")
