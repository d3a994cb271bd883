"""Approvals that outlive the process: one decision, one execution, nothing lost.

`states` is the law; `record` and `pause` are what is kept; `store` is what every store does. The stores: `memory`,
`sqlite`, `postgres`, `redis`. Importing this loads none of the libraries that a store may need.
"""

from toolhaft.approvals.chain import Change, Verdict
from toolhaft.approvals.errors import (
    AlreadyDecided,
    ApprovalError,
    CallTooLarge,
    CannotBegin,
    DuplicateCall,
    LeaseLost,
    PauseTaken,
    StoreFull,
    UnsafeStore,
    WrongDigest,
)
from toolhaft.approvals.memory import MemoryStore
from toolhaft.approvals.pause import Pause, PauseState
from toolhaft.approvals.record import ApprovalRecord, CallKey, Decision, Lease, digest_of
from toolhaft.approvals.states import State, diagram
from toolhaft.approvals.store import (
    DEFAULT_LEASE_SECONDS,
    DEFAULT_MAX_PENDING,
    DEFAULT_PENDING_TTL_SECONDS,
    ApprovalStore,
)

__all__ = [
    "DEFAULT_LEASE_SECONDS",
    "DEFAULT_MAX_PENDING",
    "DEFAULT_PENDING_TTL_SECONDS",
    "AlreadyDecided",
    "ApprovalError",
    "ApprovalRecord",
    "ApprovalStore",
    "CallKey",
    "CallTooLarge",
    "CannotBegin",
    "Change",
    "Decision",
    "DuplicateCall",
    "Lease",
    "LeaseLost",
    "MemoryStore",
    "Pause",
    "PauseState",
    "PauseTaken",
    "State",
    "StoreFull",
    "UnsafeStore",
    "Verdict",
    "WrongDigest",
    "diagram",
    "digest_of",
]
