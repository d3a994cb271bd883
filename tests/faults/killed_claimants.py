"""Workers killed with a claim in their hands: `python -m tests.faults.killed_claimants HOW PLACE ROUNDS FOLDER`.

A process of its own, which has no threads when it forks, so that a round costs no new interpreter.
"""

import asyncio
import os
import random
import signal
import sqlite3
import sys
import time
from collections.abc import Awaitable, Callable
from contextlib import closing
from pathlib import Path

import pytest

from tests.approvals.places import Place
from toolhaft.approvals import ApprovalRecord, CallKey, CannotBegin, Decision, State

LEASE_SECONDS = 30.0
LATER = 1_000.0


def call(name: str) -> ApprovalRecord:
    return ApprovalRecord(conversation_id="conversation", call_id=name, tool="pay", arguments={"amount": 100})


def child(work: Callable[[int], Awaitable[None]]) -> tuple[int, int]:
    """A child at work, and the end of a pipe where it tells what it has been acknowledged."""
    reading, writing = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(reading)
        asyncio.run(work(writing))
        os._exit(0)
    os.close(writing)
    return pid, reading


def kill(pid: int) -> None:
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)


def told(reading: int) -> list[str]:
    """Everything that the child told before it was killed."""
    with open(reading) as pipe:
        return [line for line in pipe.read().split("\n")[:-1] if line]


async def after_the_claim(place: Place, number: int, folder: Path, *, executed: bool) -> None:
    """Killed between claim and execution, or between execution and record: unknown, and run again only when told."""
    name = f"{'executed' if executed else 'claimed'}{number}"
    key, ran = CallKey("conversation", name), folder / name
    async with place.open() as store:
        await store.add(call(name))

    async def work(writing: int) -> None:
        store = place.open()
        await store.claim(key, Decision(kind="approve", by="Ada"), owner="dead", lease_seconds=LEASE_SECONDS)
        if executed:
            ran.write_text("once\n")
        os.write(writing, b"!")
        await asyncio.sleep(600)

    pid, reading = child(work)
    assert os.read(reading, 1) == b"!"
    os.close(reading)
    kill(pid)

    async with place.open(clock=lambda: time.time() + LATER) as store:
        assert key in [record.key for record in await store.list(state=State.UNKNOWN)]
        with pytest.raises(CannotBegin):
            await store.begin(key, digest=call(name).digest, owner="next")
        await store.decide(key, Decision(kind="approve", by="Eve"))
        record = await store.begin(key, digest=call(name).digest, owner="next")
        assert [decision.by for decision in record.decisions] == ["Ada", "Eve"]
        await store.finish(key, owner="next", result=1)
    assert ran.exists() is executed


async def while_committing(place: Place, number: int, folder: Path) -> None:
    """Killed at any moment: the file is sound, and what was acknowledged is in it."""
    names = [f"r{number}-{index}" for index in range(200)]
    async with place.open() as store:
        for name in names[:20]:
            await store.add(call(name))

    async def work(writing: int) -> None:
        store = place.open()

        async def claim(name: str) -> None:
            if name in names[20:]:
                await store.add(call(name))
            await store.claim(CallKey("conversation", name), Decision(kind="approve", by="Ada"), owner=name)
            os.write(writing, f"{name}\n".encode())

        for start in range(0, len(names), 4):
            await asyncio.gather(*(claim(name) for name in names[start : start + 4]))

    pid, reading = child(work)
    time.sleep(random.uniform(0.0, 0.12))
    kill(pid)
    acknowledged = told(reading)

    with closing(sqlite3.connect(place.where)) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    async with place.open() as store:
        for name in acknowledged:
            record = await store.get(CallKey("conversation", name))
            assert record is not None
            assert record.state is State.EXECUTING
            assert record.lease is not None
            assert record.lease.owner == name
        assert (await store.verify()).faults == ()
    (folder / "acknowledged").open("a").write(f"{len(acknowledged)}\n")


def main() -> None:
    how, place, rounds, folder = sys.argv[1], Place.from_json(sys.argv[2]), int(sys.argv[3]), Path(sys.argv[4])
    for number in range(rounds):
        if how == "while-committing":
            asyncio.run(while_committing(place, number, folder))
        else:
            asyncio.run(after_the_claim(place, number, folder, executed=how == "after-execution"))


if __name__ == "__main__":
    main()
