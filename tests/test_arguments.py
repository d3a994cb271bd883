"""Prompt and signature: checked against each other, and written into the annotations."""

from __future__ import annotations

import datetime
import inspect
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum, IntEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, NotRequired, Optional, Union, get_args

import pytest
from pydantic import BaseModel, Field, ValidationError
from pydantic_ai import RunContext, Tool
from typing_extensions import TypedDict

from tests.one_call import prompt_file
from toolhaft.decorators import base_tool
from toolhaft.exceptions import ToolDefinitionError
from toolhaft.spec import tool_spec

if TYPE_CHECKING:
    from decimal import Decimal


class Mode(Enum):
    A = "a"
    B = "b"


class Level(IntEnum):
    LOW = 1


class Model(BaseModel):
    x: int


def said(name: str = "a", *, type: str = "", required: str = "", enum: tuple[str, ...] = (), about: str = "") -> str:
    """A `<parameter>` that says just this."""
    inner = f"<type>{type}</type>" if type else ""
    inner += f"<description>{about}</description>" if about else ""
    inner += "".join(f"<enum>{value}</enum>" for value in enum)
    return f'<parameter name="{name}"{f" required={required!r}" if required else ""}>{inner}</parameter>'


def taking(hint: Any, *default: Any) -> Callable[..., Any]:
    """An async function `tool(other: int, a: hint = default)`."""

    async def tool(other: int, a: Any) -> str:
        """Do it."""
        return str(a)

    tool.__annotations__["a"] = hint
    tool.__defaults__ = default
    return tool


def made(function: Callable[..., Any], folder: Path, parameter: str) -> Any:
    """The function as a tool whose prompt says this of its parameter `a`."""
    return base_tool(prompt=prompt_file(folder, said("other") + parameter))(function)


def shown(tool: Any) -> dict[str, Any]:
    """The schema of the parameter `a`."""
    return tool_spec(tool).schema["properties"]["a"]


@pytest.mark.parametrize(
    ("hint", "types"),
    [
        (str, "string str"),
        (int, "integer int"),
        (float, "number float"),
        (bool, "boolean bool"),
        (list, "array list"),
        (list[int], "array"),
        (tuple[int, int], "array"),
        (set[str], "array"),
        (dict, "object dict"),
        (dict[str, int], "object"),
        (Model, "object"),
        (str | None, "string"),
        (Optional[int], "integer"),  # noqa: UP045 - this spelling too
        (Union[int, str], "integer string"),  # noqa: UP007
        (int | float, "integer number"),
        (Literal["x", "y"], "string"),
        (Literal[1], "integer"),
        (Literal["x"] | None, "string"),
        (Annotated[str, Field(min_length=1)], "string"),
        (Annotated[int | None, Field(ge=1)], "integer"),
        (Mode, "string"),
        (Mode | None, "string"),
        (Level, "integer"),
        (Path, "string"),
        (datetime.date, "string"),
        (Any, "string integer number boolean array object"),
        (object, "string object"),
    ],
)
def test_a_type_of_the_prompt_agrees_with_the_annotation_it_means_and_with_no_other(
    tmp_path: Path, hint: Any, types: str
):
    every = {"string", "integer", "number", "boolean", "array", "object"}
    alias = {"str": "string", "int": "integer", "float": "number", "bool": "boolean", "list": "array", "dict": "object"}
    meant = {alias.get(word, word) for word in types.split()}

    for word in types.split():
        made(taking(hint), tmp_path, said(type=word))
    for word in every - meant if hint not in (Any, object) else ():
        with pytest.raises(ToolDefinitionError, match=f"the prompt says <type>{word}</type>, and the code takes"):
            made(taking(hint), tmp_path, said(type=word))


def test_descriptions_and_enums_of_the_prompt_are_in_the_schema_and_enforced(tmp_path: Path):
    tool = made(taking(str, "x"), tmp_path, said(about="What to show.", enum=("x", "y"), required="false"))

    assert shown(tool) == {"description": "What to show.", "enum": ["x", "y"], "type": "string", "default": "x"}
    assert tool_spec(tool).validate({"other": 1, "a": "y"}) == {"other": 1, "a": "y"}
    with pytest.raises(ValidationError):
        tool_spec(tool).validate({"other": 1, "a": "z"})


@pytest.mark.parametrize("hint", [str | None, Optional[str], Annotated[str | None, Field()]])  # noqa: UP045
def test_an_optional_text_with_an_enum_takes_its_values_and_none(tmp_path: Path, hint: Any):
    spec = tool_spec(made(taking(hint, None), tmp_path, said(enum=("x", "y"))))

    for value in ("x", "y", None):
        assert spec.validate({"other": 1, "a": value})["a"] == value
    for value in ("z", 1):
        with pytest.raises(ValidationError):
            spec.validate({"other": 1, "a": value})


def test_a_constrained_text_keeps_its_constraints_with_a_description(tmp_path: Path):
    tool = made(taking(Annotated[str, Field(min_length=2)]), tmp_path, said(about="It."))

    assert shown(tool) == {"description": "It.", "minLength": 2, "type": "string"}


def test_what_the_author_wrote_wins(tmp_path: Path):
    hint = Annotated[Literal["x", "y"], Field(description="Mine.")]

    assert shown(made(taking(hint), tmp_path, said(about="Theirs.", enum=("y", "x")))) == {
        "description": "Mine.",
        "enum": ["x", "y"],
        "type": "string",
    }


def test_an_enum_class_keeps_its_members(tmp_path: Path):
    spec = tool_spec(made(taking(Mode, Mode.A), tmp_path, said(enum=("a", "b"), type="string")))

    assert spec.validate({"other": 1, "a": "b"})["a"] is Mode.B


def test_the_annotations_and_the_signature_are_evaluated(tmp_path: Path):
    tool = made(taking("str"), tmp_path, said(about="It."))

    assert list(tool.__annotations__) == ["other", "a", "return"]
    assert get_args(tool.__annotations__["a"])[0] is str
    assert get_args(tool.__annotations__["a"])[1].description == "It."
    assert inspect.signature(tool).parameters["a"].annotation == tool.__annotations__["a"]
    assert shown(tool) == Tool(tool).function_schema.json_schema["properties"]["a"]


DISAGREEMENTS = [
    (taking(str), said("b"), "describes a parameter 'b', and the function has 'other', 'a'"),
    (taking(str), "", "the function has a parameter 'a', and the prompt .* describes 'other'"),
    (
        taking(str, "x"),
        said(required="true"),
        "the prompt says required=\"true\", and in the code it has the default 'x'",
    ),
    (taking(str), said(required="false"), 'the prompt says required="false", and in the code it has no default'),
    (taking(str), said(type="integer"), "the prompt says <type>integer</type>, and the code takes string"),
    (taking(str | None), said(type="integer"), "the code takes null or string"),
    (taking(int), said(enum=("1", "2")), "An <enum> goes with text only"),
    (taking(bool), said(enum=("true",)), "An <enum> goes with text only"),
    (taking(list[str]), said(enum=("x",)), "An <enum> goes with text only"),
    (taking(Level), said(enum=("1",)), "An <enum> goes with text only"),
    (taking(Any), said(enum=("x",)), "the code takes any type"),
    (taking(Literal["x", "y"]), said(enum=("x", "z")), "the prompt lists the values 'x', 'z', and the code 'x', 'y'"),
    (taking(Mode), said(enum=("a",)), "the prompt lists the values 'a', and the code 'a', 'b'"),
    (taking(Path), said(enum=("x",)), "an <enum> cannot be written into the type"),
    (taking(Literal["x"] | Path), said(enum=("x",)), "an <enum> cannot be written into the type"),
    (taking(str, "z"), said(enum=("x", "y")), "the default 'z' is none of the values it may have, 'x', 'y'"),
    (taking(str, None), said(enum=("x", "y")), "the default None is none of the values"),
    (taking(str | None, "z"), said(enum=("x",)), "the default 'z' is none of the values it may have, 'x', None"),
]


@pytest.mark.parametrize(("function", "parameter", "what"), DISAGREEMENTS)
def test_a_disagreement_is_an_error_that_names_tool_parameter_and_both_sides(
    tmp_path: Path, function: Callable[..., Any], parameter: str, what: str
):
    with pytest.raises(ToolDefinitionError, match=what) as caught:
        made(function, tmp_path, parameter)

    assert "tool 'tool'" in str(caught.value)


def test_a_default_outside_the_literal_of_its_author_is_an_error_without_a_prompt_too():
    with pytest.raises(ToolDefinitionError, match="parameter 'a': the default 'z' is none of the values"):
        base_tool(taking(Literal["x", "y"], "z"))


def test_a_default_that_is_a_member_of_its_enum_is_right():
    assert shown(base_tool(taking(Mode, Mode.B)))["default"] == "b"


def test_a_prompt_without_parameters_leaves_the_signature_alone(tmp_path: Path):
    tool = base_tool(prompt=prompt_file(tmp_path))(taking(str))

    assert shown(tool) == {"type": "string"}


def test_a_type_that_is_imported_for_type_checkers_only_is_an_error_that_names_tool_and_parameter():
    async def tool(a: int, price: Decimal) -> str:
        """Do it."""
        return ""

    with pytest.raises(ToolDefinitionError, match="tool 'tool': the type 'Decimal' of parameter 'price' cannot be"):
        base_tool(tool)


def test_a_result_whose_type_is_defined_later_is_an_error_that_says_so():
    async def tool(a: int) -> Later:  # pyright: ignore[reportUndefinedVariable]  # noqa: F821
        ...

    with pytest.raises(ToolDefinitionError, match="the type 'Later' of the result cannot be evaluated"):
        base_tool(tool)


def test_hints_that_only_fail_together_are_an_error_too():
    class Unsteady:
        tries = 0

        def __getitem__(self, key: object) -> type:
            Unsteady.tries += 1
            if Unsteady.tries == 1:
                raise TypeError("the first time it fails")
            return int

    tool = taking("Unsteady_[0]")
    tool.__globals__["Unsteady_"] = Unsteady()
    try:
        with pytest.raises(ToolDefinitionError, match="cannot be evaluated"):
            base_tool(tool)
    finally:
        del tool.__globals__["Unsteady_"]


class Opaque:
    """A class that pydantic knows nothing of."""


@pytest.mark.parametrize("hint", [Opaque, Callable[[], int]])
def test_a_type_without_a_json_schema_is_an_error(hint: Any):
    with pytest.raises(ToolDefinitionError, match=r"parameter 'a' has the type .* which has no JSON schema"):
        base_tool(taking(hint))


class Query(BaseModel):
    text: str
    order: Literal["up", "down"] = "up"
    how_many: int = Field(default=10, alias="howMany", description="Its own.")
    child: int | None = None


@dataclass
class QueryData:
    text: str
    order: Literal["up", "down"] = "up"
    howMany: int = 10  # noqa: N815 - the names of all three must be the same
    child: int | None = None


class QueryDict(TypedDict):
    text: str
    order: NotRequired[Literal["up", "down"]]
    howMany: NotRequired[int]
    child: NotRequired[int | None]


FIELDS = (
    said("text", about="What to find.", type="string", required="true")
    + said("order", about="Which way.", required="false", enum=("up", "down"))
    + said("howMany", about="Not this.", type="integer", required="false")
    + said("child")
)


def taking_one(model: type[Any], *, context: bool = False) -> Callable[..., Any]:
    async def tool(request: Any) -> str:
        """Do it."""
        return repr(request)

    async def with_context(ctx: RunContext[None], request: Any) -> str:
        """Do it."""
        return repr(request)

    made = with_context if context else tool
    made.__annotations__["request"] = model
    return made


@pytest.mark.parametrize("context", [False, True])
@pytest.mark.parametrize("model", [Query, QueryData, QueryDict])
async def test_the_fields_of_one_model_are_the_parameters(tmp_path: Path, model: type[Any], context: bool):
    tool = base_tool(prompt=prompt_file(tmp_path, FIELDS))(taking_one(model, context=context))
    spec = tool_spec(tool)
    properties = spec.schema["properties"]

    arguments = spec.validate({"text": "x", "howMany": 3})

    assert properties["text"]["description"] == "What to find."
    assert properties["order"]["description"] == "Which way."
    assert properties["howMany"]["description"] == ("Its own." if model is Query else "Not this.")
    assert spec.schema["required"] == ["text"]
    assert spec.schema == Tool(tool).function_schema.json_schema
    assert spec.arguments is model
    assert isinstance(arguments["request"], dict if model is QueryDict else model)
    with pytest.raises(ValidationError):
        spec.validate({"text": "x", "order": "sideways"})


class Node(BaseModel):
    """A model of itself."""

    value: int
    child: Node | None = None


def test_a_model_that_contains_itself_is_described_where_it_is_defined(tmp_path: Path):
    prompt = prompt_file(tmp_path, said("value", about="How much.") + said("child"))
    spec = tool_spec(base_tool(prompt=prompt)(taking_one(Node)))

    assert spec.schema["$defs"]["Node"]["properties"]["value"]["description"] == "How much."
    assert spec.validate({"value": 1, "child": {"value": 2}})["request"].child.value == 2


def test_the_model_itself_stays_as_its_author_made_it(tmp_path: Path):
    before = Query.model_json_schema()

    base_tool(prompt=prompt_file(tmp_path, FIELDS))(taking_one(Query))

    assert Query.model_json_schema() == before


def test_a_model_that_describes_all_its_fields_is_taken_as_it_is(tmp_path: Path):
    tool = base_tool(prompt=prompt_file(tmp_path, said("x", type="integer")))(taking_one(Model))

    assert tool.__annotations__["request"] is Model


@pytest.mark.parametrize(
    ("parameters", "what"),
    [
        (said("text"), "the function has a parameter 'order'"),
        (FIELDS.replace('"howMany"', '"how_many"'), "describes a parameter 'how_many'"),
        (
            FIELDS.replace("<type>string", "<type>integer"),
            "the prompt says <type>integer</type>, and the code takes string",
        ),
        (FIELDS.replace("<enum>up</enum>", ""), "the prompt lists the values 'down', and the code 'up', 'down'"),
        (FIELDS.replace("<type>string</type>", "<enum>x</enum>"), r"Write Literal\['x'\] as the type of the field"),
        (FIELDS.replace("'true'", "'false'"), 'required="false", and in the code it has no default'),
        (FIELDS.replace("'false'", "'true'", 1), "required=\"true\", and in the code it has the default 'up'"),
    ],
)
def test_a_prompt_that_disagrees_with_the_model_is_an_error(tmp_path: Path, parameters: str, what: str):
    with pytest.raises(ToolDefinitionError, match=what):
        base_tool(prompt=prompt_file(tmp_path, parameters))(taking_one(Query))


def test_a_field_that_may_be_missing_without_a_default_is_optional(tmp_path: Path):
    wrong = FIELDS.replace("'false'", "'true'", 1)

    with pytest.raises(ToolDefinitionError, match='required="true", and in the code it is optional'):
        base_tool(prompt=prompt_file(tmp_path, wrong))(taking_one(QueryDict))


def test_one_model_that_pydantic_does_not_take_is_an_error():
    class Holder(BaseModel, arbitrary_types_allowed=True):
        thing: Opaque

    with pytest.raises(ToolDefinitionError, match=r"parameter 'request' has the type .* no JSON schema"):
        base_tool(taking_one(Holder))


@pytest.mark.parametrize("hint", [list[str], dict[str, int], Annotated[str, Field()], str | None])
def test_one_parameter_that_is_no_model_keeps_its_name(tmp_path: Path, hint: Any):
    tool = base_tool(prompt=prompt_file(tmp_path, said("request", about="It.")))(taking_one(hint))

    assert tool_spec(tool).schema["properties"]["request"]["description"] == "It."
    assert list(tool_spec(tool).arguments.model_fields) == ["request"]
