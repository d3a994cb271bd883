"""Commands that misbehave: every command row of the fault list, under each means of confinement."""

import asyncio
import os
import random
import resource
import time
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.workspace.processes import (
    CHOICES,
    mine,
    open_descriptors,
    resident_bytes,
    skip_without,
    threads,
    with_argument,
)
from tests.workspace.test_process import mark as mark
from toolhaft.workspace.commands import Commands
from toolhaft.workspace.confine import ConfinementChoice
from toolhaft.workspace.outcome import Limits

# Storms and floods: they load the whole machine, and what runs beside them fails. `make stress` runs them alone.
pytestmark = pytest.mark.stress

STRESS = 10 if os.environ.get("TOOLHAFT_STRESS") else 1
MB = 1_000_000
# Our own part of a timeout; the rest is this machine's, which runs other tests too.
OVER_SECONDS = 0.05
MACHINE_SECONDS = 0.45


@pytest.fixture(params=CHOICES)
async def commands(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Commands]:
    """Commands of a workspace, under each means of confinement."""
    choice: ConfinementChoice = request.param
    skip_without(choice)
    commands = Commands(os.path.realpath(tmp_path), confinement=choice)
    yield commands
    await commands.aclose()


async def test_what_ignores_sigterm_is_gone_at_its_deadline(commands: Commands, mark: str) -> None:
    for _ in range(2 * STRESS):
        outcome = await commands.run(f"trap '' TERM; sleep {mark}", timeout_seconds=1)

        assert outcome.timed_out
        assert 1 <= outcome.seconds < 1 + OVER_SECONDS + MACHINE_SECONDS
        assert not with_argument(mark)


async def test_a_double_fork_in_a_session_of_its_own_that_holds_stdout_is_gone(commands: Commands, mark: str) -> None:
    daemon = f"setsid sh -c 'setsid sleep {mark} & trap \"\" TERM HUP; sleep {mark} & exit' & sleep {mark}"
    for _ in range(2 * STRESS):
        outcome = await commands.run(daemon, timeout_seconds=1)

        assert outcome.timed_out
        assert outcome.seconds < 1 + OVER_SECONDS + MACHINE_SECONDS
        assert f"sleep {mark}" in outcome.left_running
        assert not with_argument(mark)


async def test_background_then_exit_answers_at_once(commands: Commands, mark: str) -> None:
    for _ in range(2 * STRESS):
        outcome = await commands.run(f"sleep {mark} & echo done")

        assert outcome.stdout == "done\n"
        assert outcome.left_running == (f"sleep {mark}",)
        assert outcome.seconds < 0.15 + MACHINE_SECONDS
        assert not with_argument(mark)


async def test_gigabytes_of_output_take_no_memory(commands: Commands) -> None:
    await commands.run("true")
    ours = resident_bytes()

    size = 1_000 * MB * STRESS
    outcome = await commands.run(f"head -c {size} /dev/zero | tr '\\0' 'x'; echo end", timeout_seconds=300)

    assert outcome.exit_code == 0
    assert outcome.stdout.startswith("xxx")
    assert outcome.stdout.endswith("xxxend\n")
    assert outcome.dropped_bytes == size + 4 - 48_000
    assert outcome.pieces[1].dropped_lines is None
    assert resident_bytes() - ours < 8 * MB


async def test_the_supervisor_takes_no_memory_for_it_either(tmp_path: Path) -> None:
    commands = Commands(os.path.realpath(tmp_path), confinement="none")
    peak = "grep VmHWM /proc/$PPID/status | tr -dc 0-9"

    before = int((await commands.run(peak)).stdout)
    outcome = await commands.run(f"head -c {200 * MB} /dev/zero >&2; {peak}")
    await commands.aclose()

    assert (int(outcome.stdout) - before) * 1024 < 8 * MB


async def test_a_flood_on_stderr_while_stdout_is_silent(commands: Commands) -> None:
    for _ in range(3):
        outcome = await commands.run(f"head -c {100 * MB * STRESS} /dev/zero >&2; echo done", timeout_seconds=100)

        assert outcome.stdout == "done\n"
        assert outcome.exit_code == 0


@pytest.mark.parametrize("shift", range(2 * STRESS))
async def test_split_characters_and_bytes_that_are_no_text(tmp_path: Path, shift: int) -> None:
    commands = Commands(
        os.path.realpath(tmp_path), confinement="none", limits=Limits(head_bytes=1_000 + shift, tail_bytes=999 + shift)
    )
    text = "añ€😀" * 50_000

    (tmp_path / "text").write_text("." * shift + text)
    (tmp_path / "bytes").write_bytes(b"\xff\xfe\x80ok\xe2\x82")
    whole = await commands.run("cat text")
    broken = await commands.run("cat bytes; for i in 1 2 3; do printf '\\342'; sleep 0.005; printf '\\202\\254'; done")
    await commands.aclose()

    head, gap, tail = whole.pieces
    assert ("." * shift + text).startswith(head.text)
    assert text.endswith(tail.text)
    assert len(head.text.encode()) + gap.dropped_bytes + len(tail.text.encode()) == shift + len(text.encode())
    assert broken.stdout == "\ufffd\ufffd\ufffdok\ufffd€€€"


@pytest.mark.parametrize("command", ["cat", "read -r line", "python3 -c 'input()'", "git commit", "ssh localhost"])
async def test_what_reads_stdin_ends_at_once(commands: Commands, command: str) -> None:
    outcome = await commands.run(
        f"git init -q . 2>/dev/null; touch f; git add f 2>/dev/null; {command}", timeout_seconds=20
    )

    assert not outcome.timed_out
    assert outcome.seconds < 15


async def test_a_fork_storm_is_ended_and_the_next_command_runs(tmp_path: Path, mark: str) -> None:
    for choice in CHOICES:
        skip_without(choice)
        commands = Commands(os.path.realpath(tmp_path), confinement=choice, limits=Limits(processes=100 * STRESS))

        outcome = await commands.run(
            f"for i in $(seq {500 * STRESS}); do sleep {mark} & done; wait", timeout_seconds=60
        )

        assert outcome.killed_by == "processes"
        assert not with_argument(mark)
        assert (await commands.run("echo next")).stdout == "next\n"
        await commands.aclose()


@pytest.mark.parametrize("choice", CHOICES)
async def test_a_fork_bomb_is_ended(tmp_path: Path, choice: ConfinementChoice) -> None:
    skip_without(choice)
    commands = Commands(os.path.realpath(tmp_path), confinement=choice, limits=Limits(processes=100 * STRESS))

    outcome = await commands.run("b() { b | b & }; b; sleep 20", timeout_seconds=60)

    assert outcome.killed_by == "processes"
    assert (await commands.run("echo next")).stdout == "next\n"
    await commands.aclose()


async def test_cancelling_at_any_time_leaves_nothing(commands: Commands, mark: str) -> None:
    await commands.run("true")
    before = (open_descriptors(), threads(), mine())
    chance = random.Random(21)

    for _ in range(50 * STRESS):
        running = asyncio.create_task(commands.run(f"setsid sleep {mark} & sleep {mark}"))
        await asyncio.sleep(chance.choice((0, 0.001, 0.03)) * chance.random())
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
        assert not with_argument(mark)

    assert (open_descriptors(), mine()) == (before[0], before[2])
    assert threads() <= max(before[1], 40)  # the loop's own pool, which keeps what it has started


async def test_a_thousand_commands_leave_no_descriptor_thread_or_child(commands: Commands) -> None:
    await asyncio.gather(*(commands.run("true") for _ in range(4)))
    before = (open_descriptors(), mine())

    for _ in range(10 * STRESS):
        outcomes = await asyncio.gather(*(commands.run("true") for _ in range(10)))
        assert all(outcome.exit_code == 0 for outcome in outcomes)

    assert (open_descriptors(), mine()) == before
    assert threads() < 40


async def test_a_command_may_open_what_it_wants_but_gets_nothing_of_ours(commands: Commands) -> None:
    ours, theirs = os.pipe()
    os.set_inheritable(theirs, True)

    outcome = await commands.run("ls /proc/self/fd; ulimit -c")
    os.close(ours)
    os.close(theirs)

    assert outcome.stdout.split() == ["0", "1", "2", "3", "0"]  # 3 is the folder that ls reads


async def test_a_working_folder_that_was_removed_is_a_clear_error(commands: Commands, tmp_path: Path) -> None:
    for _ in range(5):
        (tmp_path / "folder").mkdir()
        (tmp_path / "folder").rmdir()

        with pytest.raises(FileNotFoundError, match="no command can start in this folder"):
            await commands.run("true", cwd="folder")


async def test_a_command_that_removes_its_folder_and_home_harms_no_other(commands: Commands, tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()

    await commands.run("rm -rf ../folder ~", cwd="folder")

    assert (await commands.run("cd && pwd && touch x")).exit_code == 0


async def test_the_event_loop_is_never_held(commands: Commands) -> None:
    await commands.run("true")
    longest = 0.0

    async def beat() -> None:
        nonlocal longest
        while True:
            started = time.perf_counter()
            await asyncio.sleep(0.001)
            longest = max(longest, time.perf_counter() - started)

    beating = asyncio.create_task(beat())
    for _ in range(5):
        await commands.run(f"head -c {20 * MB} /dev/zero")
    beating.cancel()

    assert longest < 0.02 + MACHINE_SECONDS


async def test_few_descriptors_are_a_clear_error_and_no_harm(commands: Commands) -> None:
    await commands.run("true")
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (open_descriptors() - 1, hard))
    try:
        with pytest.raises(OSError, match="Too many open files"):
            await commands.run("true")
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))

    assert (await commands.run("echo again")).stdout == "again\n"
