"""The law of an approval: in which states a call can be, and which way leads from one to the next.

Every store keeps to this table, atomically: of two who would take the same way, one does. What the table does not name
cannot happen. Time takes three ways by itself (`BY_TIME`), at the instant that a record says, not at the next sweep.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from types import MappingProxyType


class State(StrEnum):
    """Where a call stands."""

    PENDING = "pending"
    APPROVED = "approved"
    REJECTED = "rejected"
    EXPIRED = "expired"
    EXECUTING = "executing"
    DONE = "done"
    FAILED = "failed"
    UNKNOWN = "unknown"


WAYS: Mapping[tuple[State, State], str] = MappingProxyType(
    {
        (State.PENDING, State.APPROVED): "a person approves",
        (State.PENDING, State.REJECTED): "a person rejects",
        (State.PENDING, State.EXPIRED): "nobody decided in time",
        (State.APPROVED, State.EXECUTING): "begun",
        (State.APPROVED, State.EXPIRED): "never begun",
        (State.EXECUTING, State.DONE): "it answered",
        (State.EXECUTING, State.FAILED): "it failed",
        (State.EXECUTING, State.UNKNOWN): "the lease ended",
        (State.UNKNOWN, State.APPROVED): "a person approves again",
        (State.UNKNOWN, State.DONE): "found to be done",
        (State.UNKNOWN, State.FAILED): "found to have failed",
    }
)
"""Every way there is, and what takes it."""

BY_TIME: Mapping[State, State] = MappingProxyType(
    {State.PENDING: State.EXPIRED, State.APPROVED: State.EXPIRED, State.EXECUTING: State.UNKNOWN}
)
"""What a state becomes when its time is over: that to decide or to begin, or that of a lease."""

OPEN = frozenset({State.PENDING, State.UNKNOWN})
"""The states in which a call waits for a person."""

FINAL = frozenset(State) - {source for source, _ in WAYS}
"""The states that no way leaves."""


class IllegalMoveError(ValueError):
    """A way that the table does not name."""


def check(source: State, target: State) -> None:
    """Raise `IllegalMoveError` where no way leads from one state to the other."""
    if (source, target) not in WAYS:
        ways = ", ".join(to for start, to in WAYS if start is source) or "nothing: it is final"
        raise IllegalMoveError(f"{source.value!r} cannot become {target.value!r}. It can become {ways}.")


def stored_as(state: State) -> list[tuple[State, bool]]:
    """Under which states a call in this state may be stored, and whether their time must be over for it.

    Time moves a record at once and the store only when somebody writes, so `expired` is what is stored as expired,
    and what is stored as pending or approved and is past its time.
    """
    past = [(source, True) for source, target in BY_TIME.items() if target is state]
    return [(state, False), *past]


def diagram() -> str:
    """The table as a Mermaid diagram."""
    lines = [f"    {source.value} --> {target.value}: {why}" for (source, target), why in WAYS.items()]
    final = [f"    {state.value} --> [*]" for state in State if state in FINAL]
    return "\n".join(["stateDiagram-v2", "    [*] --> pending", *lines, *final])
