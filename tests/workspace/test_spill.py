"""The file with the whole output of a command: what is in it, how large it grows, and that no link misleads it."""

import asyncio
import os
from pathlib import Path

import pytest

from toolhaft.workspace.commands import Commands
from toolhaft.workspace.outcome import Limits
from toolhaft.workspace.supervisor import spill
from toolhaft.workspace.supervisor.spill import Spill


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return Path(os.path.realpath(tmp_path))


def commands(root: Path, **limits: int) -> Commands:
    return Commands(
        str(root), confinement="none", limits=Limits(**{"head_bytes": 100, "tail_bytes": 100, "lines": 50, **limits})
    )


def made(root: Path) -> list[Path]:
    return sorted((root / ".toolhaft" / "output").glob("*.txt"))


async def test_short_output_makes_no_file(root: Path) -> None:
    outcome = await commands(root).run("seq 50")

    assert outcome.spilled is None
    assert list(root.iterdir()) == []


async def test_both_streams_are_in_it_in_the_order_in_which_they_came(root: Path) -> None:
    script = "for i in $(seq 40); do echo out $i; sleep 0.002; echo err $i >&2; sleep 0.002; done"

    outcome = await commands(root).run(script)

    assert outcome.spilled is not None
    file = root / outcome.spilled.path
    assert file.read_text().split("\n")[:4] == ["out 1", "err 1", "out 2", "err 2"]
    assert file.read_text().count("\n") == 80
    assert outcome.spilled.size == file.stat().st_size
    assert outcome.spilled.dropped_bytes == 0
    assert file.stat().st_mode & 0o777 == 0o600
    assert (root / ".toolhaft" / ".gitignore").read_text() == "*\n"


async def test_more_lines_than_are_shown_make_a_file_too(root: Path) -> None:
    outcome = await commands(root).run("yes '' | head -n 51")

    assert outcome.dropped_bytes == 0
    assert outcome.spilled is not None
    assert (root / outcome.spilled.path).read_bytes() == b"\n" * 51


async def test_the_quota_keeps_the_head_and_counts_the_rest(root: Path) -> None:
    outcome = await commands(root, spill_bytes=1_000).run("seq 100000 199999")

    assert outcome.spilled is not None
    assert (outcome.spilled.size, outcome.spilled.dropped_bytes) == (1_000, 700_000 - 1_000)
    assert (root / outcome.spilled.path).read_text().startswith("100000\n100001\n")


async def test_no_quota_makes_no_file(root: Path) -> None:
    outcome = await commands(root, spill_bytes=0).run("seq 10000")

    assert outcome.spilled is None
    assert outcome.notes == ("the command was not confined: it could write and connect wherever this user can",)
    assert list(root.iterdir()) == []


@pytest.mark.parametrize("name", [".toolhaft", ".toolhaft/output", ".toolhaft/.gitignore"])
async def test_a_link_that_a_command_left_leads_nowhere(root: Path, name: str, tmp_path_factory) -> None:
    outside = tmp_path_factory.mktemp("outside")
    (root / name).parent.mkdir(exist_ok=True)
    (root / name).symlink_to(outside / "x" if name.endswith("ignore") else outside)

    outcome = await commands(root).run("seq 10000")

    assert list(outside.iterdir()) == []
    assert name.endswith("ignore") == (outcome.spilled is not None)
    if outcome.spilled is None:
        assert "the whole output could not be kept: Not a directory" in outcome.notes


async def test_old_files_are_removed_by_number_and_size(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spill, "_MOST_FILES", 3)
    monkeypatch.setattr(spill, "_MOST_BYTES", 350)
    for number in range(5):
        one = Spill(str(root), limit_bytes=100)
        one.write(b"x" * 100)
        report = one.report()
        one.close()
        assert report is not None
        os.utime(root / report["path"], ns=(number, number))
    (root / ".toolhaft" / "output" / "folder").mkdir()

    assert len(made(root)) == 3

    large = Spill(str(root), limit_bytes=240)
    large.write(b"y")
    large.report()
    large.close()

    assert len(made(root)) == 2


def test_a_file_that_nobody_was_told_of_is_removed(root: Path) -> None:
    one = Spill(str(root), limit_bytes=100)
    one.write(b"x")

    one.close()

    assert made(root) == []


def test_a_disk_that_is_full_is_said_and_counted(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    one = Spill(str(root), limit_bytes=100)
    one.write(b"first")

    def full(fd: int, data: memoryview) -> int:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "write", full)
    one.write(b"second")
    monkeypatch.undo()
    one.write(b"third")
    report = one.report()
    one.close()

    assert report == {"path": report["path"], "size": 5, "dropped_bytes": 11, "problem": "No space left on device"}  # type: ignore[index]
    assert made(root) == []


async def test_a_cancelled_command_leaves_no_file(root: Path) -> None:
    some = commands(root)
    running = asyncio.create_task(some.run("seq 100000; sleep 100"))
    while not made(root):
        await asyncio.sleep(0.01)

    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    await some.aclose()

    assert made(root) == []
