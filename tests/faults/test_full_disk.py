"""A write that does not fit says so, and leaves the old file and nothing beside it."""

import os
import resource
import signal
import subprocess
import sys
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest

from toolhaft import FileOperationError, use_workspace
from toolhaft.tools import apply_patch, edit_file, update_file, write_file
from toolhaft.workspace import LocalWorkspace

REPEATS = 50 if os.environ.get("TOOLHAFT_STRESS") else 5
OLD = b"old" * 100
TOO_BIG = b"x" * 2_000_000


@pytest.fixture
def file_size_limit() -> Generator[None]:
    """No file of this process may grow beyond 100 kB; the signal that comes with the refusal is ignored."""
    before_signal = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, before[1]))
    yield
    resource.setrlimit(resource.RLIMIT_FSIZE, before)
    signal.signal(signal.SIGXFSZ, before_signal)


@pytest.fixture
def small_disk(tmp_path: Path) -> Generator[Path]:
    """A file system of 1 MB."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(folder)], capture_output=True)
    if mounted.returncode:
        pytest.skip("this user may not mount a file system")
    yield folder
    subprocess.run(["umount", str(folder)], check=True)


@pytest.mark.parametrize("mode", ["overwrite", "append"])
def test_a_file_size_limit_is_named(tmp_path: Path, file_size_limit: None, mode: str) -> None:
    (tmp_path / "a.txt").write_bytes(OLD)
    workspace = LocalWorkspace(tmp_path)

    for _ in range(REPEATS):
        with pytest.raises(OSError, match=r"File too large: 'a\.txt'"):
            workspace.replace_file("a.txt", TOO_BIG, mode=mode)  # type: ignore[arg-type]

    assert (tmp_path / "a.txt").read_bytes() == OLD
    assert os.listdir(tmp_path) == ["a.txt"]


def test_a_new_file_that_is_too_large_is_not_made_nor_are_its_folders(tmp_path: Path, file_size_limit: None) -> None:
    workspace = LocalWorkspace(tmp_path)

    for _ in range(REPEATS):
        with pytest.raises(OSError, match="File too large"):
            workspace.replace_file("d/e/a.txt", TOO_BIG, mode="create")

    assert os.listdir(tmp_path) == []


@pytest.mark.needs("mount")
@pytest.mark.parametrize("mode", ["overwrite", "append"])
def test_a_full_disk_is_named(small_disk: Path, mode: str) -> None:
    (small_disk / "a.txt").write_bytes(OLD)
    workspace = LocalWorkspace(small_disk)

    for _ in range(REPEATS):
        with pytest.raises(OSError, match=r"No space left on device: 'a\.txt'"):
            workspace.replace_file("a.txt", TOO_BIG, mode=mode)  # type: ignore[arg-type]

    assert (small_disk / "a.txt").read_bytes() == OLD
    assert os.listdir(small_disk) == ["a.txt"]
    assert workspace.replace_file("a.txt", b"fits").size == 4


CHANGES = [
    (edit_file, ("a.txt", "dold\n", "d" + "x" * 2_000_000)),
    (update_file, ("a.txt", "dold\n", "d" + "x" * 2_000_000)),
    (apply_patch, ("--- a/a.txt\n+++ b/a.txt\n@@ -1 +1,2 @@\n " + "old" * 100 + "\n+" + "x" * 2_000_000 + "\n",)),
    (write_file, ("a.txt", "x" * 2_000_000, "overwrite")),
]


@pytest.mark.parametrize(("tool", "args"), CHANGES, ids=lambda value: getattr(value, "__name__", ""))
async def test_a_change_that_does_not_fit_is_refused_and_changes_nothing(
    tmp_path: Path, file_size_limit: None, tool: Any, args: tuple[str, ...]
) -> None:
    (tmp_path / "a.txt").write_bytes(OLD + b"\n")

    with use_workspace(tmp_path):
        for _ in range(REPEATS):
            with pytest.raises(FileOperationError, match=r"'a\.txt': File too large"):
                await tool(*args)

    assert (tmp_path / "a.txt").read_bytes() == OLD + b"\n"
    assert os.listdir(tmp_path) == ["a.txt"]


LITTLE_MEMORY_FOR_TOOLS = """
import asyncio, resource, sys
from pydantic_ai.exceptions import ToolFailed
from toolhaft import use_workspace
from toolhaft.tools import apply_patch, edit_file, read_file, update_file, write_file
CHANGES = [
    (edit_file, ("a.txt", "first", "1st")),
    (update_file, ("a.txt", "first ", "1st")),
    (apply_patch, ("--- a/a.txt\\n+++ b/a.txt\\n@@ -1 +1 @@\\n-first\\n+1st\\n",)),
    (write_file, ("a.txt", "x", "overwrite")),
]
async def main():
    for name in ("small.txt", "small.txt"):  # what is loaded at first use is loaded now
        await write_file(name, "first\\n", "overwrite")
        await edit_file(name, "first", "1st")
        await read_file(name)
    used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (max(256 << 20, used + (60 << 20)),) * 2)
    for _ in range(int(sys.argv[2])):
        for offset in (1, -2):
            assert "last" in await read_file("a.txt", offset) or offset > 0
        for tool, args in CHANGES:
            try:
                await tool(*args)
            except ToolFailed as error:
                print(error)
with use_workspace(sys.argv[1]):
    asyncio.run(main())
"""


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="the memory in use is read from Linux's /proc")
def test_a_change_of_a_file_larger_than_the_memory_says_so_and_a_page_of_it_is_read(tmp_path: Path) -> None:
    with (tmp_path / "a.txt").open("wb") as file:
        file.write(b"first\n" + b"a line that is not short\n" * 8_000_000 + b"last\n")
    size = (tmp_path / "a.txt").stat().st_size
    repeats = 10 if os.environ.get("TOOLHAFT_STRESS") else 1

    child = subprocess.run(
        [sys.executable, "-c", LITTLE_MEMORY_FOR_TOOLS, str(tmp_path), str(repeats)], capture_output=True, text=True
    )

    assert child.returncode == 0, child.stderr
    assert child.stdout.count("there is not enough of it. Nothing was changed.") == 4 * repeats, child.stdout
    assert (tmp_path / "a.txt").stat().st_size == size
    with (tmp_path / "a.txt").open("rb") as file:
        assert file.read(12) == b"first\na line"
    assert sorted(os.listdir(tmp_path)) == ["a.txt", "small.txt"]


LITTLE_MEMORY = """
import resource, sys
from toolhaft.workspace import LocalWorkspace
workspace = LocalWorkspace(sys.argv[1])
workspace.replace_file("small.txt", b"warm")
used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (used + (60 << 20),) * 2)
try:
    with workspace.change("edit") as change:
        change.read("a.bin")
except MemoryError:
    print("no memory to read it")
workspace.replace_file("a.bin", b"tail", mode="append")
print("appended")
"""


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="the memory in use is read from Linux's /proc")
def test_a_file_larger_than_the_memory_allowed_can_still_be_appended_to(tmp_path: Path) -> None:
    """200 MB with 60 MB to spare: reading it whole is a MemoryError, and no step of a write holds the old content."""
    size = 200 << 20
    with (tmp_path / "a.bin").open("wb") as file:
        file.truncate(size)

    child = subprocess.run([sys.executable, "-c", LITTLE_MEMORY, str(tmp_path)], capture_output=True, text=True)

    assert child.stdout.splitlines() == ["no memory to read it", "appended"], child.stderr
    assert (tmp_path / "a.bin").stat().st_size == size + 4
    assert sorted(os.listdir(tmp_path)) == ["a.bin", "small.txt"]
