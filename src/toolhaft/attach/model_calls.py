"""The calls in one message of a model, each with exactly one result at any moment.

A provider refuses a conversation in which a call has no answer, or two. So the answers are not what `execute` returns
but what this object knows: after a cancellation or a crash too, every call has a result, and it says what is known.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Iterable, Mapping
from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING, Any

from pydantic_core import to_json

from toolhaft.registry import ToolNotFoundError
from toolhaft.spec import ToolKind, ToolResult, tool_spec

if TYPE_CHECKING:
    from toolhaft.attach.executor import Executor


@dataclass(frozen=True, slots=True)
class ModelCall:
    """One call as a model made it: `args` are whatever it gave, JSON text too."""

    id: str
    name: str
    args: object


class ModelCalls:
    """Runs the calls of one message. What has begun is never run again, whether or not it came to an end."""

    def __init__(self, calls: Iterable[ModelCall]) -> None:
        self._calls = tuple(calls)
        self._begun: set[int] | None = None
        self._results: dict[int, ToolResult] = {}

    async def execute(self, executor: Executor) -> list[ToolResult]:
        """Run what has not begun yet, and return the result of every call, in their order.

        What only reads runs side by side, everything else alone. Cancellation, the end that somebody asked set to
        everything, and what is wrong with the executor itself pass through; `results` is complete after them too.
        """
        begun = self._begun = set() if self._begun is None else self._begun
        waiting = [index for index in range(len(self._calls)) if index not in begun]
        for reads, group in groupby(waiting, key=lambda index: _only_reads(executor, self._calls[index])):
            if reads:
                await _side_by_side(self._run(index, executor, begun) for index in group)
            else:
                for index in group:
                    await self._run(index, executor, begun)
        return self.results()

    async def _run(self, index: int, executor: Executor, begun: set[int]) -> None:
        begun.add(index)
        self._results[index] = await _result(executor, self._calls[index])

    def results(self) -> list[ToolResult]:
        """One result for each call, in their order; of one that has none, whether something of it may have run."""
        return [self._results.get(index) or self._interrupted(index, call) for index, call in enumerate(self._calls)]

    def _interrupted(self, index: int, call: ModelCall) -> ToolResult:
        if self._begun is not None and index not in self._begun:
            text = "Interrupted before this call began: nothing of it has run."
        else:
            text = "Interrupted, may have partly run. Look at what there is before you repeat it."
        return ToolResult(tool_name=call.name, success=False, error=text, metadata={"interrupted": True})


async def _side_by_side(calls: Iterable[Coroutine[Any, Any, None]]) -> None:
    """Run them all at once; where one raises, the others are cancelled, and none is left behind."""
    tasks = [asyncio.create_task(call) for call in calls]
    try:
        await asyncio.gather(*tasks)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


def _only_reads(executor: Executor, call: ModelCall) -> bool:
    """Whether a call may run beside others; one of an unknown tool does nothing."""
    known = executor.registry.has(call.name)
    return not known or tool_spec(executor.registry.get(call.name)).kind is ToolKind.READ


async def _result(executor: Executor, call: ModelCall) -> ToolResult:
    try:
        return await executor.execute(call.name, _arguments(call.args), call_id=call.id)
    except ToolNotFoundError as error:
        return unknown_tool(call.name, error)


def unknown_tool(name: str, error: ToolNotFoundError) -> ToolResult:
    """What a model is answered that calls a tool that is not there: it reads the names that are near."""
    return ToolResult(tool_name=name, success=False, error=f"Unknown tool: {error}")


def _arguments(args: object) -> Mapping[str, Any] | str:
    """Arguments as the executor takes them, which says what is wrong with them; none are an empty object."""
    if args is None:
        return {}
    if isinstance(args, str):
        return args
    if isinstance(args, Mapping):
        return args  # pyright: ignore[reportUnknownVariableType]
    return to_json(args, serialize_unknown=True).decode()
