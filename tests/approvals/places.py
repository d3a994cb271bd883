"""Where the durable stores of a test lie, in words that another process understands."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import Any

from toolhaft.approvals import ApprovalStore

KINDS = ("sqlite", "redis", "postgres")


@dataclass(frozen=True)
class Place:
    """A kind of store, the file or server where it is, and its own part of it."""

    kind: str
    where: str
    part: str = ""

    def open(self, **settings: Any) -> ApprovalStore:
        """A store there."""
        if self.kind == "sqlite":
            from toolhaft.approvals.sqlite import SqliteStore

            return SqliteStore(self.where, **settings)
        if self.kind == "redis":
            from toolhaft.approvals.redis import RedisStore

            return RedisStore.from_url(self.where, key_prefix=self.part, **settings)
        from toolhaft.approvals.postgres import PostgresStore

        return PostgresStore(self.where, schema=self.part, **settings)

    def to_json(self) -> str:
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str) -> Place:
        return cls(**json.loads(text))
