"""An agent with the tools of an MCP server: governed as all others, and as they are at each step."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from pydantic_ai import Agent, DeferredToolRequests
from pydantic_ai.exceptions import UserError
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart, ToolReturnPart
from pydantic_ai.models.function import AgentInfo, FunctionModel

from tests.makers.mcp_server import a_server
from toolhaft import DuplicateToolError, Guardrails, Hook, Hooks, Pipeline, Registry, Toolkit
from toolhaft.attach.mcp_toolset import McpToolset
from toolhaft.makers.mcp import mcp_tools


class Script:
    """A model that makes these calls, one a turn, and remembers what it was offered and what it was answered."""

    def __init__(self, *calls: tuple[str, dict[str, Any]]) -> None:
        self.calls = list(calls)
        self.offered: list[list[str]] = []
        self.answers: list[str] = []
        self.model = FunctionModel(self._turn)

    def _turn(self, messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        self.offered.append([tool.name for tool in info.function_tools])
        self.answers += [part.model_response_str() for part in messages[-1].parts if isinstance(part, ToolReturnPart)]
        if not self.calls:
            return ModelResponse(parts=[TextPart("done")])
        name, args = self.calls.pop(0)
        return ModelResponse(parts=[ToolCallPart(name, args)])


async def run(script: Script, tools: Sequence[Any], **settings: Any) -> None:
    kit = Toolkit(tools=tools, **settings)
    await Agent(script.model, capabilities=[kit]).run("go")


async def test_a_server_is_given_to_the_toolkit_among_other_tools(tmp_path: Path) -> None:
    script = Script(("mcp_x_echo", {"text": "hi"}))

    await run(script, ["read_file", mcp_tools(a_server(), name="x")], workspace=tmp_path, mode="yolo")

    assert script.offered[0][:2] == ["read_file", "mcp_x_echo"]
    assert script.answers == ["hi"]


async def test_its_calls_meet_hooks(tmp_path: Path) -> None:
    script = Script(("mcp_x_echo", {"text": "hi"}))

    def shout(occasion: dict[str, Any]) -> dict[str, Any]:
        return {"updatedInput": {"text": "HI"}}

    hooks = Hooks([Hook("pre_tool_use", "shout", function=shout, matcher="mcp_.*")])
    await run(script, [mcp_tools(a_server(), name="x")], workspace=tmp_path, mode="yolo", hooks=hooks)

    assert script.answers == ["HI"]


async def test_its_calls_are_asked_about_whatever_its_hints_say(tmp_path: Path) -> None:
    script = Script(("mcp_x_echo", {"text": "hi"}))

    await run(script, [mcp_tools(a_server(), name="x")], workspace=tmp_path)

    assert "'mcp_x_echo' needs approval" in script.answers[0]


async def test_a_run_pauses_over_them_and_goes_on(tmp_path: Path) -> None:
    script = Script(("mcp_x_echo", {"text": "hi"}))
    kit = Toolkit(tmp_path, [mcp_tools(a_server(), name="x")])
    agent = Agent(script.model, capabilities=[kit], output_type=[str, DeferredToolRequests])

    paused = await agent.run("go")
    assert isinstance(paused.output, DeferredToolRequests)
    await agent.run(
        message_history=paused.all_messages(), deferred_tool_results=paused.output.build_results(approve_all=True)
    )

    assert script.answers == ["hi"]


async def test_allowed_tools_hold_for_them_where_a_pattern_is_about_them(tmp_path: Path) -> None:
    joined, chosen, nothing = Script(), Script(), Script()
    server = mcp_tools(a_server(), name="x")

    await run(joined, ["coding", server], workspace=tmp_path, allowed_tools=["read_file"])
    await run(chosen, ["coding", server], workspace=tmp_path, allowed_tools=["read_file", "mcp_x_e*"])
    await run(nothing, ["coding", server], workspace=tmp_path, allowed_tools=[])

    assert "mcp_x_hang" in joined.offered[0]
    assert chosen.offered[0] == ["read_file", "mcp_x_echo"]
    assert nothing.offered[0] == []


async def test_the_next_step_sees_what_a_server_learned(tmp_path: Path) -> None:
    script = Script(("mcp_x_learn", {"name": "fresh"}), ("mcp_x_echo", {"text": "a"}), ("mcp_x_fresh", {}))

    await run(script, [mcp_tools(a_server(), name="x")], workspace=tmp_path, mode="yolo")

    assert "mcp_x_fresh" not in script.offered[0]
    assert "mcp_x_fresh" in script.offered[2]
    assert script.answers[2] == "I am fresh"


async def test_failures_reach_the_model_and_the_run_goes_on(tmp_path: Path) -> None:
    script = Script(("mcp_x_fail", {}), ("mcp_x_fail", {}), ("mcp_x_echo", {"txt": 1}), ("mcp_x_echo", {"text": "a"}))

    await run(script, [mcp_tools(a_server(), name="x")], workspace=tmp_path, mode="yolo")

    assert "the disk is full" in script.answers[1]
    assert script.answers[-1] == "a"


async def test_two_servers_of_one_name_are_an_error(tmp_path: Path) -> None:
    same = [mcp_tools(a_server(), name="x"), mcp_tools(a_server(), name="x")]

    with pytest.raises(UserError, match="mcp"):
        await run(Script(), same, workspace=tmp_path)


async def test_two_functions_of_servers_of_one_name_are_an_error_too() -> None:
    async with mcp_tools(a_server(), name="x") as one, mcp_tools(a_server(), name="x") as other:
        with pytest.raises(DuplicateToolError, match="two tools are named 'mcp_x_echo'"):
            Toolkit(tools=[*one, *other])
        assert Toolkit(tools=[*one, *one]).toolset.specs.keys() == {tool.__name__ for tool in one}


async def test_it_is_a_toolset_for_any_agent(tmp_path: Path) -> None:
    script = Script(("mcp_x_echo", {"text": "hi"}))
    toolset = McpToolset(mcp_tools(a_server(), name="x"), pipeline=Pipeline(mode="yolo", guardrails=Guardrails()))

    await Agent(script.model, toolsets=[toolset]).run("go")

    assert script.answers == ["hi"]


async def test_an_opened_server_gives_functions_to_a_registry() -> None:
    async with mcp_tools(a_server(), name="x") as tools:
        registry = Registry()
        for tool in tools:
            registry.register(tool)

        assert "mcp_x_echo" in registry
