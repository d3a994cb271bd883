"""Schemas that somebody else wrote: they arrive to the letter, and arguments are judged by them."""

import json
import os
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pydantic import ValidationError
from pydantic_ai import Agent
from pydantic_ai.models.test import TestModel

from tests.one_call import shown_to_model
from toolhaft import Executor, GovernedToolset, Pipeline, Registry
from toolhaft.makers.given_schema import tool_of_schema
from toolhaft.spec import tool_spec

STRESS = 10 if os.environ.get("TOOLHAFT_STRESS") else 1


def made(schema: Any) -> Any:
    async def call(arguments: dict[str, Any]) -> str:
        return json.dumps(arguments)

    return tool_of_schema(
        call,
        name="made",
        description="Args:\n    x: to the letter",
        schema=schema,
        about={"from": "a test"},
        made_from="a test",
        options={"kind": "mcp"},
    )


def mistakes(schema: Any, args: Any) -> list[tuple[Any, str]]:
    try:
        tool_spec(made(schema)).validate(args)
    except ValidationError as error:
        return [(mistake["loc"], mistake["msg"]) for mistake in error.errors()]
    return []


WORDS = ["type", "$ref", "$defs", "$schema", "$id", "title", "description", "default", "enum", "const", "anyOf"]
MORE = ["allOf", "properties", "required", "items", "pattern", "additionalProperties", "format", "not", "x-own"]
LEAVES = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5)
LEAVES |= st.sampled_from(["object", "string", "null", "#/$defs/A", "https://example.com/other", "(a+)+$"])
KEYS = st.sampled_from(WORDS + MORE) | st.text(max_size=4)
JSON = st.recursive(
    LEAVES, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=4), max_leaves=15
)
SCHEMAS = st.dictionaries(KEYS, JSON, max_size=6).map(lambda schema: {**schema, "type": "object"})


@settings(max_examples=60 * STRESS, deadline=None, suppress_health_check=list(HealthCheck))
@given(schema=SCHEMAS)
def test_a_schema_goes_in_and_comes_out_equal_key_for_key_in_order(schema: dict[str, Any]) -> None:
    written = json.dumps(schema)

    tool = made(schema)

    assert json.dumps(tool_spec(tool).schema) == written
    assert json.dumps(tool_spec(tool).pydantic_tool().tool_def.parameters_json_schema) == written
    registry = Registry()
    registry.register(tool)
    assert json.dumps(registry.schemas()[0]["function"]["parameters"]) == written


@settings(max_examples=60 * STRESS, deadline=None, suppress_health_check=list(HealthCheck))
@given(schema=SCHEMAS, args=st.dictionaries(st.text(max_size=4), JSON, max_size=3))
def test_whatever_the_schema_arguments_pass_unchanged_or_are_refused(schema: Any, args: dict[str, Any]) -> None:
    try:
        passed = tool_spec(made(schema)).validate(args)
    except ValidationError:
        return

    assert passed == args


async def test_the_model_of_an_agent_is_shown_schema_and_description_to_the_letter() -> None:
    schema = {"type": "object", "title": "T", "properties": {"b": {"$ref": "#/$defs/B"}}, "$defs": {"B": {"const": 1}}}

    shown = await shown_to_model(toolsets=[GovernedToolset([made(schema)])])

    assert (shown.parameters_json_schema, shown.description) == (schema, "Args:\n    x: to the letter")
    assert shown.metadata is not None
    assert shown.metadata["toolhaft"]["from"] == "a test"


async def test_a_bare_agent_calls_it_too() -> None:
    schema = {"type": "object", "properties": {"b": {"type": "integer"}}, "required": ["b"]}

    answer = await Agent(TestModel(), tools=[made(schema)]).run("go")

    assert json.loads(answer.output) == {"made": '{"b": 0}'}


async def test_arguments_reach_it_as_they_were_given_and_optional_ones_stay_away() -> None:
    registry = Registry()
    registry.register(
        made({"type": "object", "properties": {"class": {"type": ["string", "null"], "default": "x"}, "n": {}}})
    )
    executor = Executor(registry, Pipeline(mode="yolo"))

    assert (await executor.execute("made", {})).output == "{}"
    assert (await executor.execute("made", '{"class": null, "n": 1.0, "self": []}')).output == (
        '{"class": null, "n": 1.0, "self": []}'
    )


def test_mistakes_are_told_by_their_place() -> None:
    schema = {
        "type": "object",
        "properties": {
            "a": {"type": "array", "items": {"anyOf": [{"type": "integer"}, {"enum": ["x"]}]}},
            "b": {"$ref": "#/$defs/B"},
        },
        "$defs": {"B": {"type": "object", "additionalProperties": False}},
        "required": ["b"],
    }

    assert mistakes(schema, {"a": [1, "x"], "b": {}}) == []
    assert mistakes(schema, {}) == [((), "'b' is a required property")]
    assert mistakes(schema, {"a": [1, {}], "b": {}})[0][0] == ("a", 1)
    assert mistakes(schema, {"b": {"c{}": 1}}) == [
        (("b",), "Additional properties are not allowed ('c{}' was unexpected)")
    ]
    assert mistakes(schema, "[]") == [((), "Arguments are a JSON object, with a value for each name")]


def test_no_more_mistakes_are_told_than_a_model_can_use() -> None:
    schema = {"type": "object", "additionalProperties": {"type": "string"}}

    assert len(mistakes(schema, {str(number): number for number in range(100)})) == 5
    assert len(mistakes(schema, {"a": list(range(1_000))})[0][1]) < 400


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "object", "properties": {"a": {"$ref": "https://localhost:1/never-fetched"}}},
        {"type": "object", "properties": {"a": {"$ref": "#/$defs/missing"}}},
        {"type": "object", "properties": {"a": {"$ref": "#/properties/a"}}},
        {"type": "object", "properties": {"a": {"pattern": "^(a+)+$"}}},
        {"type": "object", "patternProperties": {"^(a+)+$": False}, "additionalProperties": False},
        {"type": "object", "properties": {"a": {"type": "strange"}}},
    ],
)
def test_what_cannot_be_checked_here_is_left_to_the_other_program(schema: Any) -> None:
    assert mistakes(schema, {"a": "a" * 40 + "!"}) == []
