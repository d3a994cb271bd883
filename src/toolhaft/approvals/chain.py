"""The history of a store: append-only, each row linked to the one before, so that no edit stays unseen.

A link is a hash over the link before and the row's text; the first is made over nothing. Who can write to the store can
also write the whole chain anew: keep the `head` of a `Verdict` elsewhere, and that shows too.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from toolhaft.approvals.moves import Step
from toolhaft.approvals.record import CallKey, canonical
from toolhaft.approvals.states import State


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """One step of one call, as it was written down."""

    seq: int
    """Its number in the store: 1, 2, 3, ..."""

    at: float
    conversation_id: str
    call_id: str
    state: State
    """What the call became."""

    by: str
    reason: str
    digest: str
    """Of what would run, from then on."""

    @property
    def key(self) -> CallKey:
        return CallKey(self.conversation_id, self.call_id)

    @classmethod
    def from_json(cls, text: str | bytes) -> Change:
        """The change that a row tells of."""
        facts: dict[str, Any] = json.loads(text)
        facts["state"] = State(facts["state"])
        return cls(**facts)


class Row(NamedTuple):
    """A change as it is stored: its number, its text, its link."""

    seq: int
    text: str
    link: str


class Head(NamedTuple):
    """The last row's number and link; of an empty history, zero and nothing."""

    seq: int
    link: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """What an audit of the history found."""

    rows: int
    head: str
    """The last link. It stands for the whole history up to there."""

    faults: tuple[str, ...] = field(default=())
    """What is wrong, one sentence each; none where every row is there and as it was written."""

    @property
    def is_intact(self) -> bool:
        return not self.faults


def link_of(previous: str, text: str, *, algorithm: str = "sha256") -> str:
    """The link of a row, after that of the row before."""
    return hashlib.new(algorithm, f"{previous}{text}".encode()).hexdigest()


def row_of(step: Step, head: Head) -> Row:
    """The row that tells of a step, to stand after the head."""
    record, seq = step.record, head.seq + 1
    facts = {"seq": seq, "at": record.changed, "conversation_id": record.conversation_id, "call_id": record.call_id}
    facts |= {"state": record.state, "by": step.by, "reason": step.reason, "digest": record.digest}
    text = canonical(facts)
    return Row(seq, text, link_of(head.link, text))


class Audit:
    """Takes the rows in order, then the head that the store keeps apart from them, and says what is wrong."""

    def __init__(self, *, algorithm: str = "sha256") -> None:
        self._algorithm = algorithm
        self._rows = 0
        self._last = Head(0, "")
        self._faults: list[str] = []
        self.latest: dict[CallKey, Change] = {}

    def take(self, rows: Iterable[Row]) -> int:
        """Look at more rows; how many there were."""
        before = self._rows
        for row in rows:
            self._rows += 1
            expected = self._last.seq + 1
            if row.seq != expected:
                self._faults.append(f"rows {expected} to {row.seq - 1} are missing")
            elif link_of(self._last.link, row.text, algorithm=self._algorithm) != row.link:
                self._faults.append(f"row {row.seq} is not as it was written, or the link before it is not")
            self._note(row)
            self._last = Head(row.seq, row.link)
        return self._rows - before

    def fault(self, sentence: str) -> None:
        """Note what else is wrong."""
        self._faults.append(sentence)

    def verdict(self, head: Head) -> Verdict:
        """What was found, once every row has been taken."""
        if self._last.seq < head.seq:
            self._faults.append(f"rows {self._last.seq + 1} to {head.seq} are missing")
        elif self._last != head:
            self._faults.append(f"the history ends with row {self._last.seq}, and the store knows of {head.seq}")
        return Verdict(rows=self._rows, head=self._last.link, faults=tuple(self._faults))

    def _note(self, row: Row) -> None:
        try:
            change = Change.from_json(row.text)
        except (ValueError, TypeError, KeyError):
            self._faults.append(f"row {row.seq} cannot be read")
            return
        self.latest[change.key] = change
