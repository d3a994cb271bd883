"""The card of a tool, and what tools answer."""

import copy
import functools
import json
import pickle
import subprocess
import sys
from dataclasses import FrozenInstanceError, dataclass
from typing import Annotated, Any

import pytest
from pydantic import BaseModel, Field, TypeAdapter, ValidationError
from pydantic_ai import FunctionToolset, RunContext, Tool
from typing_extensions import TypedDict

from toolhaft.decorators import base_tool, file_tool
from toolhaft.spec import FileDiff, ToolKind, ToolResult, ToolText, is_tool, tool_spec


@base_tool(kind="network", timeout_seconds=5, idempotent=True)
async def search(query: str, limit: int = 10, tags: list[str] | None = None) -> str:
    """Search for it."""
    return query


class Order(BaseModel):
    item: str
    count: int = Field(default=1, alias="howMany")


@dataclass
class Point:
    x: int
    y: int = 0


class Options(TypedDict, total=False):
    depth: int


@base_tool
async def order(request: Order) -> str:
    """Order it."""
    return request.item


def test_the_card_says_what_the_decorator_was_told():
    spec = tool_spec(search)

    assert (spec.name, spec.description, spec.kind, spec.sensitive) == ("search", "Search for it.", "network", True)
    assert (spec.timeout_seconds, spec.idempotent, spec.prompt_file) == (5, True, None)
    assert (spec.approval, spec.preview, spec.function) == (None, None, search)


def test_the_card_cannot_be_changed():
    with pytest.raises(FrozenInstanceError):
        tool_spec(search).sensitive = False  # pyright: ignore[reportAttributeAccessIssue]


def test_the_card_pickles_as_a_reference_to_its_function():
    assert pickle.loads(pickle.dumps(tool_spec(search))) is tool_spec(search)


@pytest.mark.parametrize("kind", list(ToolKind))
def test_every_kind_but_read_is_sensitive_unless_the_tool_says_otherwise(kind: ToolKind):
    async def tool() -> str:
        """Do it."""
        return ""

    assert tool_spec(base_tool(kind=kind)(tool)).sensitive is (kind != "read")
    assert tool_spec(base_tool(kind=str(kind), sensitive=False)(tool)).sensitive is False
    assert tool_spec(base_tool(kind=kind, sensitive=True)(tool)).sensitive is True


def test_a_tool_that_does_not_say_its_kind_counts_as_one_that_changes_things():
    async def tool(filepath: str) -> str:
        """Do it."""
        return filepath

    assert tool_spec(base_tool(tool)).kind is ToolKind.WRITE
    assert tool_spec(file_tool(tool)).kind is ToolKind.READ
    assert tool_spec(file_tool(writes=True)(tool)).kind is ToolKind.WRITE


@pytest.mark.parametrize("thing", [test_the_card_cannot_be_changed, print, 3, Order])
def test_what_is_not_decorated_is_no_tool(thing: Any):
    assert not is_tool(thing)
    with pytest.raises(TypeError, match=r"is not a tool\. Decorate"):
        tool_spec(thing)


def test_a_wrapper_around_a_tool_is_not_taken_for_the_tool():
    @functools.wraps(search)
    async def noisy(*args: Any, **kwargs: Any) -> str:
        return await search(*args, **kwargs)

    assert is_tool(search)
    assert not is_tool(noisy)
    with pytest.raises(TypeError, match="wraps the tool 'search'"):
        tool_spec(noisy)


@pytest.mark.parametrize("tool", [search, order])
def test_schema_and_validation_are_those_of_pydantic_ai(tool: Any):
    own = Tool(tool)

    assert tool_spec(tool).schema == own.function_schema.json_schema


def test_arguments_are_validated_from_a_mapping_and_from_json_text():
    spec = tool_spec(search)

    assert spec.validate({"query": "x"}) == {"query": "x", "limit": 10, "tags": None}
    assert spec.validate('{"query": "x", "limit": "3"}') == {"query": "x", "limit": 3, "tags": None}
    assert spec.validate(b'{"query": "x"}')["query"] == "x"


@pytest.mark.parametrize("args", [{}, {"query": 1}, {"query": "x", "more": 1}, "", "{", "[]", '{"query": null}'])
def test_wrong_arguments_raise_a_validation_error(args: Any):
    with pytest.raises(ValidationError):
        tool_spec(search).validate(args)


async def test_validated_arguments_can_be_passed_to_the_tool():
    assert await order(**tool_spec(order).validate({"item": "tea", "howMany": 2})) == "tea"


def test_a_pydantic_tool_is_new_each_time_and_shares_the_schema():
    spec = tool_spec(search)

    one, two = spec.pydantic_tool(), spec.pydantic_tool()
    FunctionToolset([one], max_retries=7, requires_approval=True, metadata={"mine": 1})

    assert one.max_retries == 7
    assert (two.max_retries, two.requires_approval) == (None, False)
    assert two.metadata == {"toolhaft": spec.card()}
    assert one.function_schema is two.function_schema


def test_the_card_in_the_metadata_is_json_and_no_tool_kind_of_pydantic_ai_is_set():
    tool = tool_spec(search).pydantic_tool()

    assert json.loads(json.dumps(tool.metadata)) == {
        "toolhaft": {"kind": "network", "sensitive": True, "idempotent": True, "timeout_seconds": 5}
    }
    assert tool.tool_kind is None


def test_the_arguments_model_takes_what_the_tool_takes():
    model = tool_spec(search).arguments

    assert model(query="x").model_dump() == {"query": "x", "limit": 10, "tags": None}
    assert model.model_json_schema()["required"] == ["query"]
    with pytest.raises(ValidationError):
        model(query="x", more=1)


def test_parameters_may_be_called_like_methods_of_a_model():
    @base_tool
    async def odd(schema: str, copy: int, _x: int = 1, model_x: Annotated[int, Field(ge=0)] = 2, json: str = "") -> str:
        """Take odd names."""
        return schema

    spec = tool_spec(odd)
    given = {"schema": "s", "copy": 1, "_x": 2, "model_x": 3, "json": "j"}

    assert spec.validate(given) == given
    assert spec.arguments(**given).model_dump() == given
    assert list(spec.arguments.model_json_schema()["properties"]) == list(given)


def test_the_context_is_no_argument():
    @base_tool
    async def tool(ctx: RunContext[None], query: str) -> str:
        """Do it."""
        return query

    assert list(tool_spec(tool).arguments.model_fields) == ["query"]
    assert list(tool_spec(tool).schema["properties"]) == ["query"]


@pytest.mark.parametrize("kind", [Order, Point, Options])
def test_the_arguments_of_a_tool_that_takes_one_model_are_that_model(kind: type[Any]):
    async def tool(request: Any) -> str:
        """Do it."""
        return ""

    tool.__annotations__["request"] = kind
    spec = tool_spec(base_tool(tool))

    assert spec.arguments is kind
    assert spec.schema["properties"].keys() == Tool(tool).function_schema.json_schema["properties"].keys()


def test_importing_the_card_loads_the_standard_library_only():
    code = (
        "import sys; before = set(sys.modules); import toolhaft.spec; import sysconfig\n"
        "new = {name.partition('.')[0] for name in set(sys.modules) - before}\n"
        "print(sorted(new - set(sys.stdlib_module_names) - {'toolhaft'}))"
    )

    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout

    assert out.strip() == "[]"


def test_a_tool_text_is_its_text_with_facts():
    answer = ToolText("page", truncated=True, shown=[1, 2], more={"a": None})

    assert answer == "page"
    assert answer.facts == {"truncated": True, "shown": [1, 2], "more": {"a": None}}
    assert type(str.__str__(answer)) is str


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_pickles_and_copies_of_a_tool_text_keep_its_facts(protocol: int):
    answer = ToolText("page", text="a fact may be called so", rows=[1])

    for back in (pickle.loads(pickle.dumps(answer, protocol)), copy.copy(answer), copy.deepcopy(answer)):
        assert type(back) is ToolText
        assert back == answer
        assert back.facts == answer.facts
    assert copy.deepcopy(answer).facts["rows"] is not answer.facts["rows"]


def test_any_operation_on_a_tool_text_gives_plain_text():
    answer = ToolText("page ", truncated=True)

    assert {type(answer.strip()), type(answer + ""), type(f"{answer}")} == {str}


def test_a_tool_may_name_it_as_its_result():
    @base_tool
    async def tool() -> ToolText:
        """Do it."""
        return ToolText("x")

    assert tool_spec(tool).pydantic_tool().tool_def.return_schema == {"type": "string"}
    assert TypeAdapter(ToolText).dump_json(ToolText("x", rows=1)) == b'"x"'


@pytest.mark.parametrize(
    ("fact", "where"),
    [({1, 2}, "'found'"), ([b"x"], r"'found\[0\]'"), ({"a": object()}, "'found.a'"), ({1: 2}, "key 1")],
)
def test_a_fact_that_json_cannot_carry_is_refused(fact: Any, where: str):
    with pytest.raises(TypeError, match=where):
        ToolText("x", found=fact)


def test_a_result_is_json_with_its_fields_in_order():
    result = ToolResult(tool_name="t", success=True, output="é", diff=[FileDiff(path="a", unified="@@")], exit_code=0)

    assert json.loads(result.to_json()) == result.to_dict()
    assert list(result.to_dict()) == [
        "tool_name", "success", "output", "error", "metadata", "truncated", "diff", "exit_code",
    ]  # fmt: skip
    assert result.to_dict()["diff"] == [
        {"path": "a", "unified": "@@", "is_new_file": False, "is_deletion": False, "truncated": False},
    ]  # fmt: skip
    assert "é" in result.to_json()


@pytest.mark.parametrize("number", [float("nan"), float("inf"), -float("inf")])
def test_a_number_that_json_lacks_is_no_fact(number: float):
    with pytest.raises(TypeError, match="JSON cannot carry"):
        ToolText("text", share=[number])
