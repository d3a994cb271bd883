"""The tools of MCP servers: in this process, in one of their own, over HTTP, and servers that behave badly."""

import asyncio
import json
import logging
import os
import signal
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from anyio import create_task_group
from mcp import MCPError, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp.server import Server
from mcp.types import CallToolResult, ListToolsResult, TextContent, Tool
from pydantic_ai import BinaryContent
from pydantic_ai.exceptions import ToolFailed

from tests.makers.mcp_server import a_server
from toolhaft.makers.mcp import McpTools, mcp_tools, original_name, tool_name
from toolhaft.makers.mcp_connection import McpServerError
from toolhaft.registry import DuplicateToolError
from toolhaft.spec import ToolKind, tool_spec
from toolhaft.testing import not_applied, problems

COMMAND = [sys.executable, "-m", "tests.makers.mcp_server"]
ROOT = Path(__file__).parents[2]


@pytest.fixture
async def stdio() -> AsyncGenerator[McpTools]:
    server = StdioServerParameters(command=COMMAND[0], args=COMMAND[1:], cwd=ROOT)
    opened = mcp_tools(server, name="x", timeout_seconds=30)
    async with opened:
        yield opened


def listing(*names: str, **about: Any) -> Server[Any]:
    """A server that lists tools of these names, and answers to all."""

    async def on_list(ctx: Any, params: Any) -> ListToolsResult:
        return ListToolsResult(
            tools=[Tool(name=name, **{"input_schema": {"type": "object"}, **about}) for name in names]
        )

    async def on_call(ctx: Any, params: Any) -> CallToolResult:
        return CallToolResult(content=[TextContent(text=json.dumps([params.name, params.arguments]))])

    return Server("listing", on_list_tools=on_list, on_call_tool=on_call)


async def call(tools: McpTools, name: str, /, **args: Any) -> Any:
    named = {tool.__name__: tool for tool in await tools.tools()}
    return await named[f"mcp_{tools.name}_{name}"](args)


async def failure(tools: McpTools, name: str, /, **args: Any) -> str:
    with pytest.raises(ToolFailed) as failed:
        await call(tools, name, **args)
    return failed.value.message


async def test_a_server_in_this_process_gives_its_tools_to_the_letter() -> None:
    async with mcp_tools(a_server(), name="x") as tools:
        spec = tool_spec(tools[0])

        assert spec.name == "mcp_x_echo"
        assert "text: this line must reach the model to the letter." in spec.description
        assert (spec.kind, spec.sensitive) == (ToolKind.MCP, True)
        assert spec.schema["properties"]["times"] == {"default": 1, "title": "Times", "type": "integer"}
        assert spec.card()["mcp"] == {"server": "x", "tool": "echo", "annotations": {"readOnlyHint": True}}
        assert original_name(tools[0]) == "echo"
        assert await tools[0]({"text": "ab", "times": 2}) == "abab"


async def test_a_made_tool_keeps_the_rules_and_the_report_says_which_do_not_apply() -> None:
    async with mcp_tools(listing("bare", description=None), name="x") as tools:
        assert problems(tools[0]) == []
        assert set(not_applied(tools[0])) == {"named", "prompt", "parameters"}
        assert "an MCP server" in not_applied(tools[0])["prompt"]


@pytest.mark.parametrize("name", ["a.b", "ü", "x" * 60, "", " ", "a/b\n"])
def test_names_are_cut_to_what_providers_take_with_a_hash_of_the_whole(name: str) -> None:
    made = tool_name("x", name)

    assert len(made) <= 64
    assert made.isascii()
    assert all(letter.isalnum() or letter in "_-" for letter in made)
    assert name == "" or made != tool_name("x", name + "_")


async def test_names_that_are_cut_alike_stay_apart_and_the_original_is_called() -> None:
    long = "n" * 80
    async with mcp_tools(listing(f"{long}1", f"{long}2", "a.b", "a_b"), name="x") as tools:
        answers = [json.loads(await tool({}))[0] for tool in tools]

    assert answers == [f"{long}1", f"{long}2", "a.b", "a_b"]


async def test_two_tools_of_one_name_are_an_error() -> None:
    with pytest.raises(DuplicateToolError, match="two tools that would be named 'mcp_x_same'"):
        await mcp_tools(listing("same", "same"), name="x").tools()


async def test_all_pages_of_a_list_are_read() -> None:
    async def on_list(ctx: Any, params: Any) -> ListToolsResult:
        page = int((params and params.cursor) or 0)
        tool = Tool(name=f"t{page}", input_schema={"type": "object"})
        return ListToolsResult(tools=[tool], next_cursor=str(page + 1) if page < 4 else None)

    async with mcp_tools(Server("pages", on_list_tools=on_list), name="x") as tools:
        assert [tool.__name__ for tool in tools] == [f"mcp_x_t{page}" for page in range(5)]


async def test_what_the_server_calls_an_error_has_failed() -> None:
    tools = mcp_tools(a_server(), name="x")
    async with tools:
        assert "the disk is full" in await failure(tools, "fail")
        assert "and not why" in await failure(tools, "fail_silently")


async def test_images_and_resources_are_kept() -> None:
    tools = mcp_tools(a_server(), name="x")
    async with tools:
        text, image, words, archive, link = await call(tools, "media")

        assert (text, image.media_type, words) == ("see", "image/png", "[resource test://text]\nwords")
        assert archive == "[resource test://zip: application/zip, 2 bytes, not shown]"
        assert link == "[resource 'far': test://far, Not here.]"
        assert text.facts["structured"] == {"seen": 1}
        assert text.facts["resources"][1]["resource"]["blob"] == "UEs="


async def test_facts_without_text_are_told_too() -> None:
    tools = mcp_tools(a_server(), name="x")
    async with tools:
        first, image, broken = await call(tools, "only_image")
        facts = await call(tools, "facts")

    assert (first, first.facts) == ("[no text]", {"structured": {"seen": 1}})
    assert isinstance(image, BinaryContent)
    assert "not valid base64" in broken
    assert (facts, facts.facts) == ('{"seen":1}', {"structured": {"seen": 1}})


async def test_a_long_answer_is_cut_and_says_so() -> None:
    tools = mcp_tools(a_server(), name="x")
    async with tools:
        answer = await call(tools, "long")

    assert len(answer) < 101_000
    assert answer.endswith("[100,000 of 150,000 characters are shown. Ask for less.]")
    assert answer.facts["truncated"] is True


async def test_a_server_that_dies_in_a_call_is_reported_and_comes_back(stdio: McpTools) -> None:
    before = await call(stdio, "pid")

    told = await failure(stdio, "die")

    assert "the MCP server 'x' ended during the call, which may have been carried out or not" in told
    assert await call(stdio, "pid") != before


async def test_a_server_that_died_between_calls_is_started_anew_and_the_call_succeeds(stdio: McpTools) -> None:
    before = await call(stdio, "pid")
    os.kill(int(before), signal.SIGKILL)
    while stdio._connection._kept.is_open:  # type: ignore[union-attr]
        await asyncio.sleep(0.01)

    assert await call(stdio, "pid") != before


async def test_a_call_that_hangs_is_given_up_and_the_server_goes_on() -> None:
    tools = mcp_tools(a_server(), name="x", timeout_seconds=0.2)
    async with tools:
        told = await failure(tools, "hang")

        assert "neither an answer nor a sign of progress for 0.2 seconds" in told
        assert await call(tools, "echo", text="still here") == "still here"


async def test_a_server_that_freezes_is_ended_and_comes_back(stdio: McpTools) -> None:
    before = await call(stdio, "pid")
    stdio._connection.timeout_seconds = 1

    assert "neither an answer nor a sign" in await failure(stdio, "freeze")
    stdio._connection.timeout_seconds = 60  # in which it must start anew
    assert await call(stdio, "pid") != before


async def test_progress_extends_the_time_of_a_call() -> None:
    tools = mcp_tools(a_server(), name="x", timeout_seconds=1)
    async with tools:
        assert await call(tools, "work", steps=6, seconds=0.3) == "done"


async def test_a_list_that_changes_is_read_anew_and_reported(stdio: McpTools, caplog: pytest.LogCaptureFixture) -> None:
    old = await stdio.tools()
    with caplog.at_level(logging.WARNING, "toolhaft.mcp"):
        await call(stdio, "learn", name="fresh")
        while "mcp_x_fresh" not in {tool.__name__ for tool in await stdio.tools()}:
            await asyncio.sleep(0.01)

    now = await stdio.tools()
    assert await call(stdio, "fresh") == "I am fresh"
    assert old[0] is now[0]
    gone = next(tool for tool in old if tool.__name__ == "mcp_x_facts")
    with pytest.raises(ToolFailed, match="facts"):
        await gone({})
    assert "added tools: mcp_x_fresh" in caplog.text
    assert "removed tools: mcp_x_facts" in caplog.text


async def test_a_cancelled_call_is_cancelled_and_the_next_one_succeeds() -> None:
    tools = mcp_tools(a_server(), name="x")
    async with tools:
        hanging = asyncio.create_task(call(tools, "hang"))
        await asyncio.sleep(0)
        hanging.cancel()
        with pytest.raises(asyncio.CancelledError):
            await hanging

        assert await call(tools, "echo", text="on") == "on"


async def test_many_calls_go_side_by_side() -> None:
    tools = mcp_tools(a_server(), name="x")
    async with tools:
        answers = await asyncio.gather(*(call(tools, "echo", text=str(number)) for number in range(50)))

    assert answers == [str(number) for number in range(50)]


async def test_what_cannot_be_reached_says_so() -> None:
    with pytest.raises(McpServerError, match="'x' cannot be reached"):
        await mcp_tools(["/no/such/program"], name="x").tools()
    with pytest.raises(McpServerError, match="'x' cannot be reached"):
        await mcp_tools("http://127.0.0.1:1/mcp", name="x").tools()


async def test_a_program_that_is_no_server_is_given_up_in_time() -> None:
    with pytest.raises(McpServerError, match="'x' cannot be reached"):
        await mcp_tools([sys.executable, "-c", "input()\ninput()"], name="x", timeout_seconds=0.5).tools()


async def test_the_tools_stay_while_the_server_cannot_be_reached_and_calls_tell_why(tmp_path: Path) -> None:
    program = tmp_path / "server"
    program.write_text(f"#!/bin/sh\ncd {ROOT} && exec {' '.join(COMMAND)}\n")
    program.chmod(0o755)
    tools = mcp_tools([str(program)], name="x", timeout_seconds=30)
    async with tools:
        program.unlink()
        assert "ended during the call" in await failure(tools, "die")

        assert "cannot be reached" in await failure(tools, "echo", text="a")
        assert len(await tools.tools()) > 5


def answering(answer: CallToolResult | Exception, **about: Any) -> Server[Any]:
    """A server with one tool, `it`, that answers so."""

    async def on_list(ctx: Any, params: Any) -> ListToolsResult:
        return ListToolsResult(tools=[Tool(name="it", **{"input_schema": {"type": "object"}, **about})])

    async def on_call(ctx: Any, params: Any) -> CallToolResult:
        if isinstance(answer, Exception):
            raise answer
        return answer

    return Server("answering", on_list_tools=on_list, on_call_tool=on_call)


PROPERTIES: dict[str, Any] = {
    "kind": {"type": ["string", "null"], "default": None},
    "node": {"$ref": "#/$defs/Node"},
    "mode": {"anyOf": [{"enum": ["x", 1, None]}, {"const": {"a": [1.5]}}], "default": "x"},
    "class": {"type": "string", "pattern": "^(?<name>a)$", "x-own": True},
}
SCHEMAS: list[dict[str, Any]] = [
    {"type": "object"},
    {"type": "object", "properties": {}, "additionalProperties": False},
    {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "type": "object",
        "$defs": {"Node": {"type": "object", "properties": {"next": {"$ref": "#/$defs/Node"}}}},
        "properties": PROPERTIES,
        "required": ["node"],
        "title": "T",
        "description": "D",
    },
]


@pytest.mark.parametrize("schema", SCHEMAS)
async def test_a_schema_that_comes_over_the_wire_is_the_one_that_was_sent(schema: dict[str, Any]) -> None:
    async with mcp_tools(answering(CallToolResult(content=[]), input_schema=schema), name="x") as tools:
        assert tool_spec(tools[0]).schema == schema
        assert list(tool_spec(tools[0]).schema.get("properties", ())) == list(schema.get("properties", ()))


async def test_what_the_server_refuses_has_failed_and_the_next_call_goes_on() -> None:
    tools = mcp_tools(answering(MCPError(code=-32602, message="not today")), name="x")
    async with tools:
        told = [await failure(tools, "it"), await failure(tools, "it")]

    assert told == ["Tool 'mcp_x_it' failed: the MCP server 'x' refused the call: not today"] * 2


async def test_an_answer_that_breaks_the_servers_own_promise_has_failed() -> None:
    wrong = CallToolResult(content=[TextContent(text="one")], structured_content={"n": "one"})
    schema = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
    tools = mcp_tools(answering(wrong, output_schema=schema), name="x")
    async with tools:
        assert "could not be understood" in await failure(tools, "it")


async def test_a_failure_may_be_told_in_facts_alone() -> None:
    tools = mcp_tools(
        answering(CallToolResult(content=[], structured_content={"why": "full"}, is_error=True)), name="x"
    )
    async with tools:
        assert '{"why":"full"}' in await failure(tools, "it")


async def test_whoever_waits_for_a_server_to_start_may_be_cancelled(tmp_path: Path) -> None:
    started = tmp_path / "started"
    tools = mcp_tools([sys.executable, "-c", f"open({str(started)!r}, 'w'); input(); input(); input()"], name="x")
    waiting = asyncio.create_task(tools.tools())
    while not started.exists():
        await asyncio.sleep(0.01)
    waiting.cancel()

    with pytest.raises(asyncio.CancelledError):
        await waiting


async def test_a_transport_that_breaks_is_reported_and_opened_anew(caplog: pytest.LogCaptureFixture) -> None:
    breaks: list[asyncio.Event] = []

    @asynccontextmanager
    async def fragile() -> AsyncGenerator[Any]:
        breaks.append(asyncio.Event())

        async def wait_and_break(event: asyncio.Event) -> None:
            await event.wait()
            raise OSError("the line is cut")

        server = StdioServerParameters(command=COMMAND[0], args=COMMAND[1:], cwd=ROOT)
        async with stdio_client(server) as streams, create_task_group() as group:
            group.start_soon(wait_and_break, breaks[-1])
            yield streams
            group.cancel_scope.cancel()

    tools = mcp_tools(fragile, name="x")
    async with tools:
        before = await call(tools, "pid")
        breaks[0].set()
        while tools._connection._kept.is_open:  # type: ignore[union-attr]
            await asyncio.sleep(0.01)
        while "the line is cut" not in caplog.text:
            await asyncio.sleep(0.01)

        assert await call(tools, "pid") != before


async def test_a_transport_may_be_opened_by_a_function() -> None:
    server = StdioServerParameters(command=COMMAND[0], args=COMMAND[1:], cwd=ROOT)

    async with mcp_tools(lambda: stdio_client(server), name="x") as tools:
        assert await tools[0]({"text": "a"}) == "a"


@pytest.mark.parametrize("server", ["npx some-server", [], [1], None])
def test_what_is_no_server_is_refused_at_once(server: Any) -> None:
    with pytest.raises(TypeError, match="no MCP server|no URL"):
        mcp_tools(server, name="x")


@pytest.mark.parametrize("name", ["", "a b", "x" * 33])
def test_a_server_has_a_name_that_can_stand_in_names_of_tools(name: str) -> None:
    with pytest.raises(ValueError, match="cannot stand in names of tools"):
        mcp_tools(a_server(), name=name)


def test_without_the_library_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("toolhaft.makers.mcp_reach.find_spec", lambda name: None)

    with pytest.raises(ImportError, match=r"pip install 'toolhaft\[mcp\]'"):
        mcp_tools("https://example.com", name="x")
