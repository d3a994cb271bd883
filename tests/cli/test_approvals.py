"""Approvals from the command line: an agent in one process, a person in another, its run in a third."""

import json
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.test_cli import toolhaft

AGENT = """
import asyncio, sys
from pydantic_ai import Agent, DeferredToolRequests
from pydantic_ai.messages import ModelResponse, TextPart, ToolCallPart
from pydantic_ai.models.function import FunctionModel
from toolhaft import Toolkit
from toolhaft.approvals.sqlite import SqliteStore


def respond(messages, info):
    if len(messages) > 1:
        return ModelResponse(parts=[TextPart("written")])
    args = {"filepath": "a.txt", "content": "text\\n"}
    return ModelResponse(parts=[ToolCallPart("write_file", args, tool_call_id="c1")])


kit = Toolkit("repo", approvals=SqliteStore("approvals.db"))
agent = Agent(FunctionModel(respond), capabilities=[kit], output_type=[str, DeferredToolRequests])
if __name__ == "__main__":
    asyncio.run(agent.run("Go.", conversation_id="talk"))
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder in which a run of `job:agent` waits for somebody to approve its write."""
    (tmp_path / "repo").mkdir()
    (tmp_path / "job.py").write_text(AGENT)
    subprocess.run([sys.executable, "job.py"], cwd=tmp_path, check=True, timeout=120)
    return tmp_path


def test_a_person_looks_approves_and_the_run_goes_on(folder: Path) -> None:
    listed = toolhaft("approvals", "list", cwd=folder)
    shown = toolhaft("approvals", "show", "c1", cwd=folder)
    early = (folder / "repo" / "a.txt").exists()
    approved = toolhaft("approvals", "approve", "c1", cwd=folder)
    resumed = toolhaft("approvals", "resume", "talk", "--agent", "job:agent", cwd=folder)

    assert listed.stdout.startswith(
        "talk\tc1\tpending\twrite_file(content='text\\n', expected_hash=None, filepath='a.txt'"
    )
    assert "+text" in shown.stdout
    assert "tool: write_file" in shown.stdout
    assert not early
    assert "c1: approved by" in approved.stdout
    assert resumed.stdout == "written\n"
    assert (folder / "repo" / "a.txt").read_text() == "text\n"


def test_edits_are_what_runs_and_a_second_decision_is_told_of_the_first(folder: Path) -> None:
    edited = toolhaft("approvals", "edit", "c1", '{"content": "other\\n"}', cwd=folder)
    second = toolhaft("approvals", "reject", "c1", "no", "--conversation", "talk", cwd=folder)
    toolhaft("approvals", "resume", "talk", "--agent", "job:agent", cwd=folder)

    assert edited.returncode == 0
    assert second.returncode == 2
    assert "it is approved by" in second.stderr
    assert (folder / "repo" / "a.txt").read_text() == "other\n"


def test_a_rejected_call_does_not_run(folder: Path) -> None:
    toolhaft("approvals", "reject", "c1", "not today", cwd=folder)

    resumed = toolhaft("approvals", "resume", "talk", "--agent", "job:agent", cwd=folder)

    assert resumed.stdout == "written\n"
    assert not (folder / "repo" / "a.txt").exists()


@pytest.mark.parametrize(
    ("args", "error"),
    [
        (("show", "c9"), "No one call 'c9' waits"),
        (("edit", "c1", "[1]"), "are no JSON object"),
        (("edit", "c1", '{"nonsense": 1}'), "no parameter 'nonsense'"),
        (("resume", "other", "--agent", "job:agent"), "No run waits in the conversation 'other'"),
        (("resume", "talk", "--agent", "job:kit"), "is no pydantic-ai Agent"),
    ],
)
def test_a_mistake_is_told_and_decides_nothing(folder: Path, args: tuple[str, ...], error: str) -> None:
    done = toolhaft("approvals", *args, cwd=folder)

    assert done.returncode == 2
    assert error in done.stderr
    assert "pending" in toolhaft("approvals", "list", cwd=folder).stdout


def test_the_audit_shows_every_step_and_finds_a_row_that_was_edited(folder: Path) -> None:
    toolhaft("approvals", "approve", "c1", cwd=folder)

    shown = toolhaft("approvals", "audit", cwd=folder)
    intact = toolhaft("approvals", "audit", "--verify", cwd=folder)
    assert [json.loads(line)["state"] for line in shown.stdout.splitlines()] == ["pending", "approved"]
    assert (intact.returncode, "intact" in intact.stdout) == (0, True)

    with sqlite3.connect(folder / "approvals.db") as database:
        database.execute("update history set entry = replace(entry, 'approved', 'rejected')")
    edited = toolhaft("approvals", "audit", "--verify", cwd=folder)

    assert edited.returncode == 1
    assert "NOT intact" in edited.stdout
