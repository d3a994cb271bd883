"""The signature of a function with its hints evaluated, and the refusal of what no model could call."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from inspect import Parameter, Signature, signature, unwrap
from typing import Annotated, Any, get_args, get_origin, get_type_hints

from pydantic import AliasChoices, Field
from pydantic.fields import FieldInfo
from pydantic_ai import RunContext

from toolhaft.exceptions import ToolDefinitionError


def evaluated_signature(function: Callable[..., Any], name: str) -> Signature:
    """The signature of the tool `name`, with types in place of their names.

    What a partial binds by keyword is left out: its author has settled it, and it may be a secret. Raises
    `ToolDefinitionError` for a type that cannot be found, a parameter without a type, `*args`, `**kwargs`, a
    `RunContext` that is not the first parameter, and a default that only pydantic understands.
    """
    hints = _hints(function, name)
    parameters = _open_parameters(function)
    for index, parameter in enumerate(parameters):
        _check(name, parameter, hints, first=index == 0)
    return Signature(
        [parameter.replace(annotation=hints[parameter.name]) for parameter in parameters],
        return_annotation=hints.get("return", Signature.empty),
    )


def takes_context(shape: Signature) -> bool:
    """Whether the first parameter is pydantic-ai's `RunContext`, which the run gives and no model sees."""
    return any(_is_context(parameter.annotation) for parameter in shape.parameters.values())


def model_parameters(shape: Signature) -> list[Parameter]:
    """The parameters that a model fills in."""
    return [parameter for parameter in shape.parameters.values() if not _is_context(parameter.annotation)]


def without_annotated(hint: Any) -> Any:
    """The type itself, without what `Annotated` adds to it."""
    return get_args(hint)[0] if get_origin(hint) is Annotated else hint


def with_path(shape: Signature) -> Signature:
    """The signature with `path` as a second name of `filepath`, unless it has a `path` of its own.

    That is what many models and other toolkits call it. Calls that come as data may say so; the schema shows
    `filepath`, and to give both is a mistake.
    """
    if "filepath" not in shape.parameters or "path" in shape.parameters:
        return shape
    filepath = shape.parameters["filepath"]
    either = filepath.replace(annotation=Annotated[filepath.annotation, _EITHER_NAME])
    return shape.replace(
        parameters=[either if parameter is filepath else parameter for parameter in shape.parameters.values()]
    )


_EITHER_NAME = Field(validation_alias=AliasChoices("filepath", "path"))


def _is_context(hint: Any) -> bool:
    return hint is RunContext or get_origin(hint) is RunContext


def _open_parameters(function: Callable[..., Any]) -> list[Parameter]:
    if not isinstance(function, partial):
        return list(signature(function).parameters.values())
    # A new one: `update_wrapper` on a partial would make its signature that of the function, as if nothing was bound.
    bound: dict[str, Any] = function.keywords
    bare = partial[Any](function.func, *function.args, **bound)
    return [parameter for parameter in signature(bare).parameters.values() if parameter.name not in bound]


def _hints(function: Callable[..., Any], name: str) -> dict[str, Any]:
    while isinstance(function, partial):
        function = function.func
    try:
        return get_type_hints(function, include_extras=True)
    except (NameError, AttributeError, TypeError, SyntaxError) as error:
        parameter, written = _culprit(function)
        raise ToolDefinitionError(
            f"tool {name!r}: the type {written!r} of {parameter} cannot be evaluated ({error}). A tool's types are "
            "needed when it is decorated: define them before it, at the top of a module, and import them outside of "
            "`if TYPE_CHECKING`."
        ) from error


def _culprit(function: Any) -> tuple[str, str]:
    """The first parameter whose hint cannot be evaluated, and the hint as it is written."""
    names = unwrap(function).__globals__
    for parameter, hint in function.__annotations__.items():
        alone = type("alone", (), {"__annotations__": {parameter: hint}})
        try:
            get_type_hints(alone, globalns=names)
        except (NameError, AttributeError, TypeError, SyntaxError):
            return ("the result" if parameter == "return" else f"parameter {parameter!r}"), str(hint)
    return "a parameter", "(one that depends on another)"


def _check(name: str, parameter: Parameter, hints: dict[str, Any], *, first: bool) -> None:
    if parameter.kind in (Parameter.VAR_POSITIONAL, Parameter.VAR_KEYWORD):
        raise ToolDefinitionError(
            f"tool {name!r} takes {parameter}, and a model cannot know what to put there. Name each parameter."
        )
    if parameter.name not in hints:
        raise ToolDefinitionError(_unannotated(name, parameter.name, first=first))
    if _is_context(hints[parameter.name]) and not first:
        raise ToolDefinitionError(
            f"tool {name!r}: RunContext stands at {parameter.name!r}. Make it the first parameter."
        )
    if isinstance(parameter.default, FieldInfo):
        raise ToolDefinitionError(
            f"tool {name!r}: the default of parameter {parameter.name!r} is a pydantic Field, which a plain call would "
            f"receive as its value. Write `{parameter.name}: Annotated[..., Field(...)] = default`."
        )


def _unannotated(name: str, parameter: str, *, first: bool) -> str:
    if first and parameter in ("self", "cls"):
        return (
            f"tool {name!r} is a method of a class, and there is no object yet to call it on. Decorate the bound "
            f"method of an object instead: base_tool(instance.{name})."
        )
    return f"tool {name!r}: parameter {parameter!r} has no type, so nothing can be checked. Write `{parameter}: str`."
