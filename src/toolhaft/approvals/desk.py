"""The desk: where people decide calls, and where the runs that wait for them go on.

A decision is one step in the store, so of two people one decides and the other is told. A run is continued once:
whoever takes its pause continues it, and whatever had run before is answered from its record.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from typing import Any
from uuid import uuid4

from pydantic_ai import Agent, AgentRunResult, DeferredToolResults, ToolApproved, ToolDenied
from pydantic_ai.exceptions import ToolFailed
from pydantic_ai.messages import ModelMessagesTypeAdapter
from pydantic_core import to_jsonable_python

from toolhaft.approvals.errors import ApprovalError, LeaseLost
from toolhaft.approvals.filing import answer_of
from toolhaft.approvals.pause import Pause, PauseState
from toolhaft.approvals.record import ApprovalRecord, CallKey, Decision, digest_of
from toolhaft.approvals.states import OPEN, State
from toolhaft.approvals.store import DEFAULT_LEASE_SECONDS, ApprovalStore
from toolhaft.registry import Registry
from toolhaft.spec import tool_spec


class UnknownCall(ApprovalError):  # noqa: N818 - as the other errors of approvals
    """No call that waits for somebody has this id, or several have."""


class NothingWaits(ApprovalError):  # noqa: N818
    """The conversation has no run that waits."""


class Desk:
    """Decides calls that wait in a store, and continues the runs that wait for them.

    `registry` has the tools by which edited arguments are validated; the built-in ones if left out.

    ```python
    desk = Desk(store)
    await desk.approve("call-1", by="ann")
    result = await desk.resume(agent, conversation_id)
    ```
    """

    def __init__(
        self,
        store: ApprovalStore,
        registry: Registry | None = None,
        *,
        lease_seconds: float = DEFAULT_LEASE_SECONDS,
    ) -> None:
        self.store = store
        self._registry = registry or Registry().register_all()
        self._lease_seconds = lease_seconds

    async def pending(self, conversation_id: str | None = None, *, limit: int = 100) -> list[ApprovalRecord]:
        """Calls that wait for a person: those to be decided, then those that may have partly run."""
        found: list[ApprovalRecord] = []
        for state in (State.PENDING, State.UNKNOWN):
            found += await self.store.list(conversation_id, state=state, limit=limit - len(found))
        return found

    async def find(self, call_id: str, *, conversation_id: str | None = None) -> ApprovalRecord:
        """The call of that id; of one that waits, the conversation need not be named. Raises `UnknownCall`."""
        if conversation_id is not None:
            record = await self.store.get(CallKey(conversation_id, call_id))
            found = [] if record is None else [record]
        else:
            found = [record for record in await self.pending(limit=100_000) if record.call_id == call_id]
        if len(found) != 1:
            places = ", ".join(repr(record.conversation_id) for record in found)
            why = f"{len(found)} conversations have one: {places}. Name the conversation" if found else "there is none"
            raise UnknownCall(f"No one call {call_id!r} waits: {why}.")
        return found[0]

    async def approve(
        self, call_id: str, edits: Mapping[str, Any] | None = None, *, by: str, conversation_id: str | None = None
    ) -> ApprovalRecord:
        """Approve a call. `edits` are merged over its arguments (null sets null), and validated before anything else.

        Raises `ToolNotFoundError` for a tool that is not here and pydantic's `ValidationError` for edits that do not
        fit it, both with nothing decided; `AlreadyDecided` to everybody but the first.
        """
        record = await self.find(call_id, conversation_id=conversation_id)
        spec = tool_spec(self._registry.get(record.tool))
        if edits is None:
            return await self.store.decide(record.key, Decision(kind="approve", by=by))
        known = spec.schema.get("properties", {})
        if unknown := [name for name in edits if name not in known]:
            raise ValueError(f"{record.tool!r} has no parameter {unknown[0]!r}. It has {', '.join(known) or 'none'}.")
        merged = spec.validate({**record.final_arguments, **edits})
        arguments = to_jsonable_python(merged, bytes_mode="base64", serialize_unknown=True)
        digest = digest_of(record.tool, arguments, plan_id=record.plan_id)
        return await self.store.decide(record.key, Decision(kind="approve", by=by, arguments=arguments, digest=digest))

    async def reject(
        self, call_id: str, reason: str = "", *, by: str, conversation_id: str | None = None
    ) -> ApprovalRecord:
        """Reject a call; the model reads the reason. Raises `AlreadyDecided` to everybody but the first."""
        record = await self.find(call_id, conversation_id=conversation_id)
        return await self.store.decide(record.key, Decision(kind="reject", by=by, reason=reason))

    async def reconcile(
        self,
        call_id: str,
        *,
        by: str,
        result: Any = None,
        failed: str | None = None,
        conversation_id: str | None = None,
    ) -> ApprovalRecord:
        """Say what became of a call that may have partly run: it is done with this result, or it has failed."""
        record = await self.find(call_id, conversation_id=conversation_id)
        decision = (
            Decision(kind="done", by=by, result=result)
            if failed is None
            else Decision(kind="failed", by=by, reason=failed)
        )
        return await self.store.decide(record.key, decision)

    async def resume(
        self, agent: Agent[Any, Any], conversation_id: str, *, timeout_seconds: float | None = None, **run: Any
    ) -> AgentRunResult[Any]:
        """Continue the run that waits in a conversation, once all of its calls are decided, and only once.

        Waits for the decisions, at most so long. What is in `run` goes to `agent.run`, such as `deps`. Raises
        `NothingWaits`, `TimeoutError`, and `PauseTaken` where somebody else continues it.
        """
        pause = await self._waiting(conversation_id)
        async with asyncio.timeout(timeout_seconds):
            await self._decided(pause)
        async with self._taken(pause):
            records = await self._decided(pause)
            return await agent.run(
                message_history=ModelMessagesTypeAdapter.validate_json(pause.messages),
                deferred_tool_results=results_of(records),
                conversation_id=conversation_id,
                **run,
            )

    async def _waiting(self, conversation_id: str) -> Pause:
        pause = await self.store.latest_pause(conversation_id)
        if pause is None or pause.state is PauseState.CONTINUED:
            raise NothingWaits(f"No run waits in the conversation {conversation_id!r}.")
        return pause

    async def _decided(self, pause: Pause) -> list[ApprovalRecord]:
        """The calls of a pause, once none of them waits for a person or still runs."""
        while True:
            keys = [CallKey(pause.conversation_id, call_id) for call_id in pause.call_ids]
            records = [await self._known(key) for key in keys]
            if not any(record.state in OPEN or record.state is State.EXECUTING for record in records):
                return records
            await asyncio.sleep(self.store.poll_seconds)

    async def _known(self, key: CallKey) -> ApprovalRecord:
        record = await self.store.get(key)
        if record is None:
            raise UnknownCall(f"The call {key.call_id!r} of the pause is no longer in the store, so it cannot go on.")
        return record

    @asynccontextmanager
    async def _taken(self, pause: Pause) -> AsyncGenerator[None]:
        """Hold the pause while its run goes on: it has been continued, or where that failed it waits again."""
        owner = uuid4().hex
        await self.store.take_pause(pause.pause_id, owner=owner, lease_seconds=self._lease_seconds)
        renewing = asyncio.create_task(self._renew(pause.pause_id, owner))
        continued = False
        try:
            yield
            continued = True
        finally:
            renewing.cancel()
            with suppress(asyncio.CancelledError):
                await renewing
            with suppress(LeaseLost):
                await self.store.finish_pause(pause.pause_id, owner=owner, continued=continued)

    async def _renew(self, pause_id: str, owner: str) -> None:
        while True:
            await asyncio.sleep(self._lease_seconds / 3)
            await self.store.take_pause(pause_id, owner=owner, lease_seconds=self._lease_seconds)


def results_of(records: Sequence[ApprovalRecord]) -> DeferredToolResults:
    """What pydantic-ai continues a run with: what was decided, and of calls that have run what they answered."""
    results = DeferredToolResults()
    for record in records:
        name = record.call_id
        match record.state:
            case State.APPROVED:
                results.approvals[name] = ToolApproved(override_args=record.final_arguments)
                decision = record.decision
                results.metadata[name] = {"approved_by": decision.by if decision else None}
            case State.DONE:
                results.calls[name] = answer_of(record)
            case State.FAILED:
                results.calls[name] = ToolFailed(record.error or "It failed.")
            case _:
                results.approvals[name] = ToolDenied(_denial(record))
    return results


def _denial(record: ApprovalRecord) -> str:
    if record.state is State.EXPIRED:
        return "The approval expired: nobody decided in time. Nothing has run."
    reason = record.decision.reason if record.decision else ""
    return f"Rejected: {reason}" if reason else "Rejected. Nothing has run."
