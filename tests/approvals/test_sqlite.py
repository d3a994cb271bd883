"""The store in an SQLite file keeps what every store promises, and what only a file does."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from toolhaft.approvals import ApprovalStore
from toolhaft.approvals.sqlite import SqliteStore
from toolhaft.testing import ApprovalStoreSuite


class TestSqliteStore(ApprovalStoreSuite):
    async def open(self, place: Path, *, clock: Callable[[], float], **limits: Any) -> ApprovalStore:
        return SqliteStore(place / "approvals.db", clock=clock, **limits)
