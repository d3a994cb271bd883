"""How much a store takes."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass

from toolhaft.approvals.errors import CallTooLarge, DuplicateCall, StoreFull
from toolhaft.approvals.pause import Pause
from toolhaft.approvals.record import ApprovalRecord, CallKey
from toolhaft.approvals.store import DEFAULT_MAX_CALL_BYTES, DEFAULT_MAX_PAUSE_BYTES


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What is refused, with the number reached and the number allowed."""

    ttl_seconds: float
    max_pending: int | None = None
    max_call_bytes: int = DEFAULT_MAX_CALL_BYTES
    max_pause_bytes: int = DEFAULT_MAX_PAUSE_BYTES

    def check_call(self, record: ApprovalRecord) -> None:
        """Raise `CallTooLarge` where the call is larger than the store takes."""
        size = len(record.to_json())
        if size > self.max_call_bytes:
            raise CallTooLarge(
                f"call {record.call_id!r} of {record.tool!r} has {size:,} bytes and a store takes "
                f"{self.max_call_bytes:,}. Pass what is large in a file, or give the store a larger max_call_bytes."
            )

    def check_pause(self, pause: Pause) -> None:
        """Raise `CallTooLarge` where the messages are larger than the store takes."""
        size = len(pause.messages)
        if size > self.max_pause_bytes:
            raise CallTooLarge(
                f"the messages of pause {pause.pause_id!r} have {size:,} bytes and a store takes "
                f"{self.max_pause_bytes:,}. Shorten the conversation, or give the store a larger max_pause_bytes."
            )

    def check_room(self, pending: int, more: int) -> None:
        """Raise `StoreFull` where so many more would be too many."""
        if self.max_pending is not None and pending + more > self.max_pending:
            raise StoreFull(full(pending, self.max_pending, more))


def full(pending: int, max_pending: int, more: int) -> str:
    """What is said of a store that is full."""
    return (
        f"{pending:,} calls are pending and the store holds {max_pending:,}: {more:,} more were not filed. "
        "Decide some, or let them expire."
    )


def check_new(records: Iterable[ApprovalRecord], known: Collection[CallKey]) -> None:
    """Raise `DuplicateCall` where a call is there already, or is there twice."""
    seen: set[CallKey] = set()
    for record in records:
        if record.key in known or record.key in seen:
            raise DuplicateCall(duplicate(record))
        seen.add(record.key)


def duplicate(record: ApprovalRecord) -> str:
    """What is said of a call that was filed before."""
    return (
        f"call {record.call_id!r} of conversation {record.conversation_id!r} is filed already. "
        "A call is filed once; look at what became of it."
    )
