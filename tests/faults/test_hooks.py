"""Hooks that misbehave: every hook row of the fault list. A call never depends on a hook's good will."""

import asyncio
import os
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any, NoReturn

import pytest

from tests.pipeline.hook_calls import call_of
from tests.workspace.processes import resident_bytes, with_argument
from tests.workspace.test_process import mark as mark
from toolhaft.pipeline.call import Refused
from toolhaft.pipeline.hooks import Hook, Hooks
from toolhaft.workspace import use_workspace

STRESS = 10 if os.environ.get("TOOLHAFT_STRESS") else 1
Told = dict[str, Any]


async def meets(hooks: Hooks) -> tuple[str, list[str]]:
    """How a call is refused before it, and what is added after it, by the same hooks."""
    with pytest.raises(Refused) as caught:
        await hooks.before_call(call_of(path="a.txt"))
    remarks = await hooks.after_call(call_of(path="a.txt"), succeeded=True, output="done")
    return caught.value.message, remarks


def both(**settings: Any) -> Hooks:
    """The same hook before and after a call, each with one behind it that is whole."""
    return Hooks(
        [
            hook
            for event in ("pre_tool_use", "post_tool_use")
            for hook in (
                Hook(event, "bad", **settings),
                Hook(event, "good", function=lambda told: {"additionalContext": "well"}),
            )
        ]
    )


@pytest.mark.parametrize(
    "command", ["sleep {mark}", "trap '' TERM INT HUP; setsid sleep {mark} & while :; do sleep {mark}; done"]
)
async def test_a_hook_that_hangs_is_gone_at_its_timeout_and_refuses(command: str, mark: str, tmp_path: Path) -> None:
    hooks = both(command=command.replace("{mark}", mark), timeout_seconds=1)

    with use_workspace(tmp_path):
        for _ in range(2 * STRESS):
            refusal, remarks = await meets(hooks)

            assert "no answer in 1 seconds" in refusal
            assert remarks == ["[Hook bad: FAILED (no answer in 1 seconds)]", "well"]
            assert not with_argument(mark)
    await hooks.aclose()


@pytest.mark.stress
@pytest.mark.parametrize(
    ("command", "said"),
    [
        ("yes | head -c 1000000000", "bytes too many"),
        ("head -c 1000000000 /dev/zero >&2", "bytes too many"),
        ("yes", "no answer in 2 seconds"),
    ],
)
async def test_a_hook_that_floods_takes_no_memory_and_refuses(command: str, said: str, tmp_path: Path) -> None:
    hooks = both(command=command, timeout_seconds=2 if command == "yes" else 300)
    before = resident_bytes()

    with use_workspace(tmp_path):
        for _ in range(3 if STRESS > 1 else 1):
            refusal, remarks = await meets(hooks)

            assert said in refusal
            assert said in remarks[0]
            assert len(remarks[0]) < 11_000
            assert remarks[1] == "well"
    await hooks.aclose()

    assert resident_bytes() - before < 100_000_000


@pytest.mark.stress
async def test_a_hook_that_starts_too_many_processes_is_ended_and_refuses(mark: str, tmp_path: Path) -> None:
    hooks = both(command=f"for i in $(seq 1100); do sleep {mark} & done; wait", timeout_seconds=120)

    with use_workspace(tmp_path):
        refusal, remarks = await meets(hooks)

    assert "ended by processes" in refusal
    assert remarks[1] == "well"
    assert not with_argument(mark)
    await hooks.aclose()


@pytest.mark.parametrize(
    ("command", "said"),
    [
        ('echo \'{"updatedInput": {"path"\'', "begins like JSON and is none"),
        ("printf '{\\0}'", "printed NULs"),
        ("printf '\\0\\0'", "printed NULs"),
        ("printf '{\"updatedInput\": \\377}'", "begins like JSON and is none"),
        ('echo \'{"updatedInput": null, "additionalContext": {}}\'', "answered with additionalContext that is dict"),
        ("kill -SEGV $$", "exit 139"),
        ("python3 -c 'import os; os.abort()'", "exit 134"),
        ("exit 2", None),
    ],
)
async def test_a_hook_that_says_garbage_refuses_with_a_reason(command: str, said: str | None, tmp_path: Path) -> None:
    hooks = both(command=command)

    with use_workspace(tmp_path):
        for _ in range(2 * STRESS):
            refusal, remarks = await meets(hooks)

            assert (said or "it gave no reason") in refusal
            assert remarks[0].startswith("[Hook bad: FAILED (")
            assert (said or "exit 2") in remarks[0]
            assert remarks[1:] == ["well"]
    await hooks.aclose()


def _deep(told: Told) -> NoReturn:
    _deep(told)


def _raiser(error: type[BaseException]) -> Callable[[Told], NoReturn]:
    def function(told: Told) -> NoReturn:
        told.clear()
        raise error

    return function


def _async(function: Callable[[Told], NoReturn]) -> Callable[[Told], Any]:
    async def run(told: Told) -> None:
        function(told)

    return run


@pytest.mark.parametrize("make", [lambda function: function, _async], ids=["sync", "async"])
@pytest.mark.parametrize(
    "function",
    [_deep, *map(_raiser, (BaseException, asyncio.CancelledError, SystemExit, KeyboardInterrupt, MemoryError))],
)
async def test_a_function_that_raises_whatever_refuses_and_leaves_nothing_behind(
    make: Callable[[Any], Callable[[Told], Any]], function: Callable[[Told], Any]
) -> None:
    hooks = both(function=make(function))
    tasks, call = asyncio.all_tasks(), call_of(path="a.txt")

    for _ in range(2 * STRESS):
        refusal, remarks = await meets(hooks)
        with pytest.raises(Refused):
            await hooks.before_call(call)

        assert "the hook itself failed" in refusal
        assert remarks[0].startswith("[Hook bad: FAILED (raised ")
        assert remarks[1:] == ["well"]
        assert call.args == {"path": "a.txt"}
    this = asyncio.current_task()
    assert this is not None
    assert this.cancelling() == 0
    assert asyncio.all_tasks() == tasks
    for thread in threading.enumerate():
        if thread.name == "toolhaft-hook":
            thread.join(timeout=60)
            assert not thread.is_alive()
