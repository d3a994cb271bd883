"""The store in memory keeps what every store promises."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from toolhaft.approvals import ApprovalStore, MemoryStore
from toolhaft.testing import ApprovalStoreSuite
from toolhaft.testing.approvals import call


class TestMemoryStore(ApprovalStoreSuite):
    shares = False

    async def open(self, place: Path, *, clock: Callable[[], float], **limits: Any) -> ApprovalStore:
        return MemoryStore(clock=clock, **limits)


async def test_it_holds_a_thousand_pending_calls_for_five_minutes_unless_told_otherwise() -> None:
    store = MemoryStore()

    record = await store.add(call())

    assert record.expires - record.created == 300
    assert MemoryStore.__init__.__kwdefaults__["max_pending"] == 1_000
