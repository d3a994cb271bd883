"""The store in an SQLite file keeps what every store promises, and what only a file does."""

import asyncio
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest

from toolhaft.approvals import ApprovalStore
from toolhaft.approvals.sqlite import SqliteStore
from toolhaft.testing import ApprovalStoreSuite
from toolhaft.testing.approvals import call


class TestSqliteStore(ApprovalStoreSuite):
    async def open(self, place: Path, *, clock: Callable[[], float], **limits: Any) -> ApprovalStore:
        return SqliteStore(place / "approvals.db", clock=clock, **limits)


async def test_a_file_is_for_its_owner_alone(tmp_path: Path) -> None:
    async with SqliteStore(tmp_path / "approvals.db") as store:
        await store.add(call())

    assert (tmp_path / "approvals.db").stat().st_mode & 0o777 == 0o600


async def test_it_holds_pending_calls_for_a_week_unless_told_otherwise(tmp_path: Path) -> None:
    async with SqliteStore(tmp_path / "approvals.db") as store:
        record = await store.add(call())

    assert record.expires - record.created == pytest.approx(7 * 86_400)


async def test_a_place_that_is_none_is_told_to_each_who_asks(tmp_path: Path) -> None:
    async with SqliteStore(tmp_path / "no folder" / "approvals.db") as store:
        for _ in range(2):
            with pytest.raises(FileNotFoundError):
                await store.list()


async def test_a_closed_store_says_so(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path / "approvals.db")
    await store.aclose()

    with pytest.raises(RuntimeError, match="is closed"):
        await store.list()


async def test_what_was_asked_for_before_closing_is_done(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path / "approvals.db")
    filing = [asyncio.create_task(store.add(call(f"c{number}"))) for number in range(600)]
    await asyncio.sleep(0)

    await store.aclose()
    await asyncio.gather(*filing)

    async with SqliteStore(tmp_path / "approvals.db") as again:
        assert len(await again.list(limit=1_000)) == 600


async def test_one_store_serves_many_loops(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path / "approvals.db")
    await store.add(call("here"))

    await asyncio.to_thread(asyncio.run, store.add(call("elsewhere")))

    assert [record.call_id for record in await store.list()] == ["here", "elsewhere"]
    await store.aclose()


async def test_an_asker_that_is_cancelled_disturbs_nobody(tmp_path: Path) -> None:
    async with SqliteStore(tmp_path / "approvals.db") as store:
        asking = asyncio.create_task(store.add(call("cancelled")))
        await asyncio.sleep(0)
        asking.cancel()

        await store.add(call("next"))

        assert "next" in [record.call_id for record in await store.list()]
        assert asking.cancelled()


async def test_a_loop_that_has_ended_is_not_waited_for(tmp_path: Path) -> None:
    """Whoever asked there is gone; the thread goes on."""
    path = tmp_path / "approvals.db"
    async with SqliteStore(path) as store:
        await store.add(call("first"))
        with closing(sqlite3.connect(path, isolation_level=None)) as holder:
            holder.execute("BEGIN IMMEDIATE")
            await asyncio.to_thread(_ask_and_end, store)
            holder.execute("COMMIT")

        await store.add(call("next"))

        assert [record.call_id for record in await store.list()] == ["first", "asked", "next"]


def _ask_and_end(store: SqliteStore) -> None:
    loop = asyncio.new_event_loop()
    asking = loop.create_task(store.add(call("asked")))
    loop.run_until_complete(asyncio.sleep(0.05))
    asking.cancel()
    loop.run_until_complete(asyncio.gather(asking, return_exceptions=True))
    loop.close()


@contextmanager
def read_by_another(path: Path) -> Iterator[sqlite3.Connection]:
    """A file that is not ours yet, while somebody reads it: SQLite does not wait to change how it is written."""
    with closing(sqlite3.connect(path, isolation_level=None)) as reader:
        reader.execute("CREATE TABLE other (a)")
        reader.execute("BEGIN")
        reader.execute("SELECT * FROM other").fetchall()
        yield reader


async def test_a_first_opening_waits_for_who_reads_the_file(tmp_path: Path) -> None:
    with read_by_another(tmp_path / "approvals.db") as reader:
        async with SqliteStore(tmp_path / "approvals.db") as store:
            filing = asyncio.create_task(store.add(call()))
            await asyncio.sleep(0.1)
            assert not filing.done()

            reader.execute("COMMIT")

            assert (await asyncio.wait_for(filing, 30)).call_id == "c1"


async def test_who_holds_a_file_for_ever_is_not_waited_for_so_long(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("toolhaft.approvals.sqlite_thread.BUSY_SECONDS", 0.0)
    with read_by_another(tmp_path / "approvals.db"):
        async with SqliteStore(tmp_path / "approvals.db") as store:
            with pytest.raises(sqlite3.OperationalError, match="locked"):
                await store.add(call())
