"""The store in Redis keeps what every store promises, and what only a server does."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.approvals.servers import RedisServer
from toolhaft.approvals import ApprovalStore
from toolhaft.approvals.redis import RedisStore
from toolhaft.testing import ApprovalStoreSuite


class TestRedisStore(ApprovalStoreSuite):
    @pytest.fixture(autouse=True)
    def server(self, redis_server: RedisServer) -> None:
        self.url = redis_server.url

    async def open(self, place: Path, *, clock: Callable[[], float], **limits: Any) -> ApprovalStore:
        return RedisStore.from_url(self.url, key_prefix=f"{place}:", clock=clock, **limits)
