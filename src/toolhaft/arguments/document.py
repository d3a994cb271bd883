"""What a prompt says of parameters, written into the signature.

Descriptions become `Annotated[T, Field(description=...)]`, enums become `Literal[...]`: so they are enforced, and
every door reads them, pydantic-ai and MCP alike. What the author wrote there already wins.
"""

from __future__ import annotations

from inspect import Parameter, Signature
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from pydantic import Field
from pydantic.fields import FieldInfo

from toolhaft.arguments.agreement import Given, by_name, check_default, check_names, check_parameter
from toolhaft.arguments.facts import Facts, facts_of_hint, facts_of_schema, json_schema
from toolhaft.arguments.models import described_model, is_model_like
from toolhaft.arguments.signature import model_parameters
from toolhaft.exceptions import ToolDefinitionError
from toolhaft.prompts import Prompt, PromptParameter


def documented(tool: str, shape: Signature, prompt: Prompt | None) -> Signature:
    """The signature with what the prompt says in its annotations.

    Raises `ToolDefinitionError` where prompt and signature disagree, and for a default outside its enum.
    """
    parameters = model_parameters(shape)
    if len(parameters) == 1 and is_model_like(parameters[0].annotation):
        changed = [_documented_model(tool, parameters[0], prompt)]
    else:
        if prompt is not None and prompt.parameters is not None:
            check_names(tool, prompt, (parameter.name for parameter in parameters))
        said = by_name(prompt)
        changed = [_documented(tool, parameter, said.get(parameter.name)) for parameter in parameters]
    context = list(shape.parameters.values())[: len(shape.parameters) - len(parameters)]
    return shape.replace(parameters=[*context, *changed])


def _documented(tool: str, parameter: Parameter, said: PromptParameter | None) -> Parameter:
    hint, default = parameter.annotation, parameter.default
    facts = facts_of_hint(hint, where=f"tool {tool!r}: parameter {parameter.name!r}")
    if said is not None:
        check_parameter(tool, said, Given(facts=facts, required=default is Parameter.empty, default=default))
        if said.enum and facts.enum is None:
            hint = _limited(hint, said.enum)
            if hint is None:
                raise ToolDefinitionError(
                    f"tool {tool!r}, parameter {parameter.name!r} ({said.where}): an <enum> cannot be written into the "
                    f"type {parameter.annotation!r}. Make it str, or write Literal[...] there yourself."
                )
            facts = Facts(facts.types, (*said.enum, *([None] if "null" in facts.types else [])))
        hint = _described(hint, said.description)
    check_default(tool, parameter.name, default, facts.enum)
    return parameter.replace(annotation=hint)


def _documented_model(tool: str, parameter: Parameter, prompt: Prompt | None) -> Parameter:
    """The parameter of a tool that takes one model; the model's fields are what the prompt describes."""
    schema = json_schema(parameter.annotation, where=f"tool {tool!r}: parameter {parameter.name!r}")
    if prompt is None or prompt.parameters is None:
        return parameter
    definitions = schema.get("$defs", {})
    if "$ref" in schema:
        schema = definitions[schema["$ref"].rpartition("/")[2]]
    fields: dict[str, Any] = schema.get("properties", {})
    check_names(tool, prompt, fields)
    for name, said in by_name(prompt).items():
        facts = facts_of_schema(fields[name], definitions)
        if said.enum and facts.enum is None and facts.is_text:
            raise ToolDefinitionError(
                f"tool {tool!r}, parameter {name!r} ({said.where}): the prompt lists values, and the field takes any "
                f"text. Write Literal[{', '.join(map(repr, said.enum))}] as the type of the field."
            )
        given = Given(
            facts=facts,
            required=name in schema.get("required", []),
            default=fields[name].get("default", Parameter.empty),
        )
        check_parameter(tool, said, given)
    missing = {
        name: said.description
        for name, said in by_name(prompt).items()
        if said.description and "description" not in fields[name]
    }
    return parameter.replace(annotation=described_model(parameter.annotation, missing)) if missing else parameter


def _described(hint: Any, description: str | None) -> Any:
    written = get_args(hint)[1:] if get_origin(hint) is Annotated else ()
    has_one = any(isinstance(one, FieldInfo) and one.description for one in written)
    return hint if description is None or has_one else Annotated[hint, Field(description=description)]


def _limited(hint: Any, enum: tuple[str, ...]) -> Any:
    """The hint with `Literal[...]` in the place of `str`; None where there is no plain `str` in it."""
    if hint is str:
        return Literal[enum]
    if get_origin(hint) is Annotated:
        inner, *written = get_args(hint)
        limited = _limited(inner, enum)
        return None if limited is None else Annotated[limited, *written]
    if get_origin(hint) in (Union, UnionType):
        limits = [one if one is NoneType else _limited(one, enum) for one in get_args(hint)]
        return None if None in limits else Union[tuple(limits)]  # noqa: UP007 - the members are known only here
    return None
