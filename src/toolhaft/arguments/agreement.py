"""Prompt and signature say the same of each parameter, or the tool is not made.

They drift apart silently otherwise: a prompt that promises milliseconds where the tool takes seconds, or names
parameters that are gone, misleads every model that reads it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import Enum
from inspect import Parameter
from typing import Any, NamedTuple

from toolhaft.arguments.facts import ANY_TYPE, Facts
from toolhaft.exceptions import ToolDefinitionError
from toolhaft.prompts import Prompt, PromptParameter


class Given(NamedTuple):
    """What the code says of one parameter."""

    facts: Facts
    required: bool
    default: Any = Parameter.empty


def check_names(tool: str, prompt: Prompt, names: Iterable[str]) -> None:
    """Raise unless the prompt describes each parameter, and no other."""
    there, written = list(names), [parameter.name for parameter in prompt.parameters or ()]
    for name in written:
        if name not in there:
            raise ToolDefinitionError(
                f"tool {tool!r}: the prompt {prompt.file} describes a parameter {name!r}, and the function has "
                f"{_listed(there)}. Rename or remove one of them."
            )
    for name in there:
        if name not in written:
            raise ToolDefinitionError(
                f"tool {tool!r}: the function has a parameter {name!r}, and the prompt {prompt.file} describes "
                f"{_listed(written)}. Describe it, or remove it from the function."
            )


def check_parameter(tool: str, said: PromptParameter, given: Given) -> None:
    """Raise unless prompt and code agree on whether the parameter is required, on its type and its values."""
    about = f"tool {tool!r}, parameter {said.name!r} ({said.where})"
    if said.required is not None and said.required != given.required:
        code = "has no default" if given.required else f"has the default {given.default!r}"
        code = "is optional" if not given.required and given.default is Parameter.empty else code
        raise ToolDefinitionError(
            f'{about}: the prompt says required="{str(said.required).lower()}", and in the code it {code}. '
            "Change one of them."
        )
    if said.type is not None and said.type not in given.facts.types:
        raise ToolDefinitionError(
            f"{about}: the prompt says <type>{said.type}</type>, and the code takes {given.facts}. Change one of them."
        )
    if said.enum:
        _check_enum(about, said.enum, given.facts)


def check_default(tool: str, name: str, default: Any, enum: Iterable[Any] | None) -> None:
    """Raise for a default that is none of the listed values: pydantic does not validate defaults."""
    value = default.value if isinstance(default, Enum) else default
    if enum is not None and default is not Parameter.empty and value not in (values := list(enum)):
        raise ToolDefinitionError(
            f"tool {tool!r}, parameter {name!r}: the default {value!r} is none of the values it may have, "
            f"{_listed(values)}. Add it to them, or change it; for None, add `| None` to the type."
        )


def _check_enum(about: str, enum: tuple[str, ...], facts: Facts) -> None:
    if not facts.is_text or facts.types == ANY_TYPE:
        raise ToolDefinitionError(
            f"{about}: the prompt lists the values {_listed(enum)}, and the code takes {facts}. An <enum> goes with "
            "text only: make the type str, or remove the <enum>s."
        )
    listed = [value for value in facts.enum or () if value is not None]
    if listed and set(listed) != set(enum):
        raise ToolDefinitionError(
            f"{about}: the prompt lists the values {_listed(enum)}, and the code {_listed(listed)}. "
            "List the same in both."
        )


def _listed(values: Iterable[Any]) -> str:
    return ", ".join(map(repr, values)) or "none"


def by_name(prompt: Prompt | None) -> Mapping[str, PromptParameter]:
    """The prompt's parameters by their names."""
    return {parameter.name: parameter for parameter in (prompt and prompt.parameters) or ()}
