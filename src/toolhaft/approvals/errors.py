"""What a store refuses, and whom it tells that somebody else was first."""

from __future__ import annotations

from toolhaft.approvals.pause import Pause
from toolhaft.approvals.record import ApprovalRecord, CallKey, Decision


class ApprovalError(Exception):
    """A store did not do what it was asked, and changed nothing."""


class StoreFull(ApprovalError):  # noqa: N818 - the name is public
    """The store holds as many pending calls as it may."""


class DuplicateCall(ApprovalError):  # noqa: N818
    """The store has a call with this conversation id and call id; a call is filed once."""


class CallTooLarge(ApprovalError):  # noqa: N818
    """The call, or the messages of a pause, are larger than the store takes."""


class UnsafeStore(ApprovalError):  # noqa: N818
    """The server is set up so that it may lose what it was given to keep."""


class AlreadyDecided(ApprovalError):  # noqa: N818
    """Somebody else decided first. `decision` is what they decided; None where the call expired or never was there."""

    def __init__(self, key: CallKey, record: ApprovalRecord | None) -> None:
        self.key = key
        self.record = record
        """The call as it is now, None where it never was there."""
        self.decision: Decision | None = record.decision if record else None
        super().__init__(f"Call {key.call_id!r} cannot be decided: {_standing(record)}. Nothing has changed.")


class CannotBegin(ApprovalError):  # noqa: N818
    """The call is not approved, or somebody has begun it: it must not run."""

    def __init__(self, key: CallKey, record: ApprovalRecord | None, *, why: str = "") -> None:
        self.key = key
        self.record = record
        super().__init__(f"Call {key.call_id!r} must not run: {why or _standing(record)}.")


class WrongDigest(CannotBegin):
    """What would run is not what was approved."""


class LeaseLost(ApprovalError):  # noqa: N818
    """The call, or the pause, is no longer this owner's."""

    def __init__(self, name: str, owner: str) -> None:
        super().__init__(f"{name!r} is no longer leased to {owner!r}. Stop, and look at what it is now.")


class PauseTaken(ApprovalError):  # noqa: N818
    """Somebody else continues the run, or has continued it. `pause` is None where there is none of that id."""

    def __init__(self, pause_id: str, pause: Pause | None) -> None:
        self.pause = pause
        owner = pause.lease.owner if pause and pause.lease else None
        standing = f"it is {pause.state.value} by {owner!r}" if pause else "there is none of that id"
        super().__init__(f"Pause {pause_id!r} cannot be taken: {standing}.")


def _standing(record: ApprovalRecord | None) -> str:
    if record is None:
        return "there is no such call"
    by = record.lease.owner if record.lease else record.decision.by if record.decision else None
    return f"it is {record.state.value}" + (f" by {by!r}" if by else "")
