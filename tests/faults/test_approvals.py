"""Of many claimants one wins; whoever is killed leaves what is found, and nothing runs twice by itself."""

import asyncio
import json
import os
import random
import resource
import signal
import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path

import pytest

from tests.approvals.conftest import place as place
from tests.approvals.conftest import postgres_server as postgres_server
from tests.approvals.conftest import redis_server as redis_server
from tests.approvals.places import Place
from toolhaft.approvals import AlreadyDecided, CallKey, CannotBegin, DuplicateCall, State, WrongDigest
from toolhaft.approvals.sqlite import SqliteStore
from toolhaft.testing.approvals import approve, call, reject

ROOT = Path(__file__).parents[2]
STRESS = 10 if os.environ.get("TOOLHAFT_STRESS") else 1

PROCESSES = 8
CLAIMANTS = 50  # in each


def command(module: str, *arguments: str) -> list[str]:
    return [sys.executable, "-m", f"tests.faults.{module}", *arguments]


async def test_of_400_claimants_in_8_processes_one_wins_each_call(place: Place, tmp_path: Path) -> None:
    calls = 20 * STRESS
    folder = tmp_path / "ran"
    folder.mkdir()
    async with place.open() as store:
        for number in range(calls):
            await store.add(call(f"c{number}"))
    arguments = command("claimants", place.to_json(), str(CLAIMANTS), str(calls), str(folder))

    processes = [subprocess.Popen(arguments, cwd=ROOT, stdout=subprocess.PIPE) for _ in range(PROCESSES)]
    outcomes = [json.loads(process.communicate()[0] or "{}") for process in processes]

    assert [process.returncode for process in processes] == [0] * PROCESSES
    assert sum(outcome.get("won", 0) for outcome in outcomes) == calls
    assert sum(outcome.get("lost", 0) for outcome in outcomes) == calls * (PROCESSES * CLAIMANTS - 1)
    assert sum(outcome.get("wrong", 0) for outcome in outcomes) == 0
    assert [len(file.read_text().splitlines()) for file in folder.iterdir()] == [1] * calls
    async with place.open() as store:
        done = await store.list(state=State.DONE, limit=calls)
        assert [len(record.decisions) for record in done] == [1] * calls
        assert (await store.verify()).rows == 4 * calls


@pytest.mark.parametrize("how", ["after-claim", "after-execution"])
def test_a_worker_that_is_killed_leaves_a_call_that_only_a_person_runs_again(
    place: Place, tmp_path: Path, how: str
) -> None:
    arguments = command("killed_claimants", how, place.to_json(), str(4 * STRESS), str(tmp_path))

    done = subprocess.run(arguments, cwd=ROOT, capture_output=True, text=True, check=False)

    assert done.returncode == 0, done.stderr


def test_a_file_survives_claimants_killed_at_any_moment(tmp_path: Path) -> None:
    place = Place("sqlite", str(tmp_path / "approvals.db"))
    arguments = command("killed_claimants", "while-committing", place.to_json(), str(50 * STRESS), str(tmp_path))

    done = subprocess.run(arguments, cwd=ROOT, capture_output=True, text=True, check=False)

    assert done.returncode == 0, done.stderr
    assert sum(map(int, (tmp_path / "acknowledged").read_text().split())) > 0


async def test_a_result_is_there_for_whoever_comes_after_a_crash(place: Place) -> None:
    async with place.open() as store:
        await store.add(call())
        await store.claim(call().key, approve(), owner="w")
        await store.finish(call().key, owner="w", result={"paid": 100})

    async with place.open() as store:
        record = await store.get(call().key)
        assert record is not None
        assert (record.state, record.result) == (State.DONE, {"paid": 100})
        with pytest.raises(CannotBegin):
            await store.begin(call().key, digest=call().digest, owner="next")


async def test_at_the_instant_of_expiry_a_call_is_approved_or_expired_and_never_both(place: Place) -> None:
    async with place.open(ttl_seconds=0.03) as store, place.open() as other:
        for number in range(17 * STRESS):
            key = (await store.add(call(f"c{number}"))).key
            await asyncio.sleep(0.03 + random.uniform(-0.002, 0.001))

            approval, _ = await asyncio.gather(store.decide(key, approve()), other.expire(), return_exceptions=True)

            record = await store.get(key)
            assert record is not None
            states = [change.state.value for change in await store.history(key)]
            if isinstance(approval, AlreadyDecided):
                assert approval.decision is None
                assert record.state is State.EXPIRED
                assert "approved" not in states
            else:
                assert not isinstance(approval, BaseException)
                assert states[:2] == ["pending", "approved"]


async def test_what_was_tampered_with_or_used_does_not_run(place: Place) -> None:
    async with place.open() as store:
        for number in range(5 * STRESS):
            used, other = call(f"used{number}"), call(f"other{number}")
            await store.add(used)
            await store.add(other)
            await store.decide(used.key, approve())

            with pytest.raises(WrongDigest):
                await store.begin(used.key, digest=call(arguments={"to": "Eve", "amount": 100}).digest, owner="w")
            with pytest.raises(CannotBegin):
                await store.begin(other.key, digest=other.digest, owner="w")
            await store.begin(used.key, digest=used.digest, owner="w")
            await store.finish(used.key, owner="w", result=1)
            with pytest.raises(CannotBegin):
                await store.begin(used.key, digest=used.digest, owner="w2")
            with pytest.raises(AlreadyDecided):
                await store.decide(used.key, approve("Eve"))
            with pytest.raises(DuplicateCall):
                await store.add(used)


async def test_time_is_the_servers_where_there_is_one(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two workers whose clocks are ten minutes apart."""
    if place.kind == "sqlite":
        pytest.skip("the processes that share a file share a clock")
    async with place.open(ttl_seconds=300.0) as store:
        for number in range(2 * STRESS):
            key = call(f"c{number}").key
            for skew in (600.0, -600.0):
                monkeypatch.setattr(time, "time", lambda skew=skew: 1_000.0 + skew)
                await store.add(call(f"c{number}{skew}"))
                record = await store.decide(call(f"c{number}{skew}").key, approve())
                assert abs(record.changed - record.created) < 60
                begun = await store.begin(record.key, digest=record.digest, owner="w", lease_seconds=60)
                assert begun.state is State.EXECUTING
            assert await store.expire() == []
            assert await store.get(key) is None


async def test_a_clock_that_jumps_moves_nothing_twice(tmp_path: Path) -> None:
    now = [1_000_000.0]
    async with SqliteStore(tmp_path / "approvals.db", clock=lambda: now[0], ttl_seconds=300) as store:
        for number in range(2 * STRESS):
            key = (await store.add(call(f"c{number}"))).key
            now[0] -= 86_400
            await store.claim(key, approve(), owner="w", lease_seconds=10)
            now[0] += 2 * 86_400
            await store.expire()
            now[0] -= 86_400

            with pytest.raises(CannotBegin):
                await store.begin(key, digest=call().digest, owner="w2")
            states = [change.state.value for change in await store.history(key)]
            assert states == ["pending", "approved", "executing", "unknown"]


async def test_a_claim_waits_for_who_holds_the_file(tmp_path: Path) -> None:
    path = tmp_path / "approvals.db"
    async with SqliteStore(path) as store:
        await store.add(call())
        with closing(sqlite3.connect(path, isolation_level=None)) as holder:
            holder.execute("BEGIN IMMEDIATE")
            claiming = asyncio.create_task(store.claim(call().key, approve(), owner="w"))
            await asyncio.sleep(0.05)
            assert not claiming.done()
            holder.execute("COMMIT")

        assert (await asyncio.wait_for(claiming, 30)).state is State.EXECUTING


@pytest.mark.skipif(sys.platform != "linux", reason="a limit of size stands for a full disk")
async def test_a_full_disk_is_told_and_takes_nothing_that_was_acknowledged(tmp_path: Path) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    acknowledged: list[str] = []
    async with SqliteStore(tmp_path / "approvals.db") as store:

        async def fill() -> None:
            for number in range(1_000):
                await store.add(call(f"c{number}", message="x" * 10_000))
                acknowledged.append(f"c{number}")

        await store.add(call("first"))
        try:
            resource.setrlimit(resource.RLIMIT_FSIZE, (400_000, hard))
            with pytest.raises(sqlite3.OperationalError):
                await fill()
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
            signal.signal(signal.SIGXFSZ, handler)

        await store.decide(CallKey("conversation", "first"), reject())
        assert [record.call_id for record in await store.list(limit=1_000)] == acknowledged
        assert (await store.verify()).is_intact


async def test_one_request_that_cannot_be_written_takes_no_other_with_it(tmp_path: Path) -> None:
    """They are committed together; here one of them cannot be turned into JSON."""
    async with SqliteStore(tmp_path / "approvals.db") as store:
        for name in ("good", "bad"):
            await store.add(call(name))
            await store.claim(call(name).key, approve(), owner="w")

        good, bad = await asyncio.gather(
            store.finish(call("good").key, owner="w", result=1),
            store.finish(call("bad").key, owner="w", result=object()),
            return_exceptions=True,
        )

        assert isinstance(bad, TypeError)
        assert not isinstance(good, BaseException)
