"""A store whose transactions run Python: each method is the law of `moves.py`, applied to one record at a time."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from typing import Any

from toolhaft.approvals import moves
from toolhaft.approvals.moves import Law, PauseLaw
from toolhaft.approvals.pause import Pause
from toolhaft.approvals.record import ApprovalRecord, CallKey, Decision, Lease
from toolhaft.approvals.store import DEFAULT_LEASE_SECONDS, ApprovalStore


class LawfulStore(ApprovalStore):
    """What is left to a store: reading, applying a law within one transaction, and writing."""

    @abstractmethod
    async def move(self, key: CallKey, law: Law) -> ApprovalRecord:
        """Apply a law to a record and its steps to the history; the record as it is then."""
        ...

    @abstractmethod
    async def amend(
        self, key: CallKey, law: Callable[[ApprovalRecord | None, float], ApprovalRecord]
    ) -> ApprovalRecord:
        """Write a record that took no step."""
        ...

    @abstractmethod
    async def move_pause(self, pause_id: str, law: PauseLaw) -> Pause:
        """Apply a law to a pause."""
        ...

    async def decide(self, key: CallKey, decision: Decision) -> ApprovalRecord:
        return await self.move(key, moves.decided(key, decision))

    async def claim(
        self, key: CallKey, decision: Decision, *, owner: str, lease_seconds: float = DEFAULT_LEASE_SECONDS
    ) -> ApprovalRecord:
        return await self.move(key, moves.claimed(key, decision, lease=_lease(owner, lease_seconds)))

    async def begin(
        self, key: CallKey, *, digest: str, owner: str, lease_seconds: float = DEFAULT_LEASE_SECONDS
    ) -> ApprovalRecord:
        return await self.move(key, moves.begun(key, digest=digest, lease=_lease(owner, lease_seconds)))

    async def renew(self, key: CallKey, *, owner: str, lease_seconds: float = DEFAULT_LEASE_SECONDS) -> ApprovalRecord:
        return await self.amend(key, moves.renewed(key, lease=_lease(owner, lease_seconds)))

    async def finish(self, key: CallKey, *, owner: str, result: Any = None, error: str | None = None) -> ApprovalRecord:
        return await self.move(key, moves.finished(key, owner=owner, result=result, error=error))

    async def take_pause(self, pause_id: str, *, owner: str, lease_seconds: float = DEFAULT_LEASE_SECONDS) -> Pause:
        return await self.move_pause(pause_id, moves.pause_taken(pause_id, owner=owner, lease_seconds=lease_seconds))

    async def finish_pause(self, pause_id: str, *, owner: str, continued: bool = True) -> Pause:
        return await self.move_pause(pause_id, moves.pause_finished(pause_id, owner=owner, continued=continued))


def _lease(owner: str, lease_seconds: float) -> Callable[[float], Lease]:
    return lambda now: Lease(owner, now + lease_seconds)
