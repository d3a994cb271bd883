"""Where a run that pauses is filed: its messages and the calls that wait, in one step."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any

from pydantic_ai import AgentRunResult, DeferredToolRequests, RunContext
from pydantic_ai.capabilities import AbstractCapability, durable_operation

from toolhaft.approvals.filing import record_of
from toolhaft.approvals.pause import Pause
from toolhaft.approvals.store import ApprovalStore


@dataclass
class FilesPauses(AbstractCapability[Any]):
    """Files every pause of an agent's runs in a store, before whoever started the run learns of it."""

    store: ApprovalStore
    _: KW_ONLY
    id: str | None = "toolhaft-pauses"

    async def after_run(self, ctx: RunContext[Any], *, result: AgentRunResult[Any]) -> AgentRunResult[Any]:
        requests = result.output
        if isinstance(requests, DeferredToolRequests) and requests.approvals:
            calls = [
                {
                    "call_id": call.tool_call_id,
                    "tool": call.tool_name,
                    "facts": {
                        "arguments": call.args_as_dict(),
                        "reason": "requires_approval",
                        **requests.metadata.get(call.tool_call_id, {}),
                    },
                }
                for call in requests.approvals
            ]
            await self.file(ctx, ctx.conversation_id or "", result.all_messages_json().decode(), calls)
        return result

    @durable_operation(name="file")
    async def file(
        self, ctx: RunContext[Any], conversation_id: str, messages: str, calls: list[dict[str, Any]]
    ) -> None:
        """File a pause. A durable engine does this once, outside the code that it replays."""
        records = [record_of(conversation_id, call["call_id"], call["tool"], call["facts"]) for call in calls]
        pause = Pause(
            conversation_id=conversation_id,
            messages=messages.encode(),
            call_ids=tuple(record.call_id for record in records),
        )
        await self.store.file(pause, records)
