"""Calls in the messages of Anthropic and OpenAI: each has exactly one answer, in order, whatever happens."""

import asyncio
import json
import os
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic_ai import BinaryContent, ModelRetry

from toolhaft import Executor, Registry, ToolExecutionError, base_tool
from toolhaft.attach.anthropic import (
    ToolResultBlock,
    ToolUse,
    ToolUses,
    execute_tool_uses,
    to_tool_result,
    tools_for_anthropic,
)
from toolhaft.attach.openai import ToolCalls, append_tool_results, execute_tool_calls
from toolhaft.spec import ToolResult
from toolhaft.testing import mock_tool

STRESS = 10 if os.environ.get("TOOLHAFT_STRESS") else 1


@base_tool(kind="read")
async def say(text: str) -> str:
    """Say a text."""
    return text


class CrashError(BaseException):
    """What no tool and no executor catches."""


def executor_of(*tools: Any) -> Executor:
    registry = Registry()
    for tool in tools:
        registry.register(tool)
    return Executor(registry)


def use(id: str, name: str, input: Any) -> dict[str, Any]:
    return {"type": "tool_use", "id": id, "name": name, "input": input}


def assistant(*blocks: Any) -> dict[str, Any]:
    return {"role": "assistant", "content": list(blocks)}


def call(id: str, name: str, arguments: Any) -> dict[str, Any]:
    return {"id": id, "type": "function", "function": {"name": name, "arguments": arguments}}


async def test_each_tool_use_is_answered_in_order_and_nothing_else_is() -> None:
    message = assistant(
        {"type": "text", "text": "Let me see."},
        use("a", "say", {"text": "one"}),
        {"type": "server_tool_use", "id": "s", "name": "web_search", "input": {}},
        use("b", "say", {"text": "two"}),
    )

    blocks = await execute_tool_uses(message, executor_of(say))

    assert [block.to_dict() for block in blocks] == [
        {"type": "tool_result", "tool_use_id": "a", "content": "one", "is_error": False},
        {"type": "tool_result", "tool_use_id": "b", "content": "two", "is_error": False},
    ]


@pytest.mark.parametrize("content", [None, "Hello.", []])
async def test_a_message_without_calls_needs_no_answer(content: Any) -> None:
    assert await execute_tool_uses({"role": "assistant", "content": content}, executor_of()) == []


@pytest.mark.parametrize(
    ("name", "input", "message"),
    [
        ("sya", {"text": "x"}, "Unknown tool: no tool is named 'sya' (near: 'say'). There are: say."),
        (None, {}, "Unknown tool: no tool is named ''. There are: say."),
        ("say", '{"text": ', "Invalid arguments: arguments: Invalid JSON"),
        ("say", ["x"], "Invalid arguments: arguments: Input should be an object"),
        ("say", None, "Invalid arguments: text: Field required"),
        ("say", {"text": 7}, "Invalid arguments: text: Input should be a valid string"),
    ],
)
async def test_what_cannot_be_called_is_a_failed_answer(name: Any, input: Any, message: str) -> None:
    (block,) = await execute_tool_uses(assistant(use("a", name, input)), executor_of(say))
    (result,) = await execute_tool_calls({"tool_calls": [call("a", name, input)]}, executor_of(say))

    assert block.is_error
    assert str(block.content).startswith(message)
    assert not result.success
    assert result.error == block.content


@base_tool(kind="read")
async def show(media_type: str) -> list[str | BinaryContent]:
    """Show a file."""
    return ["a dot", BinaryContent(b"12345", media_type=media_type), ""]


async def test_an_image_is_an_image_block() -> None:
    message = assistant(use("a", "show", {"media_type": "image/png"}), use("b", "show", {"media_type": "audio/wav"}))

    image, sound = await execute_tool_uses(message, executor_of(show))

    source = {"type": "base64", "media_type": "image/png", "data": "MTIzNDU="}
    assert image.content == [{"type": "text", "text": "a dot"}, {"type": "image", "source": source}]
    assert sound.content[1] == {"type": "text", "text": "[audio/wav, 5 bytes]"}


async def test_input_may_be_json_text() -> None:
    (block,) = await execute_tool_uses(assistant(use("a", "say", '{"text": "one"}')), executor_of(say))

    assert block.content == "one"


@pytest.mark.parametrize("output", ["", " \n"])
def test_nothing_is_said_to_be_no_output(output: str) -> None:
    nothing = ToolResult(tool_name="say", success=True, output=output)
    messages: list[Any] = []

    append_tool_results(messages, [call("a", "say", "{}")], [nothing])

    assert to_tool_result(nothing, "a") == ToolResultBlock(tool_use_id="a", content="(no output)")
    assert messages == [{"role": "tool", "tool_call_id": "a", "content": "(no output)"}]


async def test_a_block_and_its_id_are_taken_as_they_come() -> None:
    assert ToolUse.from_dict({"id": 7, "name": "say", "input": {}}) == ToolUse(id="7", name="say", input={})
    with pytest.raises(ValueError, match="has no id"):
        ToolUse.from_dict({"name": "say", "input": {}})
    with pytest.raises(ValueError, match="has no id"):
        ToolCalls({"tool_calls": [{"function": {}}]})


@pytest.mark.parametrize("make", [ToolUses, ToolCalls])
def test_objects_of_a_client_library_are_refused_and_not_overlooked(make: Callable[[Any], object]) -> None:
    with pytest.raises(TypeError, match="is no dictionary"):
        make({"content": [object()], "tool_calls": [object()]})


def test_a_message_that_is_no_dictionary_is_refused() -> None:
    with pytest.raises(TypeError, match="is no dictionary"):
        ToolUses(object())  # type: ignore[arg-type]


def test_tools_are_offered_in_the_form_of_anthropic() -> None:
    registry = Registry()
    registry.register(say)

    (offered,) = tools_for_anthropic(registry)

    assert (offered["name"], offered["description"]) == ("say", "Say a text.")
    assert offered["input_schema"]["required"] == ["text"]
    assert tools_for_anthropic(registry, []) == []
    offered["input_schema"].clear()
    assert tools_for_anthropic(registry)[0]["input_schema"]


async def test_openai_messages_are_answered_one_message_a_call() -> None:
    message = {"tool_calls": [call("a", "say", '{"text": "one"}'), call("b", "fail", ""), call("c", "say", "{")]}
    executor = executor_of(say, mock_tool("fail", raises=ToolExecutionError("fail", "it broke")))
    messages: list[Any] = [message]

    append_tool_results(messages, message["tool_calls"], await execute_tool_calls(message, executor))

    assert [answer["tool_call_id"] for answer in messages[1:]] == ["a", "b", "c"]
    assert messages[1] == {"role": "tool", "tool_call_id": "a", "content": "one"}
    assert json.loads(messages[2]["content"]) == {"error": "Tool 'fail' failed: it broke"}
    assert json.loads(messages[3]["content"])["error"].startswith("Invalid arguments:")


def test_a_call_without_a_result_is_not_passed_over() -> None:
    messages: list[Any] = []

    with pytest.raises(ValueError, match="shorter"):
        append_tool_results(messages, [call("a", "say", "{}")], [])
    assert messages == []


async def test_a_message_without_tool_calls_needs_no_answer() -> None:
    assert await execute_tool_calls({"role": "assistant", "content": "Hi.", "tool_calls": None}, executor_of()) == []


def test_a_process_that_starts_again_can_answer_what_it_did_not_see() -> None:
    uses = ToolUses(assistant(use("a", "say", {}), use("b", "say", {})))

    answer = uses.answer()

    assert answer["role"] == "user"
    assert [(block["tool_use_id"], block["is_error"]) for block in answer["content"]] == [("a", True), ("b", True)]
    assert all(block["content"].startswith("Interrupted, may have partly run") for block in answer["content"])


async def test_what_has_begun_is_not_run_again() -> None:
    stuck, ready = asyncio.Event(), asyncio.Event()

    async def wait(arguments: dict[str, Any]) -> str:
        stuck.set()
        await ready.wait()
        return "late"

    waiting = mock_tool("waiting", wait, kind="write", approval=False)
    executor = executor_of(say, waiting)
    uses = ToolUses(assistant(use("a", "say", {"text": "1"}), use("b", "waiting", {}), use("c", "say", {"text": "3"})))
    running = asyncio.create_task(uses.execute(executor))
    await stuck.wait()
    running.cancel()
    with suppress(asyncio.CancelledError):
        await running

    interrupted = [str(block.content) for block in uses.blocks()]
    await uses.execute(executor)

    assert interrupted[0] == "1"
    assert interrupted[1].startswith("Interrupted, may have partly run")
    assert interrupted[2] == "Interrupted before this call began: nothing of it has run."
    assert [block.content for block in uses.blocks()] == ["1", interrupted[1], "3"]
    assert len(waiting.calls) == 1


async def test_what_reads_runs_side_by_side_and_what_writes_alone() -> None:
    running: set[str] = set()
    seen: list[set[str]] = []
    both = asyncio.Event()

    async def read(arguments: dict[str, Any]) -> None:
        running.add(arguments["id"])
        if len(running) == 2:
            both.set()
        await both.wait()
        running.discard(arguments["id"])

    def write(arguments: dict[str, Any]) -> None:
        seen.append(set(running))

    executor = executor_of(mock_tool("read", read), mock_tool("write", write, kind="write", approval=False))
    names = ["read", "read", "write", "write", "read"]

    blocks = await execute_tool_uses(
        assistant(*(use(str(i), name, {"id": i}) for i, name in enumerate(names))), executor
    )

    assert [(block.tool_use_id, block.is_error) for block in blocks] == [(str(i), False) for i in range(5)]
    assert seen == [set(), set()]


async def test_a_crash_leaves_nothing_running() -> None:
    ended: list[str] = []
    started = asyncio.Event()

    async def hang(arguments: dict[str, Any]) -> None:
        started.set()
        try:
            await asyncio.Event().wait()
        finally:
            ended.append("hang")

    async def crash(arguments: dict[str, Any]) -> None:
        await started.wait()
        raise CrashError

    uses = ToolUses(assistant(use("a", "hang", {}), use("b", "crash", {})))

    with pytest.raises(CrashError):
        await uses.execute(executor_of(mock_tool("hang", hang), mock_tool("crash", crash)))

    assert ended == ["hang"]
    assert all(block.content.startswith("Interrupted, may have partly run") for block in uses.blocks())


ENDS = ("ok", "empty", "fails", "retries", "breaks", "late", "unknown", "no json", "hangs", "crashes")


@given(st.lists(st.sampled_from(ENDS), max_size=8), st.booleans())
@settings(max_examples=30 * STRESS, deadline=None)
def test_every_call_has_exactly_one_answer(ends: list[str], anthropic: bool) -> None:
    """Over successes, failures, timeouts, a cancellation in the middle of a call, and a crash."""
    asyncio.run(_paired(ends, anthropic))


async def _paired(ends: list[str], anthropic: bool) -> None:
    hanging = asyncio.Event()

    async def hang(arguments: dict[str, Any]) -> None:
        hanging.set()
        await asyncio.Event().wait()

    @base_tool(kind="read", timeout_seconds=0.001)
    async def late() -> str:
        """Take too long."""
        await asyncio.Event().wait()
        return ""

    tools = {
        "ok": mock_tool("ok"),
        "empty": mock_tool("empty", returns=""),
        "fails": mock_tool("fails", raises=ToolExecutionError("fails", "it broke")),
        "retries": mock_tool("retries", raises=ModelRetry("try again")),
        "breaks": mock_tool("breaks", raises=ZeroDivisionError),
        "hangs": mock_tool("hangs", hang),
        "crashes": mock_tool("crashes", raises=CrashError()),
        "late": late,
    }
    inputs = [(f"id {index % 5}", end, "{" if end == "no json" else {}) for index, end in enumerate(ends)]
    if anthropic:
        calls: ToolUses | ToolCalls = ToolUses(assistant(*(use(id, _tool(end), args) for id, end, args in inputs)))
    else:
        calls = ToolCalls({"tool_calls": [call(id, _tool(end), args) for id, end, args in inputs]})

    running = asyncio.create_task(calls.execute(executor_of(*tools.values())))
    reached = asyncio.create_task(hanging.wait())
    await asyncio.wait([running, reached], return_when=asyncio.FIRST_COMPLETED)
    running.cancel()
    reached.cancel()
    with suppress(asyncio.CancelledError, CrashError):
        await running

    if isinstance(calls, ToolUses):
        answered = [(block.tool_use_id, str(block.content)) for block in calls.blocks()]
    else:
        answered = [(answer["tool_call_id"], answer["content"]) for answer in calls.answers()]
    assert [id for id, _ in answered] == [id for id, _, _ in inputs]
    assert all(content.strip() for _, content in answered)
    told = ["Interrupted" in content for _, content in answered]
    assert any(told) == any(end in ("hangs", "crashes") for end in ends)
    assert all(told[index] for index, end in enumerate(ends) if end in ("hangs", "crashes"))


def _tool(end: str) -> str:
    return "ok" if end == "no json" else end
