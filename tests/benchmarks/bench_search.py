"""Searches and lists of files in a big tree, beside the programs that are known to be fast."""

import asyncio
import os
import random
import subprocess
import sys
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

from tests.benchmarks.measure import Figure, longest_stall, milliseconds, ratio
from toolhaft import LocalWorkspace, use_workspace
from toolhaft.searching.query import Query
from toolhaft.searching.scan import scan
from toolhaft.tools import find_files, glob, grep
from toolhaft.workspace.listings import listings_below
from toolhaft.workspace.ripgrep import ripgrep_binary
from toolhaft.workspace.search_tree import quick_tree

FILES, FOLDER_FILES, FILE_BYTES = 62_000, 12, 10_500
ROUNDS = 9


def make_tree(root: Path) -> None:
    """Make a tree of 62,000 files and 600 MB, some of it ignored, as source trees are: a dozen small files a folder."""
    chance = random.Random(1)
    words = ["".join(chance.choices("abcdefghijklmnopqrstuvwxyz_", k=chance.randint(2, 11))) for _ in range(4_000)]
    words += ["return", "self", "import", "class"] * 60
    lines = [" ".join(chance.choices(words, k=chance.randint(1, 12))) for _ in range(40_000)]
    text = "\n".join(lines).encode()
    (root / ".gitignore").write_text("node_modules/\n*.log\nbuild/\n*.pyc\n__pycache__/\n/dist\n.cache\n!keep.log\n")
    for number in range(FILES):
        folder, place = divmod(number, FOLDER_FILES)
        path = root / f"pkg{folder % 17}" / f"mod{folder % 131}" / f"sub{folder}"
        if place == 0:
            path.mkdir(parents=True)
            if folder % 40 == 0:
                (path / "node_modules").mkdir()
                (path / "node_modules" / "index.js").write_bytes(text[:2_000])
        begin = chance.randrange(len(text) - FILE_BYTES)
        content = text[begin : begin + chance.randint(1_000, 2 * FILE_BYTES - 1_000)]
        rare = b"\nzebra_needle_42 here\n" if number % 7_000 == 7 else b"\n"
        (path / f"file{place}.{chance.choice(('py', 'py', 'rs', 'md', 'js', 'txt'))}").write_bytes(content + rare)


async def figures() -> AsyncIterator[Figure]:
    with tempfile.TemporaryDirectory() as folder:
        make_tree(Path(folder))
        with use_workspace(LocalWorkspace(folder)):
            async for figure in _contents(folder):
                yield figure
            async for figure in _names(folder):
                yield figure
            yield await _python_engine(folder)
        yield await _memory(folder)
    with tempfile.TemporaryDirectory() as folder:
        for number in range(130):
            Path(folder, f"{number}.txt").write_text("a needle\n" * 5)
        with use_workspace(LocalWorkspace(folder)):
            yield await ratio(
                "130 files that match / rg -n",
                lambda: grep("needle", max_results=1_000),
                lambda: _process(_rg(), "-n", "needle", "./", folder=folder),
                goal=2,
                rounds=25,
            )


async def _contents(folder: str) -> AsyncIterator[Figure]:
    searches: dict[str, tuple[Callable[[], Awaitable[object]], str]] = {
        "a rare word": (lambda: grep("zebra_needle"), "zebra_needle"),
        "a word that is nowhere": (lambda: grep("qqqzzzqqq"), "qqqzzzqqq"),
        "a regular expression": (lambda: grep(r"zebra_\w+_\d+", use_regex=True), r"zebra_\w+_\d+"),
    }
    for name, (ours, pattern) in searches.items():
        reference = _reference(_rg(), "-n", pattern, "./", folder=folder)
        yield await ratio(f"{name}, by path / rg -n", ours, reference, goal=1.1, rounds=ROUNDS)
    yield await ratio(
        "the first search of a tree / rg -n",
        lambda: _forgetting(lambda: grep("zebra_needle")),
        _reference(_rg(), "-n", "zebra_needle", "./", folder=folder),
        goal=1.1,
        rounds=3,
    )
    yield await milliseconds("1,000 of a common word", lambda: grep("return", max_results=1_000), goal=25, rounds=15)
    for name, ours in (
        ("a rare word", lambda: grep("zebra_needle")),
        ("1,000 of a common word", lambda: grep("return", max_results=1_000)),
        ("every file by name", lambda: glob("*", max_results=10_000)),
    ):
        yield await longest_stall(f"event loop during: {name}", ours, goal=20)


async def _names(folder: str) -> AsyncIterator[Figure]:
    lists: dict[str, tuple[Callable[[], Awaitable[object]], str]] = {
        "glob **/*.rs": (lambda: glob("**/*.rs"), "**/*.rs"),
        "find_files *.py": (lambda: find_files("*.py"), "*.py"),
        "glob **/*.rs, the newest first": (lambda: glob("**/*.rs", sort="modified"), "**/*.rs"),
    }
    for name, (ours, pattern) in lists.items():
        reference = _reference(_rg(), "--files", "-g", pattern, "./", folder=folder)
        yield await ratio(f"{name} / rg --files -g", ours, reference, goal=1.3, rounds=ROUNDS)
    yield await ratio(
        "the first glob of a tree / rg --files -g",
        lambda: _forgetting(lambda: glob("**/*.rs")),
        _reference(_rg(), "--files", "-g", "**/*.rs", "./", folder=folder),
        goal=1.3,
        rounds=3,
    )


async def _python_engine(folder: str) -> Figure:
    local = LocalWorkspace(folder)

    def search() -> object:
        with quick_tree(local) as tree:
            return scan(Query(pattern="zebra_needle"), tree)

    return await ratio(
        "the Python engine / grep -rn",
        lambda: asyncio.to_thread(search),
        _reference("grep", "-rn", "zebra_needle", ".", folder=folder),
        goal=4,
        rounds=3,
    )


async def _memory(folder: str) -> Figure:
    """Peak memory of a search that finds very much, over that of one that finds nothing, each in its own process."""
    grown = await _peak_kilobytes(folder, "e") - await _peak_kilobytes(folder, "qqqzzzqqq")
    return Figure(name="extra memory for millions of matches", measured=grown / 1024, goal=8, unit="MB", detail="")


async def _peak_kilobytes(folder: str, pattern: str) -> int:
    code = (
        "import asyncio, resource, sys\n"
        "from toolhaft import use_workspace\n"
        "from toolhaft.tools import grep\n"
        "with use_workspace(sys.argv[1]):\n"
        "    asyncio.run(grep('qqqzzzqqq'))\n"
        "    asyncio.run(grep(sys.argv[2], output_mode='count'))\n"
        "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)\n"
    )
    process = await asyncio.create_subprocess_exec(sys.executable, "-c", code, folder, pattern, stdout=subprocess.PIPE)
    out, _ = await process.communicate()
    return int(out)


async def _forgetting(ours: Callable[[], Awaitable[object]]) -> None:
    listings_below.cache_clear()
    await ours()


def _rg() -> str:
    binary = ripgrep_binary()
    assert binary is not None
    return binary


def _reference(*command: str, folder: str) -> Callable[[], Awaitable[None]]:
    return lambda: _process(*command, folder=folder)


async def _process(*command: str, folder: str) -> None:
    process = await asyncio.create_subprocess_exec(
        *command, cwd=folder, env={"PATH": os.defpath}, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE
    )
    await process.communicate()
