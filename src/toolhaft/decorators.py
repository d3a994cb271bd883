"""The two decorators that make an async function a tool."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Awaitable, Callable
from typing import Any, ParamSpec, TypeVar, overload, get_type_hints

from pydantic_ai.exceptions import (
    AgentRunError,
    ApprovalRequired,
    CallDeferred,
    ModelRetry,
    SkipToolExecution,
    SkipToolValidation,
    ToolFailed,
    ToolFailedError,
    ToolRetryError,
)

from toolhaft.exceptions import FileOperationError, ToolDefinitionError, ToolExecutionError, describe
from toolhaft.spec import MARK, ToolKind, ToolSpec

P = ParamSpec("P")
R = TypeVar("R")
Tool = Callable[P, Awaitable[R]]

UNCHANGED = (
    ModelRetry, ToolFailed, ApprovalRequired, CallDeferred, SkipToolExecution, SkipToolValidation, ToolRetryError,
    ToolFailedError, AgentRunError,
)


def base_tool(function: Any = None, **options: Any) -> Any:
    """Make an async function a tool."""
    return _decorate(function, route=_base_route, default_kind=ToolKind.READ, **options)


def file_tool(function: Any = None, *, writes: bool = False, **options: Any) -> Any:
    """Make an async function whose first parameter is `filepath: str` a tool for files."""
    return _decorate(
        function, route=functools.partial(_file_route, writes), default_kind=ToolKind.WRITE if writes else ToolKind.READ, **options
    )


def _decorate(function: Any, *, route: Any, default_kind: ToolKind, kind: Any = None, sensitive: Any = None, prompt: Any = None,
              timeout_seconds: Any = None, approval: Any = None, preview: Any = None, idempotent: bool = False) -> Any:
    if function is None:
        return lambda fn: _decorate(fn, route=route, default_kind=default_kind, kind=kind, sensitive=sensitive, prompt=prompt,
                                    timeout_seconds=timeout_seconds, approval=approval, preview=preview, idempotent=idempotent)
    if not inspect.iscoroutinefunction(function):
        raise ToolDefinitionError(f"{function!r} is not async. Write async def.")
    name = function.__name__

    @functools.wraps(function)
    async def tool(*args: Any, **kwargs: Any) -> Any:
        try:
            return await function(*args, **kwargs)
        except UNCHANGED:
            raise
        except Exception as error:
            raise route(name, error, args, kwargs) from error

    tool.__annotations__ = get_type_hints(function, include_extras=True)
    the_kind = ToolKind(kind or default_kind)
    setattr(tool, MARK, ToolSpec(function=tool, name=name, description=inspect.cleandoc(function.__doc__ or ""), kind=the_kind,
            sensitive=the_kind is not ToolKind.READ if sensitive is None else sensitive, timeout_seconds=timeout_seconds,
            approval=approval, preview=preview, idempotent=idempotent))
    return tool


def _base_route(name: str, error: Exception, args: Any, kwargs: Any) -> Exception:
    return ToolExecutionError(name, describe(error), error)


def _file_route(writes: bool, name: str, error: Exception, args: Any, kwargs: Any) -> Exception:
    path = str(kwargs.get("filepath", args[0] if args else ""))
    if isinstance(error, FileNotFoundError):
        return ModelRetry(f"File not found: {error.filename or path!r}. Check the path.")
    if isinstance(error, (TimeoutError, ConnectionError)):
        return ToolExecutionError(name, describe(error), error)
    if isinstance(error, PermissionError):
        return FileOperationError("access", path, describe(error), error)
    if isinstance(error, UnicodeDecodeError):
        return FileOperationError("decode", path, describe(error), error)
    if isinstance(error, OSError):
        return FileOperationError("write" if writes else "read", path, describe(error), error)
    return _base_route(name, error, args, kwargs)
