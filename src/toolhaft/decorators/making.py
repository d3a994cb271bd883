"""A function and what is said about it, made into a tool: wrapped, documented, stamped."""

from __future__ import annotations

import asyncio
import functools
import inspect
import logging
import math
from collections.abc import Awaitable, Callable
from functools import partial
from inspect import Signature
from pathlib import Path
from typing import Any, TypedDict, cast

from toolhaft.arguments import arguments_model, documented, evaluated_signature, with_path
from toolhaft.call_log import LOGGER, logged
from toolhaft.decorators.routing import UNCHANGED
from toolhaft.exceptions import ToolDefinitionError, ToolExecutionError
from toolhaft.prompts import Prompt, armour
from toolhaft.spec import MARK, ToolKind, ToolSpec

Route = Callable[[Exception, tuple[Any, ...], dict[str, Any]], Exception]
"""The exception to raise in place of one, given the arguments of the call."""

AsyncFunction = Callable[..., Awaitable[Any]]


class ToolOptions(TypedDict, total=False):
    """What an author may say about a tool."""

    kind: ToolKind | str
    """What it may do to the world. Left out, it counts as `write`: as far as anyone knows, it may change things."""

    sensitive: bool
    """Whether a person should be asked before it runs; by the kind if left out."""

    prompt: str | Path
    """The prompt file, if it is not `prompts/<name>_prompt.xml`. Relative to the file that defines the tool."""

    timeout_seconds: float
    """How long a call may take before it is cancelled and has failed."""

    approval: Callable[..., Any]
    """Given the arguments by keyword, answers None, True or `NeedsApproval(reason, message)`: whether to ask a person.

    What it answers counts more than `sensitive`."""

    preview: Callable[..., Any]
    """Given the arguments by keyword, tells what the call would do, changing nothing."""

    idempotent: bool
    """Whether running the same call twice does what running it once does."""


def make_tool(
    function: AsyncFunction,
    name: str,
    *,
    shape: Signature | None = None,
    route: Route,
    prompt: Prompt | None = None,
    description: str | None = None,
    made_from: str | None = None,
    options: ToolOptions,
) -> AsyncFunction:
    """The tool `name`: an async function that does what `function` does, with its card on it.

    The model reads the prompt, else `description`, else the docstring. `shape` is the signature with evaluated hints.
    """
    _check_options(name, options)
    shape = with_path(documented(name, shape or evaluated_signature(function, name), prompt))
    seconds = _seconds(name, options.get("timeout_seconds"))
    limited = function if seconds is None else _limited(function, name, seconds)
    tool = _wrapped(limited, name, names=tuple(shape.parameters), route=route)
    _dress(tool, function, name, shape)
    text = prompt.description if prompt else description
    tool.__doc__ = armour(text) if text else _docstring(function)
    kind = _kind(name, options.get("kind", ToolKind.WRITE))
    spec = ToolSpec(
        function=tool,
        name=name,
        description=text or inspect.cleandoc(tool.__doc__ or ""),
        kind=kind,
        sensitive=options.get("sensitive", kind is not ToolKind.READ),
        build_arguments=partial(arguments_model, name, shape),
        prompt_file=prompt.file if prompt else None,
        timeout_seconds=seconds,
        approval=options.get("approval"),
        preview=_preview(options.get("preview"), name, names=tuple(shape.parameters), route=route),
        idempotent=options.get("idempotent", False),
        made_from=made_from,
    )
    setattr(tool, MARK, spec)
    return tool


def _check_options(name: str, options: ToolOptions) -> None:
    wanted: dict[str, tuple[bool, str]] = {
        "sensitive": (isinstance(options.get("sensitive", False), bool), "True or False"),
        "idempotent": (isinstance(options.get("idempotent", False), bool), "True or False"),
        "timeout_seconds": (isinstance(cast("object", options.get("timeout_seconds") or 0), int | float), "a number"),
        "approval": (callable(options.get("approval") or print), "a function of the tool's arguments"),
        "preview": (_is_none_or_async(options.get("preview")), "an async function of the tool's arguments"),
    }
    for option, (is_right, meaning) in wanted.items():
        if not is_right:
            raise ToolDefinitionError(f"tool {name!r}: {option}={options.get(option)!r} is not {meaning}.")


def _is_none_or_async(function: object) -> bool:
    """Whether this is no function, or one to be awaited: an object with an async `__call__` is one too."""
    called = type(function).__call__ if callable(function) else None
    return function is None or inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(called)


def _wrapped(function: AsyncFunction, name: str, *, names: tuple[str, ...], route: Route) -> Any:
    """The function with its exceptions routed and its calls logged."""
    quiet = _routed(function, route, is_logged=_never, log=function)
    return _routed(function, route, is_logged=LOGGER.isEnabledFor, log=partial(logged, quiet, name, names))


def _routed(
    function: AsyncFunction, route: Route, *, is_logged: Callable[[int], bool], log: Callable[..., Awaitable[Any]]
) -> AsyncFunction:
    """The function with its exceptions routed, called through `log` where there is a log to write.

    All of it is one frame, which holds no state and binds no signature: a second frame would add half the cost again.
    """
    level = logging.INFO

    async def tool(*args: Any, **kwargs: Any) -> Any:
        if is_logged(level):
            return await log(args, kwargs)
        pending = function(*args, **kwargs)  # outside: a call that does not fit the signature is the caller's mistake
        try:
            return await pending
        except UNCHANGED:
            raise
        except Exception as error:
            raise route(error, args, kwargs) from error

    return tool


def _never(level: int) -> bool:
    return False


def _preview(function: Any, name: str, *, names: tuple[str, ...], route: Route) -> Any:
    """The preview as a caller gets it: what it raises is routed as what the tool raises."""
    return None if function is None else _wrapped(function, f"preview of {name}", names=names, route=route)


def _limited(function: AsyncFunction, name: str, seconds: float) -> AsyncFunction:
    """The function, cancelled after so many seconds."""

    async def limited(*args: Any, **kwargs: Any) -> Any:
        limit = asyncio.timeout(seconds)
        try:
            async with limit:
                return await function(*args, **kwargs)
        except TimeoutError as error:
            if not limit.expired():  # the function's own, about something else
                raise
            raise ToolExecutionError(
                name, f"it took longer than the {seconds:g} seconds it may take, and was stopped. Ask for less.", error
            ) from error

    return limited


def _dress(tool: Any, function: AsyncFunction, name: str, shape: Signature) -> None:
    """Make the tool look like the function to whoever inspects it."""
    functools.update_wrapper(tool, function)
    tool.__name__ = name
    tool.__module__ = getattr(_innermost(function), "__module__", tool.__module__)
    tool.__signature__ = shape
    hints = {parameter.name: parameter.annotation for parameter in shape.parameters.values()}
    returned = {} if shape.return_annotation is Signature.empty else {"return": shape.return_annotation}
    tool.__annotations__ = {**hints, **returned}


def _docstring(function: AsyncFunction) -> str | None:
    """The function's own docstring: that of the class `partial` says nothing about a partial."""
    while isinstance(function, partial) and "__doc__" not in vars(function):
        function = function.func
    return function.__doc__


def _innermost(function: Any) -> Any:
    while isinstance(function, partial):
        function = function.func  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]
    return function  # pyright: ignore[reportUnknownVariableType]


def _kind(name: str, kind: ToolKind | str) -> ToolKind:
    try:
        return ToolKind(kind)
    except ValueError as error:
        kinds = ", ".join(ToolKind)
        raise ToolDefinitionError(f"tool {name!r}: kind={kind!r} is unknown. Use one of {kinds}.") from error


def _seconds(name: str, seconds: float | None) -> float | None:
    if seconds is None or (not isinstance(seconds, bool) and 0 < seconds < math.inf):
        return seconds
    raise ToolDefinitionError(f"tool {name!r}: timeout_seconds={seconds!r} is no span of time. Use a number over 0.")
