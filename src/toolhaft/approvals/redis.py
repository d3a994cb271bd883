"""The store in Redis (6.2 or later), for processes of many machines.

Each method is one script, so nothing comes in between and a crash after it has lost nothing. Time is the server's.
How much survives a crash of the server is its own setting: all with `appendfsync always`, all but about the last second
with `everysec`, nothing without an append-only file; `check` says which.
"""

from __future__ import annotations

import asyncio
import base64
import inspect
import json
import logging
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Self, cast
from uuid import uuid4

from toolhaft.approvals import redis_scripts as scripts
from toolhaft.approvals.chain import Change, Head, Row
from toolhaft.approvals.errors import (
    AlreadyDecided,
    CannotBegin,
    DuplicateCall,
    LeaseLost,
    PauseTaken,
    StoreFull,
    UnsafeStore,
    WrongDigest,
)
from toolhaft.approvals.limits import Limits, check_new, duplicate, full
from toolhaft.approvals.pause import Pause, PauseState
from toolhaft.approvals.record import ApprovalRecord, CallKey, Decision, Lease, canonical, escaped
from toolhaft.approvals.redis_scripts import Script
from toolhaft.approvals.states import State, stored_as
from toolhaft.approvals.store import (
    DEFAULT_LEASE_SECONDS,
    DEFAULT_PENDING_TTL_SECONDS,
    ApprovalStore,
    Clock,
    Records,
    Rows,
)

if TYPE_CHECKING:
    from redis.asyncio import Redis

DEFAULT_REDIS_KEY_PREFIX = "toolhaft:pending:"
DEFAULT_KEEP_SECONDS = 30 * 86_400
"""How long Redis holds a call that is over, and a pause that was continued. Their history stays."""

LOGGER = logging.getLogger("toolhaft.approvals")

_OLDEST = (6, 2)

Answer = list[str]
"""A status, the server's time, and the fields of a call or a pause."""


class RedisStore(ApprovalStore):
    """Approvals in Redis, over a client of `redis.asyncio` that stays yours: the store never closes it.

    ```python
    store = RedisStore(redis.asyncio.Redis(), key_prefix="shop:approvals:")
    ```

    Every key is made from the prefix inside the scripts; on a cluster, put a hash tag into it: `"{approvals}:"`.
    """

    hash_algorithm = "sha1"  # the only hash that a script of Redis has

    def __init__(
        self,
        client: Redis,
        *,
        key_prefix: str = DEFAULT_REDIS_KEY_PREFIX,
        ttl_seconds: float = DEFAULT_PENDING_TTL_SECONDS,
        max_pending: int | None = None,
        keep_seconds: int = DEFAULT_KEEP_SECONDS,
        clock: Clock | None = None,
        **sizes: Any,
    ) -> None:
        if not inspect.iscoroutinefunction(getattr(client, "execute_command", None)):
            raise TypeError(f"{client!r} is no client of redis.asyncio, which is the one that this store awaits.")
        self._client: Any = client  # whose stubs leave most types unknown
        self._prefix = key_prefix
        self._limits = Limits(ttl_seconds=ttl_seconds, max_pending=max_pending, **sizes)
        self._keep_seconds = keep_seconds
        self._clock = clock
        self._checked = False
        self._checking = asyncio.Lock()
        self._owns_client = False

    @classmethod
    def from_url(cls, url: str, **settings: Any) -> Self:
        """A store over a client of its own, which `aclose` closes."""
        from redis.asyncio import Redis

        store = cls(Redis.from_url(url), **settings)  # pyright: ignore[reportUnknownMemberType]
        store._owns_client = True
        return store

    async def aclose(self) -> None:
        if self._owns_client:
            await self._client.aclose()

    async def add(self, record: ApprovalRecord) -> ApprovalRecord:
        await self._file(None, [record])
        return cast("ApprovalRecord", await self.get(record.key))

    async def file(self, pause: Pause, records: Sequence[ApprovalRecord]) -> Pause:
        self._limits.check_pause(pause)
        await self._file(pause, records)
        return cast("Pause", await self.load_pause(pause.pause_id))

    async def get(self, key: CallKey) -> ApprovalRecord | None:
        return _record(await self._ask(scripts.GET, _id(key)))

    async def list(
        self, conversation_id: str | None = None, *, state: State = State.PENDING, limit: int = 100
    ) -> Records:
        conversation = "*" if conversation_id is None else escaped(conversation_id)
        sources = [word for stored, past in stored_as(state) for word in (stored.value, "past" if past else "")]
        return _records(await self._run(scripts.LIST, conversation, limit, *sources))

    async def decide(self, key: CallKey, decision: Decision) -> ApprovalRecord:
        return await self._decide(key, decision, owner="", lease_seconds=0)

    async def claim(
        self, key: CallKey, decision: Decision, *, owner: str, lease_seconds: float = DEFAULT_LEASE_SECONDS
    ) -> ApprovalRecord:
        return await self._decide(key, decision, owner=owner, lease_seconds=lease_seconds)

    async def begin(
        self, key: CallKey, *, digest: str, owner: str, lease_seconds: float = DEFAULT_LEASE_SECONDS
    ) -> ApprovalRecord:
        words = _id(key), digest, canonical(owner), lease_seconds
        return _taken(key, await self._ask(scripts.BEGIN, *words), owner)

    async def renew(self, key: CallKey, *, owner: str, lease_seconds: float = DEFAULT_LEASE_SECONDS) -> ApprovalRecord:
        return _taken(key, await self._ask(scripts.RENEW, _id(key), canonical(owner), lease_seconds), owner)

    async def finish(self, key: CallKey, *, owner: str, result: Any = None, error: str | None = None) -> ApprovalRecord:
        target = State.DONE if error is None else State.FAILED
        words = _id(key), canonical(owner), target.value, canonical(result), canonical(error)
        return _taken(key, await self._ask(scripts.FINISH, *words), owner)

    async def expire(self) -> Records:
        return _records(await self._run(scripts.EXPIRE))

    async def load_pause(self, pause_id: str) -> Pause | None:
        return _pause(await self._ask(scripts.GET_PAUSE, escaped(pause_id)))

    async def latest_pause(self, conversation_id: str) -> Pause | None:
        return _pause(await self._ask(scripts.LATEST_PAUSE, escaped(conversation_id)))

    async def take_pause(self, pause_id: str, *, owner: str, lease_seconds: float = DEFAULT_LEASE_SECONDS) -> Pause:
        answer = await self._ask(scripts.TAKE_PAUSE, escaped(pause_id), canonical(owner), lease_seconds)
        pause = _pause(answer)
        if answer[0] != "ok" or pause is None:
            raise PauseTaken(pause_id, pause)
        return pause

    async def finish_pause(self, pause_id: str, *, owner: str, continued: bool = True) -> Pause:
        word = "continued" if continued else "waiting"
        answer = await self._ask(scripts.FINISH_PAUSE, escaped(pause_id), canonical(owner), word)
        pause = _pause(answer)
        if answer[0] != "ok" or pause is None:
            raise LeaseLost(pause_id, owner)
        return pause

    async def rows(self, *, after: int = 0, limit: int = 1_000, key: CallKey | None = None) -> Rows:
        found = await self._run(scripts.ROWS, after, limit, "" if key is None else _id(key))
        if found is None:
            return [] if key is None else await self._rows_of_what_was_swept(key, after, limit)
        return [Row(int(seq), entry, link) for seq, entry, link in (_text(row).split("\n") for row in found)]

    async def _rows_of_what_was_swept(self, key: CallKey, after: int, limit: int) -> Rows:
        """The call is gone and with it the numbers of its rows, so all are read."""
        found: Rows = []
        while len(found) < limit and (rows := await self.rows(after=after)):
            found += [row for row in rows if Change.from_json(row.text).key == key]
            after = rows[-1].seq
        return found[:limit]

    async def head(self) -> Head:
        seq, link = await self._command("HMGET", f"{self._prefix}head::", "seq", "link")
        return Head(int(seq or 0), _text(link or ""))

    async def check(self) -> tuple[str, ...]:
        """What is to be known about how the server keeps what it is given, one sentence each.

        Raises `UnsafeStore` where it is too old, or may drop calls that wait to make room for others.
        """
        info = await self._client.info("server")
        version = str(info["redis_version"])
        if tuple(map(int, version.split(".")[:2])) < _OLDEST:
            raise UnsafeStore(f"Redis is {version}, and 6.2 is the oldest that this store works with.")
        return _findings(await self._settings())

    async def _settings(self) -> dict[str, str] | None:
        from redis.exceptions import ResponseError

        try:
            found = {**await self._client.config_get("maxmemory*"), **await self._client.config_get("append*")}
        except ResponseError:  # a hosted server may not tell
            return None
        return {_text(name): _text(value) for name, value in found.items()}

    async def _file(self, pause: Pause | None, records: Sequence[ApprovalRecord]) -> None:
        for record in records:
            self._limits.check_call(record)
        check_new(records, ())
        max_pending = self._limits.max_pending
        answer = await self._ask(
            scripts.FILE,
            self._limits.ttl_seconds,
            "" if max_pending is None else max_pending,
            uuid4().hex,  # so that the client's own second try, after a lost reply, is no duplicate
            *_pause_words(pause),
            len(records),
            *(word for record in records for word in _words(record)),
        )
        status = answer[0]
        if status == "pause" and pause is not None:
            raise DuplicateCall(f"pause {pause.pause_id!r} is filed already.")
        if status == "duplicate":
            raise DuplicateCall(duplicate(records[int(answer[1])]))
        if status == "full" and max_pending is not None:
            raise StoreFull(full(int(answer[1]), max_pending, len(records)))

    async def _decide(self, key: CallKey, decision: Decision, *, owner: str, lease_seconds: float) -> ApprovalRecord:
        facts = decision.to_facts()
        del facts["at"]  # the server says when it is
        words = (
            _id(key),
            decision.id,
            decision.target.value,
            f",{canonical(facts)[1:]}",
            decision.digest or "",
            canonical(decision.result),
            canonical(decision.reason),
            canonical(decision.by),
            canonical(decision.reason),
            canonical(owner) if owner else "",
            lease_seconds,
        )
        return _taken(key, await self._ask(scripts.DECIDE, *words), owner)

    async def _ask(self, script: Script, *words: str | float) -> Answer:
        """What a script answers about one thing, in parts."""
        return _text(await self._run(script, *words)).split("\n")

    async def _run(self, script: Script, *words: str | float) -> Any:
        from redis.exceptions import NoScriptError

        if not self._checked:
            await self._check_once()
        now = "" if self._clock is None else repr(self._clock())
        # One text, since a client takes long over many parts. No word has a line feed in it.
        common = (0, self._prefix, now, self._keep_seconds, "\n".join(map(str, words)))
        try:
            return await self._command("EVALSHA", script.sha, *common)
        except NoScriptError:  # the server has not seen it yet, or was started again
            return await self._command("EVAL", script.text, *common)

    async def _command(self, *words: str | float) -> Any:
        from redis.exceptions import ResponseError

        try:
            return await self._client.execute_command(*words)
        except ResponseError as error:
            # Redis refuses the first write of a script, and none after one that it let pass.
            if "OOM " not in str(error):
                raise
            raise StoreFull("Redis has no memory left. Nothing was filed or changed; raise maxmemory.") from error

    async def _check_once(self) -> None:
        async with self._checking:
            if not self._checked:
                for sentence in await self.check():
                    LOGGER.warning("%s", sentence)
                self._checked = True


def _findings(settings: dict[str, str] | None) -> tuple[str, ...]:
    if settings is None:
        return ("Redis does not tell how it is set up. See to it that it has an append-only file and never evicts.",)
    found: list[str] = []
    policy = settings["maxmemory-policy"]
    if policy.startswith("allkeys"):
        if settings["maxmemory"] != "0":
            raise UnsafeStore(
                f"Redis drops calls that wait when its memory is full (maxmemory-policy {policy}). "
                "Set maxmemory-policy noeviction."
            )
        found.append(f"maxmemory-policy is {policy}: as soon as maxmemory is set, calls that wait may be dropped.")
    if settings["appendonly"] != "yes":
        found.append("Redis has no append-only file: calls and decisions are lost when it stops. Set appendonly yes.")
    elif settings["appendfsync"] != "always":
        found.append(
            f"appendfsync is {settings['appendfsync']}: a crash may lose about the last second, so that what was "
            "begun then may be begun again. Set appendfsync always where that must not be."
        )
    return tuple(found)


def _id(key: CallKey) -> str:
    return f"{escaped(key.conversation_id)}:{escaped(key.call_id)}"


def _text(value: str | bytes) -> str:
    return value.decode() if isinstance(value, bytes) else value


_GIVEN = ("conversation_id", "call_id", "tool", "arguments", "plan_id", "reason", "message", "preview", "asked_by")
"""Of a record, what never changes."""


def _words(record: ApprovalRecord) -> tuple[str, ...]:
    body = canonical({name: getattr(record, name) for name in _GIVEN})
    ids = canonical({"call_id": record.call_id, "conversation_id": record.conversation_id})[1:-1]
    return _id(record.key), body, ids, record.digest, canonical(record.asked_by or ""), canonical(record.reason)


def _pause_words(pause: Pause | None) -> tuple[str, ...]:
    if pause is None:
        return "", "", "", ""
    facts = {"conversation_id": pause.conversation_id, "call_ids": pause.call_ids, "pause_id": pause.pause_id}
    # In base64, since a client may have been told to decode every reply as text.
    messages = base64.b64encode(pause.messages).decode()
    return escaped(pause.pause_id), escaped(pause.conversation_id), canonical(facts), messages


def _record(answer: Answer) -> ApprovalRecord | None:
    if len(answer) < 3:
        return None
    facts: dict[str, str] = dict(zip(scripts.SHOWN, answer[2:], strict=True))
    decisions = json.loads(f"[{facts['decisions']}]")
    record = ApprovalRecord(
        **json.loads(facts["body"]),
        state=State(facts["state"]),
        created=float(facts["created"]),
        expires=float(facts["expires"]),
        changed=float(facts["changed"]),
        digest=facts["digest"],
        decisions=tuple(Decision(**decision) for decision in decisions),
        lease=_lease(facts),
        result=json.loads(facts["result"]),
        error=json.loads(facts["error"]),
    )
    return record.at(float(answer[1]))


def _records(answers: list[str | bytes]) -> Records:
    return [record for answer in answers if (record := _record(_text(answer).split("\n")))]


def _pause(answer: Answer) -> Pause | None:
    if len(answer) < 3:
        return None
    facts: dict[str, str] = dict(zip(scripts.PAUSE_FIELDS, answer[2:], strict=True))
    given: dict[str, Any] = json.loads(facts["facts"])
    pause = Pause(
        conversation_id=given["conversation_id"],
        pause_id=given["pause_id"],
        call_ids=tuple(given["call_ids"]),
        messages=base64.b64decode(facts["messages"]),
        state=PauseState(facts["state"]),
        created=float(facts["created"]),
        lease=_lease(facts),
    )
    return pause.at(float(answer[1]))


def _lease(facts: dict[str, str]) -> Lease | None:
    return Lease(json.loads(facts["owner"]), float(facts["until"])) if facts["owner"] else None


def _taken(key: CallKey, answer: Answer, owner: str) -> ApprovalRecord:
    """The record where a script did what it was asked; raises what it refused otherwise."""
    status, record = answer[0], _record(answer)
    if status == "decided":
        raise AlreadyDecided(key, record)
    if status == "digest":
        raise WrongDigest(key, record, why="what would run is not what was approved")
    if status == "lease":
        raise LeaseLost(key.call_id, owner)
    if status == "cannot" or record is None:
        raise CannotBegin(key, record)
    return record
