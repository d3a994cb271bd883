"""What a type checker sees of decorated functions; read by pyright, never imported."""

from collections.abc import Callable, Coroutine
from typing import Any, assert_type

from pydantic_ai import Agent, RunContext

from toolhaft.decorators import base_tool, file_tool
from toolhaft.makers import tool_from_function
from toolhaft.spec import ToolKind, ToolSpec, ToolText, tool_spec


@base_tool
async def bare(query: str, limit: int = 10) -> str:
    return query * limit


@base_tool(kind="network", timeout_seconds=30)
async def with_options(query: str) -> ToolText:
    return ToolText(query)


@file_tool
async def reads(filepath: str, *, offset: int = 1) -> str:
    return filepath * offset


@file_tool(writes=True, kind=ToolKind.WRITE)
async def writes(ctx: RunContext[int], filepath: str) -> list[str]:
    return [filepath, str(ctx.deps)]


class Service:
    async def look_up(self, key: str) -> str:
        return key


async def checks(ctx: RunContext[int]) -> None:
    assert_type(await bare("a", limit=2), str)
    pending: Coroutine[Any, Any, str] = bare("a")
    await pending
    assert_type(await with_options(query="a"), ToolText)
    assert_type(await reads("a", offset=3), str)
    assert_type(await writes(ctx, "a"), list[str])
    assert_type(await base_tool(Service().look_up)("k"), str)
    assert_type(tool_spec(bare), ToolSpec)
    Agent("test", tools=[bare, with_options, reads])
    made: Callable[..., Any] = tool_from_function(lambda args: args, name="m", description="d", kind="mcp")
    assert_type(await made({}), Any)
