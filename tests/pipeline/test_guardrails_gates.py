"""What must be true before an agent may end: its edits are tested, the quality gates are passed."""

import logging
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.pipeline.calls import call_of
from toolhaft.pipeline.call import Call
from toolhaft.pipeline.guardrails import Guardrails, QualityGate
from toolhaft.pipeline.preview import Preview
from toolhaft.tools import bash, edit_file, read_file
from toolhaft.workspace import CommandRules, LocalWorkspace, use_workspace

CHANGED = {"files": [{"path": "a.py"}], "added": 1, "removed": 1}


@pytest.fixture(autouse=True)
def place(tmp_path: Path) -> Any:
    (tmp_path / "a.py").write_text("one\n")
    with use_workspace(LocalWorkspace(tmp_path, commands=CommandRules(confinement="none"))):
        yield


EDIT = call_of(edit_file, {"filepath": "a.py", "old_str": "one", "new_str": "two"})
TEST = call_of(bash, {"command": "pytest -q"})


async def done(rails: Guardrails, call: Call, facts: dict[str, Any], *, succeeded: bool = True) -> None:
    (await rails.admit(call, preview=Preview(call))).settle(succeeded, facts)


async def test_an_edit_wants_a_test_run_after_it() -> None:
    rails = Guardrails(require_test_after_edit=True, sources={"require_test_after_edit": "toolhaft.toml:3"})
    before = await rails.gates("talk")
    await done(rails, EDIT, CHANGED)

    after = await rails.gates("talk")

    assert before == []
    assert len(after) == 1
    assert after[0].startswith("Guardrail: 1 edit since the last test run that passed.")
    assert after[0].endswith("[require_test_after_edit, toolhaft.toml:3]")
    assert await rails.gates("another talk") == []


async def test_a_test_run_that_passed_after_the_last_edit_is_enough() -> None:
    rails = Guardrails(require_test_after_edit=True)
    await done(rails, EDIT, CHANGED)
    await done(rails, TEST, {"exit_code": 0})
    tested = await rails.gates("talk")
    await done(rails, EDIT, CHANGED)
    await done(rails, call_of(read_file, {"filepath": "a.py"}), {})

    assert tested == []
    assert len(await rails.gates("talk")) == 1


@pytest.mark.parametrize(
    ("command", "facts", "succeeded"),
    [
        ("pytest -q", {"exit_code": 1}, True),
        ("pytest -q", {"job_id": "job-1"}, True),
        ("pytest -q", {"exit_code": 0}, False),
        ("pytest -q | tail -3", {"exit_code": 0}, True),
        ("ls", {"exit_code": 0}, True),
    ],
)
async def test_what_proves_nothing_does_not_count(command: str, facts: dict[str, Any], succeeded: bool) -> None:
    rails = Guardrails(require_test_after_edit=True)
    await done(rails, EDIT, CHANGED)

    await done(rails, call_of(bash, {"command": command}), facts, succeeded=succeeded)

    assert len(await rails.gates("talk")) == 1


async def test_a_test_run_says_nothing_of_an_edit_that_was_made_while_it_ran() -> None:
    rails = Guardrails(require_test_after_edit=True)
    await done(rails, EDIT, CHANGED)
    running = await rails.admit(TEST, preview=Preview(TEST))
    await done(rails, EDIT, CHANGED)

    running.settle(True, {"exit_code": 0})

    assert "1 edit since" in (await rails.gates("talk"))[0]


async def test_an_edit_by_a_command_wants_a_test_run_too() -> None:
    rails = Guardrails(require_test_after_edit=True)

    for _ in range(2):
        await done(rails, call_of(bash, {"command": "sed -i s/one/two/ a.py"}), {"exit_code": 0})

    assert "2 edits since" in (await rails.gates("talk"))[0]


async def test_every_gate_that_is_not_passed_is_told_with_the_end_of_its_output() -> None:
    rails = Guardrails(
        quality_gates=[
            QualityGate(name="lint", command="echo a.py:1: bad; exit 3"),
            {"name": "build", "command": "test -f a.py"},
            QualityGate(name="long", command=f'{sys.executable} -c \'print("x" * 9000); print("the end"); exit(1)\''),
        ],
        sources={"quality_gates[0]": "toolhaft.toml:5"},
    )

    lint, long = await rails.run_quality_gates()

    assert str(lint).startswith("Guardrail: the quality gate 'lint' failed: 'echo a.py:1: bad; exit 3' (exit 3).\na.py")
    assert (lint.rule, lint.source) == ("quality_gates", "toolhaft.toml:5")
    assert "characters before this left out" in long.reason
    assert long.reason.endswith("the end")
    assert await rails.gates("talk") == [str(lint), str(long)]


async def test_a_gate_that_is_not_required_only_warns(caplog: pytest.LogCaptureFixture) -> None:
    rails = Guardrails(quality_gates=[QualityGate(name="style", command="false", required=False)])

    with caplog.at_level(logging.WARNING, logger="toolhaft.guardrails"):
        failures = await rails.run_quality_gates()

    assert failures == []
    assert "the quality gate 'style' failed" in caplog.text


async def test_a_gate_that_takes_too_long_is_ended_and_not_passed() -> None:
    rails = Guardrails(quality_gates=[QualityGate(name="slow", command="sleep 60", timeout_seconds=1)])

    (failure,) = await rails.run_quality_gates()

    assert "(ended by timeout)" in failure.reason


async def test_a_gate_that_cannot_be_run_is_not_passed() -> None:
    rails = Guardrails(quality_gates=[QualityGate(name="odd", command="\0")])

    (failure,) = await rails.run_quality_gates()

    assert "the quality gate 'odd' could not run" in failure.reason


def test_a_timeout_that_cannot_be_is_an_error() -> None:
    with pytest.raises(ValueError, match="a timeout of 601 seconds is not possible. Use 1 to 600"):
        QualityGate(name="x", command="true", timeout_seconds=601)
