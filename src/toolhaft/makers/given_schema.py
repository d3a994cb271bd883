"""A tool whose JSON schema is somebody else's: it reaches the model to the letter, and arguments are checked by it.

Another program wrote the schema, so nothing may be added to it, lost or put in another order, and it may hold whatever
JSON Schema has: pydantic's way from a type to a schema cannot promise that. A library of JSON Schema checks the
arguments, converts nothing, and leaves out what was left out. What it cannot check, the other program will: a schema
that is none, references to other documents (which are never fetched), and patterns, whose language is not Python's and
which a hostile author could make run for ever.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from importlib import import_module
from inspect import Parameter, Signature
from itertools import islice
from typing import TYPE_CHECKING, Any, cast

from pydantic import GetCoreSchemaHandler, GetJsonSchemaHandler, TypeAdapter
from pydantic_core import (
    CoreSchema,
    InitErrorDetails,
    PydanticCustomError,
    SchemaValidator,
    ValidationError,
    core_schema,
)

from toolhaft.decorators import make_tool
from toolhaft.decorators.making import AsyncFunction, ToolOptions
from toolhaft.decorators.routing import route_base
from toolhaft.exceptions import describe
from toolhaft.makers.json_schema import as_given
from toolhaft.spec import MARK, ToolSpec, tool_spec

if TYPE_CHECKING:
    from pydantic_ai import Tool

LOGGER = logging.getLogger("toolhaft.makers")

Schema = Mapping[str, Any]

MOST_MISTAKES = 5
"""How many mistakes a model is told of at once; one wrong union can have hundreds."""

_MOST_CHARACTERS = 300


@dataclass(frozen=True, kw_only=True)
class GivenSchemaSpec(ToolSpec):
    """The card of such a tool."""

    given: dict[str, Any] = field(repr=False)
    """The schema as it was given."""

    checks: CoreSchema = field(repr=False)
    """What judges arguments by it."""

    about: dict[str, Any] = field(default_factory=dict[str, Any])
    """What stands in the card beside the rest: where the tool comes from, and its name there."""

    def card(self) -> dict[str, Any]:
        """What the pipeline must know, and where the tool comes from."""
        return {**super().card(), **self.about}

    @cached_property
    def _tool(self) -> Tool[Any]:
        from pydantic_ai import Tool

        async def call(**arguments: Any) -> Any:
            return await self.function(arguments)

        tool = Tool[Any].from_schema(call, self.name, self.description or None, self.given)
        tool.function_schema = replace(tool.function_schema, validator=SchemaValidator(self.checks))
        return tool


def tool_of_schema(
    call: Callable[[dict[str, Any]], Any],
    *,
    name: str,
    description: str,
    schema: dict[str, Any],
    about: dict[str, Any],
    made_from: str,
    options: ToolOptions,
) -> AsyncFunction:
    """The tool `name` that passes its arguments to `call` as one dictionary: `await tool({"city": "Paris"})`."""
    checks = _checked_by(schema)
    kind = _dictionary(name, schema, checks)
    shape = Signature([Parameter("arguments", Parameter.POSITIONAL_OR_KEYWORD, annotation=kind)], return_annotation=str)
    tool = make_tool(
        call,
        name,
        shape=shape,
        route=lambda error, args, kwargs: route_base(name, error),
        description=description,
        made_from=made_from,
        options=options,
    )
    known = {one.name: getattr(tool_spec(tool), one.name) for one in fields(ToolSpec)}
    setattr(tool, MARK, GivenSchemaSpec(**known, given=schema, checks=checks, about=about))
    return tool


def _dictionary(name: str, schema: Schema, checks: CoreSchema) -> type[Any]:
    """The type of the one parameter, for whoever reads the signature instead of the card, as a bare agent does.

    pydantic shows what it can of the schema there: much of the order goes, and with some schemas all.
    """
    shown = as_given(schema)
    try:
        kind = _typed(name, shown, checks)
        TypeAdapter[Any](kind).json_schema()
    except Exception:  # noqa: BLE001 - what pydantic raises about a schema that it did not write may be anything
        return _typed(name, {"type": "object"}, checks)
    return kind


def _typed(name: str, shown: Any, checks: CoreSchema) -> type[Any]:
    def core(cls: type, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        return checks

    def json(cls: type, core: CoreSchema, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        return shown

    body: dict[str, Any] = {
        "__is_model_like__": True,
        "__get_pydantic_core_schema__": classmethod(core),
        "__get_pydantic_json_schema__": classmethod(json),
    }
    return type(f"{name}_arguments", (dict,), body)


def _checked_by(schema: Schema) -> CoreSchema:
    """What pydantic is to do with arguments: ask the library, and tell its mistakes as pydantic's own."""
    mistakes = _mistakes_by(schema)

    def check(value: Any) -> Any:
        if not isinstance(value, dict):
            raise PydanticCustomError("json_schema", "Arguments are a JSON object, with a value for each name")
        found = mistakes(cast("dict[str, Any]", value))
        if found:
            raise ValidationError.from_exception_data("arguments", found)
        return cast("dict[str, Any]", value)

    return core_schema.no_info_plain_validator_function(check)


def _mistakes_by(schema: Schema) -> Callable[[dict[str, Any]], list[InitErrorDetails]]:
    # Here, as it comes with an extra; and as modules, as the library's types are only partly known.
    library: Any = import_module("jsonschema")
    referencing: Any = import_module("referencing")
    try:
        kind = _without_patterns(library.validators, schema)
        kind.check_schema(schema)
        validator = kind(schema, registry=referencing.Registry())  # one that fetches nothing
    except Exception as error:  # noqa: BLE001 - a schema that is none can be wrong in ways the library never thought of
        LOGGER.warning("arguments are not checked here, as their schema is none: %s", _short(describe(error)))
        return lambda value: []

    def mistakes(value: dict[str, Any]) -> list[InitErrorDetails]:
        try:
            found: list[Any] = list(islice(validator.iter_errors(value), MOST_MISTAKES))
        except Exception:  # noqa: BLE001 - a reference that leads nowhere, or round in a circle: the other will say so
            return []
        return [_mistake(library.exceptions.best_match([error]) or error) for error in found]

    return mistakes


def _without_patterns(validators: Any, schema: Schema) -> Any:
    """The validator of the schema's version, without what matches names or texts with regular expressions."""
    kind: Any = validators.validator_for(schema, default=validators.Draft202012Validator)
    additional = kind.VALIDATORS["additionalProperties"]

    def unless_patterned(validator: Any, value: Any, instance: Any, schema: Any) -> Any:
        return () if "patternProperties" in schema else additional(validator, value, instance, schema)

    def nothing(validator: Any, value: Any, instance: Any, schema: Any) -> Any:
        return ()

    dropped = dict.fromkeys(("pattern", "patternProperties", "unevaluatedProperties"), nothing)
    return validators.extend(kind, {**dropped, "additionalProperties": unless_patterned})


def _mistake(error: Any) -> InitErrorDetails:
    text = _short(error.message)
    # Braces would be read as places for values.
    told = PydanticCustomError("json_schema", "{text}", {"text": text})
    return InitErrorDetails(type=told, loc=tuple(error.absolute_path), input=error.instance)


def _short(text: str) -> str:
    return text if len(text) <= _MOST_CHARACTERS else f"{text[:_MOST_CHARACTERS]}..."
