"""The pipeline's side of a store: a call that waits is written down, and an approved one is run once.

An execution holds a lease while it runs. Where it is killed, the lease ends and the record says `unknown`: nothing runs
again by itself, and nothing vanishes.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import Any, cast
from uuid import uuid4

from pydantic import TypeAdapter
from pydantic_ai import ModelRetry, ToolReturn
from pydantic_ai.exceptions import ToolFailed
from pydantic_core import to_jsonable_python

from toolhaft.approvals.errors import ApprovalError, CannotBegin, LeaseLost, WrongDigest
from toolhaft.approvals.record import ApprovalRecord, CallKey, digest_of
from toolhaft.approvals.store import DEFAULT_LEASE_SECONDS, ApprovalStore
from toolhaft.call_log import shown_arguments
from toolhaft.exceptions import describe
from toolhaft.pipeline.call import Call, Refused
from toolhaft.spec import ToolText

LOGGER = logging.getLogger("toolhaft.approvals")

_ANSWER: TypeAdapter[ToolReturn[Any]] = TypeAdapter(ToolReturn[Any])


@dataclass(slots=True)
class StoredExecution:
    """One run of an approved call."""

    answer: ToolReturn[Any] | None = None
    notes: Sequence[str] = field(default_factory=list[str])


class StoreFiling:
    """Files calls in a store, and runs what is approved there."""

    def __init__(self, store: ApprovalStore, *, lease_seconds: float = DEFAULT_LEASE_SECONDS) -> None:
        self.store = store
        self._lease_seconds = lease_seconds

    async def file(self, call: Call, question: ToolText) -> None:
        """Write down a call that waits. Raises the store's errors."""
        await self.store.add(record_of(call.conversation_id, call.call_id, call.name, question.facts))

    @asynccontextmanager
    async def execution(self, call: Call, *, plan_id: str | None) -> AsyncGenerator[StoredExecution]:
        """Take an approved call to run it once. Raises `Refused` where exactly it was not approved."""
        key, owner = CallKey(call.conversation_id, call.call_id), uuid4().hex
        arguments = to_jsonable_python(dict(call.args), bytes_mode="base64", serialize_unknown=True)
        try:
            known = await self.store.get(key)
            if known is not None and known.arguments != known.final_arguments:
                plan_id = known.plan_id  # that of what was asked for: an edit is bound to its arguments alone
            digest = digest_of(call.name, arguments, plan_id=plan_id)
            record = await self.store.begin(key, digest=digest, owner=owner, lease_seconds=self._lease_seconds)
        except CannotBegin as error:
            raise _refused(error) from error
        except Exception as error:
            raise _refused(error) from error
        renewing = asyncio.create_task(self._renew(key, owner))
        execution = StoredExecution(notes=_notes(record))
        try:
            yield execution
        except (ModelRetry, ToolFailed) as error:
            await self._finish(key, owner, error=error.message)
            raise
        finally:
            renewing.cancel()
            with suppress(asyncio.CancelledError):
                await renewing
        assert execution.answer is not None
        await self._finish(key, owner, result=_ANSWER.dump_python(execution.answer, mode="json"))

    async def _renew(self, key: CallKey, owner: str) -> None:
        while True:
            await asyncio.sleep(self._lease_seconds / 3)
            try:
                await self.store.renew(key, owner=owner, lease_seconds=self._lease_seconds)
            except LeaseLost:
                return
            except Exception as error:  # noqa: BLE001 - a store that does not answer now may before the lease ends
                LOGGER.warning("the lease of call %r was not renewed: %s", key.call_id, describe(error))

    async def _finish(self, key: CallKey, owner: str, *, result: Any = None, error: str | None = None) -> None:
        """Write down how it ended. What cannot be written is left to be found `unknown`; the run goes on."""
        try:
            await self.store.finish(key, owner=owner, result=result, error=error)
        except Exception as failure:  # noqa: BLE001 - the tool has run, and its answer must not be lost over this
            LOGGER.error("the end of call %r was not recorded: %s", key.call_id, describe(failure))


def record_of(conversation_id: str, call_id: str, tool: str, facts: dict[str, Any]) -> ApprovalRecord:
    """The record of a call that waits; `facts` are those of the question that the pipeline asks about it."""
    plan_id = facts.get("plan_id")
    known = ("reason", "message", "arguments")
    return ApprovalRecord(
        conversation_id=conversation_id,
        call_id=call_id,
        tool=tool,
        arguments=facts.get("arguments", {}),
        plan_id=plan_id,
        reason=facts.get("reason", ""),
        message=facts.get("message", ""),
        preview={name: fact for name, fact in facts.items() if name not in known},
    )


def answer_of(record: ApprovalRecord) -> ToolReturn[Any]:
    """What a call that is done has answered."""
    result: Any = record.result
    if isinstance(result, dict) and "return_value" in result:
        return _ANSWER.validate_python(result)
    return ToolReturn[Any](return_value=cast("object", result))  # what somebody found it to have answered


def _notes(record: ApprovalRecord) -> list[str]:
    edited = [decision for decision in record.decisions if decision.arguments is not None]
    if not edited:
        return []
    return [f"{edited[-1].by} approved this with edited arguments: {shown_arguments(record.final_arguments)}"]


def _refused(error: Exception) -> Refused:
    if isinstance(error, WrongDigest):
        text, rule = "what would run now is not what was approved, or the files have changed since", "digest"
    elif isinstance(error, ApprovalError):
        text, rule = str(error), "approvals"
    else:
        text, rule = f"the store of approvals could not be asked ({describe(error)})", "approvals"
    return Refused(f"{text}. Nothing has run.", stage="confirmation", rule=rule)
