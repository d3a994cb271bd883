"""The store in PostgreSQL keeps what every store promises, and what only a server does."""

from collections.abc import Callable
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from tests.approvals.servers import PostgresServer
from toolhaft.approvals import ApprovalStore
from toolhaft.approvals.postgres import PostgresStore
from toolhaft.testing import ApprovalStoreSuite


class TestPostgresStore(ApprovalStoreSuite):
    @pytest.fixture(autouse=True)
    def server(self, postgres_server: PostgresServer) -> None:
        self.conninfo = postgres_server.conninfo
        self.schema = f"s{uuid4().hex}"

    async def open(self, place: Path, *, clock: Callable[[], float], **limits: Any) -> ApprovalStore:
        return PostgresStore(self.conninfo, schema=self.schema, clock=clock, **limits)
