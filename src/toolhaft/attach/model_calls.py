"""The calls in one message of a model, each with exactly one result at any moment.

A provider refuses a conversation in which a call has no answer, or two. So the answers are not what `execute` returns
but what this object knows: after a cancellation or a crash too, every call has a result, and it says what is known.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from pydantic_core import to_json

from toolhaft.attach.executor import Executor
from toolhaft.registry import ToolNotFoundError
from toolhaft.spec import ToolResult


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

        Cancellation and what is wrong with the executor itself pass through; `results` is complete after them too.
        """
        if self._begun is None:
            self._begun = set()
        for index, call in enumerate(self._calls):
            if index not in self._begun:
                self._begun.add(index)
                self._results[index] = await _result(executor, call)
        return self.results()

    def results(self) -> list[ToolResult]:
        """One result for each call, in their order; of one that has none, whether something of it may have run."""
        return [self._results.get(index) or self._interrupted(index, call) for index, call in enumerate(self._calls)]

    def _interrupted(self, index: int, call: ModelCall) -> ToolResult:
        if self._begun is not None and index not in self._begun:
            text = "Interrupted before this call began: nothing of it has run."
        else:
            text = "Interrupted, may have partly run. Look at what there is before you repeat it."
        return ToolResult(tool_name=call.name, success=False, error=text, metadata={"interrupted": True})


async def _result(executor: Executor, call: ModelCall) -> ToolResult:
    try:
        return await executor.execute(call.name, _arguments(call.args), call_id=call.id)
    except ToolNotFoundError as error:
        text = f"Unknown tool {str(error).removeprefix('no tool is named ')}"
        return ToolResult(tool_name=call.name, success=False, error=text, metadata={"retry": True})


def _arguments(args: object) -> Mapping[str, Any] | str:
    """Arguments as the executor takes them, which says what is wrong with them; none are an empty object."""
    if args is None:
        return {}
    if isinstance(args, str):
        return args
    if isinstance(args, Mapping):
        return args  # pyright: ignore[reportUnknownVariableType]
    return to_json(args, serialize_unknown=True).decode()
