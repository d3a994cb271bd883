"""Redis is killed, its replies are lost, its memory is full: no call is run twice by itself, and none is lost."""

import asyncio
import os
import random
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from redis.asyncio import Redis
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff
from redis.exceptions import ConnectionError as RedisConnectionError

from tests.approvals.conftest import redis_server as redis_server
from tests.approvals.servers import RedisServer
from toolhaft.approvals import (
    AlreadyDecided,
    ApprovalError,
    ApprovalRecord,
    CannotBegin,
    State,
    StoreFull,
    UnsafeStore,
)
from toolhaft.approvals.redis import RedisStore
from toolhaft.testing.approvals import approve, call, ids

STRESS = 10 if os.environ.get("TOOLHAFT_STRESS") else 1


@pytest.fixture(params=["always", "everysec"])
def server(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[RedisServer]:
    with RedisServer(tmp_path, appendfsync=request.param) as server:
        yield server


@asynccontextmanager
async def client_of(path: str) -> AsyncIterator["Redis"]:
    """A client that asks once, so that what is lost shows."""
    client = Redis(unix_socket_path=path, retry=Retry(NoBackoff(), 0))
    try:
        yield client
    finally:
        await client.aclose()


async def test_a_server_killed_while_it_is_claimed_has_the_call_pending_or_claimed(server: RedisServer) -> None:
    for number in range(5 * STRESS):
        key = call(f"c{number}").key
        async with client_of(server.socket) as client:
            store = RedisStore(client)
            await store.add(call(f"c{number}"))
            claims = [asyncio.create_task(store.claim(key, approve(f"w{one}"), owner=f"w{one}")) for one in range(10)]
            await asyncio.sleep(random.uniform(0.0, 0.01))
            server.kill()
            answers = await asyncio.gather(*claims, return_exceptions=True)
        acknowledged = [answer for answer in answers if isinstance(answer, ApprovalRecord)]
        assert all(isinstance(answer, ApprovalRecord | AlreadyDecided | RedisConnectionError) for answer in answers)
        assert len(acknowledged) <= 1

        server.start()

        async with client_of(server.socket) as client:
            store = RedisStore(client)
            record = await store.get(key)
            assert record is not None
            if acknowledged:
                assert record.lease == acknowledged[0].lease
            assert record.state in (State.PENDING, State.EXECUTING)
            if record.state is State.EXECUTING:
                with pytest.raises(AlreadyDecided):
                    await store.claim(key, approve("next"), owner="next")
            assert (await store.verify()).is_intact


async def test_pending_calls_survive_a_kill(server: RedisServer) -> None:
    names = [f"c{number}" for number in range(1_000)]
    async with client_of(server.socket) as client:
        store = RedisStore(client)
        for name in names:
            await store.add(call(name))

    server.kill()
    server.start()

    async with client_of(server.socket) as client:
        store = RedisStore(client)
        assert ids(await store.list(limit=2_000)) == names
        assert (await store.verify()).rows == len(names)


class LossyProxy:
    """Hands everything to the server, and drops the reply to what comes while it is told to."""

    def __init__(self, server: RedisServer, folder: Path) -> None:
        self._server = server
        self.path = str(folder / "proxy")
        self.drops = False

    async def __aenter__(self) -> "LossyProxy":
        self._listener = await asyncio.start_unix_server(self._serve, self.path)
        return self

    async def __aexit__(self, *_: object) -> None:
        self._listener.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        to_server = await asyncio.open_unix_connection(self._server.socket)
        try:
            while request := await reader.read(1 << 20):
                to_server[1].write(request)
                reply = await to_server[0].read(1 << 20)
                if self.drops:
                    return
                writer.write(reply)
        finally:
            to_server[1].close()
            writer.close()


@pytest.fixture
async def proxy(redis_server: RedisServer, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[LossyProxy]:
    folder = Path(os.path.relpath(tmp_path_factory.mktemp("p")))
    async with LossyProxy(redis_server, folder) as proxy:
        yield proxy


async def test_what_was_done_and_whose_reply_was_lost_is_found_and_asked_again(
    proxy: LossyProxy, tmp_path: Path
) -> None:
    async with client_of(proxy.path) as client:
        store = RedisStore(client, key_prefix=f"{tmp_path}:")
        await store.add(call("first"))  # from here on the server knows the scripts
        await store.claim(call("first").key, approve(), owner="w")
        await store.finish(call("first").key, owner="w")
        for number in range(10 * STRESS):
            key, decision = call(f"c{number}").key, approve()
            await store.add(call(f"c{number}"))

            proxy.drops = True
            with pytest.raises(RedisConnectionError):
                await store.claim(key, decision, owner="w")
            proxy.drops = False

            found = await store.get(key)
            assert found is not None
            assert found.lease is not None
            assert (found.state, found.lease.owner) == (State.EXECUTING, "w")
            assert await store.claim(key, decision, owner="w") == found
            with pytest.raises(AlreadyDecided):
                await store.claim(key, approve("Eve"), owner="w2")

            proxy.drops = True
            with pytest.raises(RedisConnectionError):
                await store.finish(key, owner="w", result=1)
            proxy.drops = False

            assert (await store.finish(key, owner="w", result=1)).state is State.DONE
            assert len(await store.history(key)) == 4


async def test_a_client_that_asks_again_by_itself_files_once(proxy: LossyProxy, tmp_path: Path) -> None:
    """`add` has no owner to know again, so each attempt of the client carries the same token."""

    class Again(Redis):
        async def execute_command(self, *words: object, **options: object) -> object:
            try:
                return await super().execute_command(*words, **options)
            except RedisConnectionError:
                proxy.drops = False
                return await super().execute_command(*words, **options)

    client = Again(unix_socket_path=proxy.path, retry=Retry(NoBackoff(), 0))
    store = RedisStore(client, key_prefix=f"{tmp_path}:")
    await store.add(call("first"))

    proxy.drops = True
    await store.add(call())

    assert ids(await store.list()) == ["first", "c1"]
    assert len(await store.history()) == 2
    await client.aclose()


async def test_a_server_that_would_drop_calls_is_refused(tmp_path: Path) -> None:
    settings = ("--maxmemory", "8mb", "--maxmemory-policy", "allkeys-lru")
    with RedisServer(tmp_path, *settings) as server:
        async with client_of(server.socket) as client:
            with pytest.raises(UnsafeStore, match="allkeys-lru"):
                await RedisStore(client).add(call())


@pytest.mark.parametrize("policy", ["noeviction", "volatile-lru"])
async def test_a_server_whose_memory_is_full_refuses_and_keeps_what_waits(tmp_path: Path, policy: str) -> None:
    with RedisServer(tmp_path, "--maxmemory", "4mb", "--maxmemory-policy", policy) as server:
        async with client_of(server.socket) as client:
            store = RedisStore(client)
            await store.add(call("over"))
            await store.claim(call("over").key, approve(), owner="w")
            await store.finish(call("over").key, owner="w", result="x" * 10_000)

            kept = await filled(store)

            assert len(kept) > 10
            await client.config_set("maxmemory", "0")
            assert ids(await store.list(limit=1_000)) == kept
            assert (await store.verify()).is_intact
            with pytest.raises((CannotBegin, ApprovalError)):
                await store.begin(call("over").key, digest=call().digest, owner="w2")


async def filled(store: RedisStore) -> list[str]:
    """The calls that were filed until there was no room."""
    kept: list[str] = []
    while len(kept) < 1_000:
        name = f"c{len(kept)}"
        try:
            await store.add(call(name, message="x" * 20_000))
        except StoreFull:
            return kept
        kept.append(name)
    return kept
