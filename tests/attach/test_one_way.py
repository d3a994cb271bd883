"""Tools are awaited by the pipeline and by nobody else: looked for in the source, and seen from inside a tool."""

import ast
import sys
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from pydantic_ai import Agent

import toolhaft
from tests.attach.agents import calling
from toolhaft import Executor, GovernedToolset, Registry, Toolkit, base_tool
from toolhaft.attach.anthropic import execute_tool_uses
from toolhaft.attach.model_calls import ModelCall
from toolhaft.attach.openai import execute_tool_calls

SOURCE = Path(toolhaft.__file__).parent

# How a tool can be run: as a card's function, through pydantic-ai, or as what the pipeline is handed.
_RUNS = ("function", "call_tool", "call_func", "handle_call", "pydantic_tool")
WHO_RUNS_TOOLS = {
    ("pipeline/pipeline.py", "RunTool"),  # the law
    ("attach/toolset.py", "call_tool"),  # the leaf, which hands the law what it may await
    ("attach/executor.py", "handle_call"),  # comes to the leaf
    ("attach/toolset.py", "pydantic_tool"),  # the leaf's own tools; no call
    ("attach/mcp_toolset.py", "pydantic_tool"),  # the same for a server's tools
    ("attach/gate.py", "call_tool"),  # a stranger's tool, which the law has admitted
    ("registry.py", "pydantic_tool"),  # tools for an agent without a toolkit; no call
}


def runs(file: Path) -> Iterator[str]:
    """The ways in which a source file runs tools."""
    tree = ast.parse(file.read_text())
    awaited = {
        argument.arg
        for node in ast.walk(tree)
        if isinstance(node, ast.AsyncFunctionDef | ast.FunctionDef)
        for argument in (*node.args.args, *node.args.kwonlyargs)
        if argument.annotation is not None and "RunTool" in ast.unparse(argument.annotation)
    }
    tools = {
        name.asname or name.name
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("toolhaft.tools")
        for name in node.names
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _RUNS:
            yield node.func.attr
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in awaited:
            yield "RunTool"
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in tools:
            yield node.func.id
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Call):  # registry.get(name)(...)
            inner = node.func.func
            if isinstance(inner, ast.Attribute) and inner.attr in ("get", "load"):
                yield inner.attr


def test_in_the_source_nobody_else_runs_a_tool() -> None:
    # What stands in `tools` and `makers` is the inside of a tool: there one that was judged asks a server's.
    inside = {"tools", "makers"}
    rooms = [file for file in SOURCE.rglob("*.py") if not inside & set(file.relative_to(SOURCE).parts)]

    found = {(str(file.relative_to(SOURCE)), how) for file in rooms for how in runs(file)}

    assert found == WHO_RUNS_TOOLS


@base_tool(kind="read")
async def who() -> str:
    """Tell who awaits this tool."""
    frame, awaiting = sys._getframe(), list[str]()
    while frame is not None:
        if frame.f_code.co_filename.startswith(str(SOURCE)):
            awaiting.append(f"{Path(frame.f_code.co_filename).relative_to(SOURCE)}:{frame.f_code.co_name}")
        frame = frame.f_back
    return " ".join(awaiting)


def registry() -> Registry:
    made = Registry()
    made.register(who)
    return made


async def by_agent(**settings: Any) -> str:
    result = await Agent(calling([("who", {})]), **settings).run("Go.")
    return str(result.all_messages()[2].parts[0].content)  # type: ignore[union-attr]


async def by_toolkit() -> str:
    return await by_agent(capabilities=[Toolkit(tools=[who])])


async def by_toolset() -> str:
    return await by_agent(toolsets=[GovernedToolset([who])])


async def by_renamed_toolset() -> str:
    toolset = GovernedToolset([who]).prefixed("my").renamed({"who": "my_who"})
    return await by_agent(toolsets=[toolset])


async def by_executor() -> str:
    return (await Executor(registry()).execute("who", {})).output


async def by_many() -> str:
    return (await Executor(registry()).execute_many([ModelCall("c1", "who", {})]))[0].output


async def by_anthropic() -> str:
    message = {"content": [{"type": "tool_use", "id": "t1", "name": "who", "input": {}}]}
    return (await execute_tool_uses(message, Executor(registry())))[0].content


async def by_openai() -> str:
    call = {"id": "c1", "type": "function", "function": {"name": "who", "arguments": "{}"}}
    return (await execute_tool_calls({"tool_calls": [call]}, Executor(registry())))[0].output


DOORS = [by_toolkit, by_toolset, by_renamed_toolset, by_executor, by_many, by_anthropic, by_openai]


@pytest.mark.parametrize("door", DOORS)
async def test_whatever_the_door_the_pipeline_awaits_the_tool(door: Callable[[], Awaitable[str]]) -> None:
    awaiting = await door()

    assert "attach/toolset.py:run pipeline/pipeline.py:" in awaiting
    assert "pipeline/pipeline.py:run attach/toolset.py:call_tool" in awaiting


async def test_without_a_door_nobody_does() -> None:
    """A decorated tool stays a function that can be awaited."""
    assert "pipeline" not in await who()
