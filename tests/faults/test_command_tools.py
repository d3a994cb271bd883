"""Commands that misbehave, through the tool: the command rows of the fault list as an agent meets them."""

import asyncio
import os
import random
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from pydantic_ai import ModelRetry

from tests.tools.commands import approved as approved
from tests.tools.commands import facts
from tests.tools.commands import mark as mark
from tests.tools.commands import place as place
from tests.workspace.processes import mine, open_descriptors, resident_bytes, threads, with_argument
from toolhaft import LocalWorkspace, ToolExecutionError
from toolhaft.tools import bash, read_file

# They load the whole machine, and what runs beside them fails. `make stress` runs them alone.
pytestmark = [pytest.mark.stress, pytest.mark.usefixtures("approved")]

STRESS = 10 if os.environ.get("TOOLHAFT_STRESS") else 1
MB = 1_000_000


@pytest.fixture
async def counted(place: LocalWorkspace) -> AsyncIterator[None]:
    """Nothing is open and no child is there after the test that was not before it."""
    await asyncio.gather(*(bash("true") for _ in range(10)))
    before = (open_descriptors(), mine())
    yield
    assert (open_descriptors(), mine()) == before
    assert threads() <= 40


async def test_what_ignores_sigterm_fails_at_its_deadline(place: LocalWorkspace, mark: str) -> None:
    for _ in range(2 * STRESS):
        with pytest.raises(ToolExecutionError, match="timeout of 1 s"):
            await bash(f"trap '' TERM; sleep {mark}", timeout=1)
        assert not with_argument(mark)


async def test_a_daemon_that_holds_stdout_is_gone(place: LocalWorkspace, mark: str) -> None:
    for _ in range(2 * STRESS):
        with pytest.raises(ToolExecutionError) as caught:
            await bash(f"setsid sh -c 'sleep {mark} &'; sleep {mark}", timeout=1)
        assert f"sleep {mark}" in caught.value.message
        assert not with_argument(mark)


async def test_background_then_exit_answers_at_once(place: LocalWorkspace, mark: str) -> None:
    for _ in range(2 * STRESS):
        answer = await bash(f"sleep {mark} & echo done")
        assert answer.startswith("done\n[exit code 0; ")
        assert not with_argument(mark)


async def test_gigabytes_of_output_take_no_memory_and_their_head_is_kept(place: LocalWorkspace) -> None:
    await bash("seq 1 100000")
    ours = resident_bytes()

    answer = await bash(f"yes 'a line of output' | head -c {1_000 * MB * STRESS}", timeout=600)

    assert resident_bytes() - ours < 50 * MB
    assert len(answer) < 60_000
    assert "which holds its first 67,108,864 bytes" in answer
    assert "a line of output" in str(await read_file(facts(answer)["spill"], offset=3_000_000, limit=1))


async def test_a_flood_on_stderr_and_bytes_that_are_no_text(place: LocalWorkspace) -> None:
    for _ in range(3):
        answer = await bash(f"head -c {100 * MB * STRESS} /dev/urandom >&2; echo done", timeout=600)
        assert "done\n" in answer
        answer.encode()


@pytest.mark.parametrize("command", ["cat", "read -r line", "python3 -c 'input()'", "git commit --allow-empty"])
async def test_what_reads_stdin_ends_at_once(place: LocalWorkspace, command: str) -> None:
    for _ in range(STRESS):
        assert not facts(await bash(f"git init -q . ; {command}", timeout=60))["timed_out"]


@pytest.mark.usefixtures("counted")
async def test_cancelling_at_any_time_leaves_nothing(place: LocalWorkspace, mark: str) -> None:
    chance = random.Random(21)
    for _ in range(50 * STRESS):
        running = asyncio.create_task(bash(f"setsid sleep {mark} & seq 1 100000; sleep {mark}"))
        await asyncio.sleep(chance.choice((0, 0.001, 0.03)) * chance.random())
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
        assert not with_argument(mark)

    assert not list(Path(place.ref.id).glob(".toolhaft/output/*.txt"))


@pytest.mark.usefixtures("counted")
async def test_a_thousand_commands_leave_no_descriptor_thread_or_child(place: LocalWorkspace) -> None:
    for _ in range(10 * STRESS):
        answers = await asyncio.gather(*(bash("true") for _ in range(10)))
        assert all(facts(answer)["exit_code"] == 0 for answer in answers)


async def test_a_working_folder_that_was_removed_is_to_be_mended(place: LocalWorkspace) -> None:
    for _ in range(5):
        folder = Path(place.ref.id) / "folder"
        folder.mkdir()
        folder.rmdir()
        with pytest.raises(ModelRetry, match="cwd='folder' is no folder"):
            await bash("true", cwd="folder")
