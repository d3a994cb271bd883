"""The same calls through every door give the same results: but for times, and for ids that are made up anew."""

import io
import json
import os
import pty
import re
import sys
import tty
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from pydantic_ai import Agent, ApprovalRequired, CallDeferred, DeferredToolRequests, ModelRetry
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart, ToolReturnPart
from pydantic_ai.models.function import AgentInfo, FunctionModel
from pydantic_ai.usage import UsageLimits

from tests.attach.agents import answers, calling
from tests.attach.attempts import rigged
from toolhaft import Executor, GovernedToolset, Registry, ToolExecutionError, ToolText, base_tool
from toolhaft.attach.anthropic import ToolUses
from toolhaft.attach.configuration import load_configuration
from toolhaft.cli.call import call_lines
from toolhaft.cli.settings import Settings
from toolhaft.spec import FileDiff, ToolResult

Call = tuple[str, dict[str, Any]]
Door = Callable[[Settings, Path, Sequence[Call]], Awaitable[list[ToolResult]]]

CONFIGURATION = """
[guardrails]
protected_files = ["uv.lock"]
sensitive_files = ["private/**"]
blocked_commands = ["curl"]
max_files_modified = 6
code_rules = [{ pattern = "print\\\\(", message = "log instead", severity = "warn" }]

[[hooks.pre_tool_use]]
name = "no-tmp"
command = "echo 'not there' >&2; exit 2"
matcher = "write_file"
file_patterns = ["tmp/**"]

[[hooks.post_tool_use]]
name = "seen"
command = '''echo '{"additionalContext": "It was seen."}' '''
matcher = "todo|submit"
"""

# `{change}` and `{job}` stand for the id that an answer before gave.
CALLS: list[Call] = [
    ("read_file", {"filepath": "README.md"}),
    ("read_file", {"filepath": "README.md", "offset": 90}),
    ("read_file", {"filepath": "reedme.md"}),
    ("read_file", {"filepath": ".env"}),
    ("read_file", {"filepath": "folder-link/key.txt"}),
    ("read_file", {"filepath": "../outside"}),
    ("read_file", {"filepath": "src"}),
    ("read_file", {}),
    ("read_file", {"filepath": "README.md", "limit": "3", "with_hash": True}),
    ("read_file", {"filepath": "README.md", "limit": "many"}),
    ("list_dir", {}),
    ("list_dir", {"directory": "nowhere"}),
    ("list_dir", {"directory": ".", "max_files": 1}),
    ("list_files", {"path": "src"}),
    ("list_files", {"path": "README.md"}),
    ("glob", {"pattern": "**/*.md"}),
    ("glob", {"pattern": "["}),
    ("find_files", {"pattern": "*.txt"}),
    ("grep", {"pattern": "project"}),
    ("grep", {"pattern": "s3cr3t", "include_hidden": True}),
    ("grep", {"pattern": "(", "use_regex": True}),
    ("search_code", {"pattern": "project"}),
    ("write_file", {"filepath": "src/a.py", "content": "a = 1\n"}),
    ("write_file", {"filepath": "src/a.py", "content": "print(1)\n", "mode": "append"}),
    ("write_file", {"filepath": "uv.lock", "content": "x"}),
    ("write_file", {"filepath": "tmp/x", "content": "x"}),
    ("write_file", {"filepath": "src", "content": "x"}),
    ("write_file", {"filepath": "src/a.py", "content": "x", "mode": "sideways"}),
    ("edit_file", {"filepath": "src/a.py", "old_str": "a = 1", "new_str": "b = 2"}),
    ("edit_file", {"filepath": "src/a.py", "old_str": "nothing", "new_str": "x"}),
    ("edit_file", {"filepath": "src/a.py", "old_str": "", "new_str": "x"}),
    ("update_file", {"filepath": "src/a.py", "old_text": "b  =  2", "new_text": "c = 3"}),
    ("update_file", {"filepath": "nowhere.py", "old_text": "x", "new_text": "y"}),
    ("apply_patch", {"patch": "--- a/README.md\n+++ b/README.md\n@@ -1 +1,2 @@\n # A project\n+More.\n"}),
    ("apply_patch", {"patch": "--- a/README.md\n+++ b/README.md\n@@ -1 +1,2 @@\n # Another\n+More.\n"}),
    ("apply_patch", {"patch": "--- a/uv.lock\n+++ b/uv.lock\n@@ -1 +1 @@\n-locked = true\n+x\n"}),
    ("apply_patch", {"patch": "no patch at all"}),
    ("undo_change", {"change_id": "{change}"}),
    ("undo_change", {"change_id": "0000000000000000"}),
    ("delete_file", {"filepath": "src/a.py"}),
    ("delete_file", {"filepath": "src/a.py"}),
    ("bash", {"command": "echo out; echo err >&2"}),
    ("bash", {"command": "exit 3"}),
    ("bash", {"command": "cat .env"}),
    ("bash", {"command": "curl --version"}),
    ("bash", {"command": "ls", "cwd": "nowhere"}),
    ("bash", {"command": "if"}),
    ("bash", {"command": "git push --force"}),
    ("bash", {"command": "sleep 30", "timeout": 1}),
    ("bash", {"command": "sleep 60", "background": True}),
    ("bash_output", {"job_id": "{job}"}),
    ("stop_bash", {"job_id": "{job}"}),
    ("stop_bash", {"job_id": "{job}"}),
    ("bash_output", {"job_id": "none"}),
    ("run_command", {"command": "printf 'a\\nb\\n'"}),
    ("run_command", {"command": "false"}),
    ("run_command", {"command": ""}),
    ("todo", {"action": "write", "items": [{"content": "one", "status": "in_progress"}]}),
    ("todo", {"action": "write", "items": [{"content": "x", "status": "in_progress"}] * 2}),
    ("todo", {"action": "read"}),
    ("todo", {"action": "dance"}),
    ("memory", {"action": "save", "key": "k", "text": "something"}),
    ("memory", {"action": "get", "key": "nothing"}),
    ("memory", {"action": "search", "query": "some"}),
    ("submit", {"summary": "Done."}),
    ("submit", {"summary": ""}),
    ("write_file", {"filepath": "src/b.py", "content": "b\n"}),
    ("write_file", {"filepath": "src/c.py", "content": "c\n"}),
    ("write_file", {"filepath": "src/d.py", "content": "d\n"}),
    ("write_file", {"filepath": "src/e.py", "content": "e\n"}),
    ("write_file", {"filepath": "src/f.py", "content": "f\n"}),
    ("write_file", {"filepath": "src/g.py", "content": "g\n"}),
]


class Known:
    """The ids that the answers gave, for the calls that need them."""

    def __init__(self) -> None:
        self._ids = {"{change}": "none", "{job}": "none"}

    def placed(self, args: Mapping[str, Any]) -> dict[str, Any]:
        return {key: self._ids.get(value, value) if isinstance(value, str) else value for key, value in args.items()}

    def learn(self, facts: Mapping[str, Any]) -> None:
        for name in ("change", "job"):
            if facts.get(f"{name}_id"):
                self._ids[f"{{{name}}}"] = facts[f"{name}_id"]


async def agent_door(settings: Settings, root: Path, calls: Sequence[Call]) -> list[ToolResult]:
    """One run, one step for each call."""
    known, left = Known(), list(calls)

    def respond(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        for part in messages[-1].parts:
            if isinstance(part, ToolReturnPart) and isinstance(part.metadata, dict):
                known.learn(part.metadata)
        if not left:
            return ModelResponse(parts=[TextPart("done")])
        name, args = left.pop(0)
        return ModelResponse(parts=[ToolCallPart(name, known.placed(args))])

    toolset = GovernedToolset(
        settings.registry().select(["all"]), workspace=settings.open(str(root)), pipeline=settings.pipeline()
    )
    result = await Agent(FunctionModel(respond), toolsets=[toolset]).run(
        "Go.", usage_limits=UsageLimits(request_limit=None)
    )
    return [as_result(answer) for answer in answers(result.all_messages())]


def as_result(answer: ToolReturnPart) -> ToolResult:
    """What a model and its program get, as a result. Of a failure they get the text."""
    if answer.outcome == "success":
        facts = dict(answer.metadata or {})
        diffs = facts.pop("diff", None)
        return ToolResult(
            tool_name=answer.tool_name,
            success=True,
            output=answer.content if isinstance(answer.content, str) else json.dumps(answer.content),
            truncated=bool(facts.pop("truncated", False)),
            exit_code=facts.pop("exit_code", None),
            diff=None if diffs is None else [FileDiff(**diff) for diff in diffs],
            metadata=facts,
        )
    retry = {"retry": True} if answer.outcome == "retried" else {}
    error = answer.content if isinstance(answer.content, str) else mistakes(answer.content)
    return ToolResult(tool_name=answer.tool_name, success=False, error=error, metadata=retry)


def mistakes(details: Any) -> str:
    """Pydantic-ai's list of wrong arguments, as the other doors tell them."""
    told = (
        f"{'.'.join(map(str, at['loc'])) or 'arguments'}: {at['msg']} (got {str(at['input'])[:80]!r})" for at in details
    )
    return f"Invalid arguments: {'; '.join(told)}"


async def executor_door(settings: Settings, root: Path, calls: Sequence[Call]) -> list[ToolResult]:
    executor, known = Executor(settings.registry(), settings.pipeline(), workspace=settings.open(str(root))), Known()
    results: list[ToolResult] = []
    for name, args in calls:
        results.append(await executor.execute(name, known.placed(args)))
        known.learn(results[-1].metadata)
    return results


async def anthropic_door(settings: Settings, root: Path, calls: Sequence[Call]) -> list[ToolResult]:
    executor, known = Executor(settings.registry(), settings.pipeline(), workspace=settings.open(str(root))), Known()
    results: list[ToolResult] = []
    for number, (name, args) in enumerate(calls):
        block = {"type": "tool_use", "id": f"toolu_{number}", "name": name, "input": known.placed(args)}
        uses = ToolUses({"role": "assistant", "content": [block]})
        results += await uses.execute(executor)
        known.learn(results[-1].metadata)
        [told] = uses.answer()["content"]
        assert (told["tool_use_id"], told["is_error"]) == (f"toolu_{number}", not results[-1].success)
        assert told["content"] == (results[-1].output or results[-1].error or "(no output)")
    return results


async def line_door(settings: Settings, root: Path, calls: Sequence[Call]) -> list[ToolResult]:
    """What `toolhaft call --stdin` does with each line."""
    known, out = Known(), io.StringIO()

    def lines() -> Iterator[bytes]:
        for name, args in calls:
            for answer in out.getvalue().splitlines()[-1:]:
                known.learn(json.loads(answer)["metadata"])
            yield json.dumps({"tool": name, "args": known.placed(args), "workspace": str(root)}).encode()

    assert await call_lines(lines(), out, settings) == 0
    return [as_read(line) for line in out.getvalue().splitlines()]


def as_read(line: str) -> ToolResult:
    read = json.loads(line)
    diffs = read.pop("diff", None)
    return ToolResult(**read, diff=None if diffs is None else [FileDiff(**diff) for diff in diffs])


DOORS: dict[str, Door] = {"executor": executor_door, "anthropic": anthropic_door, "line": line_door}


@contextmanager
def typing(keys: Iterable[str] | None) -> Iterator[None]:
    """A terminal as standard input, on which somebody has typed these lines; None is no terminal."""
    with pytest.MonkeyPatch.context() as patch, open(os.devnull, "w") as nowhere:
        patch.setattr(sys, "stderr", nowhere)
        if keys is None:
            with open(os.devnull) as empty:
                patch.setattr(sys, "stdin", empty)
                yield
            return
        ours, theirs = pty.openpty()
        tty.setraw(theirs)
        with open(theirs) as terminal, open(ours, "wb", buffering=0) as keyboard:
            keyboard.write("".join(f"{key}\n" for key in keys).encode())
            patch.setattr(sys, "stdin", terminal)
            yield


def steady(result: ToolResult) -> str:
    """A result without what differs from run to run."""
    text = result.to_json()
    for pattern, instead in VARYING:
        text = re.sub(pattern, instead, text)
    return text


VARYING = [
    # Whether bash had begun the command of a job when that was stopped.
    (r"; still ran, and was ended: [^\]]*", ""),
    (r'"left_running": \[[^\]]*\]', '"left_running": []'),
    (r"\b\d+\.\d+ s\b", "T s"),
    (r'"(duration\w*|\w*seconds|mtime_ns|inode|pid)": ?[\d.]+', r'"\1": T'),
    (r"\b[0-9a-f]{16}\b", "ID"),
]

SCRIPTS: dict[str, tuple[dict[str, Any], list[str] | None]] = {
    "yolo": ({"mode": "yolo"}, None),
    "dry run": ({"mode": "yolo", "dry_run": True}, None),
    "confirm-sensitive, and no terminal": ({"mode": "confirm-sensitive"}, None),
    "confirm-sensitive, answered": (
        {"mode": "confirm-sensitive"},
        ["y", "n", "y", "n not now", "s", "e", '{"timeout": 2}', "y", "what?", "y"] * 12,
    ),
    "confirm-all, answered": ({"mode": "confirm-all"}, ["y", "y", "n", "y", "s", "n no"] * 30),
}


@pytest.mark.parametrize(("options", "keys"), SCRIPTS.values(), ids=SCRIPTS)
async def test_the_same_calls_have_the_same_results(
    options: dict[str, Any], keys: list[str] | None, tmp_path: Path
) -> None:
    async def through(door: Door, name: str) -> list[ToolResult]:
        root = rigged(tmp_path / name / "project")
        (root / "toolhaft.toml").write_text(CONFIGURATION)
        configuration = load_configuration(root / "toolhaft.toml")
        settings = Settings(configuration=configuration, allow_delete=True, **options)
        with typing(keys):
            return await door(settings, root, CALLS)

    by_agent = await through(agent_door, "agent")
    assert keys is None or sum("Cancelled by user" in (result.error or "") for result in by_agent) > 2
    by_executor: list[ToolResult] | None = None
    for name, door in DOORS.items():
        results = await through(door, name)
        assert differing(map(as_a_model_is_told, by_agent), map(as_a_model_is_told, results)) == [], name
        by_executor = results if by_executor is None else by_executor
        assert differing(by_executor, results) == [], name


def differing(some: Iterable[ToolResult], others: Iterable[ToolResult]) -> list[tuple[Call, str, str]]:
    told = zip(CALLS, map(steady, some), map(steady, others), strict=True)
    return [(call, one, other) for call, one, other in told if one != other]


def as_a_model_is_told(result: ToolResult) -> ToolResult:
    """Of a failure a model gets the text, and whether it may try again, but no facts."""
    facts = {key: fact for key, fact in result.metadata.items() if key == "retry" or result.success}
    return replace(result, metadata=facts)


@base_tool(kind="read")
async def act(what: str) -> str:
    """Do what is asked, or end as asked."""
    match what:
        case "retry":
            raise ModelRetry("Ask for something else.")
        case "fail":
            raise ToolExecutionError("act", "It broke.")
        case "bug":
            raise ZeroDivisionError("by zero")
        case "pause":
            raise ApprovalRequired({"reason": "costly", "message": "It costs 5."})
        case "defer":
            raise CallDeferred({"job": 7})
        case "data":
            return ToolText("", total=9, truncated=True)
        case _:
            return what


ASKED = ("nothing", "data", "retry", "fail", "bug", "pause", "defer")


async def test_pauses_and_failures_of_a_tool_of_your_own_are_the_same_too() -> None:
    registry = Registry()
    registry.register(act)
    executor = Executor(registry)
    toolset = GovernedToolset([act])
    for what in ASKED:
        agent = Agent(calling([("act", {"what": what})]), output_type=[str, DeferredToolRequests], toolsets=[toolset])
        run = await agent.run("Go.")

        directly = await executor.execute("act", {"what": what}, call_id="c1")
        uses = ToolUses({"content": [{"type": "tool_use", "id": "c1", "name": "act", "input": {"what": what}}]})
        [by_message] = await uses.execute(executor)

        assert by_message == directly
        if isinstance(run.output, DeferredToolRequests):
            [pending] = run.output.approvals + run.output.calls
            assert directly.metadata == {"pending": "c1", **run.output.metadata[pending.tool_call_id]}
            assert what in ("pause", "defer")
        else:
            [answer] = answers(run.all_messages())
            assert as_result(answer) == as_a_model_is_told(directly)
