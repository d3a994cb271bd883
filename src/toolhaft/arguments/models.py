"""Pydantic models and arguments: the model of a tool's arguments, and tools whose one argument is a model."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import is_dataclass
from inspect import Parameter, Signature
from types import GenericAlias
from typing import Any, cast

from pydantic import BaseModel, ConfigDict, Field, GetCoreSchemaHandler, GetJsonSchemaHandler, create_model
from pydantic_core import CoreSchema
from typing_extensions import is_typeddict

from toolhaft.arguments.signature import model_parameters


def is_model_like(hint: Any) -> bool:
    """Whether pydantic-ai takes the fields of this type for a tool's parameters, when it is the only one."""
    if not isinstance(hint, type) or isinstance(hint, GenericAlias):
        return False
    kind = cast("type[Any]", hint)
    is_known = issubclass(kind, BaseModel) or is_dataclass(kind) or is_typeddict(kind)
    return is_known or getattr(kind, "__is_model_like__", False)


def arguments_model(name: str, shape: Signature) -> type[Any]:
    """A pydantic model with a field for each parameter; where the one parameter is a model itself, that.

    Parameters may be called what fields may not, such as `schema`, `copy` or `_x`: those fields have another name and
    the parameter's as alias.
    """
    parameters = model_parameters(shape)
    if len(parameters) == 1 and is_model_like(parameters[0].annotation):
        return getattr(parameters[0].annotation, "__describes__", parameters[0].annotation)
    config = ConfigDict(extra="forbid", protected_namespaces=(), serialize_by_alias=True)
    fields = {_field_name(parameter.name): (parameter.annotation, _field(parameter)) for parameter in parameters}
    return cast("type[Any]", create_model(name, __config__=config, **cast("dict[str, Any]", fields)))


def described_model(model: type[Any], descriptions: Mapping[str, str]) -> type[Any]:
    """A stand-in for a model in an annotation: takes and gives the same, with descriptions in its JSON schema.

    The model itself is the author's, and may be in use elsewhere: it is left as it is.
    """

    def core_schema(cls: type, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        return handler.generate_schema(model)

    def json_schema(cls: type, core: CoreSchema, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        schema = handler.resolve_ref_schema(handler(core))
        properties = {
            name: {**field, "description": descriptions[name]} if name in descriptions else field
            for name, field in schema["properties"].items()
        }
        return {**schema, "properties": properties}

    body: dict[str, Any] = {
        "__is_model_like__": True,  # what pydantic-ai asks of a class that is none of the three kinds it knows
        "__describes__": model,
        "__get_pydantic_core_schema__": classmethod(core_schema),
        "__get_pydantic_json_schema__": classmethod(json_schema),
    }
    return type(model.__name__, (), {**body, "__module__": model.__module__, "__doc__": model.__doc__})


def _field_name(parameter: str) -> str:
    is_usable = not parameter.startswith("_") and not hasattr(BaseModel, parameter)
    return parameter if is_usable else f"parameter_{parameter}"


def _field(parameter: Parameter) -> Any:
    default: Any = ... if parameter.default is Parameter.empty else parameter.default
    if _field_name(parameter.name) == parameter.name:
        return Field(default)
    return Field(default, alias=parameter.name)
