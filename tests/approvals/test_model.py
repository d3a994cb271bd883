"""Every store does what a model of the table does, whatever is asked of it in whatever order."""

import asyncio
import os
import tempfile
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from hypothesis import HealthCheck, settings
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule, run_state_machine_as_test
from hypothesis.strategies import floats, sampled_from

from tests.approvals.servers import PostgresServer, RedisServer
from toolhaft.approvals import (
    ApprovalError,
    ApprovalRecord,
    ApprovalStore,
    CallKey,
    Decision,
    MemoryStore,
    State,
    digest_of,
)
from toolhaft.approvals.postgres import PostgresStore
from toolhaft.approvals.redis import RedisStore
from toolhaft.approvals.sqlite import SqliteStore
from toolhaft.testing.approvals import HandClock, call

EXAMPLES = 200 if os.environ.get("TOOLHAFT_STRESS") else 12
TTL_SECONDS = 100.0

KEYS = [CallKey("one", "c1"), CallKey("one", "c:2"), CallKey("two", "c1")]
OWNERS = ["w1", "w2"]
EDITED = {"to": "Ada", "amount": 50}
LEADS_TO = {"approve": "approved", "reject": "rejected", "done": "done", "failed": "failed"}

keys, owners, seconds = sampled_from(KEYS), sampled_from(OWNERS), floats(1, 300)


@dataclass
class Modelled:
    """What the model knows of a call: the table, and nothing of how a store keeps it."""

    state: str
    due: float
    digest: str
    owner: str = ""


class Stores(RuleBasedStateMachine):
    """All stores at once, and the model."""

    redis_url: str
    conninfo: str

    def __init__(self) -> None:
        super().__init__()
        self.clock = HandClock()
        self.runner = asyncio.Runner()
        self.folder = tempfile.TemporaryDirectory()
        self.calls: dict[CallKey, Modelled] = {}
        self.rows = 0
        facts: dict[str, Any] = {"clock": self.clock, "ttl_seconds": TTL_SECONDS, "max_pending": 2}
        self.stores: list[ApprovalStore] = [
            MemoryStore(**facts),
            SqliteStore(Path(self.folder.name, "approvals.db"), **facts),
            self.runner.run(self._in_redis(**facts)),
            PostgresStore(self.conninfo, schema=f"m{uuid4().hex}", **facts),
        ]

    async def _in_redis(self, **facts: Any) -> ApprovalStore:
        return RedisStore.from_url(self.redis_url, key_prefix=f"{uuid4().hex}:", **facts)

    def teardown(self) -> None:
        for store in self.stores:
            verdict = self.runner.run(store.verify())
            assert (verdict.faults, verdict.rows) == ((), self.rows)
            self.runner.run(store.aclose())
        self.runner.close()
        self.folder.cleanup()

    def everywhere(self, ask: Callable[[ApprovalStore], Awaitable[Any]]) -> Any:
        """What all of them answer, which is the same; the name of the refusal where it is one."""
        answers = [self.runner.run(self._answer(ask, store)) for store in self.stores]
        assert answers == [answers[0]] * len(answers)
        return answers[0]

    async def _answer(self, ask: Callable[[ApprovalStore], Awaitable[Any]], store: ApprovalStore) -> Any:
        try:
            return await ask(store)
        except ApprovalError as error:
            return type(error).__name__

    def seen(self, key: CallKey) -> str:
        """The state of the model's call now."""
        modelled = self.calls.get(key)
        if modelled is None:
            return "none"
        over = self.clock.now >= modelled.due
        late = {"pending": "expired", "approved": "expired", "executing": "unknown"}
        return late.get(modelled.state, modelled.state) if over else modelled.state

    def pass_time(self, key: CallKey) -> None:
        """What time has done is written down with the next step."""
        if self.seen(key) != self.calls[key].state:
            self.rows += 1
        self.calls[key].state = self.seen(key)

    def step(self, key: CallKey, state: str, *, due: float = 0.0, **facts: str) -> None:
        self.pass_time(key)
        self.calls[key].state, self.calls[key].due = state, due
        for name, value in facts.items():
            setattr(self.calls[key], name, value)
        self.rows += 1

    @rule(seconds=seconds)
    def time_passes(self, seconds: float) -> None:
        self.clock.now += seconds

    @rule()
    def it_is_exactly_the_time_of_one(self) -> None:
        coming = [call.due for call in self.calls.values() if call.due > self.clock.now]
        self.clock.now = min(coming, default=self.clock.now)

    @rule(key=keys)
    def add(self, key: CallKey) -> None:
        answer = self.everywhere(lambda store: store.add(call(key.call_id, key.conversation_id)))

        pending = sum(self.seen(known) == "pending" for known in self.calls)
        if key in self.calls:
            assert answer == "DuplicateCall"
        elif pending >= 2:
            assert answer == "StoreFull"
        else:
            assert answer.state is State.PENDING
            self.calls[key] = Modelled("pending", self.clock.now + TTL_SECONDS, call().digest)
            self.rows += 1

    @rule(key=keys, kind=sampled_from(sorted(LEADS_TO)), owner=sampled_from(["", *OWNERS]))
    def decide(self, key: CallKey, kind: Any, owner: str) -> None:
        if owner and kind != "approve":
            owner = ""
        decision = Decision(kind=kind, by="Ada", reason="because", result={"a": 1} if kind == "done" else None)
        self._decide(key, decision, owner)

    @rule(key=keys, owner=sampled_from(["", *OWNERS]))
    def approve_edited(self, key: CallKey, owner: str) -> None:
        self._decide(key, Decision(kind="approve", by="Eve", arguments=EDITED, digest=digest_of("pay", EDITED)), owner)

    def _decide(self, key: CallKey, decision: Decision, owner: str) -> None:
        def ask(store: ApprovalStore) -> Awaitable[ApprovalRecord]:
            if owner:
                return store.claim(key, decision, owner=owner, lease_seconds=10)
            return store.decide(key, decision)

        answer = self.everywhere(ask)

        target = LEADS_TO[decision.kind]
        allowed = {"pending": ("approved", "rejected"), "unknown": ("approved", "done", "failed")}
        if target not in allowed.get(self.seen(key), ()):
            assert answer == "AlreadyDecided"
            return
        digest = decision.digest or self.calls[key].digest
        self.step(key, target, due=self.clock.now + TTL_SECONDS, digest=digest)
        if target == "approved":
            self.calls[key].owner = ""
        if owner:
            self.step(key, "executing", due=self.clock.now + 10, owner=owner)
        assert answer.state.value == self.calls[key].state
        rows = self.rows
        assert self.everywhere(ask) == answer
        assert self.rows == rows

    @rule(key=keys, owner=owners, arguments=sampled_from([call().arguments, EDITED]), lease_seconds=seconds)
    def begin(self, key: CallKey, owner: str, arguments: dict[str, Any], lease_seconds: float) -> None:
        digest = digest_of("pay", arguments)

        answer = self.everywhere(
            lambda store: store.begin(key, digest=digest, owner=owner, lease_seconds=lease_seconds)
        )

        state = self.seen(key)
        if state != "none" and self.calls[key].digest != digest:
            assert answer == "WrongDigest"
        elif state == "approved":
            self.step(key, "executing", due=self.clock.now + lease_seconds, owner=owner)
            assert answer.lease.owner == owner
        elif state == "executing" and self.calls[key].owner == owner:
            assert answer.state is State.EXECUTING
        else:
            assert answer == "CannotBegin"

    @rule(key=keys, owner=owners, lease_seconds=seconds)
    def renew(self, key: CallKey, owner: str, lease_seconds: float) -> None:
        answer = self.everywhere(lambda store: store.renew(key, owner=owner, lease_seconds=lease_seconds))

        if self.seen(key) == "executing" and self.calls[key].owner == owner:
            self.calls[key].due = self.clock.now + lease_seconds
            assert answer.lease.until == self.calls[key].due
        else:
            assert answer == "LeaseLost"

    @rule(key=keys, owner=owners, error=sampled_from([None, "broken"]))
    def finish(self, key: CallKey, owner: str, error: str | None) -> None:
        answer = self.everywhere(lambda store: store.finish(key, owner=owner, result=[1], error=error))

        state = self.seen(key)
        if state == "none" or self.calls[key].owner != owner:
            assert answer == "LeaseLost"
        elif state in ("done", "failed"):
            assert answer.state.value == state
        else:
            self.step(key, "failed" if error else "done")
            assert answer.error == error

    @rule()
    def expire(self) -> None:
        moved = self.everywhere(lambda store: self._expired(store))

        late = {key for key in self.calls if self.seen(key) != self.calls[key].state}
        assert {key for key, _ in moved} == late
        for key in late:
            self.pass_time(key)

    async def _expired(self, store: ApprovalStore) -> list[tuple[CallKey, State]]:
        return sorted((record.key, record.state) for record in await store.expire())

    @precondition(lambda self: self.calls)
    @invariant()
    def they_show_what_the_model_has(self) -> None:
        for key in self.calls:
            record = self.everywhere(lambda store, key=key: store.get(key))
            assert (record.state.value, record.digest) == (self.seen(key), self.calls[key].digest)

    @rule(state=sampled_from(State), conversation_id=sampled_from([None, "one"]))
    def they_list_what_the_model_has(self, state: State, conversation_id: str | None) -> None:
        records = self.everywhere(lambda store: self._listed(store, conversation_id, state))

        meant = {key for key in self.calls if self.seen(key) == state.value}
        assert {record.key for record in records} == {
            key for key in meant if conversation_id in (None, key.conversation_id)
        }

    async def _listed(self, store: ApprovalStore, conversation_id: str | None, state: State) -> list[ApprovalRecord]:
        return await store.list(conversation_id, state=state)


def test_every_store_does_what_the_table_says(redis_server: RedisServer, postgres_server: PostgresServer) -> None:
    Stores.redis_url, Stores.conninfo = redis_server.url, postgres_server.conninfo

    run_state_machine_as_test(
        Stores,
        settings=settings(
            max_examples=EXAMPLES, stateful_step_count=40, deadline=None, suppress_health_check=list(HealthCheck)
        ),
    )


@pytest.mark.parametrize("kind", ["approve", "done"])
def test_a_decision_with_edits_has_their_digest_and_approves(kind: Any) -> None:
    with pytest.raises(ValueError, match="Give both"):
        Decision(kind=kind, by="Ada", arguments=EDITED, digest="" if kind == "done" else None)
