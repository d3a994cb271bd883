"""Tools made from a handler, with a model or a JSON schema for its arguments."""

import json
import threading
from typing import Any

import pytest
from pydantic import BaseModel, Field, ValidationError
from pydantic_ai import ModelRetry, Tool
from pydantic_ai.messages import ToolReturnPart

from tests.one_call import call_by_agent, shown_to_model
from toolhaft.exceptions import ToolDefinitionError, ToolExecutionError
from toolhaft.makers import tool_from_function
from toolhaft.spec import ToolKind, ToolText, is_tool, tool_spec

TREE: dict[str, Any] = {
    "$schema": "http://json-schema.org/draft-07/schema#",
    "title": "Tree",
    "type": "object",
    "$defs": {
        "Node": {
            "type": "object",
            "properties": {
                "value": {"type": "integer", "minimum": 1},
                "next": {"anyOf": [{"$ref": "#/$defs/Node"}, {"type": "null"}]},
            },
            "required": ["value"],
            "additionalProperties": False,
        },
        "Unused": {"type": "string"},
    },
    "properties": {
        "root": {"$ref": "#/$defs/Node"},
        "note": {"type": ["string", "null"], "description": "A note.", "examples": [{"$ref": "x"}]},
        "mode": {"enum": ["x", 1, None], "title": "Mode", "default": "x"},
        "same": {"$ref": "#/properties/note"},
    },
    "required": ["root"],
}


def given(args: dict[str, Any]) -> dict[str, Any]:
    """The handler of most tests: what it was given is the answer."""
    return args


def made(parameters: Any = None, handler: Any = given, **options: Any) -> Any:
    return tool_from_function(handler, name="made", description="Do it.", parameters=parameters, **options)


def of(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties}


def test_it_is_a_tool_like_any_other():
    tool = made(kind="mcp", timeout_seconds=3)
    spec = tool_spec(tool)

    assert is_tool(tool)
    assert (spec.name, spec.description, spec.kind, spec.sensitive) == ("made", "Do it.", ToolKind.MCP, True)
    assert (spec.timeout_seconds, spec.prompt_file, tool.__name__) == (3, None, "made")


async def test_a_json_schema_reaches_the_model_to_the_letter_by_every_way():
    tool = made(TREE)

    bare = await shown_to_model(tools=[tool])
    by_copy = await shown_to_model(tools=[tool_spec(tool).pydantic_tool()])

    assert tool_spec(tool).schema == TREE
    assert bare.parameters_json_schema == TREE
    assert by_copy.parameters_json_schema == TREE
    assert json.loads(json.dumps(tool_spec(tool).schema)) == TREE


@pytest.mark.parametrize(
    "args",
    [
        {"root": {"value": 1}},
        {"root": {"value": 1, "next": {"value": 2, "next": None}}, "note": None, "mode": 1},
        {"root": {"value": 1}, "mode": None, "same": "s", "beyond": [1]},
    ],
)
async def test_arguments_that_fit_arrive_as_they_are_and_what_is_left_out_stays_out(args: dict[str, Any]):
    tool = made(TREE)

    answer = await call_by_agent(tool, args)

    assert json.loads(await tool(args)) == args
    assert isinstance(answer, ToolReturnPart)
    assert json.loads(str(answer.content)) == args


@pytest.mark.parametrize(
    "args",
    [
        {},
        {"root": {"value": 0}},
        {"root": {"value": 1, "next": {"value": 0}}},
        {"root": {"value": 1, "more": 2}},
        {"root": {"value": 1}, "note": 5},
        {"root": {"value": 1}, "mode": "z"},
        {"root": {"value": 1}, "same": 5},
    ],
)
async def test_arguments_that_do_not_fit_never_reach_the_handler(args: dict[str, Any]):
    def never(args: dict[str, Any]) -> str:
        raise AssertionError(args)

    tool = made(TREE, never)

    with pytest.raises(ValidationError):
        tool_spec(tool).validate(args)
    with pytest.raises(ToolExecutionError, match="is not valid"):
        await tool(args)
    answer = await call_by_agent(tool, args)
    assert isinstance(answer, ToolReturnPart)
    assert answer.outcome == "retried"


@pytest.mark.parametrize(
    ("schema", "right", "wrong"),
    [
        ({"type": "string", "minLength": 2, "maxLength": 3}, ["ab", "abc"], ["a", "abcd", 1]),
        ({"type": "string", "pattern": "(?<=a)b"}, ["xab"], ["b"]),
        ({"type": "integer", "exclusiveMinimum": 1, "maximum": 4, "multipleOf": 2}, [2, 4], [1, 3, 6]),
        ({"type": "number", "minimum": 1.5, "exclusiveMaximum": 3}, [1.5, 2], [1, 3]),
        ({"type": "number", "multipleOf": 2.5}, [5, 2.5], [1, 2]),
        ({"type": "integer", "minimum": 1.5, "exclusiveMaximum": 3.5}, [2, 3], [1, 4]),
        ({"type": "integer", "exclusiveMinimum": 1.5, "maximum": 3.5}, [2, 3], [1, 4]),
        ({"type": "boolean"}, [True], ["perhaps"]),
        ({"type": "null"}, [None], [0]),
        ({"type": "array", "items": {"type": "integer"}, "minItems": 1, "maxItems": 2}, [[1], [1, 2]], [[], [1, 2, 3]]),
        ({"type": "array", "prefixItems": [{"type": "integer"}]}, [[1, "a"]], ["a"]),
        ({"items": {"type": "integer"}}, [[1]], [["a"]]),
        ({"type": "object", "additionalProperties": {"type": "integer"}}, [{"a": 1}], [{"a": "x"}]),
        ({"type": "object", "required": ["a"]}, [{"a": None}], [{}]),
        ({"properties": {"a": {"type": "integer"}}, "additionalProperties": False}, [{"a": 1}], [{"b": 1}]),
        ({"additionalProperties": False, "patternProperties": {"^x": {}}, "type": "object"}, [{"xy": 1}], [1]),
        ({"anyOf": [{"type": "integer"}, {"type": "null"}]}, [1, None], ["a"]),
        ({"oneOf": [{"const": "a"}, {"const": "b"}]}, ["a", "b"], ["c"]),
        ({"allOf": [{"required": ["a"]}, {"properties": {"b": {"type": "integer"}}}]}, [{"a": 1, "b": 2}], [{"b": 2}]),
        ({"type": ["integer", "string"]}, [1, "a"], [None]),
        ({"type": "string", "nullable": True}, ["a", None], [1]),
        ({"const": {"a": 1}}, [{"a": 1}], [{"a": 2}]),
        ({"$ref": "#/$defs/A"}, ["s"], [1]),
        ({"$ref": "#/$defs/a~1b~0c"}, [1], ["s"]),
        ({"$ref": "#/allOf/0"}, [{"x": True}], ["s"]),
        ({"$ref": "#"}, [{"x": {"x": {}}}], ["s"]),
        ({}, [1, "a", None], []),
        (True, [1], []),
        (False, [], [1, None]),
    ],
)
def test_each_keyword_is_checked(schema: Any, right: list[Any], wrong: list[Any]):
    whole = {
        **of(x=schema),
        "$defs": {"A": {"$ref": "#/$defs/B"}, "B": {"type": "string"}, "a/b~c": {"type": "integer"}},
        **({"allOf": [{"type": "object"}]} if "#/allOf/0" in str(schema) else {}),
    }
    spec = tool_spec(made(whole))

    assert spec.schema == whole
    for value in right:
        assert spec.validate({"x": value}) == {"arguments": {"x": value}}
    for value in wrong:
        with pytest.raises(ValidationError):
            spec.validate({"x": value})


def test_a_number_stays_what_it_is():
    arguments = tool_spec(made(of(x={"type": "number"}))).validate('{"x": 5}')["arguments"]

    assert repr(arguments["x"]) == "5"


def test_an_argument_may_be_called_arguments():
    spec = tool_spec(made(of(arguments={"type": "integer"})))

    assert spec.validate({"arguments": 1}) == {"arguments": {"arguments": 1}}


@pytest.mark.parametrize(
    ("schema", "what"),
    [
        ({"type": "array"}, "the parameters' schema has type='array'"),
        ({}, "the parameters' schema has type=None"),
        (of(x={"type": "text"}), "the type 'text' is unknown"),
        (of(x={"type": 5}), "is no JSON schema"),
        (of(x=3), "3 stands where a schema should"),
        (of(x={"type": "string", "pattern": "("}), r"the pattern '\(' is no regular expression"),
        (of(x={"type": "integer", "minimum": "a"}), "is no JSON schema"),
        (of(x={"enum": []}), "is no JSON schema"),
        (of(x={"$ref": "#/$defs/None"}), "leads nowhere in it"),
        (of(x={"$ref": "https://example.org/s"}), "it is in another document"),
        ({"type": "object", "properties": [1]}, "is no JSON schema"),
        (3, "parameters=3 is neither a pydantic model nor a JSON schema"),
        (dict, "is neither a pydantic model nor a JSON schema"),
    ],
)
def test_parameters_that_cannot_be_checked_are_an_error(schema: Any, what: str):
    with pytest.raises(ToolDefinitionError, match=what) as caught:
        made(schema)

    assert "tool 'made'" in str(caught.value)


def test_name_and_description_are_checked():
    with pytest.raises(ToolDefinitionError, match="is no name for a tool"):
        tool_from_function(given, name="a/b", description="x")
    with pytest.raises(ToolDefinitionError, match="the description is empty"):
        tool_from_function(given, name="a", description=" ")


async def test_a_tool_without_parameters_takes_none():
    tool = made()

    assert await tool({}) == "{}"
    with pytest.raises(ValidationError):
        tool_spec(tool).validate({"a": 1})


class Search(BaseModel):
    query: str = Field(description="What to find.")
    limit: int = 10
    order: str | None = None
    in_folder: str | None = Field(default=None, alias="inFolder")


async def test_a_model_gives_its_defaults_and_leaves_out_what_says_nothing():
    tool = made(Search)

    assert json.loads(await tool({"query": "x"})) == {"query": "x", "limit": 10}
    assert json.loads(await tool(Search(query="x", inFolder="a"))) == {"query": "x", "limit": 10, "inFolder": "a"}
    assert json.loads(await tool({"query": "x", "order": None})) == {"query": "x", "limit": 10, "order": None}


async def test_a_model_is_the_schema_and_the_check():
    tool = made(Search)

    answer = await call_by_agent(tool, {"query": "x", "limit": "3"})

    assert tool_spec(tool).arguments is Search
    assert tool_spec(tool).schema["properties"]["query"]["description"] == "What to find."
    assert isinstance(answer, ToolReturnPart)
    assert json.loads(str(answer.content))["limit"] == 3
    with pytest.raises(ToolExecutionError, match="query: Field required"):
        await tool({})


async def test_a_sync_handler_runs_in_a_thread_and_an_async_one_on_the_loop():
    async def here(args: dict[str, Any]) -> str:
        return threading.current_thread().name

    class Callable:
        async def __call__(self, args: dict[str, Any]) -> str:
            return threading.current_thread().name

    def there(args: dict[str, Any]) -> str:
        return threading.current_thread().name

    main = threading.current_thread().name
    assert await made(handler=here)({}) == main
    assert await made(handler=Callable())({}) == main
    assert await made(handler=there)({}) != main


@pytest.mark.parametrize(
    ("result", "text"),
    [("text", "text"), (None, "null"), ({"a": [1, "é"]}, '{"a":[1,"é"]}'), (float("nan"), "null"), (True, "true")],
)
async def test_what_is_not_text_becomes_json_text(result: Any, text: str):
    assert await made(handler=lambda args: result)({}) == text


async def test_facts_of_a_tool_text_stay():
    answer = await made(handler=lambda args: ToolText("x", rows=1))({})

    assert answer.facts == {"rows": 1}


async def test_what_a_handler_raises_is_routed():
    def failing(args: dict[str, Any]) -> str:
        raise ValueError("no")

    def again(args: dict[str, Any]) -> str:
        raise ModelRetry("again")

    with pytest.raises(ToolExecutionError, match="Tool 'made' failed: no"):
        await made(handler=failing)({})
    with pytest.raises(ModelRetry, match="again"):
        await made(handler=again)({})
    with pytest.raises(ToolExecutionError, match="Unable to serialize"):
        await made(handler=lambda args: object())({})


def test_the_schema_is_a_copy():
    schema = of(x={"type": "integer"})
    spec = tool_spec(made(schema))

    schema["properties"]["x"]["type"] = "string"

    assert spec.schema["properties"]["x"]["type"] == "integer"


async def test_a_description_with_sections_is_whole_for_a_bare_agent():
    tool = tool_from_function(given, name="made", description="Do it.\n\nReturns:\n    all of it")

    assert tool_spec(tool).description == "Do it.\n\nReturns:\n    all of it"
    assert (Tool(tool).description or "").split() == ["Do", "it.", "Returns:", "all", "of", "it"]
