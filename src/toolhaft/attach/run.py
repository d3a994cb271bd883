"""What the leaf takes from pydantic-ai's `RunContext`: the call, and whether its run can wait for somebody."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any, cast

from opentelemetry.trace import Tracer
from pydantic_ai import DeferredToolRequests, RunContext
from pydantic_ai.capabilities import AbstractCapability, HandleDeferredToolCalls
from pydantic_ai.exceptions import RunCancelled, UserError

from toolhaft.makers.agent import runs_above
from toolhaft.pipeline.call import Call
from toolhaft.pipeline.confirmation import AbortedError
from toolhaft.spec import ToolKind, ToolSpec
from toolhaft.workspace import use_workspace
from toolhaft.workspace.current import is_bound


def call_of(ctx: RunContext[Any], name: str, args: Mapping[str, Any], *, spec: ToolSpec | None) -> Call:
    """The call that a run makes. A tool without a card of ours counts as one that may do anything."""
    return Call(
        name=name,
        args=args,
        kind=spec.kind if spec else ToolKind.MCP,
        sensitive=spec.sensitive if spec else True,
        spec=spec,
        call_id=ctx.tool_call_id or "",
        conversation_id=ctx.conversation_id or "",
        approved=ctx.tool_call_approved,
        in_agent=ctx.agent is not None,
        can_pause=can_pause(ctx),
    )


def can_pause(ctx: RunContext[Any]) -> bool:
    """Whether the agent takes `DeferredToolRequests` as an output, or has a capability that answers them.

    What is passed to one run only (`agent.run(output_type=...)`) is not known here: declare it on the agent.
    """
    agent = ctx.agent
    if agent is None:
        return False
    return _names_requests(agent.output_type) or _answers_requests(agent.root_capability)


def validator_of(ctx: RunContext[Any], name: str) -> Callable[[Mapping[str, Any]], dict[str, Any]]:
    """What checks the arguments of a tool of this run; without one (a durable engine) they stay as they are."""
    tools = (ctx.tool_manager.tools if ctx.tool_manager else None) or {}
    return tools[name].args_validator.validate_python if name in tools else dict


def tracer_of(ctx: RunContext[Any]) -> Tracer | None:
    """The run's tracer; a durable engine's activity has none."""
    try:
        return ctx.tracer
    except UserError:
        return None


def workspace_of(ctx: RunContext[Any]) -> AbstractContextManager[object]:
    """Let what is done in a block act in the run's own workspace, unless somebody has said where."""
    return use_workspace(ctx.workspace) if ctx.workspace.attached and not is_bound() else nullcontext()


def cancel_run(ctx: RunContext[Any], aborted: AbortedError) -> None:
    """End the agent run, if there is one, and those that wait for it; without one the caller gets the exception."""
    try:
        for run in (ctx, *runs_above()):
            run.cancel()
    except UserError:
        if ctx.agent is not None:  # a durable engine's activity: whatever else is raised there is tried again for ever
            raise RunCancelled(str(aborted)) from aborted


def _names_requests(output: object) -> bool:
    if isinstance(output, Sequence) and not isinstance(output, str):
        return any(map(_names_requests, cast("Sequence[object]", output)))
    return output is DeferredToolRequests


def _answers_requests(root: AbstractCapability[Any]) -> bool:
    found: list[bool] = []
    root.apply(lambda capability: found.append(isinstance(capability, HandleDeferredToolCalls)))
    return any(found)
