"""The store in PostgreSQL keeps what every store promises, and what only a server does."""

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any
from uuid import uuid4

import psycopg
import pytest

from tests.approvals.servers import PostgresServer
from toolhaft.approvals import ApprovalStore
from toolhaft.approvals.postgres import PostgresStore
from toolhaft.testing import ApprovalStoreSuite
from toolhaft.testing.approvals import call


class TestPostgresStore(ApprovalStoreSuite):
    @pytest.fixture(autouse=True)
    def server(self, postgres_server: PostgresServer) -> None:
        self.conninfo = postgres_server.conninfo
        self.schema = f"s{uuid4().hex}"

    async def open(self, place: Path, *, clock: Callable[[], float], **limits: Any) -> ApprovalStore:
        return PostgresStore(self.conninfo, schema=self.schema, clock=clock, **limits)


async def test_a_store_never_closes_a_connection_that_it_was_given(postgres_server: PostgresServer) -> None:
    async with await psycopg.AsyncConnection.connect(postgres_server.conninfo) as connection:
        async with PostgresStore(connection, schema=f"s{uuid4().hex}") as store:
            await store.add(call())

        assert not connection.closed


async def test_a_connection_in_a_transaction_of_yours_is_refused(postgres_server: PostgresServer) -> None:
    async with await psycopg.AsyncConnection.connect(postgres_server.conninfo) as connection:
        await connection.execute("SELECT 1")

        with pytest.raises(RuntimeError, match="of yours"):
            await PostgresStore(connection, schema=f"s{uuid4().hex}").add(call())


async def test_two_schemas_never_see_each_other(postgres_server: PostgresServer) -> None:
    one, two = (PostgresStore(postgres_server.conninfo, schema=f"s{uuid4().hex}") for _ in range(2))
    async with one, two:
        await one.add(call())

        assert await two.list() == []


@pytest.mark.parametrize("schema", ["", "a b", 'a"b', "a;b", "1a", "x" * 64])
def test_a_schema_has_a_plain_name(postgres_server: PostgresServer, schema: str) -> None:
    with pytest.raises(ValueError, match="plain name"):
        PostgresStore(postgres_server.conninfo, schema=schema)


async def test_many_may_start_at_once(postgres_server: PostgresServer) -> None:
    """Each makes the tables where they are not there, and one does."""
    schema = f"s{uuid4().hex}"
    stores = [PostgresStore(postgres_server.conninfo, schema=schema) for _ in range(8)]

    await asyncio.gather(*(store.add(call(f"c{number}")) for number, store in enumerate(stores)))

    assert len(await stores[0].list()) == 8
    await asyncio.gather(*(store.aclose() for store in stores))


async def test_a_store_comes_back_with_its_server() -> None:
    server = PostgresServer().start()
    async with PostgresStore(server.conninfo) as store:
        await store.add(call())
        server.kill()
        with pytest.raises(psycopg.OperationalError):
            await store.list()

        server.restart()

        assert [record.call_id for record in await store.list()] == ["c1"]
    server.stop()
