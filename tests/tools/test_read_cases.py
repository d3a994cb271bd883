"""The rows of `cases/reads.jsonl` that are about reading one file: nasty files, read within bounds and honestly."""

import asyncio
import json
import os
import re
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from pydantic_ai import ModelRetry
from pydantic_ai.exceptions import ToolFailed

from tests import BUSY_TIMES
from toolhaft import ToolText, use_workspace
from toolhaft.tools import read_file

CASES = Path(__file__).parents[1] / "cases" / "reads.jsonl"
TIMES = 10 if os.environ.get("TOOLHAFT_STRESS") else 1
# A recipe with millions in it makes a file whose reading is measured in a process of its own.
LARGE = re.compile(r"\d{1,3}(_?\d{3}){2}")


def rows(*, during: bool) -> list[Any]:
    """Return the rows in which something happens to the file while it is read, or the others."""
    found = [json.loads(line) for line in CASES.read_text(encoding="utf-8").splitlines()]
    return [
        pytest.param(row, id=f"{row['id']}-{row['name']}")
        for row in found
        if not {"nested_dirs", "grep"} & row["recipe"].keys()
        and bool({"truncator", "replacer", "unlinker"} & row["recipe"].keys()) == during
    ]


def make(recipe: dict[str, Any], folder: Path) -> tuple[Path, str]:
    """Build the file of a row; return the workspace's root and the file's path."""
    if "path" in recipe:
        return Path(recipe.get("root", folder)), recipe["path"]
    path = folder / "file"
    if "mkfifo" in recipe:
        os.mkfifo(path)
    elif "socket" in recipe:
        with socket.socket(socket.AF_UNIX) as server:
            server.bind(str(path))
    else:
        path.write_bytes(content(recipe["python_bytes"]))
    return folder, "file"


def content(expression: str) -> bytes:
    """Return the bytes that a case file describes as a Python expression."""
    return eval(expression)


async def outcome(**arguments: Any) -> tuple[str, str, dict[str, Any]]:
    """Read, and return what came of it in the words of the cases, the text, and the facts."""
    try:
        answer = await read_file(**arguments)
    except (ModelRetry, ToolFailed) as error:
        return "refused", str(error), {}
    assert isinstance(answer, ToolText)
    answer.encode()
    assert "\0" not in answer
    facts = answer.facts
    json.dumps(facts)
    if "kind" in facts:
        return "ok-binary", answer, facts
    if "shown as U+FFFD" in answer:
        return "ok-replaced", answer, facts
    return "ok-truncated" if facts["truncated"] else "ok", answer, facts


def lines_of(text: str) -> list[str]:
    """Return the lines that an answer shows, without their numbers."""
    return [line.partition("\t")[2] for line in text.partition("\n\n[")[0].split("\n")]


@pytest.mark.parametrize("row", rows(during=False))
async def test_a_row_ends_as_it_should(row: dict[str, Any], tmp_path: Path) -> None:
    recipe, check = row["recipe"], row["check"] or {}
    root, path = make(recipe, tmp_path)
    paging = {name: recipe[name] for name in ("offset", "limit") if name in recipe}
    start = time.perf_counter()

    with use_workspace(root):
        kind, text, facts = await outcome(filepath=path, **paging)
        seconds = time.perf_counter() - start
        total = check.get("lines")
        past_end = await outcome(filepath=path, offset=total + 1) if total else None
        last = await outcome(filepath=path, offset=max(total - 9, 1), limit=10) if total else None

    assert kind in row["accept"], text
    assert seconds < row["limits"]["seconds"] * BUSY_TIMES
    if total is not None and past_end is not None and last is not None:
        assert facts["total_lines"] in {total, None}
        assert past_end[0] == "refused"
        assert f"({total} lines)" in past_end[1]
        assert last[2]["last_line"] == total
    if "line2" in check:
        assert lines_of(text)[1] == check["line2"]


@pytest.mark.parametrize(
    "row", [row for row in rows(during=False) if LARGE.search(row.values[0]["recipe"].get("python_bytes", ""))]
)
@pytest.mark.parametrize("offset", [1, -3])
def test_a_large_row_stays_within_its_memory(row: dict[str, Any], offset: int, tmp_path: Path) -> None:
    root, path = make(row["recipe"], tmp_path)
    (tmp_path / "small").write_bytes(b"line\n" * 2_000)
    code = (
        "import asyncio, sys\nfrom toolhaft import use_workspace\nfrom toolhaft.tools import read_file\n"
        "def peak():\n"
        "    return int(next(line for line in open('/proc/self/status') if line.startswith('VmHWM')).split()[1])\n"
        "async def main():\n"
        "    await read_file('small')\n"
        "    open('/proc/self/clear_refs', 'w').write('5')\n"
        "    before = peak()\n"
        "    await read_file(sys.argv[2], int(sys.argv[3]))\n"
        "    print(peak() - before)\n"
        "with use_workspace(sys.argv[1]):\n    asyncio.run(main())\n"
    )

    grown = subprocess.run(
        [sys.executable, "-c", code, str(root), path, str(offset)], capture_output=True, text=True, check=True
    ).stdout

    assert int(grown) < 8_192 < row["limits"]["peak_rss_growth_mb"] * 1024


@contextmanager
def meanwhile(action: Callable[[], None]) -> Iterator[None]:
    """Do something again and again in a thread while the block runs."""
    ended = threading.Event()

    def run() -> None:
        while not ended.is_set():
            action()

    thread = threading.Thread(target=run)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


def change(recipe: dict[str, Any], path: Path) -> Callable[[], None]:
    """Return what happens to the file of a row; each time, it is first put back."""
    data = content(recipe["python_bytes"])
    fresh = path.with_name("fresh")

    def put(new: bytes) -> None:
        fresh.write_bytes(new)
        os.replace(fresh, path)

    def truncate() -> None:
        put(data)
        os.truncate(path, len(data) // 3)

    def replace() -> None:
        put(content(recipe["replacer"]["content"]))
        put(data)

    def unlink() -> None:
        put(data)
        path.unlink()

    return truncate if "truncator" in recipe else replace if "replacer" in recipe else unlink


@pytest.mark.parametrize("row", rows(during=True))
async def test_a_row_ends_as_it_should_whenever_the_file_changes(row: dict[str, Any], tmp_path: Path) -> None:
    recipe = row["recipe"]
    root, path = make(recipe, tmp_path)
    data = content(recipe["python_bytes"])
    lines = data.count(b"\n")
    # A replaced file is one long line here: every page of it must be of one kind. The others have many lines.
    accept = {*row["accept"], "ok-truncated"}

    with use_workspace(root), meanwhile(change(recipe, tmp_path / path)):
        for step in range(60 * TIMES):
            start = time.perf_counter()
            paging = {
                "offset": (1, -50, max(lines * 9 // 10, 1))[step % 3],
                "column": 1 if lines > 1 else step * 999 + 1,
            }
            kind, text, _ = await outcome(filepath=path, **paging)

            assert kind in accept, text
            assert time.perf_counter() - start < row["limits"]["seconds"] * BUSY_TIMES
            if kind != "refused" and (row["check"] or {}).get("all_same_char"):
                assert len(set("".join(lines_of(text)))) == 1
            elif kind != "refused":
                assert set(lines_of(text)) <= {"line", "lin", "li", "l", ""}


async def test_devices_and_pipes_are_refused_at_once_inside_the_workspace_too() -> None:
    with use_workspace("/dev"):
        kinds = [(await outcome(filepath=name))[0] for name in ("zero", "null", "/dev/random", "stdin", "tty")]

    assert kinds == ["refused"] * 5


async def test_the_event_loop_goes_on_while_a_large_file_is_read(tmp_path: Path) -> None:
    (tmp_path / "big.log").write_bytes(b"a line of a log that is not short\n" * 2_000_000)
    stalls = list[float]()

    async def watch() -> None:
        while True:
            before = time.perf_counter()
            await asyncio.sleep(0.001)
            stalls.append(time.perf_counter() - before)

    watcher = asyncio.create_task(watch())
    with use_workspace(tmp_path):
        for offset in (1, 1_900_000, -2_000):
            await read_file("big.log", offset)
    watcher.cancel()

    assert sorted(stalls)[len(stalls) * 9 // 10] < 0.02 * BUSY_TIMES
