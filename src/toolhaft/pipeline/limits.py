"""How much a conversation may change, counted for what succeeded, and whether its edits were tested.

What a call may use is reserved before it runs and settled after, so that calls at the same time cannot overshoot. The
counts live in memory, as long as the guardrails do.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Collection
from dataclasses import dataclass, field

# The counts of the conversations that were silent longest are forgotten first: a server has many, each needs little.
_MOST_CONVERSATIONS = 10_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Use:
    """What a call changes, or would: the files, the lines added and removed, the commands run."""

    files: frozenset[str] = frozenset()
    lines: int = 0
    commands: int = 0

    def __add__(self, other: Use) -> Use:
        return Use(
            files=self.files | other.files, lines=self.lines + other.lines, commands=self.commands + other.commands
        )


@dataclass(slots=True)
class _Conversation:
    done: Use = field(default_factory=Use)
    reserved: dict[int, Use] = field(default_factory=dict[int, Use])
    edits: int = 0
    edits_tested: int = 0

    def taken(self) -> Use:
        return sum(self.reserved.values(), self.done)


@dataclass(frozen=True, slots=True)
class Excess:
    """A limit that a call would break: `rule` is the limit's name, `reason` how far it was used."""

    rule: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Reservation:
    """What a call may use, until it is settled. `edits` is how many edits there were when the call began."""

    conversation_id: str
    number: int
    edits: int


class Limits:
    """The counts of every conversation, for any number of calls and threads at once."""

    def __init__(
        self, *, max_files_modified: int | None, max_lines_changed: int | None, max_commands_executed: int | None
    ) -> None:
        self._max_files = max_files_modified
        self._max_lines = max_lines_changed
        self._max_commands = max_commands_executed
        self._conversations: OrderedDict[str, _Conversation] = OrderedDict()
        self._lock = threading.Lock()
        self._last_number = 0

    def check(self, conversation_id: str, use: Use) -> Excess | None:
        """The limit that `use` would break, or None; nothing is reserved."""
        with self._lock:
            known = self._conversations.get(conversation_id) or _Conversation()
            return self._excess(known, use)

    def reserve(self, conversation_id: str, use: Use) -> Reservation | Excess:
        """Hold `use` back for a call until it is settled, or tell which limit it would break."""
        with self._lock:
            conversation = self._conversations.setdefault(conversation_id, _Conversation())
            self._conversations.move_to_end(conversation_id)
            self._forget()
            if (excess := self._excess(conversation, use)) is not None:
                return excess
            self._last_number += 1
            conversation.reserved[self._last_number] = use
            return Reservation(conversation_id=conversation_id, number=self._last_number, edits=conversation.edits)

    def settle(self, reservation: Reservation, use: Use | None, *, tested: bool) -> None:
        """Count what a call did, None for nothing. `tested`: it ran the tests, on what was edited before it began."""
        with self._lock:
            conversation = self._conversations.setdefault(reservation.conversation_id, _Conversation())
            conversation.reserved.pop(reservation.number, None)
            if use is not None:
                conversation.done += use
                conversation.edits += bool(use.files or use.lines)
            if tested:
                conversation.edits_tested = max(conversation.edits_tested, reservation.edits)

    def untested_edits(self, conversation_id: str) -> int:
        """How many edits no successful test run has followed."""
        with self._lock:
            known = self._conversations.get(conversation_id) or _Conversation()
            return known.edits - known.edits_tested

    def _excess(self, conversation: _Conversation, use: Use) -> Excess | None:
        taken = conversation.taken()
        new = use.files - taken.files
        if self._max_files is not None and new and len(taken.files) + len(new) > self._max_files:
            so_far = f"{len(taken.files):,} so far ({_some(taken.files)})" if taken.files else "none so far"
            return _excess(
                "max_files_modified", "change", "file", self._max_files, so_far, f"{len(new):,} ({_some(new)})"
            )
        if self._max_lines is not None and use.lines and taken.lines + use.lines > self._max_lines:
            so_far = f"{taken.lines:,} so far"
            return _excess("max_lines_changed", "change", "line", self._max_lines, so_far, f"{use.lines:,}")
        if self._max_commands is not None and use.commands and taken.commands + use.commands > self._max_commands:
            so_far = f"{taken.commands:,} so far"
            return _excess("max_commands_executed", "run", "command", self._max_commands, so_far, f"{use.commands:,}")
        return None

    def _forget(self) -> None:
        while len(self._conversations) > _MOST_CONVERSATIONS:
            self._conversations.popitem(last=False)


def _excess(rule: str, verb: str, what: str, most: int, so_far: str, more: str) -> Excess:
    return Excess(
        rule,
        f"a conversation may {verb} at most {most:,} {what}{'s' if most != 1 else ''}: {so_far}, and this call needs "
        f"{more} more. Finish with what is done, or report what else should be.",
    )


def _some(names: Collection[str]) -> str:
    shown = ", ".join(repr(name) for name in sorted(names)[:5])
    return shown if len(names) <= 5 else f"{shown} and {len(names) - 5:,} others"
