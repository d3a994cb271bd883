"""The two decorators, with and without parentheses, and what they refuse."""

from __future__ import annotations

import difflib
import inspect
from collections.abc import Callable, Coroutine
from functools import partial
from pathlib import Path
from typing import Any, ParamSpec, Protocol, TypeVar, Unpack, cast, overload

from toolhaft.arguments import evaluated_signature, model_parameters, takes_context, without_annotated
from toolhaft.decorators.making import AsyncFunction, Route, ToolOptions, make_tool
from toolhaft.decorators.routing import route_base, route_file
from toolhaft.exceptions import ToolDefinitionError
from toolhaft.prompts import check_name, defining_file, find_prompt, load_prompt
from toolhaft.spec import ToolKind, is_tool

P = ParamSpec("P")
R = TypeVar("R")


class Decorator(Protocol):
    """A decorator that leaves the function's type as it is. One may serve many functions."""

    def __call__(self, function: Callable[P, Coroutine[Any, Any, R]], /) -> Callable[P, Coroutine[Any, Any, R]]: ...


@overload
def base_tool(
    function: Callable[P, Coroutine[Any, Any, R]], /, **options: Unpack[ToolOptions]
) -> Callable[P, Coroutine[Any, Any, R]]: ...
@overload
def base_tool(**options: Unpack[ToolOptions]) -> Decorator: ...
def base_tool(function: Any = None, /, **options: Any) -> Any:
    """Make an async function a tool: logged, documented by its prompt, its exceptions routed.

    See `ToolOptions` for the options and `routing` for the exceptions. Bound methods and named partials are functions
    too; what a partial binds by keyword is no parameter any more. Raises `ToolDefinitionError` for an author's mistake.

    ```python
    @base_tool(kind="network", timeout_seconds=30)
    async def weather(city: str) -> str: ...
    ```
    """
    _refuse_unknown("base_tool", options, known=ToolOptions.__annotations__)
    return _decorator("base_tool", function, partial(_base_tool, cast("ToolOptions", options)))


@overload
def file_tool(
    function: Callable[P, Coroutine[Any, Any, R]], /, *, writes: bool = False, **options: Unpack[ToolOptions]
) -> Callable[P, Coroutine[Any, Any, R]]: ...
@overload
def file_tool(*, writes: bool = False, **options: Unpack[ToolOptions]) -> Decorator: ...
def file_tool(function: Any = None, /, *, writes: bool = False, **options: Any) -> Any:
    """Make an async function whose first parameter is `filepath: str` a tool about that file.

    It is a `base_tool` that reads, or writes if it says so, and whose `OSError`s tell the model which file they are
    about. A `RunContext` may stand before `filepath`.

    ```python
    @file_tool(writes=True)
    async def touch(filepath: str) -> str: ...
    ```
    """
    _refuse_unknown("file_tool", options, known=("writes", *ToolOptions.__annotations__))
    given = cast("ToolOptions", {"kind": ToolKind.WRITE if writes else ToolKind.READ, **options})
    return _decorator("file_tool", function, partial(_file_tool, given, writes))


def _decorator(decorator: str, function: Any, make: Callable[[AsyncFunction, str], AsyncFunction]) -> Any:
    def decorate(function: Any) -> AsyncFunction:
        return make(function, _checked_name(decorator, function))

    return decorate if function is None else decorate(function)


def _base_tool(options: ToolOptions, function: AsyncFunction, name: str) -> AsyncFunction:
    def route(error: Exception, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Exception:
        return route_base(name, error)

    return _made(function, name, route=route, options=options)


def _file_tool(options: ToolOptions, writes: bool, function: AsyncFunction, name: str) -> AsyncFunction:
    kind = options.get("kind")
    if kind == (ToolKind.READ if writes else ToolKind.WRITE):
        raise ToolDefinitionError(
            f"tool {name!r}: kind={str(kind)!r} and writes={writes} contradict each other. Leave kind out."
        )
    shape = evaluated_signature(function, name)
    position = int(takes_context(shape))
    first = next(iter(model_parameters(shape)), None)
    if first is None or first.name != "filepath" or without_annotated(first.annotation) is not str:
        found = "it has none" if first is None else f"it is {str(first)!r}"
        raise ToolDefinitionError(
            f"tool {name!r}: the first parameter of a file_tool, after a RunContext if there is one, must be "
            f"`filepath: str`, and {found}. Change it, or use @base_tool."
        )

    def route(error: Exception, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Exception:
        filepath = str(args[position] if len(args) > position else kwargs.get("filepath", first.default))
        return route_file(name, error, filepath=filepath, writes=writes)

    return _made(function, name, route=route, options=options)


def _made(function: AsyncFunction, name: str, *, route: Route, options: ToolOptions) -> AsyncFunction:
    given = options.get("prompt")
    if given is not None and not isinstance(given, str | Path):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ToolDefinitionError(f"tool {name!r}: prompt={given!r} is not the path of a file.")
    if given is None:
        file = find_prompt(function, name)
    else:
        source = defining_file(function)
        file = (source.parent if source else Path()) / given
    return make_tool(
        function,
        name,
        route=route,
        prompt=load_prompt(file) if file else None,
        options=options,
    )


def _checked_name(decorator: str, function: Any) -> str:
    """The name of what is decorated. Raises unless it is an async function, or what can be called as one."""
    name = getattr(function, "__name__", None)
    problem = _problem(decorator, function, name)
    if problem:
        raise ToolDefinitionError(f"@{decorator} on {name or function!r}: {problem}")
    assert isinstance(name, str)
    check_name(name)
    return name


def _problem(decorator: str, function: Any, name: Any) -> str | None:
    if isinstance(function, str):
        return f"options are given by name: @{decorator}(kind={function!r})."
    if inspect.isclass(function):
        return "a class cannot be a tool. Decorate an async function, or the bound method of an object."
    if isinstance(function, staticmethod | classmethod):
        above = "staticmethod" if isinstance(function, staticmethod) else "classmethod"
        return f"it stands above @{above}. Put @{decorator} below it, or decorate the bound method."
    if is_tool(function):
        return "it is a tool already. Remove one of the decorators."
    if inspect.isasyncgenfunction(function):
        return "it yields, and a tool returns one answer. Collect the parts and return them."
    if not inspect.iscoroutinefunction(function):
        return "it is not an async function. Write `async def`; blocking work goes through `asyncio.to_thread`."
    if not isinstance(name, str):
        return "it has no name. Set one: `it.__name__ = 'search_docs'`."
    return None


def _refuse_unknown(decorator: str, options: dict[str, Any], *, known: Any) -> None:
    for option in options:
        if option not in known:
            near = difflib.get_close_matches(option, list(known), n=1)
            hint = f"Did you mean {near[0]}?" if near else f"It has {', '.join(known)}."
            raise ToolDefinitionError(f"@{decorator} has no option {option!r}. {hint}")
