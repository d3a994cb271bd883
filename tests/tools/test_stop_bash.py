"""`stop_bash`: a job ends with everything that it started."""

from pathlib import Path

import pytest
from pydantic_ai import ModelRetry

from tests.workspace.processes import with_argument
from toolhaft import LocalWorkspace, tool_spec
from toolhaft.tools import bash, bash_output, stop_bash

from .commands import approved as approved
from .commands import facts
from .commands import mark as mark
from .commands import place as place
from .commands import root as root
from .test_bash_output import until


@pytest.mark.usefixtures("approved")
async def test_all_of_a_job_is_ended_and_its_last_words_are_told(place: LocalWorkspace, mark: str) -> None:
    await bash(f"trap 'echo bye; exit' TERM; echo on; sleep {mark} & wait", background=True)
    await until("job-1", "on\n")

    answer = await stop_bash("job-1")

    assert answer.startswith("bye\n[job-1 has ended; ended by stop; ")
    assert (facts(answer)["running"], facts(answer)["killed_by"]) == (False, "stop")
    assert not with_argument(mark)
    assert (await stop_bash("job-1")).startswith("[no new output; job-1 has ended; ended by stop; ")


async def test_an_unknown_job_is_to_be_mended(root: Path) -> None:
    with pytest.raises(ModelRetry, match="no background job 'job-9'"):
        await stop_bash("job-9")


def test_neither_looking_nor_stopping_needs_a_person() -> None:
    assert not tool_spec(bash_output).sensitive
    assert not tool_spec(stop_bash).sensitive
    assert tool_spec(bash).sensitive
