"""Tools for a loop of your own over Anthropic's messages, in plain dictionaries; the `anthropic` package is not needed.

```python
uses = ToolUses(message)
try:
    await uses.execute(executor)
finally:
    messages.append(uses.answer())  # after a cancellation too
```
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from copy import deepcopy
from dataclasses import asdict, dataclass
from typing import Any, Literal

from pydantic_ai import BinaryContent

from toolhaft.attach.executor import Executor, as_text
from toolhaft.attach.model_calls import ModelCall, ModelCalls
from toolhaft.registry import ALL, Registry
from toolhaft.spec import ToolResult, tool_spec

# https://docs.anthropic.com/en/api/messages: the media types of an image's source.
_IMAGES = frozenset({"image/jpeg", "image/png", "image/gif", "image/webp"})


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolUse:
    """A `tool_use` block: one call that the model makes."""

    id: str
    name: str
    input: Any

    @classmethod
    def from_dict(cls, block: Mapping[str, Any]) -> ToolUse:
        """The call in a block. Raises `ValueError` for a block without an id, which nothing could answer."""
        if block.get("id") is None:
            raise ValueError(f"the tool_use block {dict(block)!r} has no id, so no tool_result can answer it.")
        return cls(id=str(block["id"]), name=str(block.get("name") or ""), input=block.get("input"))


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolResultBlock:
    """A `tool_result` block: the answer to one call."""

    type: Literal["tool_result"] = "tool_result"
    tool_use_id: str
    content: str | list[dict[str, Any]]
    is_error: bool = False

    def to_dict(self) -> dict[str, Any]:
        """The block as the API takes it."""
        return asdict(self)


class ToolUses(ModelCalls):
    """The `tool_use` blocks of an assistant message, each with exactly one answer at any moment.

    Raises `TypeError` for blocks that are no dictionaries.
    """

    def __init__(self, message: Mapping[str, Any]) -> None:
        self.uses = [ToolUse.from_dict(block) for block in _blocks(message) if block.get("type") == "tool_use"]
        super().__init__(ModelCall(use.id, use.name, use.input) for use in self.uses)

    def blocks(self) -> list[ToolResultBlock]:
        """One answer for each call, in their order; see `ModelCalls.results`."""
        return [to_tool_result(result, use.id) for use, result in zip(self.uses, self.results(), strict=True)]

    def answer(self) -> dict[str, Any]:
        """The message of the user that answers every call, to append to the conversation."""
        return {"role": "user", "content": [block.to_dict() for block in self.blocks()]}


async def execute_tool_uses(message: Mapping[str, Any], executor: Executor) -> list[ToolResultBlock]:
    """Run the calls of an assistant message, and return one answer for each `tool_use` block, in their order.

    An unknown tool and wrong arguments are answers too. Where the task may be cancelled, use `ToolUses`, which has the
    answers also then.
    """
    uses = ToolUses(message)
    await uses.execute(executor)
    return uses.blocks()


def to_tool_result(result: ToolResult, id: str) -> ToolResultBlock:
    """The result of a call as the answer to the `tool_use` block with this id; of nothing, `(no output)`.

    Images are image blocks, other files are named in the text.
    """
    return ToolResultBlock(tool_use_id=id, content=_content(result), is_error=not result.success)


def _content(result: ToolResult) -> str | list[dict[str, Any]]:
    if result.parts is None:
        text = result.output if result.success else result.error or ""
        return text if text.strip() else "(no output)"
    return [_part(part) for part in result.parts if not isinstance(part, str) or part.strip()]


def _part(part: object) -> dict[str, Any]:
    if isinstance(part, BinaryContent) and part.media_type in _IMAGES:
        source = {"type": "base64", "media_type": part.media_type, "data": part.base64}
        return {"type": "image", "source": source}
    return {"type": "text", "text": as_text(part)}


def tools_for_anthropic(registry: Registry, names: Iterable[str] | None = None) -> list[dict[str, Any]]:
    """The selected tools of a registry, or all, for the `tools` of a request; yours to change."""
    specs = [tool_spec(tool) for tool in registry.select([ALL] if names is None else names)]
    return [
        {"name": spec.name, "description": spec.description, "input_schema": deepcopy(spec.schema)} for spec in specs
    ]


def _blocks(message: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    content = message.get("content") if isinstance(message, Mapping) else [message]  # pyright: ignore[reportUnnecessaryIsInstance]
    blocks: list[Any] = [] if content is None or isinstance(content, str) else list(content)
    for block in blocks:
        if not isinstance(block, Mapping):
            raise TypeError(f"{block!r} is no dictionary. Pass the message as one: message.to_dict().")
    return blocks
