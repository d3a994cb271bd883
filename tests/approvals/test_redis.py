"""The store in Redis keeps what every store promises, and what only a server does."""

import asyncio
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest
import redis
from redis.asyncio import Redis
from redis.exceptions import ResponseError

from tests.approvals.servers import RedisServer
from toolhaft.approvals import ApprovalStore, CallKey, Pause, State, UnsafeStore
from toolhaft.approvals.redis import RedisStore
from toolhaft.testing import ApprovalStoreSuite
from toolhaft.testing.approvals import HandClock, approve, call, reject


class TestRedisStore(ApprovalStoreSuite):
    @pytest.fixture(autouse=True)
    def server(self, redis_server: RedisServer) -> None:
        self.url = redis_server.url

    async def open(self, place: Path, *, clock: Callable[[], float], **limits: Any) -> ApprovalStore:
        return RedisStore.from_url(self.url, key_prefix=f"{place}:", clock=clock, **limits)


@pytest.fixture
async def client(redis_server: RedisServer) -> AsyncIterator["Redis"]:
    client = Redis.from_url(redis_server.url)
    yield client
    await client.aclose()


async def test_a_store_never_closes_a_client_that_it_was_given(client: "Redis", tmp_path: Path) -> None:
    async with RedisStore(client, key_prefix=f"{tmp_path}:") as store:
        connections = client.connection_pool
        await store.add(call())

    assert client.connection_pool is connections
    assert await client.ping()


def test_a_client_that_blocks_is_refused(redis_server: RedisServer) -> None:
    with pytest.raises(TypeError, match=r"redis\.asyncio"):
        RedisStore(redis.Redis.from_url(redis_server.url))  # type: ignore[arg-type]


async def test_a_client_that_decodes_replies_serves_as_well(redis_server: RedisServer, tmp_path: Path) -> None:
    client = Redis.from_url(redis_server.url, decode_responses=True)
    store = RedisStore(client, key_prefix=f"{tmp_path}:")
    pause = Pause(conversation_id="conversation", messages=b"\xff\x00", call_ids=("c1",))

    await store.file(pause, [call(message="ü\ud800")])

    assert (await store.load_pause(pause.pause_id) or pause).messages == b"\xff\x00"
    assert [record.message for record in await store.list()] == ["ü\ud800"]
    assert (await store.verify()).is_intact
    await client.aclose()


@pytest.mark.parametrize("tail", ["call:", "all:", "index:pending:", "x", ":"])
async def test_two_prefixes_never_see_each_other(client: "Redis", tmp_path: Path, tail: str) -> None:
    short, long = (RedisStore(client, key_prefix=prefix) for prefix in (f"{tmp_path}:", f"{tmp_path}:{tail}"))
    names = ["", "call", "index", "pending", "conversation", "*", "x"]
    for store in (short, long):
        for name in names:
            await store.add(call(name, name))
            await store.save_pause(Pause(conversation_id=name, messages=b"", call_ids=()))

    await long.decide(CallKey("call", "call"), reject())

    assert len(await short.list()) == len(names)
    assert len(await long.list()) == len(names) - 1
    assert [(await store.verify()).rows for store in (short, long)] == [len(names), len(names) + 1]


async def test_only_what_is_over_has_an_end_in_redis(client: "Redis", tmp_path: Path) -> None:
    """Its own expiry is a broom; a call that waits is never swept away by it."""
    clock = HandClock()
    store = RedisStore(client, key_prefix=f"{tmp_path}:", clock=clock, keep_seconds=10)
    for name in ("pending", "approved", "executing", "rejected", "expired"):
        await store.add(call(name))
    await store.decide(call("approved").key, approve())
    await store.claim(call("executing").key, approve(), owner="w", lease_seconds=1_000)
    await store.decide(call("rejected").key, reject())

    lives = {name: await client.ttl(f"{tmp_path}:call:conversation:{name}") for name in ("pending", "approved")}
    assert lives == {"pending": -1, "approved": -1}
    assert await client.ttl(f"{tmp_path}:call:conversation:executing") == -1
    assert 0 < await client.ttl(f"{tmp_path}:call:conversation:rejected") <= 10


async def test_what_was_swept_is_gone_from_lists_and_stays_in_the_history(client: "Redis", tmp_path: Path) -> None:
    clock = HandClock()
    store = RedisStore(client, key_prefix=f"{tmp_path}:", clock=clock, keep_seconds=10)
    for name in ("c1", "c2"):
        await store.add(call(name))
        await store.decide(call(name).key, reject())
    await client.delete(f"{tmp_path}:call:conversation:c1", f"{tmp_path}:call:conversation:c2")

    assert await store.list("conversation", state=State.REJECTED) == []
    clock.now += 11
    assert await store.expire() == []

    assert await client.zcard(f"{tmp_path}:index:rejected:*") == 0
    assert len(await store.history(call("c1").key)) == 2
    assert (await store.verify()).is_intact


async def test_a_pending_call_that_was_deleted_is_forgotten(client: "Redis", tmp_path: Path) -> None:
    clock = HandClock()
    store = RedisStore(client, key_prefix=f"{tmp_path}:", clock=clock)
    await store.add(call())
    await client.delete(f"{tmp_path}:call:conversation:c1")
    clock.now += 301

    assert await store.expire() == []
    assert await client.zcard(f"{tmp_path}:index:pending:*") == 0


async def test_it_says_how_safe_the_server_keeps_what_it_is_given(tmp_path: Path) -> None:
    with RedisServer(tmp_path, "--maxmemory-policy", "allkeys-lru", appendfsync="everysec") as server:
        async with RedisStore.from_url(server.url) as store:
            evicting, syncing = await store.check()
            async with Redis.from_url(server.url) as client:
                await client.config_set("appendonly", "no")
            _, losing = await store.check()

    assert "allkeys-lru" in evicting
    assert "everysec" in syncing
    assert "no append-only file" in losing


async def test_it_warns_once_and_not_of_a_server_that_is_safe(
    redis_server: RedisServer, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with RedisStore.from_url(redis_server.url, key_prefix=f"{tmp_path}:") as store:
        await store.list()
        assert warnings(caplog) == 0
    with RedisServer(tmp_path, appendfsync="everysec") as server:
        async with RedisStore.from_url(server.url) as store:
            await asyncio.gather(store.list(), store.list())
    assert warnings(caplog) == 1


def warnings(caplog: pytest.LogCaptureFixture) -> int:
    return sum(record.name == "toolhaft.approvals" for record in caplog.records)


async def test_a_server_that_does_not_tell_is_reported(tmp_path: Path) -> None:
    with RedisServer(tmp_path, "--rename-command", "CONFIG", "") as server:
        async with RedisStore.from_url(server.url) as store:
            assert "does not tell" in (await store.check())[0]


async def test_an_old_server_is_refused(redis_server: RedisServer) -> None:
    class Old(Redis):
        async def info(self, *_: object, **__: object) -> dict[str, str]:
            return {"redis_version": "6.0.16"}

    client = Old.from_url(redis_server.url)
    with pytest.raises(UnsafeStore, match=r"6\.0\.16"):
        await RedisStore(client).list()
    await client.aclose()


async def test_what_redis_refuses_otherwise_is_raised(client: "Redis", tmp_path: Path) -> None:
    await client.set(f"{tmp_path}:head::", "no hash")

    with pytest.raises(ResponseError, match="WRONGTYPE"):
        await RedisStore(client, key_prefix=f"{tmp_path}:").add(call())
