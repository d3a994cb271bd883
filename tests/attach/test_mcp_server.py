"""Tools of ours, as a client of the official SDK sees and calls them."""

import logging
from pathlib import Path
from typing import Any

import pytest
from mcp import Client
from mcp.types import AudioContent, CallToolResult, EmbeddedResource, ImageContent, TextContent
from pydantic_ai import BinaryContent, ModelRetry

from toolhaft import Executor, Pipeline, Registry, ToolText, base_tool, discover_package, tool_spec
from toolhaft.approvals import MemoryStore
from toolhaft.approvals.desk import Desk
from toolhaft.attach.mcp_server import mcp_server
from toolhaft.registry import ToolNotFoundError


def registry_of(*tools: Any) -> Registry:
    registry = Registry()
    for tool in tools:
        registry.register(tool)
    return registry


def client_of(*tools: Any, mode: Any = "yolo", **settings: Any) -> Client:
    return Client(mcp_server(Executor(registry_of(*tools), Pipeline(mode=mode), **settings)))


def text(result: CallToolResult) -> str:
    return "\n".join(block.text for block in result.content if isinstance(block, TextContent))


@base_tool(kind="read")
async def measure(word: str, times: int = 1) -> str:
    """Measure a word."""
    return ToolText(str(len(word) * times), truncated=False, unit="letters")


@base_tool(kind="write", idempotent=True)
async def change(what: str) -> str:
    """Change it."""
    return f"changed {what}"


async def test_all_built_in_tools_are_listed_with_their_own_words_and_schemas() -> None:
    registry = Registry().register_all()

    async with Client(mcp_server(Executor(registry))) as client:
        listed = (await client.list_tools()).tools

    assert [tool.name for tool in listed] == registry.names()
    for tool in listed:
        spec = tool_spec(registry.get(tool.name))
        assert (tool.description, tool.input_schema) == (spec.description, spec.schema)


async def test_annotations_say_what_the_kind_says() -> None:
    async with Client(mcp_server(Executor(Registry().register_all()))) as client:
        hints = {tool.name: tool.annotations for tool in (await client.list_tools()).tools}

    assert hints["read_file"].model_dump(exclude_none=True) == {
        "read_only_hint": True,
        "destructive_hint": False,
        "idempotent_hint": True,
        "open_world_hint": False,
    }
    assert hints["bash"].destructive_hint is True
    assert hints["bash"].read_only_hint is False


async def test_some_tools_may_be_offered_and_others_not() -> None:
    executor = Executor(Registry().register_all(), Pipeline(mode="yolo"))

    async with Client(mcp_server(executor, tools=["search"])) as client:
        names = [tool.name for tool in (await client.list_tools()).tools]
        refused = await client.call_tool("bash", {"command": "true"})

    assert names == ["grep", "search_code", "glob", "find_files"]
    assert refused.is_error
    assert "'bash' is not offered here" in text(refused)
    with pytest.raises(ToolNotFoundError):
        mcp_server(executor, tools=["no_such"])


async def test_an_answer_arrives_with_its_facts_beside_it() -> None:
    async with client_of(measure) as client:
        answer = await client.call_tool("measure", {"word": "house"})

    assert (answer.is_error, text(answer)) == (False, "5")
    assert answer.meta is not None
    assert answer.meta["toolhaft"] == {"metadata": {"unit": "letters"}}


async def test_an_unknown_tool_is_a_failed_result_that_names_near_ones() -> None:
    async with client_of(measure) as client:
        answer = await client.call_tool("mesure", {})

    assert answer.is_error
    assert "no tool is named 'mesure' (near: 'measure')" in text(answer)


async def test_invalid_arguments_are_a_failed_result_that_says_which() -> None:
    async with client_of(measure) as client:
        answer = await client.call_tool("measure", {"word": 3, "tims": 1})

    assert answer.is_error
    assert "word: Input should be a valid string (got '3')" in text(answer)
    assert "tims" in text(answer)


async def test_what_a_tool_says_of_its_failure_arrives() -> None:
    @base_tool(kind="read")
    async def picky() -> str:
        """Fail."""
        raise ModelRetry("say please")

    async with client_of(picky) as client:
        answer = await client.call_tool("picky", {})

    assert (answer.is_error, text(answer)) == (True, "say please")


async def test_what_nobody_meant_to_say_stays_here(caplog: pytest.LogCaptureFixture) -> None:
    executor = Executor(registry_of(measure))

    async def broken(*args: Any, **how: Any) -> Any:
        raise RuntimeError("password=hunter2")

    executor.execute = broken  # type: ignore[method-assign]
    with caplog.at_level(logging.ERROR, "toolhaft.mcp"):
        async with Client(mcp_server(executor)) as client:
            answer = await client.call_tool("measure", {"word": "a"})

    assert answer.is_error
    assert "hunter2" not in text(answer)
    assert "failed inside the server" in text(answer)
    assert "hunter2" in caplog.text


async def test_a_tool_that_does_not_load_is_left_out_and_the_log_says_so(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = tmp_path / "broken_tools"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "gone.py").write_text("import no_such_module_at_all\n")
    monkeypatch.syspath_prepend(tmp_path)

    registry = registry_of(measure).register_source(discover_package("broken_tools"))
    async with Client(mcp_server(Executor(registry))) as client:
        assert [tool.name for tool in (await client.list_tools()).tools] == ["measure"]

    assert "'gone' is not offered" in caplog.text


async def test_images_and_other_media_arrive() -> None:
    @base_tool(kind="read")
    async def gallery() -> list[str | BinaryContent]:
        """Show."""
        return [
            "see",
            BinaryContent(b"png", media_type="image/png"),
            BinaryContent(b"wav", media_type="audio/wav"),
            BinaryContent(b"%PDF", media_type="application/pdf"),
        ]

    async with client_of(gallery) as client:
        answer = await client.call_tool("gallery", {})

    assert [type(block) for block in answer.content] == [TextContent, ImageContent, AudioContent, EmbeddedResource]


async def test_what_is_sensitive_is_refused_where_nobody_can_be_asked() -> None:
    async with client_of(measure, change, mode="confirm-sensitive") as client:
        refused = await client.call_tool("change", {"what": "a"})
        read = await client.call_tool("measure", {"word": "a"})

    assert refused.is_error
    assert "'change' needs approval" in text(refused)
    assert "Nothing has run" in text(refused)
    assert not read.is_error


async def test_what_is_sensitive_is_filed_where_there_is_a_store_and_runs_once_when_it_comes_again() -> None:
    async with MemoryStore() as store, client_of(change, mode="confirm-sensitive", approvals=store) as client:
        desk = Desk(store, registry_of(change))
        filed = await client.call_tool("change", {"what": "a"})
        waiting = await client.call_tool("change", {"what": "a"})
        (record,) = await desk.pending()
        await desk.approve(record.call_id, {"what": "b"}, by="ann")
        done = await client.call_tool("change", {"what": "a"})
        again = await client.call_tool("change", {"what": "a"})

    assert filed.is_error
    assert f"filed for approval as {record.call_id!r}" in text(filed)
    assert "Nobody has decided yet" in text(waiting)
    assert not done.is_error
    assert "changed b" in text(done)
    assert "filed for approval" in text(again)


async def test_a_rejection_is_told_with_its_reason() -> None:
    async with MemoryStore() as store, client_of(change, mode="confirm-sensitive", approvals=store) as client:
        await client.call_tool("change", {"what": "a"})
        desk = Desk(store, registry_of(change))
        (record,) = await desk.pending()
        await desk.reject(record.call_id, "not today", by="ann")
        told = await client.call_tool("change", {"what": "a"})

    assert told.is_error
    assert text(told) == "A person rejected it: not today. Nothing has run."
