"""The law at work on one record: what is there and what is asked for in, the steps to write out, or a refusal.

Pure, so that every store whose transactions run Python (memory, SQLite, PostgreSQL) has the same law; Redis has it once
more, in its own language, and the one conformance suite holds both to it. No step means that it is done already: the
same decision, the same owner, asked again because the first answer was lost.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from toolhaft.approvals.errors import AlreadyDecided, CannotBegin, LeaseLost, PauseTaken, WrongDigest
from toolhaft.approvals.pause import Pause, PauseState
from toolhaft.approvals.record import ApprovalRecord, CallKey, Decision, Lease, copied
from toolhaft.approvals.states import OPEN, WAYS, State

TIME = "time"
"""Who moves what is past its time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """The record in its next state, who moved it there, and why."""

    record: ApprovalRecord
    by: str
    reason: str = ""


Law = Callable[[ApprovalRecord | None, float], list[Step]]
"""The steps that a record, if there is one, takes now."""

PauseLaw = Callable[[Pause | None, float], Pause]


def filed(record: ApprovalRecord, now: float, *, ttl_seconds: float) -> Step:
    """The first step of every record."""
    fresh = replace(record, state=State.PENDING, created=now, changed=now, expires=now + ttl_seconds)
    fresh = replace(fresh, arguments=copied(record.arguments), preview=copied(record.preview))
    fresh = replace(fresh, decisions=(), lease=None, result=None, error=None)
    return Step(record=fresh, by=record.asked_by or "", reason=record.reason)


def in_time(record: ApprovalRecord | None, now: float) -> list[Step]:
    """What time has done to a record, if anything."""
    aged = record.at(now) if record else None
    return [] if aged is None or aged is record else [Step(record=aged, by=TIME)]


def decided(key: CallKey, decision: Decision) -> Law:
    """One decision of a call that waits for a person."""

    def law(record: ApprovalRecord | None, now: float) -> list[Step]:
        steps, record = _aged(record, now)
        if record and record.decision and record.decision.id == decision.id:
            return []
        target = decision.target
        if record is None or record.state not in OPEN or (record.state, target) not in WAYS:
            raise AlreadyDecided(key, record)
        stamped = replace(decision, at=now, arguments=copied(decision.arguments), result=copied(decision.result))
        changes: dict[str, Any] = {"decisions": (*record.decisions, stamped)}
        if target is State.APPROVED:
            time_to_begin = record.expires - record.created
            changes |= {"digest": decision.digest or record.digest, "expires": now + time_to_begin, "lease": None}
        elif target is State.DONE:
            changes["result"] = stamped.result
        elif target is State.FAILED:
            changes["error"] = decision.reason
        return [*steps, Step(record=record.moved(target, now, **changes), by=decision.by, reason=decision.reason)]

    return law


def begun(key: CallKey, *, digest: str, lease: Callable[[float], Lease]) -> Law:
    """One execution of an approved call, and of nothing but what was approved."""

    def law(record: ApprovalRecord | None, now: float) -> list[Step]:
        _, record = _aged(record, now)
        taken = lease(now)
        if record and record.digest != digest:
            raise WrongDigest(key, record, why="what would run is not what was approved")
        if _is_run_by(record, taken.owner):
            return []
        if record is None or record.state is not State.APPROVED:
            raise CannotBegin(key, record)
        return [Step(record=record.moved(State.EXECUTING, now, lease=taken), by=taken.owner)]

    return law


def claimed(key: CallKey, decision: Decision, *, lease: Callable[[float], Lease]) -> Law:
    """Both at once: nobody can come in between, and what is claimed is never left approved and not begun."""

    def law(record: ApprovalRecord | None, now: float) -> list[Step]:
        steps = decided(key, decision)(record, now)
        latest = steps[-1].record if steps else record
        digest = latest.digest if latest else ""
        return [*steps, *begun(key, digest=digest, lease=lease)(latest, now)]

    return law


def renewed(
    key: CallKey, *, lease: Callable[[float], Lease]
) -> Callable[[ApprovalRecord | None, float], ApprovalRecord]:
    """The record with a longer lease; no step of the table."""

    def law(record: ApprovalRecord | None, now: float) -> ApprovalRecord:
        _, record = _aged(record, now)
        taken = lease(now)
        if record is None or not _is_run_by(record, taken.owner):
            raise LeaseLost(key.call_id, taken.owner)
        return replace(record, lease=taken)

    return law


def finished(key: CallKey, *, owner: str, result: Any, error: str | None) -> Law:
    """How the execution ended. Whose lease has ended may still tell, unless somebody has decided what became of it."""

    def law(record: ApprovalRecord | None, now: float) -> list[Step]:
        steps, record = _aged(record, now)
        if record is None or record.lease is None or record.lease.owner != owner:
            raise LeaseLost(key.call_id, owner)
        if record.state in (State.DONE, State.FAILED):
            return []
        target = State.DONE if error is None else State.FAILED
        return [*steps, Step(record=record.moved(target, now, result=copied(result), error=error), by=owner)]

    return law


def pause_taken(pause_id: str, *, owner: str, lease_seconds: float) -> PauseLaw:
    """The pause leased to an owner; again to the same owner, for longer."""

    def law(pause: Pause | None, now: float) -> Pause:
        seen = pause.at(now) if pause else None
        taken = seen is None or seen.state is not PauseState.WAITING
        if seen is None or (taken and not (_resumes(seen, owner))):
            raise PauseTaken(pause_id, seen)
        return replace(seen, state=PauseState.RESUMING, lease=Lease(owner, now + lease_seconds))

    return law


def pause_finished(pause_id: str, *, owner: str, continued: bool) -> PauseLaw:
    """The pause as its owner leaves it: continued, or waiting again."""

    def law(pause: Pause | None, now: float) -> Pause:
        if pause is None or pause.lease is None or pause.lease.owner != owner:
            raise LeaseLost(pause_id, owner)
        if pause.state is PauseState.CONTINUED or continued:
            return replace(pause, state=PauseState.CONTINUED)
        return replace(pause, state=PauseState.WAITING, lease=None)

    return law


def _aged(record: ApprovalRecord | None, now: float) -> tuple[list[Step], ApprovalRecord | None]:
    steps = in_time(record, now)
    return steps, steps[-1].record if steps else record


def _is_run_by(record: ApprovalRecord | None, owner: str) -> bool:
    if record is None or record.state is not State.EXECUTING:
        return False
    return record.lease is not None and record.lease.owner == owner


def _resumes(pause: Pause, owner: str) -> bool:
    return pause.state is PauseState.RESUMING and pause.lease is not None and pause.lease.owner == owner
