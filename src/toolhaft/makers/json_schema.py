"""A JSON schema as a type: pydantic checks values by it, and shows it to a model to the letter.

What is checked: type (also lists of types), properties, required, additionalProperties, items, enum, const, anyOf,
oneOf (as anyOf), allOf, local `$ref`s, recursive ones too, and the bounds of numbers, texts and lists. Conversions are
pydantic's: the text "7" will do for an integer. Other keywords, such as `not`, `if` and `format`, reach the model and
are not checked. Nothing is added: an argument that is left out stays out, its `default` is for the model to read.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from fractions import Fraction
from typing import Any, cast

from pydantic import GetCoreSchemaHandler, GetJsonSchemaHandler
from pydantic_core import CoreSchema, SchemaError, SchemaValidator, core_schema

from toolhaft.exceptions import ToolDefinitionError

Schema = Mapping[str, Any]

_NUMBER_BOUNDS = {
    "minimum": "ge",
    "maximum": "le",
    "exclusiveMinimum": "gt",
    "exclusiveMaximum": "lt",
    "multipleOf": "multiple_of",
}


def type_from_schema(name: str, schema: Schema) -> type[Any]:
    """A type for an annotation whose values are dictionaries that fit the schema of an object.

    Raises `ToolDefinitionError` for a schema of anything else, and for one that cannot be checked.
    """
    if schema.get("type") != "object":
        raise ToolDefinitionError(
            f"tool {name!r}: the parameters' schema has type={schema.get('type')!r}. Arguments have names: write "
            '"type": "object", with them in "properties".'
        )
    try:
        checks = _Checks(name, schema).build()
        SchemaValidator(checks)
    except ToolDefinitionError:
        raise
    except (SchemaError, AttributeError, TypeError, ValueError, KeyError) as error:
        raise ToolDefinitionError(f"tool {name!r}: the parameters' schema is no JSON schema ({error}).") from error
    shown = as_given(schema)

    def core(cls: type, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        return checks

    def json(cls: type, core: CoreSchema, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        return shown

    body: dict[str, Any] = {
        "__is_model_like__": True,  # what pydantic-ai asks of a class that is none of the three kinds it knows
        "__get_pydantic_core_schema__": classmethod(core),
        "__get_pydantic_json_schema__": classmethod(json),
    }
    return type(f"{name}_arguments", (dict,), body)


class _GivenRef(str):
    """A `$ref` that pydantic leaves alone, as it does with those to other documents.

    It means to collect the definitions that the schema uses, knows only its own, and would fail on any other.
    """

    def startswith(self, prefix: str | tuple[str, ...], *bounds: Any) -> bool:
        return prefix == ("http://", "https://") or super().startswith(prefix, *bounds)


def as_given(part: Any) -> Any:
    """A JSON schema, or a part of it, with which pydantic leaves the `$ref`s alone."""
    if isinstance(part, Mapping):
        items = cast("Mapping[str, Any]", part).items()
        return {
            key: _GivenRef(value) if key == "$ref" and isinstance(value, str) else as_given(value)
            for key, value in items
        }
    return [as_given(one) for one in cast("list[Any]", part)] if isinstance(part, list) else part


class _Checks:
    """The way from one JSON schema to pydantic's core schema. `$ref`s become definitions, built when first met."""

    def __init__(self, name: str, schema: Schema) -> None:
        self._name = name
        self._root = schema
        self._definitions: dict[str, CoreSchema | None] = {}

    def build(self) -> CoreSchema:
        checks = self._any_of_it(self._root)
        definitions = [definition for definition in self._definitions.values() if definition is not None]
        return core_schema.definitions_schema(checks, definitions) if definitions else checks

    def _any_of_it(self, schema: Any) -> CoreSchema:
        """All that a schema says, each part of it checked after the other."""
        if isinstance(schema, bool):
            return core_schema.any_schema() if schema else core_schema.no_info_plain_validator_function(_refuse)
        if not isinstance(schema, Mapping):
            raise self._fault(f"{schema!r} stands where a schema should")
        schema = cast("Schema", schema)
        parts = [self._reference(schema["$ref"])] if "$ref" in schema else []
        parts += [self._any_of_it(one) for one in schema.get("allOf", [])]
        parts += [self._either(schema[word]) for word in ("anyOf", "oneOf") if word in schema]
        if "enum" in schema or "const" in schema:
            parts.append(core_schema.literal_schema(schema["enum"] if "enum" in schema else [schema["const"]]))
        elif (kinds := _kinds(schema)) is not None:
            parts.append(_union([self._kind(kind, schema) for kind in kinds]))
        if not parts:
            return core_schema.any_schema()
        return parts[0] if len(parts) == 1 else core_schema.chain_schema(parts)

    def _either(self, schemas: Any) -> CoreSchema:
        return _union([self._any_of_it(one) for one in schemas])

    def _kind(self, kind: Any, schema: Schema) -> CoreSchema:
        if kind == "object":
            return self._object(schema)
        if kind == "array":
            items = self._any_of_it(schema.get("items", True)) if "prefixItems" not in schema else None
            return core_schema.list_schema(items, min_length=schema.get("minItems"), max_length=schema.get("maxItems"))
        if kind == "string":
            return self._string(schema)
        if kind == "integer":
            return core_schema.int_schema(**_whole(_bounds(schema)))
        if kind == "number":
            # A whole number stays one: 5 does not become 5.0.
            bounds = _bounds(schema)
            return _union(
                [
                    core_schema.int_schema(**_whole(bounds)),
                    core_schema.float_schema(**bounds, allow_inf_nan=False),
                ]
            )
        if kind == "boolean":
            return core_schema.bool_schema()
        if kind == "null":
            return core_schema.none_schema()
        raise self._fault(f"the type {kind!r} is unknown")

    def _object(self, schema: Schema) -> CoreSchema:
        required, extra = schema.get("required", ()), schema.get("additionalProperties", True)
        fields = {
            name: core_schema.typed_dict_field(self._any_of_it(one), required=name in required)
            for name, one in schema.get("properties", {}).items()
        }
        # Names that are required and described nowhere.
        fields |= {
            name: core_schema.typed_dict_field(core_schema.any_schema()) for name in required if name not in fields
        }
        if extra is False and "patternProperties" not in schema:
            return core_schema.typed_dict_schema(fields, extra_behavior="forbid")
        extras = self._any_of_it(extra) if isinstance(extra, Mapping) else None
        return core_schema.typed_dict_schema(fields, extra_behavior="allow", extras_schema=extras)

    def _string(self, schema: Schema) -> CoreSchema:
        pattern = schema.get("pattern")
        try:
            compiled = None if pattern is None else re.compile(pattern)
        except re.error as error:
            raise self._fault(f"the pattern {pattern!r} is no regular expression ({error})") from error
        return core_schema.str_schema(
            pattern=compiled,
            min_length=schema.get("minLength"),
            max_length=schema.get("maxLength"),
            regex_engine="python-re",
        )

    def _reference(self, reference: Any) -> CoreSchema:
        name = f"{self._name} {reference}"
        if name not in self._definitions:
            self._definitions[name] = None  # it is being built: what refers to it meanwhile refers to its name
            # In a chain, as the target may be a mere reference to another, which cannot have a name of its own.
            self._definitions[name] = core_schema.chain_schema([self._any_of_it(self._target(reference))], ref=name)
        return core_schema.definition_reference_schema(name)

    def _target(self, reference: Any) -> Any:
        """What a `$ref` of the form `#/$defs/Name` points at."""
        target: Any = self._root
        start, *steps = str(reference).split("/")
        try:
            if start != "#":
                raise LookupError("it is in another document")
            for step in steps:
                step = step.replace("~1", "/").replace("~0", "~")
                target = target[int(step) if isinstance(target, list) else step]
        except (LookupError, TypeError, ValueError) as error:
            raise self._fault(f"the $ref {reference!r} leads nowhere in it ({error})") from error
        return target

    def _fault(self, what: str) -> ToolDefinitionError:
        return ToolDefinitionError(f"tool {self._name!r}: in the parameters' schema {what}. Correct the schema.")


def _kinds(schema: Schema) -> list[Any] | None:
    """The types that a schema names, or shows by what it says; None where it does neither."""
    written = schema.get("type")
    if written is None:
        for word, kind in (("properties", "object"), ("required", "object"), ("items", "array")):
            if word in schema:
                return [kind]
        return None
    kinds: list[Any] = [written] if isinstance(written, str) else list(written)
    return [*kinds, "null"] if schema.get("nullable") is True else kinds


def _bounds(schema: Schema) -> dict[str, Any]:
    return {bound: schema[word] for word, bound in _NUMBER_BOUNDS.items() if word in schema}


def _whole(bounds: dict[str, Any]) -> dict[str, Any]:
    """The same bounds for whole numbers, in whole numbers: pydantic takes no others for them."""
    rounded = {"ge": math.ceil, "lt": math.ceil, "le": math.floor, "gt": math.floor}
    whole = {bound: rounded[bound](value) for bound, value in bounds.items() if bound in rounded}
    step = bounds.get("multiple_of")
    # A whole number is a multiple of 2.5 when it is one of 5, the numerator of 5/2.
    return whole if step is None else {**whole, "multiple_of": Fraction(str(step)).numerator}


def _union(choices: list[CoreSchema]) -> CoreSchema:
    return choices[0] if len(choices) == 1 else core_schema.union_schema([*choices])


def _refuse(value: Any) -> Any:
    raise ValueError("The schema allows nothing here")
