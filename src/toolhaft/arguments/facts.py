"""What a type takes, in the terms of JSON: read from the JSON schema that pydantic makes of it."""

from __future__ import annotations

from collections.abc import Mapping
from functools import reduce
from typing import Any, NamedTuple

from pydantic import PydanticSchemaGenerationError, PydanticUserError, TypeAdapter

from toolhaft.exceptions import ToolDefinitionError

ANY_TYPE = frozenset({"string", "integer", "number", "boolean", "array", "object", "null"})

# Most parameters have one of these types, and building a pydantic schema for each would double the time to import.
_PLAIN: dict[Any, str] = {str: "string", int: "integer", float: "number", bool: "boolean"}


class Facts(NamedTuple):
    """The JSON types that a value may have, and the values it may be, if they are listed."""

    types: frozenset[str]
    enum: tuple[Any, ...] | None = None

    @property
    def is_text(self) -> bool:
        return "string" in self.types and self.types <= {"string", "null"}

    def __str__(self) -> str:
        return "any type" if self.types == ANY_TYPE else " or ".join(sorted(self.types))


def facts_of_hint(hint: Any, *, where: str) -> Facts:
    """What values of a type hint are in JSON. Raises `ToolDefinitionError` for a type that pydantic does not know."""
    if isinstance(hint, type) and hint in _PLAIN:
        return Facts(frozenset({_PLAIN[hint]}))
    schema = json_schema(hint, where=where)
    return facts_of_schema(schema, schema.get("$defs", {}))


def json_schema(hint: Any, *, where: str) -> dict[str, Any]:
    """The JSON schema of a type hint, by pydantic."""
    try:
        return TypeAdapter[Any](hint).json_schema()
    except (PydanticSchemaGenerationError, PydanticUserError) as error:
        raise ToolDefinitionError(
            f"{where} has the type {hint!r}, which has no JSON schema ({str(error).splitlines()[0]}). Use types that "
            "pydantic knows: text, numbers, lists, dictionaries, models, dataclasses."
        ) from error


def facts_of_schema(schema: Mapping[str, Any], definitions: Mapping[str, Any]) -> Facts:
    """What a JSON schema says of type and listed values."""
    if "$ref" in schema:
        return facts_of_schema(definitions[schema["$ref"].rpartition("/")[2]], definitions)
    branches = schema.get("anyOf") or schema.get("oneOf") or schema.get("allOf")
    if branches:
        return reduce(_either, (facts_of_schema(branch, definitions) for branch in branches))
    types = schema.get("type", ANY_TYPE)
    enum = (schema["const"],) if "const" in schema else tuple(schema["enum"]) if "enum" in schema else None
    return Facts(frozenset({types} if isinstance(types, str) else types), (None,) if types == "null" else enum)


def _either(one: Facts, other: Facts) -> Facts:
    listed = None if one.enum is None or other.enum is None else (*one.enum, *other.enum)
    return Facts(one.types | other.types, listed)
