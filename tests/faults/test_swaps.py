"""Names that turn into links to outside while they are used: nothing outside is read, changed, made or removed."""

import asyncio
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.path_cases import swapping
from toolhaft.workspace import LocalWorkspace

STRESS = bool(os.environ.get("TOOLHAFT_STRESS"))
TRIES = 2000 if STRESS else 200
# With each of the two resolvers.
READS_AND_WRITES = 50_000 if STRESS else 5_000

SECRET = "TOP-SECRET"


@pytest.fixture
def base(tmp_path: Path) -> Path:
    """A workspace `ws` with a file and a folder, each beside a link to its like in `out`."""
    for folder in ("ws/d", "out"):
        (tmp_path / folder).mkdir(parents=True)
    for name in ("ws/a.txt", "ws/d/a.txt"):
        (tmp_path / name).write_text("inside")
    (tmp_path / "out" / "a.txt").write_text(SECRET)
    (tmp_path / "ws" / "evil.txt").symlink_to("../out/a.txt")
    (tmp_path / "ws" / "evil").symlink_to(tmp_path / "out")
    return tmp_path


def read(workspace: LocalWorkspace, path: str) -> None:
    with workspace.open_file(path) as file:
        assert SECRET.encode() not in file.read()


def write(workspace: LocalWorkspace, path: str) -> None:
    workspace.replace_file(path, b"mine")


def create(workspace: LocalWorkspace, path: str) -> None:
    workspace.replace_file(f"{path}.{os.urandom(4).hex()}", b"mine", mode="create")


def change(workspace: LocalWorkspace, path: str) -> None:
    with workspace.change("change") as change:
        assert SECRET.encode() not in change.read(path)
        change.write(path, b"mine")


def remove(workspace: LocalWorkspace, path: str) -> None:
    asyncio.run(workspace.remove(path))
    workspace.replace_file(path, b"back", mode="create")


def make_folder(workspace: LocalWorkspace, path: str) -> None:
    asyncio.run(workspace.make_dir(f"{path}-{os.urandom(4).hex()}/x"))


def list_folder(workspace: LocalWorkspace, path: str) -> None:
    assert "outside.txt" not in [entry.name for entry in workspace.scan_dir(os.path.dirname(path) or ".")]


@pytest.mark.parametrize("path", ["a.txt", "d/a.txt"])
@pytest.mark.parametrize("operate", [read, write, create, change, remove, make_folder, list_folder])
def test_a_swapped_file_or_folder_leads_nothing_out(
    base: Path, resolver: str, operate: Callable[[LocalWorkspace, str], None], path: str
) -> None:
    pair = ("a.txt", "evil.txt") if path == "a.txt" else ("d", "evil")
    (base / "out" / "outside.txt").write_text(SECRET)
    workspace = LocalWorkspace(base / "ws")

    with swapping(base / "ws", *pair):
        for _ in range(TRIES):
            try:
                operate(workspace, path)
            except OSError:  # refused, gone, or changed under our hands: all of them are fine
                continue

    assert sorted(os.listdir(base / "out")) == ["a.txt", "outside.txt"]
    assert (base / "out" / "a.txt").read_text() == SECRET


def test_an_attacker_gets_nothing_out_of_thousands_of_reads_and_writes(base: Path, resolver: str) -> None:
    workspace = LocalWorkspace(base / "ws")
    done = 0

    with swapping(base / "ws", "a.txt", "evil.txt", "d", "evil"):
        for number in range(READS_AND_WRITES):
            operate = write if number % 5 == 0 else read
            try:
                operate(workspace, ("a.txt", "d/a.txt")[number % 2])
            except OSError:
                continue
            done += 1

    assert done > 50
    assert os.listdir(base / "out") == ["a.txt"]
    assert (base / "out" / "a.txt").read_text() == SECRET
