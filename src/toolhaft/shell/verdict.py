"""The answer of the classifier: how far a command may be trusted, why, and the paths it touches."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Literal, NamedTuple, Self

Access = Literal["read", "write", "unknown"]


class Level(StrEnum):
    """How far a command may be trusted; levels compare by rank: safe < dev < dangerous < blocked."""

    rank: int  # 0 for safe up to 3 for blocked

    def __new__(cls, value: str, rank: int) -> Self:
        """Make the member of this value and rank."""
        member = str.__new__(cls, value)
        member._value_ = value
        member.rank = rank
        return member

    SAFE = "safe", 0  # it only reads
    DEV = "dev", 1  # a known build, test or lint tool; it runs the project's own code
    DANGEROUS = "dangerous", 2  # everything else, and whatever is not understood
    BLOCKED = "blocked", 3  # refused in every mode

    def __lt__(self, other: str) -> bool:
        """Whether this level is trusted more than `other`."""
        return self.rank < Level(other).rank

    def __le__(self, other: str) -> bool:
        """Whether this level is trusted at least as much as `other`."""
        return self.rank <= Level(other).rank

    def __gt__(self, other: str) -> bool:
        """Whether this level is trusted less than `other`."""
        return self.rank > Level(other).rank

    def __ge__(self, other: str) -> bool:
        """Whether this level is trusted at most as much as `other`."""
        return self.rank >= Level(other).rank


class PathUse(NamedTuple):
    """A path that a command names, as written (quotes removed, `~` for the home folder).

    `access` is unknown where the command is not known to us: treat it as both. `folder` is where `cd` has led before
    (None when nobody can tell): relative paths start there. Without `exact`, the shell may make other paths of it
    (a glob, a variable), or none.
    """

    path: str
    access: Access
    exact: bool = True
    folder: str | None = ""


@dataclass(frozen=True, slots=True)
class Verdict:
    """What `classify` found: the worst part decides the level, and `reason` names it."""

    level: Level
    reason: str
    commands: tuple[str, ...] = ()
    paths: tuple[PathUse, ...] = ()
