"""Each event of a run, from the place where it is fired to the hook."""

import asyncio
import json
from itertools import pairwise
from pathlib import Path
from typing import Any, NoReturn

import pytest
from pydantic_ai import Agent, DeferredToolRequests, ModelRetry, RunContext
from pydantic_ai.capabilities import ProcessHistory
from pydantic_ai.exceptions import ApprovalRequired, RunCancelled, UsageLimitExceeded
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart
from pydantic_ai.models.function import AgentInfo, FunctionModel
from pydantic_ai.models.test import TestModel
from pydantic_ai.usage import UsageLimits

from tests.attach.agents import calling
from toolhaft.attach.events import RunBlockedError, RunEvents
from toolhaft.attach.toolkit import Toolkit
from toolhaft.pipeline.hooks import Block, Hook, HookEvent, Hooks

Told = dict[str, Any]


def recording(*events: str) -> tuple[RunEvents, list[Told]]:
    """The events of a run that are heard, and where they are written down."""
    heard: list[Told] = []
    return RunEvents(Hooks([Hook(event, "spy", function=heard.append) for event in events])), heard


def told(heard: list[Told]) -> list[Told]:
    """What was heard, without what is different in each run."""
    return [{key: value for key, value in one.items() if key not in ("run_id", "conversation_id")} for one in heard]


def steps(count: int) -> FunctionModel:
    """A model that calls `step` so many times."""
    return calling(*[[("step", {})]] * count)


def step() -> str:
    """Do a step."""
    return "done"


async def test_a_session_starts_and_ends_with_the_run() -> None:
    events, heard = recording("session_start", "session_end", "agent_complete")

    await Agent(TestModel(custom_output_text="It is done."), capabilities=[events]).run("Do it.")

    assert told(heard) == [
        {"event": "session_start", "prompt": "Do it."},
        {"event": "agent_complete", "output": "It is done."},
        {"event": "session_end", "outcome": "completed"},
    ]
    assert len({one["run_id"] for one in heard}) == 1
    assert all(one["conversation_id"] for one in heard)


async def test_calls_of_the_model_are_told_of_before_and_after() -> None:
    events, heard = recording("pre_llm_call", "post_llm_call")

    await Agent(steps(1), tools=[step], capabilities=[events]).run("Do it.")

    assert [one["event"] for one in heard] == ["pre_llm_call", "post_llm_call"] * 2
    assert [one["messages"] for one in heard[::2]] == [1, 3]
    assert heard[0]["request"]["parts"][0]["content"] == "Do it."
    assert heard[2]["request"]["parts"][0]["content"] == "done"
    assert heard[1]["response"]["parts"][0]["tool_name"] == "step"
    assert heard[3]["response"]["parts"][0]["content"] == "done"
    assert all(one["model"] for one in heard)


async def test_a_streamed_run_has_the_same_events() -> None:
    events, heard = recording("session_start", "pre_llm_call", "post_llm_call", "agent_complete", "session_end")

    async with Agent(TestModel(custom_output_text="done"), capabilities=[events]).run_stream("Do it.") as stream:
        await stream.get_output()

    assert [one["event"] for one in heard] == [
        "session_start",
        "pre_llm_call",
        "post_llm_call",
        "agent_complete",
        "session_end",
    ]


async def test_a_pre_hook_ends_the_run_before_the_model_is_called() -> None:
    requests: list[object] = []

    def respond(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        requests.append(messages)
        return ModelResponse(parts=[TextPart("done")])

    def no(told: Told) -> NoReturn:
        raise Block("no more calls today")

    hooks = Hooks([Hook("pre_llm_call", "quota", function=no)])

    with pytest.raises(RunBlockedError, match="Blocked by hook quota: no more calls today"):
        await Agent(FunctionModel(respond), capabilities=[RunEvents(hooks)]).run("Do it.")

    assert requests == []


async def test_a_broken_pre_hook_ends_the_run_too() -> None:
    hooks = Hooks([Hook("pre_llm_call", "quota", command="exit 1")])

    with pytest.raises(RunBlockedError, match="the hook itself failed"):
        await Agent(TestModel(), capabilities=[RunEvents(hooks)]).run("Do it.")


async def test_an_error_of_the_run_is_told_of() -> None:
    def crash(messages: list[ModelMessage], info: AgentInfo) -> NoReturn:
        raise ConnectionError("no route to the model")

    events, heard = recording("on_error", "session_end", "agent_complete")

    with pytest.raises(ConnectionError):
        await Agent(FunctionModel(crash), capabilities=[events]).run("Do it.")

    assert told(heard) == [
        {"event": "on_error", "error": "ConnectionError: no route to the model"},
        {"event": "session_end", "outcome": "failed"},
    ]


async def test_a_broken_hook_is_told_of_as_an_error() -> None:
    heard: list[Told] = []
    broken = Hook("session_start", "broken", command="exit 3")
    hooks = Hooks([broken, Hook("on_error", "spy", function=heard.append)])

    await Agent(TestModel(), capabilities=[RunEvents(hooks)]).run("Do it.")

    assert heard == [
        {"event": "on_error", "error": "hook broken failed: exit 3", "hook": "broken", "tool_name": ""},
    ]


async def test_the_budget_is_warned_of_once() -> None:
    events, heard = recording("budget_warning")
    agent = Agent(steps(9), tools=[step], capabilities=[events])

    await agent.run("Do it.", usage_limits=UsageLimits(request_limit=10))
    await agent.run("Do it.", usage_limits=UsageLimits(request_limit=1_000))

    assert told(heard) == [{"event": "budget_warning", "limit": "request_limit", "used": 8.0, "allowed": 10.0}]


async def test_each_run_is_warned_and_at_the_share_that_is_set() -> None:
    events, heard = recording("budget_warning")
    events.budget_share = 0.5
    agent = Agent(steps(3), tools=[step], capabilities=[events])

    for _ in range(2):
        await agent.run("Do it.", usage_limits=UsageLimits(request_limit=None, tool_calls_limit=4))

    once = {"event": "budget_warning", "limit": "tool_calls_limit", "used": 2.0, "allowed": 4.0}
    assert told(heard) == [once, once]


async def test_tokens_are_warned_of_before_the_limit_ends_the_run() -> None:
    events, heard = recording("budget_warning", "session_end")

    with pytest.raises(UsageLimitExceeded):
        await Agent(TestModel(), capabilities=[events]).run("Do it.", usage_limits=UsageLimits(total_tokens_limit=10))

    assert [one["event"] for one in heard] == ["budget_warning", "session_end"]
    assert heard[0]["limit"] == "total_tokens_limit"


async def test_a_history_that_got_shorter_is_told_of() -> None:
    def compress(messages: list[ModelMessage]) -> list[ModelMessage]:
        return messages if len(messages) < 6 else [messages[0], *messages[-2:]]

    def respond(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        requests.append(len(messages))
        return ModelResponse(parts=[ToolCallPart("step", {}) if len(requests) < 5 else TextPart("done")])

    requests: list[int] = []
    events, heard = recording("context_compress")

    await Agent(FunctionModel(respond), tools=[step], capabilities=[ProcessHistory(compress), events]).run("Do it.")

    assert requests[:4] == [1, 3, 5, 3]
    assert told(heard)[0] == {"event": "context_compress", "messages_before": 5, "messages": 3}
    assert len(heard) == sum(after < before for before, after in pairwise(requests))


async def test_an_agent_is_complete_only_when_its_output_is_accepted() -> None:
    events, heard = recording("agent_complete")
    agent = Agent(TestModel(custom_output_text="tests pass"), capabilities=[events])
    tries: list[list[Told]] = []

    @agent.output_validator
    def gate(ctx: RunContext[None], output: str) -> str:
        tries.append(list(heard))
        if len(tries) == 1:
            raise ModelRetry("the tests fail")
        return output

    await agent.run("Do it.")

    assert tries == [[], []]
    assert told(heard) == [{"event": "agent_complete", "output": "tests pass"}]


async def test_a_pause_is_not_complete() -> None:
    def ask() -> str:
        raise ApprovalRequired

    events, heard = recording("agent_complete", "session_end")

    agent = Agent(calling([("ask", {})]), tools=[ask], output_type=[str, DeferredToolRequests], capabilities=[events])
    await agent.run("Do it.")

    assert told(heard) == [{"event": "session_end", "outcome": "paused"}]


async def test_an_output_that_json_cannot_carry_ends_no_run() -> None:
    events, heard = recording("agent_complete")

    def endless(text: str) -> list[Any]:
        loop: list[Any] = []
        loop.append(loop)
        return loop

    await Agent(TestModel(), output_type=endless, capabilities=[events]).run("Do it.")

    assert told(heard) == [{"event": "agent_complete", "output": "<list>"}]


async def test_the_session_of_a_run_that_is_cancelled_ends() -> None:
    begun = asyncio.Event()

    async def wait() -> None:
        begun.set()
        await asyncio.Event().wait()

    events, heard = recording("session_end", "on_error")
    run = asyncio.create_task(Agent(calling([("wait", {})]), tools=[wait], capabilities=[events]).run("Do it."))
    await begun.wait()
    run.cancel()

    with pytest.raises(asyncio.CancelledError):
        await run
    assert told(heard) == [{"event": "session_end", "outcome": "cancelled"}]


async def test_the_session_of_a_run_that_cancels_itself_ends_without_an_error() -> None:
    def stop(ctx: RunContext[None]) -> None:
        ctx.cancel()

    events, heard = recording("session_end", "on_error")

    with pytest.raises(RunCancelled):
        await Agent(calling([("stop", {})]), tools=[stop], capabilities=[events]).run("Do it.")

    assert told(heard) == [{"event": "session_end", "outcome": "cancelled"}]


async def test_the_session_of_a_run_that_ends_with_a_cancelled_run_of_its_own_ends_without_an_error() -> None:
    def cancelled(messages: list[ModelMessage], info: AgentInfo) -> NoReturn:
        raise RunCancelled("a run inside of this one was cancelled")

    events, heard = recording("session_end", "on_error")

    with pytest.raises(RunCancelled):
        await Agent(FunctionModel(cancelled), capabilities=[events]).run("Do it.")

    assert told(heard) == [{"event": "session_end", "outcome": "cancelled"}]


async def test_commands_run_in_the_workspace_of_the_run(project: Path) -> None:
    hooks = Hooks(
        [Hook("session_start", "note", command='echo "$TOOLHAFT_EVENT $TOOLHAFT_WORKSPACE" >note; cat >told')]
    )

    agent = Agent(TestModel(call_tools=[]), capabilities=[Toolkit(project, tools=["read_file"]), RunEvents(hooks)])
    await agent.run("Do it.")

    assert (project / "note").read_text() == f"session_start {project}\n"
    assert json.loads((project / "told").read_text())["prompt"] == "Do it."


async def test_without_hooks_for_it_nothing_is_needed() -> None:
    assert not RunEvents(Hooks([Hook("pre_tool_use", "check", command="true")])).is_needed
    assert all(recording(event)[0].is_needed for event in HookEvent if event not in ("pre_tool_use", "post_tool_use"))
