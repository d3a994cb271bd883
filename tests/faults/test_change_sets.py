"""A change of many files is all or nothing, whenever its process is killed, and whoever else writes."""

# ruff: noqa: PT012 - what is refused is a block, and what happens in it is the point

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.faults import killed_writers
from toolhaft.workspace import LocalWorkspace
from toolhaft.workspace.files import FileChangedError

ROOT = Path(__file__).parents[2]
STRESS = bool(os.environ.get("TOOLHAFT_STRESS"))
KILLS = 200 if STRESS else 20


def run(*arguments: object) -> dict[str, int]:
    command = [sys.executable, "-m", "tests.faults.killed_changes", *map(str, arguments)]
    child = subprocess.run(command, capture_output=True, text=True, cwd=ROOT)
    if child.returncode == killed_writers.CANNOT_TRACE:
        pytest.skip("this machine does not let a process trace its own child")
    assert child.returncode == 0, child.stderr
    return dict(json.loads(child.stdout))


def test_twenty_files_are_all_old_or_all_new_after_a_kill_at_random(tmp_path: Path) -> None:
    outcome = run("at-random", tmp_path / "ws", KILLS)

    assert outcome["old"] + outcome["new"] == KILLS


@pytest.mark.skipif(sys.platform != "linux", reason="ptrace works otherwise elsewhere")
@pytest.mark.parametrize(("files", "step"), [(20, 1), (3, 1)] if STRESS else [(20, 37), (3, 7)])
def test_files_are_all_old_or_all_new_after_a_kill_at_any_system_call(tmp_path: Path, files: int, step: int) -> None:
    outcome = run("at-every-call", tmp_path / "ws", files, step)

    assert outcome["stops"] > 30
    assert outcome["old"] > 0
    assert outcome["new"] > 0


@pytest.mark.skipif(sys.platform != "linux", reason="ptrace works otherwise elsewhere")
def test_whoever_repairs_may_be_killed_too(tmp_path: Path) -> None:
    outcome = run("killed-again", tmp_path / "ws", 5, 1 if STRESS else 11)

    assert outcome["old"] > 10


SAVES = 200 if STRESS else 20


@pytest.mark.parametrize("how", ["in place", "by rename"])
def test_an_editor_that_saves_between_reading_and_publishing_is_never_overwritten(tmp_path: Path, how: str) -> None:
    for name in ("a.txt", "b.txt", "c.txt"):
        (tmp_path / name).write_text("old")
    workspace = LocalWorkspace(tmp_path)

    for number in range(SAVES):
        with pytest.raises(FileChangedError, match=r"'b\.txt' was changed"), workspace.change("patch") as change:
            for name in ("a.txt", "b.txt", "c.txt"):
                change.write(name, change.read(name) + b" mine")
            theirs = f"theirs {number}"
            if how == "in place":
                (tmp_path / "b.txt").write_text(theirs)
            else:
                (tmp_path / "b.new").write_text(theirs)
                (tmp_path / "b.new").rename(tmp_path / "b.txt")

        assert (tmp_path / "b.txt").read_text() == theirs
        assert (tmp_path / "a.txt").read_text() == (tmp_path / "c.txt").read_text() == "old"
        assert sorted(os.listdir(tmp_path)) == ["a.txt", "b.txt", "c.txt"]


OPPOSITE = """
import sys
from toolhaft.workspace import LocalWorkspace
from toolhaft.workspace.files import FileChangedError
workspace, names, changes = LocalWorkspace(sys.argv[1]), sys.argv[2].split(","), int(sys.argv[3])
refused = 0
for _ in range(changes):
    while True:
        try:
            with workspace.change("count") as change:
                for name in names:
                    change.write(name, str(int(change.read(name)) + 1).encode())
        except (TimeoutError, FileChangedError):
            refused += 1
            continue
        break
print(refused)
"""


def test_changes_of_the_same_files_in_opposite_order_all_come_through(tmp_path: Path) -> None:
    """Where they would wait for each other, one of them lets go, and is refused if what it read has changed."""
    for name in ("a", "b"):
        (tmp_path / name).write_text("0")
    changes = 50 if STRESS else 5

    processes = [
        subprocess.Popen([sys.executable, "-c", OPPOSITE, str(tmp_path), names, str(changes)])
        for names in ("a,b", "b,a", "a,b", "b,a")
    ]

    assert [process.wait(timeout=120) for process in processes] == [0] * 4
    assert [(tmp_path / name).read_text() for name in ("a", "b")] == [str(4 * changes)] * 2


PATCHES = """
import asyncio, sys
from toolhaft import use_workspace
from toolhaft.tools import apply_patch
mine, names, changes = sys.argv[2], sys.argv[3].split(","), int(sys.argv[4])
async def main():
    for number in range(changes):
        hunk = f"@@ @@\\n-{mine}: {number}.\\n+{mine}: {number + 1}.\\n"
        await apply_patch("".join(f"--- a/{name}\\n+++ b/{name}\\n{hunk}" for name in names))
with use_workspace(sys.argv[1]):
    asyncio.run(main())
"""


def test_of_patches_of_the_same_files_in_opposite_order_none_is_refused(tmp_path: Path) -> None:
    for name in ("a", "b", "c"):
        (tmp_path / name).write_text("\n".join(f"{process}: 0." for process in range(4)))
    changes = 50 if STRESS else 10

    processes = [
        subprocess.Popen([sys.executable, "-c", PATCHES, str(tmp_path), str(mine), names, str(changes)])
        for mine, names in enumerate(("a,b,c", "c,b,a", "b,c,a", "c,a,b"))
    ]

    assert [process.wait() for process in processes] == [0] * 4
    for name in ("a", "b", "c"):
        assert (tmp_path / name).read_text().split("\n") == [f"{process}: {changes}." for process in range(4)]


UNDO = """
import sys
from toolhaft.workspace import LocalWorkspace
from toolhaft.workspace.changes import UndoRefusedError
from toolhaft.workspace.files import FileChangedError
try:
    LocalWorkspace(sys.argv[1]).undo(sys.argv[2])
except (UndoRefusedError, FileChangedError):
    sys.exit(1)
"""


def test_of_many_who_undo_one_change_one_wins(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("old")
    (tmp_path / "gone.txt").write_text("back again")
    workspace = LocalWorkspace(tmp_path, allow_delete=True)
    with workspace.change("patch") as change:
        change.write("a.txt", b"new")
        change.write("made.txt", b"made")
        change.delete("gone.txt")

    racers = [
        subprocess.Popen([sys.executable, "-c", UNDO, str(tmp_path), str(change.applied.change_id)]) for _ in range(4)
    ]

    assert sorted(racer.wait() for racer in racers) == [0, 1, 1, 1]
    assert {path.name: path.read_text() for path in tmp_path.iterdir()} == {"a.txt": "old", "gone.txt": "back again"}
