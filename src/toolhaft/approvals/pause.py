"""A run that waits: its messages, and the calls that somebody must decide before it goes on."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field, replace
from enum import StrEnum
from typing import Any
from uuid import uuid4

from toolhaft.approvals.record import Lease, canonical


class PauseState(StrEnum):
    """Where a run stands. What is `resuming` and whose lease has ended waits again."""

    WAITING = "waiting"
    RESUMING = "resuming"
    CONTINUED = "continued"


@dataclass(frozen=True, slots=True, kw_only=True)
class Pause:
    """One run that waits. The store sets `created`."""

    conversation_id: str
    messages: bytes
    """The run's messages as pydantic-ai writes them."""

    call_ids: tuple[str, ...]
    pause_id: str = field(default_factory=lambda: uuid4().hex)
    state: PauseState = PauseState.WAITING
    lease: Lease | None = None
    created: float = 0.0

    def at(self, now: float) -> Pause:
        """The pause as it is at a time."""
        if self.state is PauseState.RESUMING and self.lease is not None and now >= self.lease.until:
            return replace(self, state=PauseState.WAITING)
        return self

    def facts_json(self) -> str:
        """All of it but the messages, as ASCII JSON."""
        facts = asdict(replace(self, messages=b""))
        del facts["messages"]
        return canonical(facts)

    @classmethod
    def from_json(cls, facts_json: str | bytes, messages: bytes) -> Pause:
        """The pause that `facts_json` wrote, with its messages."""
        facts: dict[str, Any] = json.loads(facts_json)
        facts["lease"] = Lease(**facts["lease"]) if facts["lease"] else None
        facts["state"] = PauseState(facts["state"])
        facts["call_ids"] = tuple(facts["call_ids"])
        return cls(messages=messages, **facts)
