"""Claims against the bare primitive of the same database, at 1 and at 20 claimants; lists among 100,000 pending calls.

The primitive does what a claim cannot do without, and nothing else: it has no history, no law and no record.
"""

import asyncio
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from concurrent.futures import Future
from pathlib import Path
from queue import SimpleQueue
from statistics import median, quantiles
from typing import Any

from redis.asyncio import Redis

from tests.approvals.servers import RedisServer
from tests.benchmarks.measure import Figure, milliseconds
from toolhaft.approvals import AlreadyDecided, ApprovalRecord, ApprovalStore, CallKey, Decision, Pause
from toolhaft.approvals.redis import RedisStore
from toolhaft.approvals.sqlite import SqliteStore

CLAIMS = 200  # a round; few, so that a disk that others use slows both alike
ROUNDS = 9
PENDING = 100_000

Claim = Callable[[str, str], Awaitable[bool]]
"""Given a call's id and who claims it: whether they won."""


async def figures() -> AsyncIterator[Figure]:
    with tempfile.TemporaryDirectory() as folder:
        async for figure in in_sqlite(Path(folder)):
            yield figure
    with tempfile.TemporaryDirectory() as folder, RedisServer(Path(folder), appendfsync="everysec") as server:
        async for figure in in_redis(server):
            yield figure
    yield what_is_imported()


async def in_sqlite(folder: Path) -> AsyncIterator[Figure]:
    primitive = OneWriterThread(folder / "bare.db")
    async with SqliteStore(folder / "ours.db") as store:
        for claimants in (1, 20):
            for figure in await against("SQLite", claim_in(store), primitive.claim, store, primitive.file, claimants):
                yield figure
    primitive.close()
    async with SqliteStore(folder / "many.db") as store:
        await fill(store)
        yield await milliseconds(
            "SQLite: list 10 of 100,000 pending", lambda: store.list("c77", limit=10), goal=0.3, rounds=200
        )


async def in_redis(server: RedisServer) -> AsyncIterator[Figure]:
    async with Redis(unix_socket_path=server.socket) as client:
        store, primitive = RedisStore(client, ttl_seconds=86_400), BareScript(client)
        for claimants in (1, 20):
            for figure in await against("Redis", claim_in(store), primitive.claim, store, primitive.file, claimants):
                yield figure
        many = RedisStore(client, key_prefix="many:", ttl_seconds=86_400)
        await fill(many)
        yield await milliseconds(
            "Redis: list 10 of 100,000 pending", lambda: many.list("c77", limit=10), goal=0.6, rounds=200
        )


async def against(
    where: str,
    ours: Claim,
    bare: Claim,
    store: ApprovalStore,
    file_bare: Callable[[list[str]], Awaitable[None]],
    claimants: int,
) -> list[Figure]:
    """Both in turn, as seconds for the same claims; and the slowest of ours."""
    mine, theirs, waits, their_waits = [], [], [], []
    for number in range(ROUNDS + 1):
        names = [f"{claimants}-{number}-{index}" for index in range(CLAIMS)]
        await file(store, names)
        await file_bare(names)
        for claim, seconds, latencies in ((ours, mine, waits), (bare, theirs, their_waits)):
            latencies.clear()
            started = time.perf_counter()
            await race(claim, names, claimants, latencies)
            seconds.append(time.perf_counter() - started)
    a, b = median(mine[1:]), median(theirs[1:])
    attempts = CLAIMS * (1 if claimants == 1 else 2)
    found = [
        Figure(
            name=f"{where}: claims at {claimants}, our time / the bare primitive's",
            measured=a / b,
            goal=1 / 0.8,
            unit="x",
            detail=f"({attempts / a:,.0f}/s against {attempts / b:,.0f}/s)",
        )
    ]
    if claimants > 1:
        p99, bare_p99 = (quantiles(times, n=100)[98] * 1e3 for times in (waits, their_waits))
        detail = f"(the bare primitive {bare_p99:.2f} ms)"
        found.append(Figure(name=f"{where}: p99 at {claimants}", measured=p99, goal=10.0, unit="ms", detail=detail))
    return found


async def race(claim: Claim, names: list[str], claimants: int, waits: list[float]) -> None:
    """Each call is claimed once by one claimant, or by two of many."""
    shares = [names] if claimants == 1 else [names[number // 2 :: claimants // 2] for number in range(claimants)]
    won = 0

    async def work(number: int, share: list[str]) -> None:
        nonlocal won
        for name in share:
            started = time.perf_counter()
            has_won = await claim(name, f"w{number}")
            won += has_won
            waits.append(time.perf_counter() - started)

    await asyncio.gather(*(work(number, share) for number, share in enumerate(shares)))
    assert won == len(names)


def claim_in(store: ApprovalStore) -> Claim:
    async def claim(name: str, owner: str) -> bool:
        try:
            await store.claim(CallKey("c", name), Decision(kind="approve", by=owner), owner=owner)
        except AlreadyDecided:
            return False
        return True

    return claim


async def file(store: ApprovalStore, names: list[str], conversation_id: str = "c") -> None:
    calls = [
        ApprovalRecord(
            conversation_id=conversation_id, call_id=name, tool="pay", arguments={"to": "Ada", "amount": 100}
        )
        for name in names
    ]
    await store.file(Pause(conversation_id=conversation_id, messages=b"", call_ids=tuple(names)), calls)


async def fill(store: ApprovalStore) -> None:
    for number in range(PENDING // 1_000):
        await file(store, [f"{number}-{index}" for index in range(990)], f"c{number}-")
        await file(store, [f"{number}-{index}" for index in range(10)], f"c{number}")


class OneWriterThread:
    """An UPDATE of one row by a thread with its own connection, as durable as ours, one commit a claim."""

    def __init__(self, path: Path) -> None:
        self._jobs: SimpleQueue[Any] = SimpleQueue()
        self._path = path
        self._thread = threading.Thread(target=self._serve)
        self._thread.start()

    async def file(self, names: list[str]) -> None:
        await self._ask("executemany", "INSERT INTO calls VALUES (?, 'pending', NULL)", [(name,) for name in names])

    async def claim(self, name: str, owner: str) -> bool:
        statement = "UPDATE calls SET state = 'claimed', owner = ? WHERE id = ? AND state = 'pending' RETURNING id"
        return bool(await self._ask("execute", statement, (owner, name)))

    def close(self) -> None:
        self._jobs.put(None)
        self._thread.join()

    async def _ask(self, method: str, statement: str, parameters: Any) -> Any:
        future: Future[Any] = Future()
        self._jobs.put((method, statement, parameters, future))
        return await asyncio.wrap_future(future)

    def _serve(self) -> None:
        connection = sqlite3.connect(self._path, isolation_level=None)
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute("CREATE TABLE calls (id TEXT PRIMARY KEY, state TEXT, owner TEXT)")
        while (job := self._jobs.get()) is not None:
            method, statement, parameters, future = job
            connection.execute("BEGIN IMMEDIATE")
            rows = getattr(connection, method)(statement, parameters).fetchall()
            connection.execute("COMMIT")
            future.set_result(rows)
        connection.close()


class BareScript:
    """Check, claim and take off the list, in one script."""

    def __init__(self, client: "Redis") -> None:
        self._client = client
        self._script = client.register_script("""
            if redis.call('HGET', KEYS[1], 'state') ~= 'pending' then return 0 end
            redis.call('HSET', KEYS[1], 'state', 'claimed', 'owner', ARGV[1])
            redis.call('ZREM', KEYS[2], KEYS[1])
            return 1""")

    async def file(self, names: list[str]) -> None:
        pipeline = self._client.pipeline(transaction=False)
        for name in names:
            pipeline.hset(f"bare:{name}", mapping={"state": "pending", "call": "x" * 200})
            pipeline.zadd("bare", {f"bare:{name}": 1.0})
        await pipeline.execute()

    async def claim(self, name: str, owner: str) -> bool:
        return bool(await self._script(keys=[f"bare:{name}", "bare"], args=[owner]))


def what_is_imported() -> Figure:
    """The libraries of stores that are loaded by importing approvals: none."""
    code = "import sys, toolhaft.approvals; print(len({'redis', 'psycopg', 'sqlite3', 'pytest'} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    name = "store libraries loaded by toolhaft.approvals"
    return Figure(name=name, measured=float(done.stdout), goal=0.0, unit="", detail="")
