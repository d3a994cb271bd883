"""Tools and calls for the tests of the pipeline."""

from collections.abc import Callable, Mapping
from typing import Any

from pydantic_ai import ModelRetry, ToolReturn
from pydantic_ai.exceptions import ToolFailed

from toolhaft import NeedsApproval, ToolText, base_tool
from toolhaft.pipeline.answer import parted
from toolhaft.pipeline.call import Call
from toolhaft.pipeline.pipeline import Pipeline
from toolhaft.spec import ToolKind, tool_spec

ran: list[tuple[str, dict[str, Any]]] = []
"""What has run; the fixture `nothing_ran` of conftest empties it."""


@base_tool(kind="read")
async def look(what: str = "around") -> str:
    """Look at something."""
    ran.append(("look", {"what": what}))
    return f"saw {what}"


async def _preview(amount: int, to: str = "Ann") -> ToolText:
    return ToolText(f"would pay {amount} to {to}", added=amount)


@base_tool(kind="network", preview=_preview)
async def pay(amount: int, to: str = "Ann") -> str:
    """Pay somebody."""
    ran.append(("pay", {"amount": amount, "to": to}))
    if amount < 0:
        raise ModelRetry("Pay more than nothing.")
    if amount > 1_000:
        raise ToolFailed("There is not that much.")
    return ToolText(f"paid {amount} to {to}", paid=amount)


async def _dear(amount: int) -> NeedsApproval | bool | None:
    if amount == 13:
        raise RuntimeError("I fear that number")
    if amount == 7:
        return True
    return NeedsApproval("costly", f"{amount} is a lot") if amount > 100 else None


@base_tool(kind="network", approval=_dear)
async def donate(amount: int) -> str:
    """Give money away."""
    ran.append(("donate", {"amount": amount}))
    return f"gave {amount}"


def call_of(tool: Callable[..., Any], args: Mapping[str, Any], **more: Any) -> Call:
    """A call of a tool as the leaf makes it."""
    spec = tool_spec(tool)
    given = {"kind": spec.kind, "sensitive": spec.sensitive, "spec": spec, "call_id": "c1", "conversation_id": "talk"}
    return Call(name=spec.name, args=args, **{**given, **more})


async def through(
    pipeline: Pipeline, tool: Callable[..., Any], args: Mapping[str, Any], **more: Any
) -> ToolReturn[Any]:
    """What a tool answers through a pipeline."""
    call = call_of(tool, args, **more)

    async def run(args: dict[str, Any]) -> ToolReturn[Any]:
        return parted(call.name, await tool(**args))

    return await pipeline.run(call, validate=tool_spec(tool).validate, tool=run)


STRANGE = {"name": "strange", "args": {}, "kind": ToolKind.MCP, "sensitive": True, "call_id": "c1"}
