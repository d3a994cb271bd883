"""Commands: what comes back, what is refused, and that nothing is left."""

import asyncio
import itertools
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest

from tests import BUSY_TIMES
from toolhaft.workspace import PathTraversalError
from toolhaft.workspace.commands import Commands, JobNotFoundError
from toolhaft.workspace.confine import ConfinementChoice
from toolhaft.workspace.outcome import Limits
from toolhaft.workspace.supervision import SupervisorLostError

from .processes import CHOICES, mine, skip_without, with_argument

# A number of seconds that nothing else on this machine sleeps, and no other test.
_numbers = itertools.count(os.getpid() * 1000 + 7_000_000_000)


@pytest.fixture
def mark() -> str:
    """A number to sleep for, by which a process is found again."""
    return str(next(_numbers))


@pytest.fixture(params=CHOICES)
async def commands(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Commands]:
    """Commands of a workspace, under each means of confinement."""
    choice: ConfinementChoice = request.param
    skip_without(choice)
    commands = Commands(os.path.realpath(tmp_path), confinement=choice)
    yield commands
    await commands.aclose()


@pytest.fixture
async def plain(tmp_path: Path) -> AsyncIterator[Commands]:
    """Commands where the confinement does not matter: with none, the quickest."""
    commands = Commands(os.path.realpath(tmp_path), confinement="none")
    yield commands
    await commands.aclose()


async def test_a_command_answers_with_its_exit_code_and_both_streams(commands: Commands, tmp_path: Path) -> None:
    outcome = await commands.run("echo out; echo err >&2; pwd; exit 3")

    assert outcome.exit_code == 3
    assert outcome.stdout == f"out\n{os.path.realpath(tmp_path)}\n"
    assert outcome.stderr == "err\n"
    assert outcome.killed_by is None
    assert not outcome.timed_out
    assert outcome.left_running == ()
    assert outcome.dropped_bytes == 0


async def test_the_streams_are_shown_in_the_order_in_which_they_were_written(plain: Commands) -> None:
    outcome = await plain.run("for i in 1 2 3; do echo out $i; sleep 0.02; echo err $i >&2; sleep 0.02; done")

    assert outcome.output == "out 1\nerr 1\nout 2\nerr 2\nout 3\nerr 3\n"


async def test_stdin_is_at_its_end(commands: Commands) -> None:
    outcome = await commands.run("cat; read -r x; echo $?")

    assert outcome.output == "1\n"


async def test_a_missing_program_is_exit_code_127_and_bash_s_words(commands: Commands) -> None:
    outcome = await commands.run("no-such-program")

    assert outcome.exit_code == 127
    assert "no-such-program: command not found" in outcome.stderr


async def test_a_signal_is_named(commands: Commands) -> None:
    outcome = await commands.run("kill -SEGV $$")

    assert (outcome.exit_code, outcome.killed_by) == (128 + signal.SIGSEGV, "SIGSEGV")
    assert outcome.output == ""


async def test_it_starts_in_a_folder_of_the_workspace(commands: Commands, tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / "link").symlink_to("sub")

    for cwd in ("sub", "link", str(tmp_path / "sub")):
        assert (await commands.run("/bin/pwd", cwd=cwd)).stdout == f"{os.path.realpath(tmp_path)}/sub\n"


async def test_a_folder_outside_is_refused(commands: Commands, tmp_path: Path) -> None:
    (tmp_path / "out").symlink_to("/usr")

    for cwd in ("..", "/", "out", f"{tmp_path}-twin/..", "sub/../.."):
        (tmp_path / "sub").mkdir(exist_ok=True)
        with pytest.raises((PathTraversalError, FileNotFoundError)):
            await commands.run("true", cwd=cwd)


async def test_a_folder_that_is_gone_is_a_clear_error(commands: Commands) -> None:
    with pytest.raises(FileNotFoundError, match=r"no command can start in this folder.*Use another cwd"):
        await commands.run("true", cwd="gone")


async def test_a_program_that_cannot_be_started_is_a_clear_error(
    commands: Commands, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys.modules[Commands.__module__], "_bash", lambda: "/nowhere/bash")

    with pytest.raises((OSError, RuntimeError), match=r"(could not be started|could not be set up).*bash"):
        await commands.run("true")


@pytest.mark.parametrize("seconds", [0, 0.5, 601, -1, float("nan")])
async def test_a_timeout_that_is_not_1_to_600_seconds_is_refused(plain: Commands, seconds: float) -> None:
    with pytest.raises(ValueError, match="use 1 to 600"):
        await plain.run("true", timeout_seconds=seconds)


@pytest.mark.parametrize("command", ["", " \n", "echo \0"])
async def test_what_is_no_command_is_refused(plain: Commands, command: str) -> None:
    with pytest.raises(ValueError, match="is no command"):
        await plain.run(command)


async def test_a_command_longer_than_the_kernel_takes_is_refused_and_a_shorter_one_runs(plain: Commands) -> None:
    longest = (1 << 17) - 1

    with pytest.raises(ValueError, match="Write it to a file"):
        await plain.run("#" + "x" * longest)
    assert (await plain.run("#" + "x" * (longest - 1))).exit_code == 0


async def test_a_timeout_ends_everything_also_what_ignores_sigterm(commands: Commands, mark: str) -> None:
    started = time.monotonic()

    outcome = await commands.run(f"trap '' TERM; setsid sleep {mark} & sleep {mark}", timeout_seconds=1)

    assert outcome.timed_out
    assert outcome.exit_code is None
    assert any(f"sleep {mark}" in name for name in outcome.left_running)
    assert time.monotonic() - started < 2 * BUSY_TIMES
    assert not with_argument(mark)


async def test_what_ends_in_time_on_sigterm_may_clean_up(commands: Commands) -> None:
    outcome = await commands.run("trap 'echo cleaned; exit' TERM; sleep 5 & wait", timeout_seconds=1)

    assert outcome.stdout == "cleaned\n"
    assert outcome.timed_out


async def test_a_command_answers_when_its_shell_ends_and_says_what_still_ran(commands: Commands, mark: str) -> None:
    started = time.monotonic()

    outcome = await commands.run(f"sleep {mark} & setsid sh -c 'sleep {mark} & wait' & sleep 0.05; echo hi")

    assert outcome.stdout == "hi\n"
    assert f"sleep {mark}" in outcome.left_running
    assert time.monotonic() - started < 1.5 * BUSY_TIMES
    assert not with_argument(mark)


async def test_what_is_about_to_end_by_itself_is_waited_for(commands: Commands) -> None:
    outcome = await commands.run("echo one two > >(sleep 0.005; wc -w)")

    assert outcome.stdout.strip() == "2"
    assert outcome.left_running == ()


async def test_cancelling_returns_when_nothing_is_left(commands: Commands, mark: str) -> None:
    begun = asyncio.Event()
    running = asyncio.create_task(
        commands.run(f"trap '' TERM; setsid sleep {mark} & sleep {mark}", on_start=lambda pid: begun.set())
    )
    await begun.wait()

    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running

    assert not with_argument(mark)
    assert (await commands.run("echo next")).stdout == "next\n"


async def test_output_beyond_the_limit_keeps_head_and_tail_and_counts_the_rest(tmp_path: Path) -> None:
    commands = Commands(os.path.realpath(tmp_path), confinement="none", limits=Limits(head_bytes=100, tail_bytes=50))

    outcome = await commands.run("seq 1000 1999")
    await commands.aclose()

    whole = "".join(f"{number}\n" for number in range(1000, 2000))
    head, gap, tail = outcome.pieces
    assert (head.text, tail.text) == (whole[:100], whole[-50:])
    assert (gap.dropped_bytes, gap.dropped_lines) == (5000 - 150, 1000 - 30)
    assert "\n[... 970 lines, 4850 bytes of stdout left out ...]\n" in outcome.stdout


async def test_more_processes_than_allowed_end_the_command(tmp_path: Path, mark: str) -> None:
    commands = Commands(os.path.realpath(tmp_path), limits=Limits(processes=20))

    outcome = await commands.run(f"for i in $(seq 60); do sleep {mark} & done; sleep {mark}")
    await commands.aclose()

    assert outcome.killed_by == "processes"
    assert not with_argument(mark)


async def test_a_file_larger_than_allowed_is_not_written(tmp_path: Path) -> None:
    commands = Commands(os.path.realpath(tmp_path), limits=Limits(file_bytes=100_000))

    outcome = await commands.run("head -c 200000 /dev/zero > big")
    await commands.aclose()

    assert outcome.exit_code
    assert (tmp_path / "big").stat().st_size == 100_000
    assert str(Limits(file_bytes=1)) == "at most 1000 processes, 1 bytes a file, any size of memory a process"


async def test_a_command_with_more_memory_than_allowed_fails(tmp_path: Path) -> None:
    commands = Commands(os.path.realpath(tmp_path), confinement="none", limits=Limits(memory_bytes=500 << 20))

    outcome = await commands.run("head -c 800M /dev/zero | tail -n 1")
    await commands.aclose()

    assert "memory exhausted" in outcome.stderr


async def test_commands_run_at_the_same_time(commands: Commands) -> None:
    outcomes = await asyncio.gather(*(commands.run(f"sleep 0.2; echo {n}") for n in range(8)))

    assert [outcome.stdout for outcome in outcomes] == [f"{n}\n" for n in range(8)]
    assert max(outcome.seconds for outcome in outcomes) < 0.2 * 8 * BUSY_TIMES


async def test_commands_run_in_any_event_loop_and_thread(tmp_path: Path) -> None:
    commands = Commands(os.path.realpath(tmp_path))
    found: list[str] = []

    def run() -> None:
        found.append(asyncio.run(commands.run("sleep 0.1; echo thread")).stdout)

    started = [threading.Thread(target=run) for _ in range(3)]
    for thread in started:
        thread.start()
    await asyncio.to_thread(lambda: [thread.join() for thread in started])
    await commands.aclose()

    assert found == ["thread\n"] * 3


async def test_closing_ends_everything_and_removes_the_private_folder(tmp_path: Path, mark: str) -> None:
    commands = Commands(os.path.realpath(tmp_path), confinement="none")
    before = mine()
    private = (await commands.run("echo $TMPDIR; touch $HOME/x")).stdout.strip()
    running = asyncio.create_task(commands.run(f"sleep {mark}", on_start=lambda pid: None))
    while not with_argument(mark):
        await asyncio.sleep(0.01)

    await commands.aclose()

    with pytest.raises(SupervisorLostError):
        await running
    assert not with_argument(mark)
    assert not os.path.exists(private)
    assert mine() == before


async def test_commands_run_again_after_the_supervisor_was_killed(plain: Commands, mark: str) -> None:
    with pytest.raises(SupervisorLostError, match="killed"):
        await plain.run(f"setsid sleep {mark} & kill -9 $PPID; sleep {mark}")

    assert (await plain.run("echo again")).stdout == "again\n"
    nursery = (await plain.run("cut -d' ' -f4 /proc/$PPID/stat")).stdout.strip()
    os.kill(int(nursery), signal.SIGKILL)
    assert (await plain.run("echo and again")).stdout == "and again\n"
    assert not with_argument(mark)


@pytest.mark.parametrize("choice", CHOICES)
def test_a_host_that_is_killed_takes_everything_with_it(choice: ConfinementChoice, tmp_path: Path, mark: str) -> None:
    skip_without(choice)
    program = f"""
import asyncio
from toolhaft.workspace.commands import Commands

async def main():
    commands = Commands({os.path.realpath(tmp_path)!r}, confinement={choice!r})
    await commands.start("setsid sleep {mark} & sleep {mark}")
    print((await commands.run("echo $TMPDIR")).stdout, flush=True)
    await commands.run("setsid sleep {mark} & echo started > started; sleep {mark}", timeout_seconds=600)

asyncio.run(main())
"""
    host = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True)
    _wait_until(lambda: (tmp_path / "started").exists() and len(with_argument(mark)) >= 4)

    host.kill()
    host.communicate()

    _wait_until(lambda: not with_argument(mark))
    _wait_until(lambda: not with_argument(os.path.realpath(tmp_path)))


def test_an_interpreter_that_ends_takes_everything_with_it(tmp_path: Path, mark: str) -> None:
    program = f"""
import asyncio
from toolhaft.workspace.commands import Commands

commands = Commands({os.path.realpath(tmp_path)!r})
asyncio.run(commands.start("setsid sleep {mark} & sleep {mark}"))
"""

    done = subprocess.run([sys.executable, "-W", "error", "-c", program], check=True, capture_output=True)

    assert done.stderr == b""
    assert not with_argument(mark)


def test_a_fork_of_the_host_has_a_supervisor_of_its_own(tmp_path: Path) -> None:
    program = f"""
import asyncio, os
from toolhaft.workspace.commands import Commands

commands = Commands({os.path.realpath(tmp_path)!r}, confinement="none")
print(asyncio.run(commands.run("echo parent")).output, flush=True)
if os.fork() == 0:
    print(asyncio.run(commands.run("echo child")).output, flush=True)
    raise SystemExit
os.wait()
print(asyncio.run(commands.run("echo parent again")).output, flush=True)
"""

    done = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True)

    assert done.stdout.split("\n\n") == ["parent", "child", "parent again", ""]


async def test_a_job_that_does_not_exist_is_an_error_that_names_those_that_do(plain: Commands) -> None:
    await plain.start("true")

    with pytest.raises(JobNotFoundError, match=r"'job-9'.*: job-1"):
        plain.job("job-9")


def _wait_until(condition: Callable[[], object]) -> None:
    give_up = time.monotonic() + 10
    while not condition():
        assert time.monotonic() < give_up
        time.sleep(0.02)
