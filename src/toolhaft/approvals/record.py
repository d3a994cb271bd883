"""What is known of one call that somebody must approve. Pure data: any process that has the tool can run it.

Times are POSIX seconds by the store's clock. The store sets `created`, `expires`, `changed` and `Decision.at`.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from typing import Any, Literal, NamedTuple
from urllib.parse import quote
from uuid import uuid4

from toolhaft.approvals.states import BY_TIME, State, check

DecisionKind = Literal["approve", "reject", "done", "failed"]

_LEADS_TO = {"approve": State.APPROVED, "reject": State.REJECTED, "done": State.DONE, "failed": State.FAILED}

# Made once: `json.dumps` makes one for each call.
_ENCODER = json.JSONEncoder(sort_keys=True, separators=(",", ":"), allow_nan=False)

_PLAIN = re.compile(r"[A-Za-z0-9_.~-]*")
_LONGEST_ID = 200  # an index of PostgreSQL takes rows of at most 2,704 bytes


class CallKey(NamedTuple):
    """Which call: the ids of calls repeat from one conversation to the next, so both count."""

    conversation_id: str
    call_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """What somebody decided. The same decision (the same `id`) given twice, as after a lost reply, counts once."""

    kind: DecisionKind
    """`approve` and `reject` for what is pending; `approve` (again), `done` and `failed` for what is unknown."""

    by: str
    reason: str = ""
    arguments: dict[str, Any] | None = None
    """All arguments to run with instead of those that were asked for; None where they were not edited."""

    digest: str | None = None
    """Of the edited arguments, as `digest_of` makes it."""

    result: Any = None
    """What the call is found to have answered, for `done`."""

    at: float = 0.0
    id: str = field(default_factory=lambda: uuid4().hex)

    def __post_init__(self) -> None:
        if (self.arguments is None) != (self.digest is None) or (self.arguments is not None and self.kind != "approve"):
            raise ValueError(
                f"a decision {self.kind!r} has arguments={self.arguments!r} and digest={self.digest!r}. "
                "Give both, to approve an edited call, or neither."
            )

    @property
    def target(self) -> State:
        """The state it leads to."""
        return _LEADS_TO[self.kind]

    def to_facts(self) -> dict[str, Any]:
        """Its fields by name."""
        return {name: getattr(self, name) for name in _DECISION_FIELDS}


@dataclass(frozen=True, slots=True)
class Lease:
    """Who is at work on it, and until when that holds without being renewed."""

    owner: str
    until: float


@dataclass(frozen=True, slots=True, kw_only=True)
class ApprovalRecord:
    """One call and everything that has become of it."""

    conversation_id: str
    call_id: str
    tool: str
    arguments: dict[str, Any]
    """The arguments that were asked for, validated, as JSON."""

    digest: str = ""
    """SHA-256 of what will run: tool, `final_arguments`, plan. Made of the arguments where it is not given."""

    plan_id: str | None = None
    """What the preview promised, where the tool makes plans."""

    reason: str = ""
    """Why it is asked, as a code."""

    message: str = ""
    """Why it is asked, for a person."""

    preview: Any = None
    """What it would do, as JSON."""

    asked_by: str | None = None
    created: float = 0.0
    expires: float = 0.0
    changed: float = 0.0
    state: State = State.PENDING
    decisions: tuple[Decision, ...] = ()
    lease: Lease | None = None
    """Of the last execution, also when it has ended."""

    result: Any = None
    error: str | None = None

    def __post_init__(self) -> None:
        if not self.digest:
            object.__setattr__(self, "digest", digest_of(self.tool, self.arguments, plan_id=self.plan_id))

    @property
    def key(self) -> CallKey:
        return CallKey(self.conversation_id, self.call_id)

    @property
    def final_arguments(self) -> dict[str, Any]:
        """The arguments to run with: the last that somebody edited, else those that were asked for."""
        edited = [decision.arguments for decision in self.decisions if decision.arguments is not None]
        return edited[-1] if edited else self.arguments

    @property
    def decision(self) -> Decision | None:
        """The last one."""
        return self.decisions[-1] if self.decisions else None

    @property
    def due(self) -> float:
        """When time moves it, where time does; else since when it is as it is."""
        if self.state is State.EXECUTING and self.lease is not None:
            return self.lease.until
        return self.expires if self.state in BY_TIME else self.changed

    def at(self, now: float) -> ApprovalRecord:
        """The record as it is at a time: what is past its time has become what it becomes."""
        if self.state not in BY_TIME or now < self.due:
            return self
        return self.moved(BY_TIME[self.state], self.due)

    def moved(self, target: State, now: float, **changes: Any) -> ApprovalRecord:
        """The record in another state; raises `IllegalMoveError` where no way leads there."""
        check(self.state, target)
        return replace(self, state=target, changed=now, **changes)

    def to_json(self) -> str:
        """All of it as ASCII JSON. Raises TypeError or ValueError for what JSON does not have."""
        facts = {name: getattr(self, name) for name in _RECORD_FIELDS}
        facts["decisions"] = [decision.to_facts() for decision in self.decisions]
        facts["lease"] = self.lease and asdict(self.lease)
        return canonical(facts)

    @classmethod
    def from_json(cls, text: str | bytes) -> ApprovalRecord:
        """The record that `to_json` wrote."""
        facts: dict[str, Any] = json.loads(text)
        facts["state"] = State(facts["state"])
        facts["decisions"] = tuple(Decision(**decision) for decision in facts["decisions"])
        facts["lease"] = Lease(**facts["lease"]) if facts["lease"] else None
        return cls(**facts)


# Known once; `asdict` would copy everything below them too.
_RECORD_FIELDS = tuple(one.name for one in fields(ApprovalRecord))
_DECISION_FIELDS = tuple(one.name for one in fields(Decision))


def digest_of(tool: str, arguments: Mapping[str, Any], *, plan_id: str | None = None) -> str:
    """SHA-256, in hexadecimal, of what a call would run."""
    return hashlib.sha256(canonical([tool, dict(arguments), plan_id]).encode()).hexdigest()


def canonical(value: Any) -> str:
    """One JSON text for equal values: keys sorted, no blanks, ASCII only."""
    return _ENCODER.encode(value)


def escaped(name: str) -> str:
    """An id as a key can hold it: no two ids share one, whatever they are made of."""
    if len(name) <= _LONGEST_ID and _PLAIN.fullmatch(name):
        return name
    text = quote(name, safe="", errors="surrogatepass")
    if len(text) <= _LONGEST_ID:
        return text
    return f"{text[:100]}%%{hashlib.sha256(text.encode()).hexdigest()}"  # %% is in nothing that quote makes


def copied(value: Any) -> Any:
    """The value as JSON gives it back, sharing nothing with what was given."""
    return None if value is None else json.loads(canonical(value))
