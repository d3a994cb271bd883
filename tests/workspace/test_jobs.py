"""Background jobs: they go on, their output waits within bounds, and they end with their workspace."""

import asyncio
import dataclasses
import os
import time
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest

from tests import BUSY_TIMES
from toolhaft.workspace.commands import Commands
from toolhaft.workspace.confine import ConfinementChoice
from toolhaft.workspace.jobs import Job, JobOutput
from toolhaft.workspace.outcome import Limits

from .processes import CHOICES, skip_without, with_argument
from .test_process import mark as mark


@pytest.fixture(params=CHOICES)
async def commands(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Commands]:
    """Commands of a workspace, under each means of confinement."""
    choice: ConfinementChoice = request.param
    skip_without(choice)
    commands = Commands(os.path.realpath(tmp_path), confinement=choice, limits=Limits(job_bytes=10_000, jobs=3))
    yield commands
    await commands.aclose()


async def _until(job: Job, enough: Callable[[JobOutput], bool]) -> JobOutput:
    """Read a job until an output is the one that was waited for; what came before it is in its text."""
    text = ""
    give_up = time.monotonic() + 10
    while True:
        output = await job.read()
        text += output.text
        joined = dataclasses.replace(output, text=text)
        if enough(joined):
            return joined
        assert time.monotonic() < give_up
        await asyncio.sleep(0.01)


async def test_reading_gives_what_is_new_in_the_order_in_which_it_was_written(commands: Commands, mark: str) -> None:
    job = await commands.start(f"echo one; echo two >&2; echo three; sleep {mark}")

    first = await _until(job, lambda output: output.text.count("\n") == 3)
    second = await job.read()

    assert first.text == "one\ntwo\nthree\n"
    assert (first.running, first.exit_code, first.seconds) == (True, None, None)
    assert second.text == ""
    assert commands.jobs == {"job-1": job}
    assert commands.job("job-1") is job
    assert not job.ended


async def test_a_job_that_has_ended_says_how_and_keeps_its_output(commands: Commands, mark: str) -> None:
    job = await commands.start(f"echo bye; setsid sleep {mark} & sleep 0.05; exit 3")

    output = await _until(job, lambda output: not output.running)

    assert (output.text, output.exit_code, output.killed_by) == ("bye\n", 3, None)
    assert output.left_running == (f"sleep {mark}",)
    assert output.seconds is not None
    assert job.ended
    assert not with_argument(mark)


async def test_stopping_lets_it_clean_up_then_ends_all_of_it(commands: Commands, mark: str) -> None:
    job = await commands.start(f"trap 'echo cleaned; exit' TERM; setsid sleep {mark} & echo on; sleep {mark} & wait")
    await _until(job, lambda output: output.text == "on\n")

    output = await job.stop()

    assert (output.text, output.running, output.killed_by) == ("cleaned\n", False, "stop")
    assert not with_argument(mark)
    assert (await job.stop()).killed_by == "stop"


async def test_what_ignores_sigterm_is_killed_after_the_grace(commands: Commands, mark: str) -> None:
    job = await commands.start(f"trap '' TERM; echo on; sleep {mark}")
    await _until(job, lambda output: output.text == "on\n")
    started = time.monotonic()

    output = await job.stop(grace_seconds=0.2)

    assert output.killed_by == "stop"
    assert 0.2 <= time.monotonic() - started < 2 * BUSY_TIMES
    assert not with_argument(mark)


async def test_output_that_nobody_read_is_bounded_and_what_was_dropped_is_counted(commands: Commands) -> None:
    job = await commands.start("seq 100000 119999")
    while not job.ended:
        await job.read(limit_bytes=0)

    output = await job.read(limit_bytes=4_000)
    rest = await job.read()

    assert output.dropped_bytes == 20_000 * 7 - 10_000
    assert (len(output.text), output.waiting_bytes) == (4_000, 6_000)
    assert (output.text + rest.text).endswith("119998\n119999\n")
    assert len(output.text + rest.text) == 10_000
    assert (rest.dropped_bytes, rest.waiting_bytes) == (0, 0)


async def test_a_character_is_never_cut_in_two(commands: Commands) -> None:
    job = await commands.start("for i in $(seq 5000); do printf 'añ€😀'; done; printf '\\xff\\xe2'")
    while not job.ended:
        await job.read(limit_bytes=0)

    text = (await job.read(limit_bytes=3_333)).text + (await job.read()).text

    assert text.endswith("añ€😀añ€😀\ufffd\ufffd")
    assert "\ufffd" not in text[:-2]
    assert set(text[:-2]) == set("añ€😀")


async def test_a_reader_that_is_cancelled_takes_no_output_with_it(commands: Commands, mark: str) -> None:
    job = await commands.start(f"for i in $(seq 300); do echo $i; sleep 0.002; done; sleep {mark}")
    text = ""

    while text.count("\n") < 300:
        reading = asyncio.create_task(job.read())
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        reading.cancel()
        await asyncio.gather(reading, return_exceptions=True)
        text += (await job.read()).text

    assert text.split() == [str(number) for number in range(1, 301)]


def test_a_job_outlives_the_event_loop_in_which_it_was_started(tmp_path: Path) -> None:
    commands = Commands(os.path.realpath(tmp_path))

    async def start() -> Job:
        job = await commands.start("yes | head -n 200000; while test ! -e go; do sleep 0.01; done; echo end")
        asyncio.get_running_loop().call_soon(asyncio.ensure_future(job.read()).cancel)
        return job

    job = asyncio.run(start())
    (tmp_path / "go").touch()
    output = asyncio.run(_until(job, lambda output: not output.running and not output.waiting_bytes))
    commands.close()

    assert output.text.endswith("y\nend\n")
    assert output.exit_code == 0


async def test_no_more_jobs_than_allowed_run_at_a_time(commands: Commands, mark: str) -> None:
    jobs = [await commands.start(f"sleep {mark}") for _ in range(3)]

    with pytest.raises(ValueError, match=r"3 background jobs run already \(job-1, job-2, job-3\)"):
        await commands.start("true")
    await jobs[0].stop()
    await commands.start("true")


async def test_a_job_that_cannot_start_is_none(commands: Commands) -> None:
    with pytest.raises(FileNotFoundError):
        await commands.start("true", cwd="gone")

    assert commands.jobs == {}


async def test_closing_ends_the_jobs(commands: Commands, mark: str) -> None:
    await commands.start(f"setsid sleep {mark} & trap '' TERM; sleep {mark}")

    await commands.aclose()

    assert commands.jobs == {}
    assert not with_argument(mark)


async def test_a_job_answers_while_commands_run(commands: Commands, mark: str, tmp_path: Path) -> None:
    (tmp_path / "log").touch()
    job = await commands.start(f"while read -r line; do echo got $line; done < <(tail -f log -n +1); sleep {mark}")

    await commands.run("for i in 1 2 3; do echo $i >> log; done")

    assert (await _until(job, lambda output: output.text.count("\n") >= 3 or not output.running)).running
