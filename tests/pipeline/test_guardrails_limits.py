"""Limits: what a conversation may change and run, counted for what succeeded, never overshot."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from tests.pipeline.calls import call_of, through
from toolhaft import base_tool
from toolhaft.exceptions import ModelRetry
from toolhaft.pipeline import limits
from toolhaft.pipeline.call import Call, Refused
from toolhaft.pipeline.guardrails import Admission, Guardrails
from toolhaft.pipeline.pipeline import Pipeline
from toolhaft.pipeline.preview import Preview
from toolhaft.spec import ToolKind
from toolhaft.tools import apply_patch, bash, edit_file, read_file, write_file
from toolhaft.workspace import LocalWorkspace, use_workspace


@pytest.fixture(autouse=True)
def place(tmp_path: Path) -> Any:
    for name in ("a.py", "b.py", "c.py"):
        (tmp_path / name).write_text("one\n")
    with use_workspace(LocalWorkspace(tmp_path)):
        yield


def edit(name: str, new: str = "two", **more: Any) -> Call:
    return call_of(edit_file, {"filepath": name, "old_str": "one", "new_str": new}, **more)


async def admitted(rails: Guardrails, call: Call) -> Admission:
    return await rails.admit(call, preview=Preview(call))


async def refusal(rails: Guardrails, call: Call) -> Refused:
    with pytest.raises(Refused, match="^Guardrail: ") as raised:
        await admitted(rails, call)
    return raised.value


async def test_a_file_too_many_is_refused_and_the_files_changed_are_named() -> None:
    rails = Guardrails(max_files_modified=2, sources={"max_files_modified": "toolhaft.toml:2"})
    for name in ("a.py", "b.py"):
        (await admitted(rails, edit(name))).settle(True, {"files": [{"path": name}], "added": 1, "removed": 1})

    found = await refusal(rails, edit("c.py"))

    assert (found.rule, found.source) == ("max_files_modified", "toolhaft.toml:2")
    assert (
        "a conversation may change at most 2 files: 2 so far ('a.py', 'b.py'), and this call needs 1 ('c.py') more"
        in (found.message)
    )
    assert (await admitted(rails, edit("./a.py"))).warnings == []


async def test_many_names_are_cut() -> None:
    rails = Guardrails(max_files_modified=6)
    for place in range(6):
        call = call_of(write_file, {"filepath": f"new{place}.txt", "content": "x"})
        (await admitted(rails, call)).settle(True, {"files": [{"path": f"new{place}.txt"}]})

    assert "and 1 others" in (await refusal(rails, edit("a.py"))).message


async def test_what_failed_or_was_refused_counts_nothing() -> None:
    rails = Guardrails(max_files_modified=1, max_lines_changed=2)

    (await admitted(rails, edit("a.py"))).settle(False, {})

    assert (await admitted(rails, edit("b.py"))).warnings == []


async def test_calls_at_the_same_time_cannot_overshoot() -> None:
    rails = Guardrails(max_files_modified=2)
    calls = [edit(name) for name in ("a.py", "b.py", "c.py")]

    outcomes = await asyncio.gather(*(admitted(rails, call) for call in calls), return_exceptions=True)

    assert sum(isinstance(outcome, Refused) for outcome in outcomes) == 1


async def test_lines_are_those_of_the_diff_before_it_is_made() -> None:
    rails = Guardrails(max_lines_changed=4)
    (await admitted(rails, edit("a.py"))).settle(True, {"files": [{"path": "a.py"}], "added": 1, "removed": 1})

    found = await refusal(rails, edit("b.py", "1\n2\n3"))

    assert found.rule == "max_lines_changed"
    assert "a conversation may change at most 4 lines: 2 so far, and this call needs 4 more" in found.message


async def test_commands_are_counted_and_reads_are_not() -> None:
    rails = Guardrails(max_commands_executed=1)
    (await admitted(rails, call_of(bash, {"command": "ls"}))).settle(True, {"exit_code": 1})

    found = await refusal(rails, call_of(bash, {"command": "pwd"}))

    assert found.rule == "max_commands_executed"
    assert "a conversation may run at most 1 command: 1 so far, and this call needs 1 more" in found.message
    assert (await admitted(rails, call_of(read_file, {"filepath": "a.py"}))).warnings == []


async def test_each_conversation_has_counts_of_its_own() -> None:
    rails = Guardrails(max_files_modified=1)
    (await admitted(rails, edit("a.py", conversation_id="first"))).settle(True, {"files": [{"path": "a.py"}]})

    assert (await admitted(rails, edit("b.py", conversation_id="second"))).warnings == []


async def test_files_that_a_command_says_it_writes_count() -> None:
    rails = Guardrails(max_files_modified=1)
    command = call_of(bash, {"command": "cd sub; echo x > new.txt", "cwd": "./deep"})
    (await admitted(rails, command)).settle(True, {"exit_code": 0})

    assert "'deep/sub/new.txt'" in (await refusal(rails, edit("a.py"))).message


@base_tool(kind="write")
async def store(path: str, text: str) -> str:
    """Store a text; nobody can tell before what it does."""
    return "stored"


async def test_without_a_preview_the_arguments_tell() -> None:
    rails = Guardrails(max_lines_changed=3)
    strange = {"path": "x.py", "content": "1\n2\n3\n4"}

    assert (await refusal(rails, call_of(store, {"path": "x", "text": "1\n2\n3\n4"}))).rule == "max_lines_changed"
    assert (
        await refusal(
            rails,
            Call(name="mcp_x", args=strange, kind=ToolKind.MCP, sensitive=True, call_id="1", conversation_id="talk"),
        )
    ).rule == "max_lines_changed"
    assert (await admitted(rails, call_of(store, {"path": "x", "text": "1"}))).warnings == []


async def test_a_file_is_one_file_however_it_is_spelled(tmp_path: Path) -> None:
    rails = Guardrails(max_files_modified=1)
    (await admitted(rails, edit("a.py"))).settle(True, {"files": [{"path": "a.py"}]})

    for name in ("./a.py", str(tmp_path / "a.py"), "sub/../a.py"):
        assert rails.check_edit_limits(name, 1, 1, conversation_id="talk") is None
        assert (await admitted(rails, call_of(store, {"path": name, "text": "1"}))).warnings == []


def test_limits_can_be_asked_without_a_pipeline_and_asking_counts_nothing() -> None:
    rails = Guardrails(max_lines_changed=10, max_files_modified=1)

    for _ in range(3):
        assert rails.check_edit_limits("a.py", 5, 5) is None
    refused = rails.check_edit_limits("a.py", 6, 5, conversation_id="talk")

    assert refused is not None
    assert refused.rule == "max_lines_changed"


async def test_a_change_that_the_tool_refuses_is_told_as_the_tool_tells_it() -> None:
    rails = Guardrails(max_lines_changed=10)
    call = call_of(edit_file, {"filepath": "a.py", "old_str": "not there", "new_str": "x"})

    with pytest.raises(ModelRetry, match="not there"):
        await admitted(rails, call)


async def test_a_pipeline_counts_what_its_tools_did(tmp_path: Path) -> None:
    pipeline = Pipeline(mode="yolo", guardrails=Guardrails(max_files_modified=2))
    patch = "--- a/a.py\n+++ b/a.py\n@@ -1 +1 @@\n-one\n+two\n--- a/b.py\n+++ b/b.py\n@@ -1 +1 @@\n-one\n+two\n"

    await through(pipeline, apply_patch, {"patch": patch})
    with pytest.raises(Refused, match="max_files_modified"):
        await through(pipeline, edit_file, {"filepath": "c.py", "old_str": "one", "new_str": "two"})

    assert (tmp_path / "b.py").read_text() == "two\n"
    assert (tmp_path / "c.py").read_text() == "one\n"


async def test_the_conversations_that_were_silent_longest_are_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "_MOST_CONVERSATIONS", 2)
    rails = Guardrails(max_files_modified=1)
    for conversation in ("first", "second", "third"):
        admission = await admitted(rails, edit("a.py", conversation_id=conversation))
        admission.settle(True, {"files": [{"path": "a.py"}]})

    assert rails.check_edit_limits("b.py", 1, 1, conversation_id="first") is None
    assert rails.check_edit_limits("b.py", 1, 1, conversation_id="third") is not None
