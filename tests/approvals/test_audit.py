"""Whoever edits or removes a row of the history, or a call behind its back, is found out."""

import sqlite3
from collections.abc import AsyncIterator
from contextlib import closing
from pathlib import Path
from typing import Any
from uuid import uuid4

import psycopg
import pytest
from redis.asyncio import Redis

from tests.approvals.servers import PostgresServer, RedisServer
from toolhaft.approvals import ApprovalStore, MemoryStore
from toolhaft.approvals.chain import Audit, Head, Row, link_of
from toolhaft.approvals.postgres import PostgresStore
from toolhaft.approvals.redis import RedisStore
from toolhaft.approvals.sqlite import SqliteStore
from toolhaft.testing.approvals import approve, call

EDITS = [
    ("UPDATE {}history SET entry = replace(entry, 'Ada', 'Eve') WHERE seq = 2", "row 2 is not as it was written"),
    ("UPDATE {}history SET entry = 'x' WHERE seq = 3", "row 3 cannot be read"),
    ("DELETE FROM {}history WHERE seq = 2", "rows 2 to 2 are missing"),
    ("DELETE FROM {}history WHERE seq = 1", "rows 1 to 1 are missing"),
    ("DELETE FROM {}history WHERE seq >= 5", "rows 5 to 6 are missing"),
    ("DELETE FROM {}history", "rows 1 to 6 are missing"),
    ("UPDATE {}history SET link = 'x' WHERE seq = 6", "row 6 is not as it was written"),
    ("UPDATE {}head SET link = 'x'", "the history ends with row 6"),
    ("UPDATE {}head SET seq = 7", "rows 7 to 7 are missing"),
    (
        "UPDATE {}approvals SET record = replace(record, '100', '999') WHERE call_id = 'c1'",
        "its arguments were changed",
    ),
]


async def worked(store: ApprovalStore) -> None:
    for name in ("c1", "c2"):
        await store.add(call(name))
        await store.claim(call(name).key, approve(), owner="w")
    assert (await store.verify()).is_intact


@pytest.mark.parametrize(("edit", "found"), EDITS)
async def test_an_edit_of_an_sqlite_file_is_found(tmp_path: Path, edit: str, found: str) -> None:
    async with SqliteStore(tmp_path / "approvals.db") as store:
        await worked(store)

        with closing(sqlite3.connect(tmp_path / "approvals.db")) as connection, connection:
            connection.execute(edit.format(""))

        faults = (await store.verify()).faults
        assert any(found in fault for fault in faults), faults


@pytest.mark.parametrize(("edit", "found"), EDITS)
async def test_an_edit_of_a_postgres_table_is_found(postgres_server: PostgresServer, edit: str, found: str) -> None:
    schema = f"a{uuid4().hex}"
    async with PostgresStore(postgres_server.conninfo, schema=schema) as store:
        await worked(store)

        with psycopg.connect(postgres_server.conninfo) as connection:
            connection.execute(edit.format(f"{schema}."))  # type: ignore[arg-type]

        assert any(found in fault for fault in (await store.verify()).faults)


@pytest.fixture
async def client(redis_server: RedisServer) -> AsyncIterator["Redis"]:
    client = Redis.from_url(redis_server.url)
    yield client
    await client.aclose()


@pytest.mark.parametrize(
    ("edit", "found"),
    [
        (("XDEL", "log::", "2-1"), "rows 2 to 2 are missing"),
        (("XDEL", "log::", "6-1"), "rows 6 to 6 are missing"),
        (("DEL", "log::"), "rows 1 to 6 are missing"),
        (("HSET", "head::", "link", "x"), "the history ends with row 6"),
        (("HSET", "call:conversation:c1", "digest", "x"), "its arguments were changed"),
        (("XADD", "log::", "7-1", "entry", "{}", "link", "x"), "the history goes on to row 7"),
    ],
)
async def test_an_edit_in_redis_is_found(client: "Redis", tmp_path: Path, edit: tuple[Any, ...], found: str) -> None:
    store = RedisStore(client, key_prefix=f"{tmp_path}:")
    await worked(store)

    await client.execute_command(edit[0], f"{tmp_path}:{edit[1]}", *edit[2:])

    faults = (await store.verify()).faults
    assert any(found in fault for fault in faults), faults


def test_a_row_that_was_written_again_with_its_link_breaks_the_next() -> None:
    first = Row(1, "{}", link_of("", "{}"))
    second = Row(2, "[]", link_of(first.link, "[]"))
    forged = Row(1, '{"a":1}', link_of("", '{"a":1}'))
    audit = Audit()

    audit.take([forged, second])

    faults = audit.verdict(Head(2, second.link)).faults
    assert any(fault.startswith("row 2 is not as it was written") for fault in faults)


async def test_a_call_that_was_dropped_leaves_its_history() -> None:
    store = MemoryStore()
    await worked(store)

    assert [change.state.value for change in await store.history(call("c1").key)] == [
        "pending",
        "approved",
        "executing",
    ]
