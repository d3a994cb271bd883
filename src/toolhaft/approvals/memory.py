"""The store of one process: gone when it ends."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from toolhaft.approvals import moves
from toolhaft.approvals.chain import Change, Head, Row, row_of
from toolhaft.approvals.errors import DuplicateCall
from toolhaft.approvals.lawful import LawfulStore
from toolhaft.approvals.limits import Limits, check_new
from toolhaft.approvals.moves import Law, PauseLaw, Step
from toolhaft.approvals.pause import Pause
from toolhaft.approvals.record import ApprovalRecord, CallKey
from toolhaft.approvals.states import BY_TIME, State, stored_as
from toolhaft.approvals.store import DEFAULT_MAX_PENDING, DEFAULT_PENDING_TTL_SECONDS, Clock, Records, Rows


class _Kept(NamedTuple):
    """A record as text, so that nobody shares its parts, and what it is found by."""

    due: float
    number: int
    state: State
    text: str


class MemoryStore(LawfulStore):
    """Approvals in memory, for one process and its threads. What is final and its history stay as long as the store.

    ```python
    store = MemoryStore(ttl_seconds=60, max_pending=10)
    ```
    """

    def __init__(
        self,
        *,
        ttl_seconds: float = DEFAULT_PENDING_TTL_SECONDS,
        max_pending: int | None = DEFAULT_MAX_PENDING,
        clock: Clock = time.time,
        **sizes: Any,
    ) -> None:
        self._limits = Limits(ttl_seconds=ttl_seconds, max_pending=max_pending, **sizes)
        self._clock = clock
        self._lock = threading.RLock()
        self._records: dict[CallKey, _Kept] = {}
        self._pauses: dict[str, tuple[str, bytes]] = {}
        self._rows: list[Row] = []
        self._head = Head(0, "")

    async def add(self, record: ApprovalRecord) -> ApprovalRecord:
        with self._lock:
            return self._file([record])[0]

    async def file(self, pause: Pause, records: Sequence[ApprovalRecord]) -> Pause:
        self._limits.check_pause(pause)
        with self._lock:
            if pause.pause_id in self._pauses:
                raise DuplicateCall(f"pause {pause.pause_id!r} is filed already.")
            self._file(records)
            return self._write_pause(replace(pause, created=self._clock()))

    async def get(self, key: CallKey) -> ApprovalRecord | None:
        with self._lock:
            record = self._read(key)
            return record.at(self._clock()) if record else None

    async def list(
        self, conversation_id: str | None = None, *, state: State = State.PENDING, limit: int = 100
    ) -> Records:
        with self._lock:
            now = self._clock()
            found = sorted(
                kept
                for key, kept in self._records.items()
                if conversation_id in (None, key.conversation_id) and self._is_in(kept, state, now)
            )
            return [ApprovalRecord.from_json(kept.text).at(now) for kept in found[:limit]]

    async def move(self, key: CallKey, law: Law) -> ApprovalRecord:
        with self._lock:
            record, now = self._read(key), self._clock()
            steps = law(record, now)
            self._write(steps)
            return self._known(key).at(now)

    async def amend(
        self, key: CallKey, law: Callable[[ApprovalRecord | None, float], ApprovalRecord]
    ) -> ApprovalRecord:
        with self._lock:
            self._keep(law(self._read(key), self._clock()))
            return self._known(key)

    async def move_pause(self, pause_id: str, law: PauseLaw) -> Pause:
        with self._lock:
            return self._write_pause(law(self._read_pause(pause_id), self._clock()))

    async def expire(self) -> Records:
        with self._lock:
            now = self._clock()
            past = [key for key, kept in self._records.items() if kept.state in BY_TIME and kept.due <= now]
            steps = [step for key in past for step in moves.in_time(self._read(key), now)]
            self._write(steps)
            return [self._known(key) for key in past]

    async def load_pause(self, pause_id: str) -> Pause | None:
        with self._lock:
            pause = self._read_pause(pause_id)
            return pause.at(self._clock()) if pause else None

    async def latest_pause(self, conversation_id: str) -> Pause | None:
        with self._lock:
            pauses = (Pause.from_json(*stored) for stored in reversed(self._pauses.values()))
            of_it = (pause for pause in pauses if pause.conversation_id == conversation_id)
            pause = next(of_it, None)
            return pause.at(self._clock()) if pause else None

    async def rows(self, *, after: int = 0, limit: int = 1_000, key: CallKey | None = None) -> Rows:
        with self._lock:
            if key is None:
                return self._rows[after : after + limit]
            return [row for row in self._rows[after:] if Change.from_json(row.text).key == key][:limit]

    async def head(self) -> Head:
        return self._head

    def _file(self, records: Sequence[ApprovalRecord]) -> Records:
        now = self._clock()
        for record in records:
            self._limits.check_call(record)
        check_new(records, self._records.keys())
        pending = sum(1 for kept in self._records.values() if self._is_in(kept, State.PENDING, now))
        self._limits.check_room(pending, len(records))
        steps = [moves.filed(record, now, ttl_seconds=self._limits.ttl_seconds) for record in records]
        self._write(steps)
        return [step.record for step in steps]

    def _is_in(self, kept: _Kept, state: State, now: float) -> bool:
        return any(
            kept.state is stored and (stored not in BY_TIME or (kept.due <= now) is past)
            for stored, past in stored_as(state)
        )

    def _write(self, steps: Iterable[Step]) -> None:
        for step in steps:
            row = row_of(step, self._head)
            self._keep(step.record)
            self._rows.append(row)
            self._head = Head(row.seq, row.link)

    def _keep(self, record: ApprovalRecord) -> None:
        kept = self._records.get(record.key)
        number = kept.number if kept else len(self._records)
        self._records[record.key] = _Kept(record.due, number, record.state, record.to_json())

    def _read(self, key: CallKey) -> ApprovalRecord | None:
        kept = self._records.get(key)
        return ApprovalRecord.from_json(kept.text) if kept else None

    def _known(self, key: CallKey) -> ApprovalRecord:
        return ApprovalRecord.from_json(self._records[key].text)

    def _read_pause(self, pause_id: str) -> Pause | None:
        stored = self._pauses.get(pause_id)
        return Pause.from_json(*stored) if stored else None

    def _write_pause(self, pause: Pause) -> Pause:
        self._pauses[pause.pause_id] = (pause.facts_json(), bytes(pause.messages))
        return pause
