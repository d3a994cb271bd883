"""One server of each kind for all tests; each test has a place of its own on it."""

from collections.abc import Iterator
from pathlib import Path
from uuid import uuid4

import pytest

from tests.approvals.places import KINDS, Place
from tests.approvals.servers import PostgresServer, RedisServer


@pytest.fixture(scope="session")
def redis_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RedisServer]:
    server = RedisServer(tmp_path_factory.mktemp("redis")).start()
    yield server
    server.stop()


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[PostgresServer]:
    server = PostgresServer().start()
    yield server
    server.stop()


@pytest.fixture(params=KINDS)
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Place:
    """A place for a durable store, of each kind in turn."""
    if request.param == "sqlite":
        return Place("sqlite", str(tmp_path / "approvals.db"))
    name = f"t{uuid4().hex}"
    if request.param == "redis":
        return Place("redis", request.getfixturevalue("redis_server").url, f"{name}:")
    return Place("postgres", request.getfixturevalue("postgres_server").conninfo, name)
