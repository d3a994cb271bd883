"""The record of a call.

Records go to the logger `toolhaft.tools` at level INFO, so there are none unless a program asks for them. A record is
one line: `grep(pattern='x') ok in 3.1 ms`. Programs find its parts in the attributes `tool`, `tool_arguments`,
`outcome` (ok, retry, failed, paused, cancelled) and `duration_ms`.
"""

from __future__ import annotations

import logging
import time
from asyncio import CancelledError
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from pydantic_ai.exceptions import ApprovalRequired, CallDeferred, ModelRetry, RunCancelled, ToolRetryError

from toolhaft.call_log.shown import shown_arguments, shown_text
from toolhaft.exceptions import describe

LOGGER = logging.getLogger("toolhaft.tools")


async def logged(
    call: Callable[..., Awaitable[Any]],
    tool: str,
    names: tuple[str, ...],
    args: tuple[Any, ...],
    kwargs: Mapping[str, Any],
) -> Any:
    """What `call(*args, **kwargs)` gives or raises, with one record written about it.

    `names` are the names of the parameters, in their order.
    """
    started = time.perf_counter()
    outcome, reason = "ok", ""
    try:
        return await call(*args, **kwargs)
    except BaseException as error:
        outcome, reason = _outcome(error), f": {_reason(error)}"
        raise
    finally:
        arguments = {**dict(zip(names, args, strict=False)), **kwargs}
        _write(tool, arguments, outcome, reason=reason, duration_ms=(time.perf_counter() - started) * 1_000)


def _write(tool: str, arguments: Mapping[str, Any], outcome: str, *, reason: str, duration_ms: float) -> None:
    shown = shown_arguments(arguments)
    facts = {"tool": tool, "tool_arguments": shown, "outcome": outcome, "duration_ms": duration_ms}
    LOGGER.info("%s(%s) %s in %.1f ms%s", tool, shown, outcome, duration_ms, reason, extra=facts)


def _outcome(error: BaseException) -> str:
    if isinstance(error, ModelRetry | ToolRetryError):
        return "retry"
    if isinstance(error, ApprovalRequired | CallDeferred):
        return "paused"
    return "cancelled" if isinstance(error, CancelledError | RunCancelled) else "failed"


def _reason(error: BaseException) -> str:
    """The error in one line, with the place in the code where its cause was raised."""
    cause = error.__cause__
    return f"{type(error).__name__} {shown_text(describe(error))}" + (f" (from {_place(cause)})" if cause else "")


def _place(error: BaseException) -> str:
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    place = f" at {trace.tb_frame.f_code.co_filename}:{trace.tb_lineno}" if trace else ""
    return f"{type(error).__name__}{place}"
