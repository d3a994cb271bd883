"""Another agent as a tool: a task goes in, its answer comes out, and how it ended is told as it was.

The agent spends from the purse of the run that calls it: one usage, one set of limits. That its call was let pass says
nothing of what it does then: its own tools are judged by the capabilities that are given here.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import replace
from typing import Annotated, Any, Unpack, cast

from pydantic import Field
from pydantic_ai import Agent, AgentRunResult, DeferredToolRequests, RunContext, UsageLimits
from pydantic_ai.capabilities import AbstractCapability
from pydantic_ai.exceptions import AgentRunError, RunCancelled, UsageLimitExceeded
from pydantic_core import to_json

from toolhaft.arguments import evaluated_signature
from toolhaft.call_log import shown_arguments
from toolhaft.decorators import make_tool
from toolhaft.decorators.making import AsyncFunction, ToolOptions
from toolhaft.decorators.routing import route_base
from toolhaft.exceptions import ToolDefinitionError, ToolExecutionError, describe
from toolhaft.prompts import check_name
from toolhaft.spec import ToolText
from toolhaft.workspace.current import judged

Task = Annotated[
    str, Field(description="What is to be done, with everything needed for it: nothing of this conversation is known.")
]

_RUNS_ABOVE: ContextVar[tuple[RunContext[Any], ...]] = ContextVar("toolhaft_runs_above", default=())


def agent_tool(
    agent: Agent[Any, Any],
    name: str,
    description: str,
    *,
    capabilities: Sequence[AbstractCapability[Any]] = (),
    request_limit: int = 50,
    max_depth: int = 2,
    **options: Unpack[ToolOptions],
) -> AsyncFunction:
    """A tool that gives a task to `agent` and answers what the agent answers.

    `capabilities` govern the agent's own tools, beside its own capabilities; `Toolkit.agent_tool` passes the toolkit.
    The agent shares the usage and the limits of the run that calls it, and makes at most `request_limit` requests a
    call. `max_depth` is how many agents may work below each other. It gets the `deps` of that run.

    An agent that fails, reaches a limit, is cancelled or waits for approval is a failed result that says so. The
    tool is sensitive unless the options say otherwise.

    ```python
    research = agent_tool(researcher, "research", "Finds out what is known about a question.", capabilities=[kit])
    ```
    """
    check_name(name)
    if not description.strip():
        raise ToolDefinitionError(f"tool {name!r}: the description is empty. Say in it what the agent is for.")

    async def delegate(ctx: RunContext[Any], task: Task) -> str:
        if len(runs_above()) >= max_depth:
            raise ToolExecutionError(
                name, f"{max_depth} agents work below each other already, and no more may. Do the task yourself."
            )
        before = ctx.usage.requests
        with _below(ctx):
            result = await _run(agent, name, task, ctx, capabilities, _limits(ctx, request_limit))
        return ToolText(_answer(name, result), agent=name, requests=ctx.usage.requests - before)

    return make_tool(
        delegate,
        name,
        shape=evaluated_signature(delegate, name),
        route=lambda error, args, kwargs: route_base(name, error),
        description=description,
        made_from="an agent",
        options=options,
    )


def runs_above() -> tuple[RunContext[Any], ...]:
    """The runs that wait for the agent that works now, the first one first."""
    return _RUNS_ABOVE.get()


@contextmanager
def _below(ctx: RunContext[Any]) -> Generator[None]:
    token = _RUNS_ABOVE.set((*runs_above(), ctx))
    try:
        with judged(False):
            yield
    finally:
        _RUNS_ABOVE.reset(token)


def _limits(ctx: RunContext[Any], request_limit: int) -> UsageLimits:
    """The limits of the run that calls, and no more requests than this beyond those it has made."""
    shared = ctx.usage_limits or UsageLimits(request_limit=None)
    own = ctx.usage.requests + request_limit
    return replace(shared, request_limit=own if shared.request_limit is None else min(own, shared.request_limit))


async def _run(
    agent: Agent[Any, Any],
    name: str,
    task: str,
    ctx: RunContext[Any],
    capabilities: Sequence[AbstractCapability[Any]],
    limits: UsageLimits,
) -> AgentRunResult[Any]:
    # One conversation with the run above, as what it may change is counted by the conversation. An agent that can
    # pause has one of its own: there its pause is filed, and from there it goes on.
    conversation = None if _can_pause(agent.output_type) else ctx.conversation_id
    try:
        return await agent.run(
            task,
            deps=ctx.deps,
            usage=ctx.usage,
            usage_limits=limits,
            capabilities=list(capabilities),
            conversation_id=conversation,
        )
    except UsageLimitExceeded as error:
        raise ToolExecutionError(
            name, f"the agent was stopped at a limit ({error}); what it did until then stays done", error
        ) from error
    except RunCancelled as error:
        raise ToolExecutionError(name, "the agent was cancelled; what it did until then stays done", error) from error
    except AgentRunError as error:
        raise ToolExecutionError(
            name, f"the agent failed ({describe(error)}); what it did until then stays done", error
        ) from error


def _can_pause(output: object) -> bool:
    if isinstance(output, Sequence) and not isinstance(output, str):
        return any(map(_can_pause, cast("Sequence[object]", output)))
    return output is DeferredToolRequests


def _answer(name: str, result: AgentRunResult[Any]) -> str:
    output = result.output
    if isinstance(output, DeferredToolRequests):
        waiting = [*output.approvals, *output.calls]
        calls = ", ".join(f"{call.tool_name}({shown_arguments(call.args_as_dict())})" for call in waiting)
        raise ToolExecutionError(
            name,
            f"the agent stopped before its task was done: it waits for somebody's answer about {calls}; that has not "
            "run, and what it did before stays done",
        )
    return output if isinstance(output, str) else to_json(output).decode()
