"""Tools for a loop of your own over OpenAI's chat messages, in plain dictionaries; the `openai` package is not needed.

```python
calls = ToolCalls(message)
try:
    await calls.execute(executor)
finally:
    messages.extend(calls.answers())  # after a cancellation too
```

What the tools are is `Registry.schemas()`.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from toolhaft.attach.executor import Executor
from toolhaft.attach.model_calls import ModelCall, ModelCalls
from toolhaft.spec import ToolResult


class ToolCalls(ModelCalls):
    """The `tool_calls` of an assistant message, each with exactly one answer at any moment.

    Raises `TypeError` for calls that are no dictionaries, `ValueError` for one without an id.
    """

    def __init__(self, message: Mapping[str, Any]) -> None:
        self.calls: list[Mapping[str, Any]] = list(message.get("tool_calls") or ())
        super().__init__(_call(call) for call in self.calls)

    def answers(self) -> list[dict[str, Any]]:
        """One message for each call, in their order; see `ModelCalls.results`."""
        return [_answer(call, result) for call, result in zip(self.calls, self.results(), strict=True)]


async def execute_tool_calls(message: Mapping[str, Any], executor: Executor) -> list[ToolResult]:
    """Run the calls of an assistant message, and return the result of each, in their order.

    An unknown tool and arguments that are no JSON are results too. Where the task may be cancelled, use `ToolCalls`,
    which has the results also then.
    """
    return await ToolCalls(message).execute(executor)


def append_tool_results(messages: list[Any], calls: Sequence[Mapping[str, Any]], results: Iterable[ToolResult]) -> None:
    """Append the answer to each of the `tool_calls` to a conversation.

    Raises `ValueError` unless there is one result for each call; then nothing is appended.
    """
    messages.extend([_answer(call, result) for call, result in zip(calls, results, strict=True)])


def _call(call: Mapping[str, Any]) -> ModelCall:
    if not isinstance(call, Mapping):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise TypeError(f"{call!r} is no dictionary. Pass the message as one: message.model_dump().")
    if call.get("id") is None:
        raise ValueError(f"the call {dict(call)!r} has no id, so nothing can answer it.")
    function: Mapping[str, Any] = call.get("function") or {}
    return ModelCall(str(call["id"]), str(function.get("name") or ""), function.get("arguments"))


def _answer(call: Mapping[str, Any], result: ToolResult) -> dict[str, Any]:
    """The message of one result. It has no mark for a failure, so its text says that it is one, as with pydantic-ai."""
    if result.success:
        text = result.output if result.output.strip() else "(no output)"
    else:
        text = json.dumps({"error": result.error}, ensure_ascii=False)
    return {"role": "tool", "tool_call_id": str(call["id"]), "content": text}
