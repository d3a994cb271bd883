"""The suite that every store of approvals passes: ours, and those of other packages.

Derive from it, say how a store is opened, and pytest runs it all:

```python
class TestMyStore(ApprovalStoreSuite):
    async def open(self, place, *, clock, **limits):
        return MyStore(place / "approvals", clock=clock, **limits)
```
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any, ClassVar

import pytest
import pytest_asyncio

from toolhaft.approvals import (
    AlreadyDecided,
    ApprovalRecord,
    ApprovalStore,
    CallKey,
    CallTooLarge,
    CannotBegin,
    Decision,
    DuplicateCall,
    Lease,
    LeaseLost,
    Pause,
    PauseState,
    PauseTaken,
    State,
    StoreFull,
    WrongDigest,
    digest_of,
)

Open = Callable[..., Awaitable[ApprovalStore]]

ODD_NAMES = ["a:b", "a", "b:c", "", "*", "%", "%3A", "a\x00b", "a\nb", "ü", "\ud800", "x" * 5_000, "x" * 4_999 + "y"]

UNKNOWN_KEY = CallKey("conversation", "never there")


class HandClock:
    """A clock that the test moves."""

    def __init__(self) -> None:
        self.now = 1_000_000.0

    def __call__(self) -> float:
        return self.now


def call(
    call_id: str = "c1",
    conversation_id: str = "conversation",
    *,
    arguments: dict[str, Any] | None = None,
    **facts: Any,
) -> ApprovalRecord:
    """A call to pay somebody."""
    asked = {"to": "Ada", "amount": 100} if arguments is None else arguments
    return ApprovalRecord(conversation_id=conversation_id, call_id=call_id, tool="pay", arguments=asked, **facts)


def approve(by: str = "Ada", **facts: Any) -> Decision:
    """A person's yes."""
    return Decision(kind="approve", by=by, **facts)


def reject(by: str = "Ada", reason: str = "too much") -> Decision:
    """A person's no."""
    return Decision(kind="reject", by=by, reason=reason)


def ids(records: Iterable[ApprovalRecord]) -> list[str]:
    """Their call ids."""
    return [record.call_id for record in records]


@pytest.mark.asyncio
class ApprovalStoreSuite:
    """The promises of `ApprovalStore`, one test each."""

    shares: ClassVar[bool] = True
    """Whether two stores that are opened at one place see the same calls."""

    async def open(self, place: Path, *, clock: Callable[[], float], **limits: Any) -> ApprovalStore:
        """A store at a place of the test's own, which judges time by `clock`.

        `limits` are `ttl_seconds` and, at times, `max_pending`, `max_call_bytes` and `max_pause_bytes`.
        """
        raise NotImplementedError

    @pytest.fixture
    def clock(self) -> HandClock:
        return HandClock()

    @pytest_asyncio.fixture
    async def opened(self, tmp_path: Path, clock: HandClock) -> AsyncIterator[Open]:
        """Opens stores at this test's place, and closes them."""
        async with AsyncExitStack() as stack:

            async def open_one(**limits: Any) -> ApprovalStore:
                store = await self.open(tmp_path, clock=clock, **{"ttl_seconds": 300.0, **limits})
                return await stack.enter_async_context(store)

            yield open_one

    @pytest_asyncio.fixture
    async def store(self, opened: Open) -> ApprovalStore:
        return await opened()

    # Filing

    async def test_a_filed_call_is_pending_and_as_it_was_given(self, store: ApprovalStore, clock: HandClock) -> None:
        asked = call(reason="costly", message="It costs.", preview={"diff": "+1"}, asked_by="agent", plan_id="p1")

        filed = await store.add(asked)

        assert filed == await store.get(asked.key)
        assert (filed.state, filed.created, filed.expires) == (State.PENDING, clock.now, clock.now + 300)
        assert (filed.arguments, filed.reason, filed.message) == (asked.arguments, "costly", "It costs.")
        assert (filed.preview, filed.asked_by, filed.plan_id) == ({"diff": "+1"}, "agent", "p1")
        assert filed.digest == digest_of("pay", asked.arguments, plan_id="p1")

    async def test_any_json_comes_back_as_it_went_in(self, store: ApprovalStore) -> None:
        odd: dict[str, Any] = {
            "": None,
            "\x00": "\ud800ü\u2028",
            "n": [2**70, -0.5, 1e-9, True, {}],
            "long": "é" * 10_000,
        }

        await store.add(call(arguments=odd, preview=odd))

        record = await store.get(call().key)
        assert record is not None
        assert record.arguments == record.preview == odd

    async def test_what_is_kept_shares_nothing_with_what_was_given_or_returned(self, store: ApprovalStore) -> None:
        arguments: dict[str, Any] = {"list": [1]}
        await store.add(call(arguments=arguments))

        arguments["list"].append(2)
        first = await store.get(call().key)
        assert first is not None
        first.arguments["list"].append(3)

        second = await store.get(call().key)
        assert second is not None
        assert second.arguments == {"list": [1]}

    async def test_a_call_is_filed_once(self, store: ApprovalStore) -> None:
        await store.add(call())

        with pytest.raises(DuplicateCall, match="c1"):
            await store.add(call(arguments={"to": "Eve"}))

        record = await store.get(call().key)
        assert record is not None
        assert record.arguments["to"] == "Ada"

    async def test_a_call_that_is_over_is_not_filed_again(self, store: ApprovalStore) -> None:
        await store.add(call())
        await store.decide(call().key, reject())

        with pytest.raises(DuplicateCall):
            await store.add(call())

    async def test_ids_repeat_in_other_conversations(self, store: ApprovalStore) -> None:
        await store.add(call(conversation_id="one"))
        await store.add(call(conversation_id="two"))

        await store.decide(CallKey("one", "c1"), reject())

        assert ids(await store.list("one")) == []
        assert ids(await store.list("two")) == ["c1"]

    async def test_a_full_store_refuses_and_keeps_what_it_has(self, opened: Open) -> None:
        store = await opened(max_pending=2)
        await store.add(call("c1"))
        await store.add(call("c2"))

        with pytest.raises(StoreFull, match="2"):
            await store.add(call("c3"))

        assert ids(await store.list()) == ["c1", "c2"]
        assert await store.get(call("c3").key) is None

    async def test_what_is_decided_or_expired_makes_room(self, opened: Open, clock: HandClock) -> None:
        store = await opened(max_pending=1)
        await store.add(call("c1"))
        await store.decide(call("c1").key, approve())
        await store.add(call("c2"))

        clock.now += 300
        await store.add(call("c3"))

        assert ids(await store.list()) == ["c3"]

    async def test_a_call_that_is_too_large_is_refused(self, opened: Open) -> None:
        store = await opened(max_call_bytes=1_000)

        with pytest.raises(CallTooLarge, match="1,000"):
            await store.add(call(arguments={"text": "x" * 1_000}))

        assert await store.get(call().key) is None

    # Finding

    async def test_a_call_that_never_was_there_is_none(self, store: ApprovalStore) -> None:
        assert await store.get(UNKNOWN_KEY) is None

    async def test_odd_ids_are_kept_apart(self, store: ApprovalStore) -> None:
        for conversation_id in ODD_NAMES:
            for call_id in ODD_NAMES:
                await store.add(call(call_id, conversation_id))

        for conversation_id in ODD_NAMES:
            assert ids(await store.list(conversation_id)) == ODD_NAMES
            record = await store.get(CallKey(conversation_id, "a:b"))
            assert record is not None
            assert record.key == (conversation_id, "a:b")
        assert [change.key for change in await store.history(CallKey("a:b", "a"))] == [("a:b", "a")]

    async def test_a_list_is_in_the_order_of_filing_and_as_long_as_asked(self, store: ApprovalStore) -> None:
        names = [f"c{number}" for number in range(12)]
        for name in names:
            await store.add(call(name))

        assert ids(await store.list("conversation")) == names
        assert ids(await store.list(limit=3)) == names[:3]

    async def test_what_falls_due_first_comes_first(self, opened: Open) -> None:
        store, hurried = await opened(), await opened(ttl_seconds=5.0)
        if not self.shares:
            pytest.skip("stores at one place do not see each other")
        await store.add(call("later"))
        await hurried.add(call("sooner"))

        assert ids(await store.list()) == ["sooner", "later"]

    async def test_a_list_has_the_calls_of_a_state(self, store: ApprovalStore) -> None:
        for name in ["pending", "approved", "rejected"]:
            await store.add(call(name))
        await store.decide(call("approved").key, approve())
        await store.decide(call("rejected").key, reject())

        for state in (State.PENDING, State.APPROVED, State.REJECTED):
            assert ids(await store.list(state=state)) == [state.value]
        assert ids(await store.list(state=State.DONE)) == []

    async def test_time_moves_what_a_list_has(self, store: ApprovalStore, clock: HandClock) -> None:
        for name in ["pending", "approved", "executing"]:
            await store.add(call(name))
        await store.decide(call("approved").key, approve())
        await store.claim(call("executing").key, approve(), owner="w")

        clock.now += 300

        assert ids(await store.list()) == ids(await store.list(state=State.EXECUTING)) == []
        assert sorted(ids(await store.list(state=State.EXPIRED))) == ["approved", "pending"]
        assert ids(await store.list(state=State.UNKNOWN)) == ["executing"]
        assert {record.state for record in await store.list(state=State.EXPIRED)} == {State.EXPIRED}

    # Deciding

    async def test_a_decision_is_recorded(self, store: ApprovalStore, clock: HandClock) -> None:
        await store.add(call())
        clock.now += 7

        record = await store.decide(call().key, approve("Ada", reason="as agreed"))

        assert record == await store.get(call().key)
        assert record.state is State.APPROVED
        assert record.decision is not None
        assert (record.decision.by, record.decision.at, record.decision.reason) == ("Ada", clock.now, "as agreed")

    async def test_the_second_learns_what_the_first_decided(self, store: ApprovalStore) -> None:
        await store.add(call())
        await store.decide(call().key, reject("Ada"))

        with pytest.raises(AlreadyDecided) as caught:
            await store.decide(call().key, approve("Eve"))

        assert caught.value.decision is not None
        assert (caught.value.decision.by, caught.value.decision.kind) == ("Ada", "reject")
        record = await store.get(call().key)
        assert record is not None
        assert record.state is State.REJECTED

    async def test_the_same_decision_again_counts_once(self, store: ApprovalStore) -> None:
        """Its answer may have been lost on the way."""
        await store.add(call())
        decision = approve()
        first = await store.decide(call().key, decision)

        assert await store.decide(call().key, decision) == first
        assert len(await store.history(call().key)) == 2

    async def test_what_never_was_there_or_expired_has_no_decision(
        self, store: ApprovalStore, clock: HandClock
    ) -> None:
        await store.add(call())
        clock.now += 300

        for key in (UNKNOWN_KEY, call().key):
            with pytest.raises(AlreadyDecided) as caught:
                await store.decide(key, approve())
            assert caught.value.decision is None

    async def test_an_edit_is_what_runs_then(self, store: ApprovalStore) -> None:
        edited = {"to": "Ada", "amount": 50}
        await store.add(call())

        await store.decide(call().key, approve(arguments=edited, digest=digest_of("pay", edited)))

        record = await store.get(call().key)
        assert record is not None
        assert (record.final_arguments, record.arguments["amount"]) == (edited, 100)
        with pytest.raises(WrongDigest):
            await store.begin(call().key, digest=call().digest, owner="w")
        await store.begin(call().key, digest=digest_of("pay", edited), owner="w")

    @pytest.mark.parametrize("kind", ["done", "failed"])
    async def test_nobody_finds_a_pending_call_to_have_run(self, store: ApprovalStore, kind: Any) -> None:
        await store.add(call())

        with pytest.raises(AlreadyDecided):
            await store.decide(call().key, Decision(kind=kind, by="Ada"))

        assert ids(await store.list()) == ["c1"]

    # Time

    async def test_expiry_is_exact(self, store: ApprovalStore, clock: HandClock) -> None:
        filed = await store.add(call())

        clock.now = filed.expires - 0.001
        before = await store.get(call().key)
        clock.now = filed.expires
        after = await store.get(call().key)

        assert before is not None
        assert after is not None
        assert (before.state, after.state) == (State.PENDING, State.EXPIRED)
        with pytest.raises(AlreadyDecided):
            await store.decide(call().key, approve())

    async def test_an_approval_leaves_as_much_time_to_begin_as_there_was_to_decide(
        self, store: ApprovalStore, clock: HandClock
    ) -> None:
        await store.add(call())
        clock.now += 299.999
        await store.decide(call().key, approve())

        clock.now += 299.999
        await store.begin(call().key, digest=call().digest, owner="w")

    async def test_what_is_approved_and_never_begun_expires(self, store: ApprovalStore, clock: HandClock) -> None:
        await store.add(call())
        await store.decide(call().key, approve())
        clock.now += 300

        with pytest.raises(CannotBegin, match="expired"):
            await store.begin(call().key, digest=call().digest, owner="w")

    async def test_expire_writes_down_what_time_has_done_once(self, store: ApprovalStore, clock: HandClock) -> None:
        for name in ["pending", "running", "rejected"]:
            await store.add(call(name))
        await store.claim(call("running").key, approve(), owner="w")
        await store.decide(call("rejected").key, reject())
        clock.now += 300

        moved = await store.expire()

        assert {(record.call_id, record.state) for record in moved} == {
            ("pending", State.EXPIRED),
            ("running", State.UNKNOWN),
        }
        assert await store.expire() == []
        assert [change.by for change in await store.history(call("pending").key)] == ["", "time"]

    # Running

    async def test_one_execution_of_what_was_approved(self, store: ApprovalStore, clock: HandClock) -> None:
        await store.add(call())
        await store.decide(call().key, approve())

        record = await store.begin(call().key, digest=call().digest, owner="w1", lease_seconds=10)

        assert (record.state, record.lease) == (State.EXECUTING, Lease("w1", clock.now + 10))
        with pytest.raises(CannotBegin, match="w1"):
            await store.begin(call().key, digest=call().digest, owner="w2")

    async def test_the_same_owner_begins_once_however_often_it_asks(self, store: ApprovalStore) -> None:
        await store.add(call())
        await store.decide(call().key, approve())
        first = await store.begin(call().key, digest=call().digest, owner="w")

        assert await store.begin(call().key, digest=call().digest, owner="w") == first

    async def test_only_what_was_approved_runs(self, store: ApprovalStore) -> None:
        await store.add(call())
        await store.decide(call().key, approve())

        with pytest.raises(WrongDigest):
            await store.begin(call().key, digest=digest_of("pay", {"to": "Ada", "amount": 50}), owner="w")

        record = await store.get(call().key)
        assert record is not None
        assert record.state is State.APPROVED

    async def test_what_is_not_approved_does_not_run(self, store: ApprovalStore) -> None:
        await store.add(call("pending"))
        await store.add(call("rejected"))
        await store.decide(call("rejected").key, reject())

        for key in (call("pending").key, call("rejected").key, UNKNOWN_KEY):
            with pytest.raises(CannotBegin):
                await store.begin(key, digest=call().digest, owner="w")

    async def test_a_claim_decides_and_begins(self, store: ApprovalStore) -> None:
        await store.add(call())
        decision = approve()

        record = await store.claim(call().key, decision, owner="w1")

        assert record.state is State.EXECUTING
        assert [change.state for change in await store.history(call().key)] == ["pending", "approved", "executing"]
        assert await store.claim(call().key, decision, owner="w1") == record
        with pytest.raises(AlreadyDecided) as caught:
            await store.claim(call().key, approve("Eve"), owner="w2")
        assert caught.value.decision is not None
        assert caught.value.decision.by == "Ada"

    async def test_a_lease_holds_as_long_as_it_is_renewed(self, store: ApprovalStore, clock: HandClock) -> None:
        await store.add(call())
        await store.claim(call().key, approve(), owner="w", lease_seconds=10)
        clock.now += 9
        await store.renew(call().key, owner="w", lease_seconds=10)
        clock.now += 9.999

        record = await store.get(call().key)
        assert record is not None
        assert record.state is State.EXECUTING
        clock.now += 0.002
        with pytest.raises(LeaseLost):
            await store.renew(call().key, owner="w")
        with pytest.raises(LeaseLost):
            await store.renew(UNKNOWN_KEY, owner="w")

    @pytest.mark.parametrize("late_seconds", [0, 1_000])
    async def test_an_owner_tells_how_it_ended(
        self, store: ApprovalStore, clock: HandClock, late_seconds: float
    ) -> None:
        """Also when its lease has ended, unless somebody has decided otherwise."""
        for name in ["c1", "c2"]:
            await store.add(call(name))
            await store.claim(call(name).key, approve(), owner="w", lease_seconds=10)
        clock.now += late_seconds

        done = await store.finish(call("c1").key, owner="w", result={"paid": [1, None]})
        failed = await store.finish(call("c2").key, owner="w", error="no money")

        assert (done.state, done.result, done.error) == (State.DONE, {"paid": [1, None]}, None)
        assert (failed.state, failed.result, failed.error) == (State.FAILED, None, "no money")
        assert done == await store.get(call("c1").key)
        assert await store.finish(call("c1").key, owner="w", result={"paid": [1, None]}) == done

    async def test_nobody_else_tells_how_it_ended(self, store: ApprovalStore) -> None:
        await store.add(call())
        await store.claim(call().key, approve(), owner="w1")

        for key, owner in [(call().key, "w2"), (UNKNOWN_KEY, "w1")]:
            with pytest.raises(LeaseLost):
                await store.finish(key, owner=owner, result=1)

    async def test_what_was_interrupted_is_unknown_until_a_person_says(
        self, store: ApprovalStore, clock: HandClock
    ) -> None:
        await store.add(call())
        await store.claim(call().key, approve(), owner="dead", lease_seconds=10)
        clock.now += 10

        with pytest.raises(CannotBegin, match="unknown"):
            await store.begin(call().key, digest=call().digest, owner="w")
        with pytest.raises(AlreadyDecided):
            await store.decide(call().key, reject())
        await store.decide(call().key, approve("Eve"))
        record = await store.begin(call().key, digest=call().digest, owner="w")

        assert [decision.by for decision in record.decisions] == ["Ada", "Eve"]
        with pytest.raises(LeaseLost):
            await store.finish(call().key, owner="dead", result=1)
        states = [change.state.value for change in await store.history(call().key)]
        assert states == ["pending", "approved", "executing", "unknown", "approved", "executing"]

    async def test_what_was_interrupted_may_be_found_to_have_ended(
        self, store: ApprovalStore, clock: HandClock
    ) -> None:
        for name in ["c1", "c2"]:
            await store.add(call(name))
            await store.claim(call(name).key, approve(), owner="dead", lease_seconds=10)
        clock.now += 10

        done = await store.decide(call("c1").key, Decision(kind="done", by="Ada", result={"paid": 1}))
        failed = await store.decide(call("c2").key, Decision(kind="failed", by="Ada", reason="never arrived"))

        assert (done.state, done.result) == (State.DONE, {"paid": 1})
        assert (failed.state, failed.error) == (State.FAILED, "never arrived")

    # History

    async def test_the_history_has_every_step_in_order(self, store: ApprovalStore, clock: HandClock) -> None:
        await store.add(call(asked_by="agent", reason="costly"))
        clock.now += 1
        await store.decide(call().key, approve("Ada", reason="as agreed"))

        first, second = await store.history()

        assert (first.seq, first.state, first.by, first.reason) == (1, State.PENDING, "agent", "costly")
        assert (second.seq, second.state, second.by, second.reason) == (2, State.APPROVED, "Ada", "as agreed")
        assert (second.at, second.digest, second.key) == (clock.now, call().digest, call().key)
        assert await store.history(after=1) == [second]
        assert await store.history(limit=1) == [first]
        assert await store.history(UNKNOWN_KEY) == []

    async def test_a_history_that_nobody_touched_is_intact(self, store: ApprovalStore) -> None:
        assert (await store.verify()).is_intact
        for number in range(30):
            await store.add(call(f"ü{number}"))
            await store.claim(call(f"ü{number}").key, approve("Ädä \ud800", reason="\x00"), owner="w:1")

        verdict = await store.verify()

        assert verdict.faults == ()
        assert (verdict.rows, verdict.is_intact) == (90, True)
        assert verdict.head == (await store.head()).link

    async def test_a_watcher_sees_every_change_of_its_conversation(self, opened: Open, clock: HandClock) -> None:
        store = await opened()
        other = await opened() if self.shares else store
        seen: list[tuple[str, str]] = []

        async def watch() -> None:
            async for change in store.watch("conversation", after=0):
                seen.append((change.call_id, change.state))
                if change.state is State.REJECTED:
                    clock.now += 300
                if change.state is State.EXPIRED:
                    return

        watcher = asyncio.create_task(watch())
        await other.add(call("c1"))
        await other.add(call("c2"))
        await other.add(call("c1", "another"))
        await other.decide(call("c1").key, reject())
        await asyncio.wait_for(watcher, 30)

        assert seen == [("c1", "pending"), ("c2", "pending"), ("c1", "rejected"), ("c2", "expired")]

    # Pauses

    async def test_a_pause_is_filed_with_its_calls(self, store: ApprovalStore, clock: HandClock) -> None:
        pause = Pause(conversation_id="conversation", messages=b"\x00\xff" * 100, call_ids=("c1", "c2"))

        filed = await store.file(pause, [call("c1"), call("c2")])

        assert filed == await store.load_pause(pause.pause_id) == await store.latest_pause("conversation")
        assert (filed.messages, filed.call_ids, filed.created) == (pause.messages, ("c1", "c2"), clock.now)
        assert filed.state is PauseState.WAITING
        assert ids(await store.list("conversation")) == ["c1", "c2"]
        assert await store.load_pause("never there") is None
        assert await store.latest_pause("never there") is None

    async def test_a_pause_is_filed_whole_or_not_at_all(self, opened: Open) -> None:
        store = await opened(max_pending=3, max_call_bytes=1_000)
        await store.add(call("c1"))
        too_large = call("c3", arguments={"text": "x" * 1_000})
        too_many = [call(f"m{number}") for number in range(3)]

        for calls, error in [
            ([call("c2"), call("c1")], DuplicateCall),
            ([call("c2"), call("c2")], DuplicateCall),
            ([call("c2"), too_large], CallTooLarge),
            (too_many, StoreFull),
        ]:
            pause = Pause(conversation_id="conversation", messages=b"", call_ids=tuple(ids(calls)))
            with pytest.raises(error):
                await store.file(pause, calls)
            assert await store.load_pause(pause.pause_id) is None

        assert ids(await store.list()) == ["c1"]
        assert len(await store.history()) == 1

    async def test_messages_that_are_too_large_are_refused(self, opened: Open) -> None:
        store = await opened(max_pause_bytes=1_000)
        pause = Pause(conversation_id="conversation", messages=b"x" * 1_001, call_ids=())

        with pytest.raises(CallTooLarge, match="1,001"):
            await store.save_pause(pause)

        assert await store.load_pause(pause.pause_id) is None

    async def test_the_latest_pause_of_a_conversation_is_the_last_filed(self, store: ApprovalStore) -> None:
        for messages in (b"first", b"second"):
            await store.save_pause(Pause(conversation_id="conversation", messages=messages, call_ids=()))
        await store.save_pause(Pause(conversation_id="another", messages=b"third", call_ids=()))

        latest = await store.latest_pause("conversation")

        assert latest is not None
        assert latest.messages == b"second"
        with pytest.raises(DuplicateCall):
            await store.save_pause(latest)

    async def test_one_takes_a_pause_and_the_other_learns_it(self, store: ApprovalStore, clock: HandClock) -> None:
        pause = await store.save_pause(Pause(conversation_id="conversation", messages=b"m", call_ids=()))

        taken = await store.take_pause(pause.pause_id, owner="one", lease_seconds=10)

        assert (taken.state, taken.lease) == (PauseState.RESUMING, Lease("one", clock.now + 10))
        assert taken.messages == b"m"
        with pytest.raises(PauseTaken, match="resuming by 'one'"):
            await store.take_pause(pause.pause_id, owner="two")
        with pytest.raises(PauseTaken, match="none of that id"):
            await store.take_pause("never there", owner="two")
        with pytest.raises(LeaseLost):
            await store.finish_pause(pause.pause_id, owner="two")

    async def test_a_pause_is_continued_once(self, store: ApprovalStore) -> None:
        pause = await store.save_pause(Pause(conversation_id="conversation", messages=b"", call_ids=()))
        await store.take_pause(pause.pause_id, owner="one")

        finished = await store.finish_pause(pause.pause_id, owner="one")

        assert finished == await store.load_pause(pause.pause_id)
        assert finished.state is PauseState.CONTINUED
        assert await store.finish_pause(pause.pause_id, owner="one") == finished
        for owner in ("one", "two"):
            with pytest.raises(PauseTaken) as caught:
                await store.take_pause(pause.pause_id, owner=owner)
            assert caught.value.pause == finished

    async def test_a_pause_that_could_not_go_on_waits_again(self, store: ApprovalStore) -> None:
        pause = await store.save_pause(Pause(conversation_id="conversation", messages=b"", call_ids=()))
        await store.take_pause(pause.pause_id, owner="one")

        given_back = await store.finish_pause(pause.pause_id, owner="one", continued=False)

        assert given_back.state is PauseState.WAITING
        assert (await store.take_pause(pause.pause_id, owner="two")).state is PauseState.RESUMING

    async def test_a_pause_of_a_dead_resumer_waits_again(self, store: ApprovalStore, clock: HandClock) -> None:
        pause = await store.save_pause(Pause(conversation_id="conversation", messages=b"", call_ids=()))
        await store.take_pause(pause.pause_id, owner="dead", lease_seconds=10)
        clock.now += 9
        await store.take_pause(pause.pause_id, owner="dead", lease_seconds=10)  # at work for longer
        clock.now += 10

        seen = await store.load_pause(pause.pause_id)
        await store.take_pause(pause.pause_id, owner="two")

        assert seen is not None
        assert seen.state is PauseState.WAITING
        with pytest.raises(LeaseLost):
            await store.finish_pause(pause.pause_id, owner="dead")

    # Many at once

    async def test_of_many_claimants_one_wins(self, opened: Open) -> None:
        stores = [await opened() for _ in range(3 if self.shares else 1)]
        names = [f"c{number}" for number in range(10)]
        for name in names:
            await stores[0].add(call(name))
        won: list[str] = []
        lost: list[Decision | None] = []

        async def claim(number: int, name: str) -> None:
            owner = f"w{number}"
            try:
                record = await stores[number % len(stores)].claim(call(name).key, approve(owner), owner=owner)
            except AlreadyDecided as error:
                lost.append(error.decision)
                return
            assert record.lease is not None
            assert record.lease.owner == owner
            won.append(name)

        await asyncio.gather(*(claim(number, name) for number in range(21) for name in names))

        assert sorted(won) == sorted(names)
        assert len(lost) == 200
        assert None not in lost
        assert (await stores[0].verify()).is_intact

    async def test_what_one_store_wrote_another_reads(self, opened: Open) -> None:
        if not self.shares:
            pytest.skip("stores at one place do not see each other")
        one, two = await opened(), await opened()

        await one.add(call())
        await two.decide(call().key, approve())
        await one.begin(call().key, digest=call().digest, owner="w")
        await two.finish(call().key, owner="w", result=1)

        assert await one.get(call().key) == await two.get(call().key)
        assert (await one.verify()).rows == 4

    async def test_closing_twice_is_closing(self, store: ApprovalStore) -> None:
        await store.aclose()
        await store.aclose()
