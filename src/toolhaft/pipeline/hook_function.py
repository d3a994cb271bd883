"""Python functions as hooks: whatever one does, it is an answer in time or a failure of the hook.

An async function has a task of its own, and any other a thread, so that one that does not end, or ignores being
cancelled, holds up nobody beyond its time. It cannot be killed as a process can: it is left alone.
"""

from __future__ import annotations

import asyncio
import inspect
import threading
from collections.abc import Callable
from contextlib import suppress
from contextvars import copy_context
from typing import Any

from toolhaft.pipeline.hook import Block, Hook
from toolhaft.pipeline.hook_answer import Answer, HookError, answer_of, timeout

Function = Callable[[dict[str, Any]], Any]


async def ask_function(hook: Hook, function: Function, told: dict[str, Any]) -> Answer:
    """What the function answers. Raises its `Block`, and `HookError` for everything else that it raises or returns."""
    task = asyncio.create_task(_said(function, told))
    try:
        await asyncio.wait({task}, timeout=hook.timeout_seconds)
        if not task.done():
            raise timeout(hook)
    finally:
        task.cancel()
    said = task.result()
    if isinstance(said, Block) and not hook.can_block:
        raise HookError(f"blocked {hook.event}, which it cannot", str(said)) from said
    if isinstance(said, BaseException):
        raise said
    return said


async def _said(function: Function, told: dict[str, Any]) -> Answer | Block | HookError:
    """How the function ended, as a value: a task that nobody waits for any more must not raise."""
    try:
        is_async = inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(type(function).__call__)
        said = await (function(told) if is_async else _in_thread(function, told))
        return answer_of(await said if inspect.isawaitable(said) else said)
    except (Block, HookError) as error:
        return error
    except BaseException as error:  # noqa: BLE001 - SystemExit too ends the hook, not the program
        return _failure(error)


def _failure(error: BaseException) -> HookError:
    failure = HookError(f"raised {type(error).__name__}", str(error))
    failure.__cause__ = error
    return failure


async def _in_thread(function: Function, told: dict[str, Any]) -> Any:
    # A daemon thread: the interpreter would wait for one of a pool that does not end.
    loop, context = asyncio.get_running_loop(), copy_context()
    ended: asyncio.Future[tuple[Any, BaseException | None]] = loop.create_future()

    def deliver(said: Any, error: BaseException | None) -> None:
        if not ended.done():
            ended.set_result((said, error))

    def work() -> None:
        said, error = None, None
        try:
            said = context.run(function, told)
        except BaseException as raised:  # noqa: BLE001 - raised again where the answer is waited for
            error = raised
        with suppress(RuntimeError):  # the loop has ended meanwhile
            loop.call_soon_threadsafe(deliver, said, error)

    threading.Thread(target=work, name="toolhaft-hook", daemon=True).start()
    said, error = await ended
    if error is not None:
        raise error
    return said
