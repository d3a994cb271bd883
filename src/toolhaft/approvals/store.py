"""What a store of approvals does, for whoever uses one and whoever writes another.

`toolhaft.testing.ApprovalStoreSuite` holds a store to it. Every method is atomic: of many who ask for the same, in as
many processes, one wins, and each other one is told who did. Whatever is asked twice by the same owner, or with the
same `Decision`, because an answer was lost, is done once and answered twice. What a store returns shares nothing with
what it keeps.
"""

from __future__ import annotations

import asyncio
from abc import abstractmethod
from collections.abc import AsyncIterator, Callable, Sequence
from types import TracebackType
from typing import Any, Protocol, Self

from toolhaft.approvals.chain import Audit, Change, Head, Row, Verdict
from toolhaft.approvals.pause import Pause
from toolhaft.approvals.record import ApprovalRecord, CallKey, Decision, digest_of
from toolhaft.approvals.states import State

Clock = Callable[[], float]
"""POSIX seconds now."""

# Inside a class that has a method `list`, annotations cannot say `list[...]`.
Records = list[ApprovalRecord]
Changes = list[Change]
Rows = list[Row]

# PromptKit's defaults, which those who come from there count on.
DEFAULT_PENDING_TTL_SECONDS = 300.0
DEFAULT_MAX_PENDING = 1_000

DEFAULT_DURABLE_TTL_SECONDS = 7 * 86_400.0
DEFAULT_MAX_CALL_BYTES = 1 << 20
DEFAULT_MAX_PAUSE_BYTES = 64 << 20
DEFAULT_LEASE_SECONDS = 60.0

_PAGE_ROWS = 1_000


class ApprovalStore(Protocol):
    """Where approvals are kept. Derive from it: what is written out here works for every store."""

    poll_seconds: float = 0.1
    """How often `watch` looks for changes that other processes made."""

    hash_algorithm: str = "sha256"
    """What the links of the history are made with."""

    @abstractmethod
    async def add(self, record: ApprovalRecord) -> ApprovalRecord:
        """File a call, as pending from now on. Raises `StoreFull`, `DuplicateCall`, `CallTooLarge`."""
        ...

    @abstractmethod
    async def get(self, key: CallKey) -> ApprovalRecord | None:
        """The call as it is now; None where it never was there."""
        ...

    @abstractmethod
    async def list(
        self, conversation_id: str | None = None, *, state: State = State.PENDING, limit: int = 100
    ) -> Records:
        """Calls that are in a state now, of one conversation or of all; what falls due first comes first."""
        ...

    @abstractmethod
    async def decide(self, key: CallKey, decision: Decision) -> ApprovalRecord:
        """Decide a call that waits for a person. Raises `AlreadyDecided` to everybody but the first."""
        ...

    @abstractmethod
    async def claim(
        self, key: CallKey, decision: Decision, *, owner: str, lease_seconds: float = DEFAULT_LEASE_SECONDS
    ) -> ApprovalRecord:
        """Approve a call and begin it, in one step. Raises `AlreadyDecided` to everybody but the first."""
        ...

    @abstractmethod
    async def begin(
        self, key: CallKey, *, digest: str, owner: str, lease_seconds: float = DEFAULT_LEASE_SECONDS
    ) -> ApprovalRecord:
        """Take an approved call to run it now. `owner` names this one execution.

        Raises `WrongDigest` where something else was approved than what `digest` stands for, else `CannotBegin`.
        """
        ...

    @abstractmethod
    async def renew(self, key: CallKey, *, owner: str, lease_seconds: float = DEFAULT_LEASE_SECONDS) -> ApprovalRecord:
        """Hold a lease for longer, from now on. Raises `LeaseLost` once it has ended."""
        ...

    @abstractmethod
    async def finish(self, key: CallKey, *, owner: str, result: Any = None, error: str | None = None) -> ApprovalRecord:
        """Record how the execution ended: with a result (JSON), or with an error.

        Raises `LeaseLost` where a person has meanwhile decided what became of it.
        """
        ...

    @abstractmethod
    async def expire(self) -> Records:
        """Write down what time has done; the records that were moved, at most some hundreds at once.

        Reading never needs it, since what is past its time is seen so at once; the history does.
        """
        ...

    @abstractmethod
    async def file(self, pause: Pause, records: Sequence[ApprovalRecord]) -> Pause:
        """File a pause and its calls: all or nothing. Raises as `add` does."""
        ...

    @abstractmethod
    async def load_pause(self, pause_id: str) -> Pause | None:
        """The pause of that id as it is now."""
        ...

    @abstractmethod
    async def latest_pause(self, conversation_id: str) -> Pause | None:
        """The pause of a conversation that was filed last."""
        ...

    @abstractmethod
    async def take_pause(self, pause_id: str, *, owner: str, lease_seconds: float = DEFAULT_LEASE_SECONDS) -> Pause:
        """Lease a pause that waits, to continue its run; for its owner: hold the lease for longer.

        Raises `PauseTaken` to everybody but the first.
        """
        ...

    @abstractmethod
    async def finish_pause(self, pause_id: str, *, owner: str, continued: bool = True) -> Pause:
        """The run has gone on; or it could not (`continued=False`), and the pause waits again. Raises `LeaseLost`."""
        ...

    @abstractmethod
    async def rows(self, *, after: int = 0, limit: int = _PAGE_ROWS, key: CallKey | None = None) -> Rows:
        """The history from a number on, as it is stored; of one call or of all."""
        ...

    @abstractmethod
    async def head(self) -> Head:
        """The number and link of the last row, kept apart from the rows."""
        ...

    async def save_pause(self, pause: Pause) -> Pause:
        """File a pause that has no calls to decide."""
        return await self.file(pause, ())

    async def history(self, key: CallKey | None = None, *, after: int = 0, limit: int = _PAGE_ROWS) -> Changes:
        """What has become of a call, or of all, in order; from a number on."""
        return [Change.from_json(row.text) for row in await self.rows(after=after, limit=limit, key=key)]

    async def watch(self, conversation_id: str | None = None, *, after: int | None = None) -> AsyncIterator[Change]:
        """Every change from now on, or from a number of the history on; what time does too."""
        seen = (await self.head()).seq if after is None else after
        while True:
            await self.expire()
            changes = await self.history(after=seen)
            for change in changes:
                seen = change.seq
                if conversation_id in (None, change.conversation_id):
                    yield change
            if not changes:
                await asyncio.sleep(self.poll_seconds)

    async def verify(self) -> Verdict:
        """Whether every row of the history is there and as it was written, and every call as its last row says."""
        audit = Audit(algorithm=self.hash_algorithm)
        head, last = await self.head(), 0
        while last <= head.seq and (rows := await self.rows(after=last)):
            audit.take(row for row in rows if row.seq <= head.seq)
            last = rows[-1].seq
        if last > head.seq and await self.head() == head:
            audit.fault(f"the history goes on to row {last}, and the store knows of {head.seq}")
        for change in audit.latest.values():
            await self._verify_call(change, audit)
        return audit.verdict(head)

    async def _verify_call(self, change: Change, audit: Audit) -> None:
        """A call that has changed again since its row was read is left for the next audit."""
        record = await self.get(change.key)
        if record is None or record.changed > change.at:
            return
        digest = digest_of(record.tool, record.final_arguments, plan_id=record.plan_id)
        if not digest == record.digest == change.digest:
            audit.fault(f"call {change.call_id!r} is not as row {change.seq} has it: its arguments were changed")

    async def aclose(self) -> None:
        """Let go of what the store itself opened; never of a client that it was given."""

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()
