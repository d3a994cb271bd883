"""The store in a file, for the processes of one machine: the one to begin with.

One thread of each process writes, over a connection of its own. Connections that share the work lose by waiting for
each other; a connection that coroutines share can acknowledge a claim before it is committed. What is asked for while
a commit is under way is committed together with the next, so that many claimants share one wait for the disk.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from toolhaft.approvals import statements
from toolhaft.approvals.limits import Limits
from toolhaft.approvals.sql import Operation, SqlStore, T
from toolhaft.approvals.sqlite_thread import SqliteThread
from toolhaft.approvals.store import DEFAULT_DURABLE_TTL_SECONDS, Clock


class SqliteStore(SqlStore):
    """Approvals in an SQLite file, made where it is not there; what is acknowledged survives `kill -9` and power loss.

    ```python
    async with SqliteStore("approvals.db") as store:
        print(await store.list())
    ```
    """

    def __init__(
        self,
        path: str | Path = "approvals.db",
        *,
        ttl_seconds: float = DEFAULT_DURABLE_TTL_SECONDS,
        max_pending: int | None = None,
        clock: Clock = time.time,
        **sizes: Any,
    ) -> None:
        limits = Limits(ttl_seconds=ttl_seconds, max_pending=max_pending, **sizes)
        super().__init__(limits=limits, clock=clock, lock=statements.HEAD, now="")
        self._thread = SqliteThread(Path(path))

    async def run(self, operation: Callable[[], Operation[T]], *, writes: bool = True) -> T:
        return await self._thread.run(operation, writes=writes)

    async def aclose(self) -> None:
        await self._thread.aclose()
