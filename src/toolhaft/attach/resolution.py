"""Decisions carried out without an agent and without a store: the caller has both, and knows what was decided."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from pydantic_core import from_json

from toolhaft.approvals.record import ApprovalRecord
from toolhaft.attach.executor import Executor
from toolhaft.attach.model_calls import ModelCall, unknown_tool
from toolhaft.registry import ToolNotFoundError
from toolhaft.spec import ToolResult


@dataclass(frozen=True, slots=True, kw_only=True)
class Resolution:
    """What became of one call: its result, or why it has none."""

    id: str
    result: str = ""
    result_json: Any = None
    """The result as data, where it is JSON."""

    parts: list[Any] | None = None
    """The result's parts, where it has several, such as text and an image; they count more than `result_json`."""

    error: str | None = None
    rejected: bool = False
    rejection_reason: str = ""
    arguments: dict[str, Any] = field(default_factory=dict[str, Any])
    """What it ran with."""

    edited: bool = False


async def resolve_approved(
    call: ApprovalRecord | ModelCall, executor: Executor, overrides: Mapping[str, Any] | None = None
) -> Resolution:
    """Run a call that somebody approved, with `overrides` laid over a copy of its arguments; never raises for a tool.

    The executor's pipeline judges what runs; only its question is answered already.
    """
    call_id, name, asked = _parts_of(call)
    arguments = {**asked, **(overrides or {})}
    try:
        result = await executor.execute(name, arguments, call_id=call_id, approved=True)
    except ToolNotFoundError as error:
        result = unknown_tool(name, error)
    return Resolution(
        id=call_id,
        result=result.output,
        result_json=_as_json(result),
        parts=result.parts,
        error=result.error,
        arguments=arguments,
        edited=bool(overrides),
    )


def resolve_rejected(call_id: str, reason: str) -> Resolution:
    """What a model is told of a call that somebody rejected."""
    return Resolution(id=call_id, rejected=True, rejection_reason=reason)


def _parts_of(call: ApprovalRecord | ModelCall) -> tuple[str, str, dict[str, Any]]:
    if isinstance(call, ApprovalRecord):
        return call.call_id, call.tool, dict(call.final_arguments)
    given = from_json(call.args) if isinstance(call.args, str) else call.args
    if not isinstance(given, Mapping):
        raise TypeError(f"the arguments of call {call.id!r} are {given!r}. Give a mapping, or JSON text of one.")
    return call.id, call.name, dict(given)  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType]


def _as_json(result: ToolResult) -> Any:
    try:
        return from_json(result.output) if result.output[:1] in ("{", "[") else None
    except ValueError:
        return None
