"""An agent as a tool of another: whatever becomes of it, the one above gets a true result."""

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel
from pydantic_ai import Agent, DeferredToolRequests, RunContext, UsageLimits
from pydantic_ai.exceptions import ModelHTTPError, RunCancelled, UsageLimitExceeded
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart, ToolReturnPart
from pydantic_ai.models.function import AgentInfo, FunctionModel

from toolhaft import Abort, GovernedToolset, Guardrails, Pipeline, Toolkit, base_tool, tool_spec
from toolhaft.exceptions import ToolDefinitionError
from toolhaft.makers.agent import agent_tool
from toolhaft.testing import not_applied, problems
from toolhaft.tools import bash

Turn = Callable[[list[ModelMessage]], ModelResponse]


def says(text: str) -> ModelResponse:
    return ModelResponse(parts=[TextPart(text)])


def calls(name: str, **args: Any) -> ModelResponse:
    return ModelResponse(parts=[ToolCallPart(name, args)])


def model_of(*turns: ModelResponse | Exception) -> FunctionModel:
    """A model that answers so, turn by turn; the last one again and again."""
    left = list(turns)

    def turn(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        answer = left.pop(0) if len(left) > 1 else left[0]
        if isinstance(answer, Exception):
            raise answer
        return answer

    return FunctionModel(turn)


def answers(messages: list[ModelMessage]) -> list[str]:
    parts = [part for message in messages for part in message.parts]
    return [part.model_response_str() for part in parts if isinstance(part, ToolReturnPart)]


def below(agent: Agent[Any, Any], **settings: Any) -> GovernedToolset:
    return GovernedToolset(
        [agent_tool(agent, "delegate", "Does it.", **settings)], pipeline=Pipeline(mode="yolo"), id="above"
    )


async def outcome(agent: Agent[Any, Any], **settings: Any) -> tuple[str, bool]:
    """What the run above reads of a delegated task, and whether it went on to its end."""
    above = Agent(model_of(calls("delegate", task="do it"), says("done")), toolsets=[below(agent, **settings)])
    result = await above.run("go")
    (told,) = answers(result.all_messages())
    return told, result.output == "done"


@base_tool(kind="write")
async def change(what: str) -> str:
    """Change it."""
    return f"changed {what}"


async def test_a_task_goes_in_and_the_answer_comes_out() -> None:
    heard: list[str] = []

    def turn(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        heard.append(str(messages[0].parts[-1].content))  # type: ignore[union-attr]
        return says("it is 42")

    assert await outcome(Agent(FunctionModel(turn))) == ("it is 42", True)
    assert heard == ["do it"]


async def test_an_answer_that_is_no_text_becomes_json() -> None:
    class Found(BaseModel):
        number: int

    agent = Agent(model_of(calls("final_result", number=42)), output_type=Found)

    assert await outcome(agent) == ('{"number":42}', True)


async def test_the_agent_gets_the_deps_and_the_conversation_of_the_run_above() -> None:
    seen: list[Any] = []
    agent = Agent(model_of(calls("look"), says("seen")), deps_type=str)

    @agent.tool
    async def look(ctx: RunContext[str]) -> str:
        seen.append((ctx.deps, ctx.conversation_id))
        return "ok"

    above = Agent(model_of(calls("delegate", task="t"), says("done")), deps_type=str, toolsets=[below(agent)])
    await above.run("go", deps="mine", conversation_id="talk")

    assert seen == [("mine", "talk")]


async def test_usage_is_shared() -> None:
    above = Agent(model_of(calls("delegate", task="t"), says("done")), toolsets=[below(Agent(model_of(says("ok"))))])

    assert (await above.run("go")).usage.requests == 3


async def test_the_limits_of_the_run_above_hold_below() -> None:
    looping = Agent(model_of(calls("change", what="it")), toolsets=[GovernedToolset([change], pipeline=YOLO)])
    above = Agent(model_of(calls("delegate", task="t"), says("done")), toolsets=[below(looping)])

    with pytest.raises(UsageLimitExceeded, match="5"):
        await above.run("go", usage_limits=UsageLimits(request_limit=5))


YOLO = Pipeline(mode="yolo")


async def test_an_agent_that_loops_is_stopped_at_its_own_limit_and_the_run_above_goes_on() -> None:
    looping = Agent(model_of(calls("change", what="it")), toolsets=[GovernedToolset([change], pipeline=YOLO)])

    told, went_on = await outcome(looping, request_limit=4)

    assert "stopped at a limit" in told
    assert "what it did until then stays done" in told
    assert went_on


@pytest.mark.parametrize("error", [ModelHTTPError(500, "its-model"), RuntimeError("no key")])
async def test_an_agent_that_fails_is_a_failed_result(error: Exception) -> None:
    told, went_on = await outcome(Agent(model_of(error)))

    assert "Tool 'delegate' failed" in told
    assert str(error).partition(",")[0] in told
    assert went_on


async def test_an_agent_that_waits_for_approval_is_a_failed_result_that_names_the_calls() -> None:
    kit = Toolkit(tools=[change])
    pausing = Agent(model_of(calls("change", what="it")), capabilities=[kit], output_type=[str, DeferredToolRequests])

    told, went_on = await outcome(pausing)

    assert "it waits for somebody's answer about change(what='it'); that has not run" in told
    assert went_on


async def test_an_agent_that_cancels_itself_is_a_failed_result() -> None:
    agent = Agent(model_of(calls("stop"), says("unreachable")))

    @agent.tool
    async def stop(ctx: RunContext[None]) -> str:
        ctx.cancel()
        return ""

    told, went_on = await outcome(agent)

    assert "the agent was cancelled" in told
    assert went_on


async def test_cancelling_the_run_above_cancels_the_agent() -> None:
    begun, ended = asyncio.Event(), asyncio.Event()
    agent = Agent(model_of(calls("wait"), says("unreachable")))

    @agent.tool_plain
    async def wait() -> str:
        begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()
        return ""

    running = asyncio.create_task(outcome(agent))
    await begun.wait()
    running.cancel()

    with pytest.raises(asyncio.CancelledError):
        await running
    assert ended.is_set()


async def test_agents_below_each_other_are_bounded() -> None:
    agent: Agent[None, str] = Agent(model_of(calls("delegate", task="deeper")))
    tool = agent_tool(agent, "delegate", "Does it.", max_depth=2)
    told: list[str] = []

    def turn(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        told.extend(answers(messages[-1:]))
        return says("I cannot") if answers(messages) else calls("delegate", task="deeper")

    governed = GovernedToolset([tool], pipeline=YOLO)
    with agent.override(model=FunctionModel(turn), toolsets=[governed]):
        await Agent(FunctionModel(turn), toolsets=[GovernedToolset([tool], pipeline=YOLO)]).run("go")

    assert "2 agents work below each other already" in told[0]
    assert told[1:] == ["I cannot", "I cannot"]


async def test_that_its_call_was_judged_lets_its_bare_tools_run_no_dangerous_command(tmp_path: Path) -> None:
    agent = Agent(model_of(calls("bash", command="touch made"), says("done")), tools=[bash])
    seen: list[str] = []

    def turn(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        seen.extend(answers(messages[-1:]))
        return says("ended") if seen else calls("bash", command="touch made")

    tool = agent_tool(agent, "delegate", "Does it.")
    toolset = GovernedToolset([tool], workspace=tmp_path, pipeline=YOLO)
    with agent.override(model=FunctionModel(turn)):
        await Agent(model_of(calls("delegate", task="t"), says("done")), toolsets=[toolset]).run("go")

    assert not (tmp_path / "made").exists()
    assert seen != ["ended"]


async def test_the_toolkit_gives_the_agent_its_tools_its_rules_and_its_folder(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("words")
    kit = Toolkit(tmp_path, ["read_file", "write_file"], guardrails=Guardrails(protected_files=["*.lock"]))
    worker = Agent(
        model_of(
            calls("read_file", filepath="a.txt"),
            calls("write_file", filepath="b.lock", content=""),
            calls("write_file", filepath="b.txt", content=""),
            says("that is all"),
        )
    )
    seen: list[str] = []

    @worker.output_validator
    def keep(ctx: RunContext[None], output: str) -> str:
        seen.extend(answers(ctx.messages))
        return output

    kit.agent_tool(worker, "delegate", "Does it.")
    result = await Agent(model_of(calls("delegate", task="t"), says("done")), capabilities=[kit]).run("go")

    assert answers(result.all_messages()) == ["that is all"]
    assert "words" in seen[0]
    assert "protected_files" in seen[1]
    assert "needs approval" in seen[2]


async def test_own_tools_of_the_agent_are_judged_by_the_toolkit_too(tmp_path: Path) -> None:
    worker = Agent(model_of(calls("change", what="it"), says("that is all")), tools=[change])
    kit = Toolkit(tmp_path, ["read_file"])
    seen: list[str] = []

    @worker.output_validator
    def keep(ctx: RunContext[None], output: str) -> str:
        seen.extend(answers(ctx.messages))
        return output

    kit.agent_tool(worker, "delegate", "Does it.")
    await Agent(model_of(calls("delegate", task="t"), says("done")), capabilities=[kit]).run("go")

    assert "'change' needs approval" in seen[0]


async def test_whoever_aborts_below_ends_the_run_above(tmp_path: Path) -> None:
    kit = Toolkit(tmp_path, ["write_file"], answerer=lambda tool, args, preview: Abort())
    worker = Agent(model_of(calls("write_file", filepath="a", content=""), says("unreachable")))
    kit.agent_tool(worker, "delegate", "Does it.")
    above = Agent(model_of(calls("delegate", task="t"), says("unreachable")), capabilities=[kit])

    with pytest.raises(RunCancelled):
        await above.run("go")
    assert not (tmp_path / "a").exists()


def test_it_is_a_tool_that_keeps_the_rules_and_asks_unless_told_not_to() -> None:
    tool = agent_tool(Agent(model_of(says("x"))), "delegate", "Does it.", kind="memory", timeout_seconds=9)
    spec = tool_spec(tool)

    assert (spec.name, spec.description, spec.sensitive, spec.timeout_seconds) == ("delegate", "Does it.", True, 9)
    assert list(spec.schema["properties"]) == ["task"]
    assert spec.schema["properties"]["task"]["description"]
    assert problems(tool) == []
    assert "an agent" in not_applied(tool)["named"]


def test_it_must_say_what_it_is_for() -> None:
    with pytest.raises(ToolDefinitionError, match="description is empty"):
        agent_tool(Agent(model_of(says("x"))), "delegate", " ")
