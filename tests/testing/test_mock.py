"""A stand-in for a tool, wherever a tool is used."""

from typing import Any

import pytest
from pydantic import BaseModel
from pydantic_ai import Agent, ModelRetry

from tests.attach.agents import answers, calling
from toolhaft import Executor, NeedsApproval, Registry, ToolExecutionError, Toolkit, ToolText, tool_spec
from toolhaft.testing import mock_tool


class City(BaseModel):
    name: str
    days: int = 1


async def test_it_answers_and_remembers_its_calls() -> None:
    weather = mock_tool("weather", returns="rain")

    assert await weather({"city": "Oslo"}) == "rain"
    assert weather.calls == [{"city": "Oslo"}]


async def test_two_stand_ins_share_no_calls() -> None:
    first, second = mock_tool("first"), mock_tool("second")

    assert await first({}) == "mock output"
    assert (first.calls, second.calls) == ([{}], [])


async def test_a_function_may_answer_instead() -> None:
    def double(arguments: dict[str, Any]) -> str:
        return arguments.pop("text") * 2

    async def later(arguments: dict[str, Any]) -> dict[str, Any]:
        return {"got": arguments}

    sync, deferred = mock_tool("sync", double), mock_tool("deferred", later)

    assert await sync({"text": "ha"}) == "haha"
    assert sync.calls == [{"text": "ha"}]  # as it was called, whatever the function does with it
    assert await deferred({"a": 1}) == '{"got":{"a":1}}'


async def test_what_it_raises_is_routed_as_with_every_tool() -> None:
    broken, mendable = mock_tool("broken", raises=ValueError("no luck")), mock_tool("mendable", raises=ModelRetry("x"))

    with pytest.raises(ToolExecutionError, match="no luck"):
        await broken({"n": 1})
    with pytest.raises(ModelRetry):
        await mendable({})
    assert broken.calls == [{"n": 1}]


async def test_its_arguments_are_checked_as_its_parameters_say() -> None:
    forecast = mock_tool("forecast", parameters=City)
    executor = Executor(_registry(forecast))

    good = await executor.execute("forecast", {"name": "Oslo", "days": "3"})
    bad = await executor.execute("forecast", {"days": 3})

    assert good.success
    assert forecast.calls == [{"name": "Oslo", "days": 3}]
    assert not bad.success
    assert "name" in (bad.error or "")


async def test_a_json_schema_reaches_the_model_to_the_letter() -> None:
    schema = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}

    assert tool_spec(mock_tool("count", parameters=schema)).schema == schema


async def test_without_parameters_it_takes_anything() -> None:
    anything = mock_tool("anything")

    await Executor(_registry(anything)).execute("anything", {"a": [1], "b": {"c": None}})

    assert anything.calls == [{"a": [1], "b": {"c": None}}]


@pytest.mark.parametrize("answer", [True, False, NeedsApproval("costly", "It costs money.")])
def test_it_says_whether_it_needs_approval(answer: bool | NeedsApproval) -> None:
    asked = tool_spec(mock_tool("pay", approval=answer)).approval

    assert asked is not None
    assert asked(arguments={}) == answer


def test_a_function_of_the_arguments_may_say_it() -> None:
    pay = mock_tool("pay", approval=lambda arguments: arguments["days"] > 2, parameters=City)

    spec = tool_spec(pay)

    assert spec.approval is not None
    assert spec.approval(**spec.validate({"name": "Oslo", "days": 3})) is True
    assert spec.approval(**spec.validate({"name": "Oslo"})) is False
    assert pay.calls == []


def test_without_an_opinion_its_kind_decides() -> None:
    reading, writing = tool_spec(mock_tool("reading")), tool_spec(mock_tool("writing", kind="write"))

    assert (reading.sensitive, writing.sensitive) == (False, True)
    assert reading.approval is None


async def test_facts_ride_along() -> None:
    result = await Executor(_registry(mock_tool("facts", returns=ToolText("text", total=7)))).execute("facts", {})

    assert (result.output, result.metadata) == ("text", {"total": 7})


async def test_an_agent_calls_it() -> None:
    search = mock_tool("search", returns="nothing")
    model = calling([("search", {"query": "tea"})])

    bare = await Agent(model, tools=[search]).run("Go.")
    governed = await Agent(model, capabilities=[Toolkit(tools=[search])]).run("Go.")

    assert [answer.content for run in (bare, governed) for answer in answers(run.all_messages())] == ["nothing"] * 2
    assert search.calls == [{"query": "tea"}] * 2


def _registry(tool: Any) -> Registry:
    registry = Registry()
    registry.register(tool)
    return registry
