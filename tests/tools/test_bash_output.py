"""`bash(background=True)` and `bash_output`: jobs that go on while an agent does something else."""

import asyncio
from pathlib import Path

import pytest
from pydantic_ai import Agent, ModelRetry

from tests.attach.agents import answers, calling
from tests.workspace.processes import with_argument
from toolhaft import GovernedToolset, LocalWorkspace, ToolExecutionError, use_workspace
from toolhaft.tools import bash, bash_output
from toolhaft.workspace.current import judged

from .commands import approved as approved
from .commands import facts
from .commands import mark as mark
from .commands import place as place
from .commands import root as root


async def until(job_id: str, text: str) -> str:
    """Read a job until it has written a text."""
    seen = ""
    async with asyncio.timeout(60):
        while text not in seen:
            await asyncio.sleep(0.01)
            seen += await bash_output(job_id)
    return seen


@pytest.mark.usefixtures("approved")
async def test_a_job_answers_its_id_at_once_and_then_what_is_new(place: LocalWorkspace, mark: str) -> None:
    started = await bash(f"echo one; echo two; sleep {mark}", background=True)

    seen = await until("job-1", "two\n")
    nothing = await bash_output("job-1")

    assert "bash_output('job-1')" in started
    assert facts(started)["job_id"] == "job-1"
    assert facts(started)["confinement"]["by"] == place.commands.rules.confinement
    assert "one\ntwo\n" in seen.replace("[job-1 is running]", "").replace("[no new output; job-1 is running]", "")
    assert nothing == "[no new output; job-1 is running]"
    assert facts(nothing)["running"]


async def test_a_job_that_has_ended_says_how(root: Path, mark: str) -> None:
    with judged():
        await bash(f"setsid sleep {mark} & sleep 0.1; exit 3", background=True)

    seen = await until("job-1", "has ended")

    assert "job-1 has ended; exit code 3; " in seen
    assert f"still ran, and was ended: sleep {mark}" in seen
    assert not with_argument(mark)


async def test_output_that_nobody_asked_for_is_bounded_and_counted(root: Path) -> None:
    await bash("seq 100000 499999; echo end", background=True)
    local = await asyncio.wait_for(_ended(root), 60)

    answer = await bash_output("job-1")

    assert local
    assert facts(answer)["dropped_bytes"] == 400_000 * 7 + 4 - (1 << 20)
    assert answer.startswith("[... 1,751,428 bytes left out ...]\n")
    assert "more bytes wait: call bash_output again" in answer
    assert facts(answer)["truncated"]


async def _ended(root: Path) -> bool:
    from toolhaft import workspace

    job = workspace().job("job-1")
    while not job.ended:
        await job.read(limit_bytes=0)
    return True


@pytest.mark.usefixtures("approved")
async def test_an_unknown_job_is_to_be_mended(root: Path, mark: str) -> None:
    with pytest.raises(ModelRetry, match="There is no background job 'x'. No job was started in this workspace"):
        await bash_output("x")
    await bash(f"sleep {mark}", background=True)
    with pytest.raises(ModelRetry, match="The jobs of this workspace: job-1"):
        await bash_output("x")


async def test_a_job_is_judged_like_any_command(root: Path) -> None:
    (root / ".env").touch()

    for command in ("rm -rf /", "touch a", "cat .env"):
        with pytest.raises(ToolExecutionError):
            await bash(command, background=True)
    for arguments in ({"cwd": "nope"}, {"timeout": 0}, {"env": {"PATH": "x"}}):
        with pytest.raises(ModelRetry):
            await bash("ls", background=True, **arguments)


async def test_a_job_survives_between_runs_of_an_agent_and_ends_with_the_workspace(tmp_path: Path, mark: str) -> None:
    place = LocalWorkspace(tmp_path)
    toolset = GovernedToolset([bash, bash_output], workspace=place)
    command = f"echo on; while true; do sleep 0.1; done # {mark}"

    await Agent(calling([("bash", {"command": command, "background": True})]), toolsets=[toolset]).run("start")
    with use_workspace(place):
        await until("job-1", "on\n")
    second = await Agent(calling([("bash_output", {"job_id": "job-1"})]), toolsets=[toolset]).run("look")

    assert answers(second.all_messages())[0].content == "[no new output; job-1 is running]"
    assert with_argument(command)
    await place.aclose()
    assert not with_argument(command)
