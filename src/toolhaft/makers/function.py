"""Tools made from a plain handler and a description of its arguments, without a function signature."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable, Mapping
from inspect import Parameter, Signature
from typing import Any, Unpack

from pydantic import BaseModel, TypeAdapter
from pydantic_core import to_json

from toolhaft.decorators import make_tool
from toolhaft.decorators.making import AsyncFunction, ToolOptions
from toolhaft.decorators.routing import route_base
from toolhaft.exceptions import ToolDefinitionError
from toolhaft.makers.json_schema import type_from_schema
from toolhaft.prompts import check_name

NO_PARAMETERS: Mapping[str, Any] = {"type": "object", "properties": {}, "additionalProperties": False}


def tool_from_function(
    handler: Callable[[dict[str, Any]], Any],
    *,
    name: str,
    description: str,
    parameters: type[BaseModel] | Mapping[str, Any] | None = None,
    **options: Unpack[ToolOptions],
) -> AsyncFunction:
    """A tool that passes its arguments to `handler` as one dictionary, checked first.

    `parameters` is a pydantic model or a JSON schema, which reaches the model to the letter; None: there are none. An
    optional argument that was not given is left out of the dictionary, unless the pydantic model has a default for it
    that says something. A sync handler runs in a thread. What it returns is the answer if it is text, else becomes
    JSON text.

    The tool is called with the dictionary: `await tool({"city": "Paris"})`.

    ```python
    schema = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
    weather = tool_from_function(ask, name="weather", description="The weather.", parameters=schema, kind="network")
    ```

    Raises `ToolDefinitionError` for parameters that cannot be checked.
    """
    check_name(name)
    if not description.strip():
        raise ToolDefinitionError(f"tool {name!r}: the description is empty. Say in it what the tool does.")
    kind = _arguments_type(name, parameters)
    shape = Signature([Parameter("arguments", Parameter.POSITIONAL_OR_KEYWORD, annotation=kind)], return_annotation=str)
    return make_tool(
        _calling(handler, TypeAdapter[Any](kind)),
        name,
        shape=shape,
        route=lambda error, args, kwargs: route_base(name, error),
        description=description,
        options=options,
    )


def _arguments_type(name: str, parameters: type[BaseModel] | Mapping[str, Any] | None) -> type[Any]:
    if parameters is None:
        return type_from_schema(name, NO_PARAMETERS)
    if isinstance(parameters, Mapping):
        return type_from_schema(name, parameters)
    if not (isinstance(parameters, type) and issubclass(parameters, BaseModel)):  # pyright: ignore[reportUnnecessaryIsInstance] - not all have pyright
        raise ToolDefinitionError(
            f"tool {name!r}: parameters={parameters!r} is neither a pydantic model nor a JSON schema. Give one of them."
        )
    return parameters


def _calling(handler: Callable[[dict[str, Any]], Any], kind: TypeAdapter[Any]) -> AsyncFunction:
    is_async = inspect.iscoroutinefunction(handler)

    async def call(arguments: Any) -> Any:
        checked = as_dictionary(kind.validate_python(arguments))
        answer = handler(checked) if is_async else await asyncio.to_thread(handler, checked)
        if inspect.isawaitable(answer):
            answer = await answer
        return answer if isinstance(answer, str) else to_json(answer, inf_nan_mode="null").decode()

    return call


def as_dictionary(arguments: BaseModel | dict[str, Any]) -> dict[str, Any]:
    """Checked arguments as the handler gets them."""
    if not isinstance(arguments, BaseModel):
        return arguments
    given = arguments.model_fields_set
    left_out = {name for name, value in arguments if value is None and name not in given}
    return arguments.model_dump(by_alias=True, exclude=left_out)
