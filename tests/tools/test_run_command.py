"""`run_command` is `bash` without background jobs."""

from pathlib import Path

import pytest

from toolhaft import ToolExecutionError, tool_spec
from toolhaft.tools import bash, run_command

from .commands import facts
from .commands import root as root


async def test_it_answers_as_bash_does(root: Path) -> None:
    answer = await run_command("echo $A; pwd", "sub", 5, {"A": "b"})

    assert answer.startswith(f"b\n{root}/sub\n[exit code 0; ")
    assert facts(answer).keys() == facts(await bash("true")).keys()


async def test_it_is_judged_as_bash_is(root: Path) -> None:
    with pytest.raises(ToolExecutionError, match="Tool 'run_command' failed: the command was not run: it is blocked"):
        await run_command("sudo ls")


def test_it_has_the_parameters_of_bash_but_one() -> None:
    schemas = [tool_spec(tool).schema["properties"].keys() for tool in (run_command, bash)]

    assert [*schemas[0], "background"] == [*schemas[1]]
