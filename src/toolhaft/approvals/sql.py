"""What the stores in SQLite and PostgreSQL have in common: each operation as a sequence of statements.

An operation is a generator: it yields a statement with its parameters and is sent the rows. So it is written once, and
runs in SQLite's thread and over PostgreSQL's connection alike. It does nothing before it has locked the head of the
history; from there on it is alone, and a record read is the record that it writes.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Generator, Sequence
from dataclasses import replace
from math import inf
from typing import Any, TypeVar

from toolhaft.approvals import moves, statements
from toolhaft.approvals.chain import Head, Row, row_of
from toolhaft.approvals.errors import DuplicateCall
from toolhaft.approvals.lawful import LawfulStore
from toolhaft.approvals.limits import Limits, check_new
from toolhaft.approvals.moves import Law, PauseLaw, Step
from toolhaft.approvals.pause import Pause
from toolhaft.approvals.record import ApprovalRecord, CallKey, escaped
from toolhaft.approvals.states import BY_TIME, State, stored_as
from toolhaft.approvals.store import Clock, Records, Rows

T = TypeVar("T")
Statement = tuple[str, dict[str, Any]]
Operation = Generator[Statement, list[tuple[Any, ...]], T]

_SWEEP_ROWS = 500


class SqlStore(LawfulStore):
    """A store in a database. What is left to it: running an operation as one transaction."""

    def __init__(self, *, limits: Limits, clock: Clock | None, lock: str, now: str) -> None:
        self._limits = limits
        self._clock = clock
        self._lock_statement = lock
        self._now_statement = now

    @abstractmethod
    async def run(self, operation: Callable[[], Operation[T]], *, writes: bool = True) -> T:
        """Run an operation as one transaction; what it answers once that is committed."""
        ...

    async def add(self, record: ApprovalRecord) -> ApprovalRecord:
        self._limits.check_call(record)
        return (await self.run(lambda: self._file([record])))[0]

    async def file(self, pause: Pause, records: Sequence[ApprovalRecord]) -> Pause:
        self._limits.check_pause(pause)
        for record in records:
            self._limits.check_call(record)
        return await self.run(lambda: self._file_pause(pause, records))

    async def get(self, key: CallKey) -> ApprovalRecord | None:
        return await self.run(lambda: self._get(key), writes=False)

    async def list(
        self, conversation_id: str | None = None, *, state: State = State.PENDING, limit: int = 100
    ) -> Records:
        return await self.run(lambda: self._list(conversation_id, state, limit), writes=False)

    async def move(self, key: CallKey, law: Law) -> ApprovalRecord:
        return await self.run(lambda: self._move(key, law))

    async def amend(
        self, key: CallKey, law: Callable[[ApprovalRecord | None, float], ApprovalRecord]
    ) -> ApprovalRecord:
        return await self.run(lambda: self._amend(key, law))

    async def move_pause(self, pause_id: str, law: PauseLaw) -> Pause:
        return await self.run(lambda: self._move_pause(pause_id, law))

    async def expire(self) -> Records:
        if not await self.run(self._is_any_past, writes=False):
            return []
        return await self.run(self._expire)

    async def load_pause(self, pause_id: str) -> Pause | None:
        return await self.run(lambda: self._pause_as_it_is(_by_id(pause_id)), writes=False)

    async def latest_pause(self, conversation_id: str) -> Pause | None:
        latest = statements.LATEST_PAUSE, {"conversation_id": escaped(conversation_id)}
        return await self.run(lambda: self._pause_as_it_is(latest), writes=False)

    async def rows(self, *, after: int = 0, limit: int = 1_000, key: CallKey | None = None) -> Rows:
        window = {"after": after, "limit": limit}
        statement = (statements.ROWS, window) if key is None else (statements.ROWS_OF_CALL, window | _ids(key))
        return [Row(*row) for row in await self.run(lambda: _ask(statement), writes=False)]

    async def head(self) -> Head:
        return Head(*(await self.run(lambda: _ask((statements.HEAD, {})), writes=False))[0])

    def _begin(self) -> Operation[tuple[Head, float]]:
        """Wait until nobody else writes; then the head, and what time it is."""
        rows = yield self._lock_statement, {}
        return Head(*rows[0]), (yield from self._now())

    def _now(self) -> Operation[float]:
        if self._clock is not None:
            return self._clock()
        rows = yield self._now_statement, {}
        return float(rows[0][0])

    def _file(self, records: Sequence[ApprovalRecord]) -> Operation[Records]:
        head, now = yield from self._begin()
        known: list[CallKey] = []
        for record in records:
            if (yield from _read(record.key)):
                known.append(record.key)
        check_new(records, known)
        if self._limits.max_pending is not None:
            rows = yield statements.COUNT, {"state": State.PENDING.value, "now": now}
            self._limits.check_room(rows[0][0], len(records))
        steps = [moves.filed(record, now, ttl_seconds=self._limits.ttl_seconds) for record in records]
        for number, step in enumerate(steps, head.seq + 1):
            yield statements.INSERT, {**_columns(step.record), "number": number}
        yield from _append(steps, head)
        return [step.record for step in steps]

    def _file_pause(self, pause: Pause, records: Sequence[ApprovalRecord]) -> Operation[Pause]:
        _, now = yield from self._begin()
        if (yield _by_id(pause.pause_id)):
            raise DuplicateCall(f"pause {pause.pause_id!r} is filed already.")
        yield from self._file(records)
        filed = replace(pause, created=now)
        rows = yield statements.NEXT_PAUSE, {}
        columns = {"conversation_id": escaped(pause.conversation_id), "number": rows[0][0], "messages": pause.messages}
        yield statements.INSERT_PAUSE, {**_pause_columns(filed), **columns}
        return filed

    def _get(self, key: CallKey) -> Operation[ApprovalRecord | None]:
        record = yield from _read(key)
        return record.at((yield from self._now())) if record else None

    def _list(self, conversation_id: str | None, state: State, limit: int) -> Operation[Records]:
        now = yield from self._now()
        found: list[tuple[Any, ...]] = []
        for stored, past in stored_as(state):
            after, until = (-inf, inf) if stored not in BY_TIME else (-inf, now) if past else (now, inf)
            window = {"state": stored.value, "after": after, "until": until, "limit": limit}
            if conversation_id is None:
                found += yield statements.LIST, window
            else:
                window["conversation_id"] = escaped(conversation_id)
                found += yield statements.LIST_OF_CONVERSATION, window
        return [ApprovalRecord.from_json(text).at(now) for _, _, text in sorted(found)[:limit]]

    def _move(self, key: CallKey, law: Law) -> Operation[ApprovalRecord]:
        head, now = yield from self._begin()
        record = yield from _read(key)
        steps = law(record, now)
        if steps:
            record = steps[-1].record
            yield statements.UPDATE, _columns(record)
            yield from _append(steps, head)
        assert record is not None  # a law refuses what is not there
        return record.at(now)

    def _amend(
        self, key: CallKey, law: Callable[[ApprovalRecord | None, float], ApprovalRecord]
    ) -> Operation[ApprovalRecord]:
        _, now = yield from self._begin()
        record = law((yield from _read(key)), now)
        yield statements.UPDATE, _columns(record)
        return record

    def _is_any_past(self) -> Operation[bool]:
        return bool((yield from _past((yield from self._now()), limit=1)))

    def _expire(self) -> Operation[Records]:
        head, now = yield from self._begin()
        steps = [step for record in (yield from _past(now, limit=_SWEEP_ROWS)) for step in moves.in_time(record, now)]
        for step in steps:
            yield statements.UPDATE, _columns(step.record)
        yield from _append(steps, head)
        return [step.record for step in steps]

    def _pause_as_it_is(self, statement: Statement) -> Operation[Pause | None]:
        rows = yield statement
        return Pause.from_json(*rows[0]).at((yield from self._now())) if rows else None

    def _move_pause(self, pause_id: str, law: PauseLaw) -> Operation[Pause]:
        _, now = yield from self._begin()
        rows = yield _by_id(pause_id)
        pause = law(Pause.from_json(*rows[0]) if rows else None, now)
        yield statements.UPDATE_PAUSE, _pause_columns(pause)
        return pause


def _ask(statement: Statement) -> Operation[list[tuple[Any, ...]]]:
    return (yield statement)


def _read(key: CallKey) -> Operation[ApprovalRecord | None]:
    rows = yield statements.READ, _ids(key)
    return ApprovalRecord.from_json(rows[0][0]) if rows else None


def _past(now: float, *, limit: int) -> Operation[Records]:
    """The records, at most so many of each state, whose time is over."""
    past: list[tuple[Any, ...]] = []
    for state in BY_TIME:
        past += yield statements.LIST, {"state": state.value, "after": -inf, "until": now, "limit": limit}
    return [ApprovalRecord.from_json(text) for _, _, text in past]


def _append(steps: Sequence[Step], head: Head) -> Operation[None]:
    for step in steps:
        row = row_of(step, head)
        yield statements.APPEND, {"seq": row.seq, "entry": row.text, "link": row.link, **_ids(step.record.key)}
        head = Head(row.seq, row.link)
    yield statements.MOVE_HEAD, {"seq": head.seq, "link": head.link}


def _ids(key: CallKey) -> dict[str, Any]:
    return {"conversation_id": escaped(key.conversation_id), "call_id": escaped(key.call_id)}


def _columns(record: ApprovalRecord) -> dict[str, Any]:
    return {**_ids(record.key), "state": record.state.value, "due": record.due, "record": record.to_json()}


def _by_id(pause_id: str) -> Statement:
    return statements.READ_PAUSE, {"pause_id": escaped(pause_id)}


def _pause_columns(pause: Pause) -> dict[str, Any]:
    return {"pause_id": escaped(pause.pause_id), "facts": pause.facts_json()}
