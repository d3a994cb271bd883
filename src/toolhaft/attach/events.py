"""Where the events of a run are fired that are no calls of tools.

| event | where |
|---|---|
| `session_start`, `session_end` | entering and leaving the run, however it ends |
| `pre_llm_call`, `post_llm_call` | before and after each request to the model; the first may end the run |
| `budget_warning` | once a run, at the first request by which the share of some limit is used |
| `context_compress` | at a request that has fewer messages than the one before it |
| `agent_complete` | when the output is accepted, so after all checks of it; not at a pause |
| `on_error` | when an exception ends the run; of what fails in a call the pipeline tells |
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import KW_ONLY, dataclass, field, fields, replace
from typing import Any

import anyio
from pydantic_ai import AgentRunResult, DeferredToolRequests, RunContext
from pydantic_ai.capabilities import AbstractCapability, WrapRunHandler, durable_operation
from pydantic_ai.exceptions import AgentRunError, RunCancelled
from pydantic_ai.messages import ModelMessagesTypeAdapter, ModelRequest, ModelResponse
from pydantic_ai.models import ModelRequestContext
from pydantic_ai.usage import RunUsage, UsageLimits
from pydantic_core import to_jsonable_python

from toolhaft.attach.run import workspace_of
from toolhaft.pipeline.call import Refused
from toolhaft.pipeline.hooks import HookEvent, Hooks

_OF_CALLS = (HookEvent.PRE_TOOL_USE, HookEvent.POST_TOOL_USE)


class RunBlockedError(AgentRunError):
    """A `pre_llm_call` hook said no, so the run ended before the request."""


@dataclass
class RunEvents(AbstractCapability[Any]):
    """Tells hooks of what happens in an agent's runs.

    ```python
    RunEvents(Hooks([Hook("session_end", "tell me", command="notify-send 'The agent is done'")]))
    ```
    """

    hooks: Hooks
    _: KW_ONLY
    budget_share: float = 0.8
    """How much of one of the run's `UsageLimits` must be used for `budget_warning`."""

    id: str | None = "toolhaft-events"
    _has_warned: bool = field(default=False, init=False)
    _messages: int = field(default=0, init=False)

    @property
    def is_needed(self) -> bool:
        """Whether any hook waits for what is told of here."""
        return any(self.hooks.has(event) for event in HookEvent if event not in _OF_CALLS)

    async def for_run(self, ctx: RunContext[Any]) -> RunEvents:
        """One that remembers this run only."""
        return replace(self)

    async def wrap_run(self, ctx: RunContext[Any], *, handler: WrapRunHandler) -> AgentRunResult[Any]:
        outcome = "cancelled"
        await self._fire(ctx, HookEvent.SESSION_START, {"prompt": _json(ctx.prompt)})
        try:
            result = await handler()
            outcome = "paused" if isinstance(result.output, DeferredToolRequests) else "completed"
            if outcome == "completed":
                await self._fire(ctx, HookEvent.AGENT_COMPLETE, {"output": _json(result.output)})
            return result
        except RunCancelled:
            raise
        except Exception as error:
            outcome = "failed"
            await self._fire(ctx, HookEvent.ON_ERROR, {"error": f"{type(error).__name__}: {error}"})
            raise
        finally:
            with anyio.CancelScope(shield=True):
                await self._fire(ctx, HookEvent.SESSION_END, {"outcome": outcome})

    async def before_model_request(
        self, ctx: RunContext[Any], request_context: ModelRequestContext
    ) -> ModelRequestContext:
        await self._warn(ctx)
        messages = request_context.messages
        if len(messages) < self._messages:
            counts = {"messages_before": self._messages, "messages": len(messages)}
            await self._fire(ctx, HookEvent.CONTEXT_COMPRESS, counts)
        self._messages = len(messages)
        if self.hooks.has(HookEvent.PRE_LLM_CALL):
            facts = {"model": request_context.model.model_name, "messages": len(messages), "request": _last(messages)}
            if reason := await self._fire(ctx, HookEvent.PRE_LLM_CALL, facts):
                raise RunBlockedError(reason)
        return request_context

    async def after_model_request(
        self, ctx: RunContext[Any], *, request_context: ModelRequestContext, response: ModelResponse
    ) -> ModelResponse:
        await self._warn(ctx)
        if self.hooks.has(HookEvent.POST_LLM_CALL):
            facts = {"model": request_context.model.model_name, "response": _last([response])}
            await self._fire(ctx, HookEvent.POST_LLM_CALL, facts)
        return response

    @durable_operation(name="tell")
    async def tell(self, ctx: RunContext[Any], event: str, facts: dict[str, Any]) -> str | None:
        """Tell the hooks of an event; the answer is why it is blocked, or None.

        It is a value and no exception, because a durable engine would try again for ever.
        """
        try:
            with workspace_of(ctx):
                await self.hooks.notify(event, facts)
        except Refused as refused:
            return refused.message
        return None

    async def _fire(self, ctx: RunContext[Any], event: HookEvent, facts: dict[str, Any]) -> str | None:
        if not self.hooks.has(event):
            return None
        known = {"run_id": ctx.run_id, "conversation_id": ctx.conversation_id}
        return await self.tell(ctx, str(event), {**known, **facts})

    async def _warn(self, ctx: RunContext[Any]) -> None:
        if self._has_warned or ctx.usage_limits is None or not self.hooks.has(HookEvent.BUDGET_WARNING):
            return
        for limit, used, allowed in _budgets(ctx.usage_limits, ctx.usage):
            if used >= self.budget_share * allowed:
                self._has_warned = True
                facts = {"limit": limit, "used": used, "allowed": allowed}
                await self._fire(ctx, HookEvent.BUDGET_WARNING, facts)
                return


def _budgets(limits: UsageLimits, usage: RunUsage) -> Iterator[tuple[str, float, float]]:
    """The limits that are set and that the run as a whole uses up: name, used, allowed."""
    for limit in fields(limits):
        name = limit.name.removesuffix("_limit")
        allowed, used = getattr(limits, limit.name), getattr(usage, "requests" if name == "request" else name, None)
        if name != limit.name and allowed is not None and used is not None:
            yield limit.name, float(used), float(allowed)


def _last(messages: list[ModelRequest | ModelResponse]) -> Any:
    return ModelMessagesTypeAdapter.dump_python(messages[-1:], mode="json")[0]


def _json(value: object) -> Any:
    """A value of the user's as JSON; what JSON cannot carry must not end a run."""
    try:
        return to_jsonable_python(value, bytes_mode="base64", inf_nan_mode="null", serialize_unknown=True)
    except (ValueError, RecursionError):
        return f"<{type(value).__name__}>"
