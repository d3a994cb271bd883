"""Python functions as hooks."""

import asyncio
import threading
from collections.abc import Callable, Generator
from contextvars import ContextVar
from typing import Any, NoReturn

import pytest

from tests.pipeline.hook_calls import call_of
from toolhaft.pipeline.call import Refused
from toolhaft.pipeline.hooks import Block, Hook, Hooks

Told = dict[str, Any]


def before(function: Callable[[Told], Any], **settings: Any) -> Hooks:
    """One pre hook that is a function."""
    return Hooks([Hook("pre_tool_use", "check", function=function, **settings)])


async def test_a_function_is_told_what_a_command_reads() -> None:
    heard: list[Told] = []
    hooks = Hooks([Hook(event, "spy", function=heard.append) for event in ("pre_tool_use", "post_tool_use")])

    await hooks.before_call(call_of(path="a.txt"))
    await hooks.after_call(call_of(path="a.txt"), succeeded=False, output="no such file")

    told = {"tool_name": "write_file", "tool_input": {"path": "a.txt"}}
    assert heard == [
        {"event": "pre_tool_use", **told},
        {"event": "post_tool_use", **told, "tool_output": "no such file", "tool_success": False},
    ]


async def test_an_async_function_changes_arguments_and_adds_context() -> None:
    async def lower(told: Told) -> Told:
        return {"updatedInput": {"path": told["tool_input"]["path"].lower()}, "additionalContext": "Names are lower."}

    result = await before(lower).before_call(call_of(path="A.TXT", content="x"))

    assert result.args == {"path": "a.txt", "content": "x"}
    assert result.context == ["Names are lower."]


async def test_a_function_that_changes_what_it_is_told_changes_no_call() -> None:
    def spoil(told: Told) -> None:
        told["tool_input"]["items"].append("more")

    call = call_of(items=["one"])

    result = await before(spoil).before_call(call)

    assert result.args is None
    assert call.args == {"items": ["one"]}


async def test_block_refuses_with_its_reason() -> None:
    def no(told: Told) -> NoReturn:
        raise Block("not on a Friday")

    with pytest.raises(Refused) as caught:
        await before(no, source="hooks.py:3", on_hook_error="allow").before_call(call_of())

    assert caught.value.message == "Blocked by hook check: not on a Friday"
    assert (caught.value.stage, caught.value.rule, caught.value.source) == ("hooks", "check", "hooks.py:3")


async def test_what_cannot_be_blocked_goes_on_and_says_that_the_hook_tried() -> None:
    def no(told: Told) -> NoReturn:
        raise Block("too late")

    hooks = Hooks([Hook("post_tool_use", "late", function=no)])

    remarks = await hooks.after_call(call_of(), succeeded=True, output="done")

    assert remarks == ["[Hook late: FAILED (blocked post_tool_use, which it cannot)]\ntoo late"]


@pytest.mark.parametrize("answer", [True, "context", {"additionalContext": 5}, {"updatedInput": ["path"]}])
async def test_an_answer_of_a_wrong_type_refuses(answer: object) -> None:
    with pytest.raises(Refused, match="Blocked by hook check: the hook itself failed, .* answered with"):
        await before(lambda told: answer).before_call(call_of())


async def test_context_is_text_that_utf_8_can_carry() -> None:
    result = await before(lambda told: {"additionalContext": "a \ud800"}).before_call(call_of())

    assert result.context == ["a ?"]


async def test_a_function_that_gives_an_awaitable_is_waited_for() -> None:
    async def no(told: Told) -> NoReturn:
        raise Block("no")

    with pytest.raises(Refused, match="no"):
        await before(lambda told: no(told)).before_call(call_of())


async def test_an_object_with_an_async_call_is_a_function() -> None:
    class Check:
        async def __call__(self, told: Told) -> Told:
            return {"additionalContext": threading.current_thread().name}

    result = await before(Check()).before_call(call_of())

    assert result.context == [threading.main_thread().name]


async def test_a_sync_function_runs_in_a_thread_and_sees_the_context() -> None:
    tenant = ContextVar("tenant", default="nobody")
    tenant.set("acme")

    result = await before(lambda told: {"additionalContext": tenant.get()}).before_call(call_of())

    assert result.context == ["acme"]


async def test_what_does_not_end_has_its_time_and_no_more() -> None:
    release = threading.Event()
    try:
        with pytest.raises(Refused, match="no answer in 1 seconds"):
            await before(lambda told: release.wait(60), timeout_seconds=1).before_call(call_of())
    finally:
        release.set()


async def test_an_async_function_that_ignores_its_cancellation_has_its_time_and_no_more() -> None:
    release = asyncio.Event()

    async def stubborn(told: Told) -> None:
        while not release.is_set():
            try:
                await release.wait()
            except asyncio.CancelledError:
                continue

    with pytest.raises(Refused, match="no answer in 1 seconds"):
        await before(stubborn, timeout_seconds=1).before_call(call_of())
    release.set()


async def test_a_cancelled_call_is_cancelled_and_so_is_the_function() -> None:
    begun, ended = asyncio.Event(), asyncio.Event()

    async def long(told: Told) -> None:
        begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()

    call = asyncio.create_task(before(long).before_call(call_of()))
    await begun.wait()
    call.cancel()

    with pytest.raises(asyncio.CancelledError):
        await call
    await asyncio.wait_for(ended.wait(), timeout=10)


def test_a_thread_that_ends_after_its_loop_does_no_harm() -> None:
    release, ended = threading.Event(), threading.Event()

    def late(told: Told) -> None:
        try:
            release.wait(60)
        finally:
            ended.set()

    with pytest.raises(Refused):
        asyncio.run(before(late, timeout_seconds=1).before_call(call_of()))
    release.set()

    assert ended.wait(60)


async def test_a_call_that_json_cannot_carry_refuses() -> None:
    endless: list[Any] = []
    endless.append(endless)

    with pytest.raises(Refused, match="it cannot be written as JSON"):
        await before(lambda told: None).before_call(call_of(items=endless))


def _recurse(told: Told) -> NoReturn:
    _recurse(told)


def _raising(error: BaseException) -> Callable[[Told], Any]:
    def function(told: Told) -> NoReturn:
        raise error

    return function


def _raising_async(error: BaseException) -> Callable[[Told], Any]:
    async def function(told: Told) -> NoReturn:
        raise error

    return function


def _generator(told: Told) -> Generator[None]:
    yield


@pytest.mark.parametrize("make", [_raising, _raising_async])
@pytest.mark.parametrize(
    "error", [ValueError, SystemExit, KeyboardInterrupt, GeneratorExit, StopIteration, asyncio.CancelledError]
)
async def test_whatever_a_function_raises_refuses(
    make: Callable[[BaseException], Callable[[Told], Any]], error: type[BaseException]
) -> None:
    with pytest.raises(Refused, match="Blocked by hook check: the hook itself failed"):
        await before(make(error())).before_call(call_of())


@pytest.mark.parametrize("function", [_recurse, _generator])
async def test_endless_recursion_and_generators_refuse(function: Callable[[Told], Any]) -> None:
    with pytest.raises(Refused, match="the hook itself failed"):
        await before(function).before_call(call_of())
