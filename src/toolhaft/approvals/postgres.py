"""The store in PostgreSQL, for processes of many machines. Time is the server's.

Who writes locks the head of the history first, so writers of all processes take turns and each reads what the one
before has committed.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable
from functools import lru_cache
from typing import TYPE_CHECKING, Any, LiteralString, cast

from toolhaft.approvals import statements
from toolhaft.approvals.limits import Limits
from toolhaft.approvals.sql import Operation, SqlStore, T
from toolhaft.approvals.store import DEFAULT_DURABLE_TTL_SECONDS, Clock

if TYPE_CHECKING:
    from psycopg import AsyncConnection

_PARAMETER = re.compile(r":(\w+)")
_SCHEMA_NAME = re.compile(r"[a-z_][a-z0-9_]{0,62}")

# One number for all, so that two who start at once do not both make the tables.
_MAKING_TABLES = 7_406_159_431


class PostgresStore(SqlStore):
    """Approvals in a PostgreSQL database, over one connection: its own, or a client's that stays yours.

    ```python
    async with PostgresStore("host=localhost dbname=shop") as store:
        print(await store.list())
    ```

    A connection of its own is opened anew after it was lost; what was under way then raises `psycopg.OperationalError`
    and may be asked again. `schema` is made where it is not there.
    """

    def __init__(
        self,
        database: str | AsyncConnection[Any],
        *,
        schema: str = "toolhaft",
        ttl_seconds: float = DEFAULT_DURABLE_TTL_SECONDS,
        max_pending: int | None = None,
        clock: Clock | None = None,
        **sizes: Any,
    ) -> None:
        if not _SCHEMA_NAME.fullmatch(schema):
            raise ValueError(f"schema={schema!r} is no plain name. Use small letters, digits and underscores.")
        limits = Limits(ttl_seconds=ttl_seconds, max_pending=max_pending, **sizes)
        lock = f"{statements.HEAD} FOR UPDATE"
        super().__init__(limits=limits, clock=clock, lock=lock, now="SELECT extract(epoch FROM clock_timestamp())")
        self._conninfo = database if isinstance(database, str) else None
        self._connection = None if isinstance(database, str) else database
        self._schema = schema
        self._is_set_up = False
        self._turn = asyncio.Lock()

    async def run(self, operation: Callable[[], Operation[T]], *, writes: bool = True) -> T:
        async with self._turn:
            connection = await self._connected()
            async with connection.transaction(), connection.cursor() as cursor:
                rows: list[tuple[Any, ...]] | None = None
                steps = operation()
                while True:
                    try:
                        statement, parameters = next(steps) if rows is None else steps.send(rows)
                    except StopIteration as end:
                        answer = end.value
                        break
                    await cursor.execute(in_postgres(statement, self._schema), parameters)
                    rows = await cursor.fetchall() if cursor.description else []
        return answer

    async def aclose(self) -> None:
        if self._conninfo is not None and self._connection is not None:
            await self._connection.close()

    async def _connected(self) -> AsyncConnection[Any]:
        from psycopg import AsyncConnection
        from psycopg.pq import TransactionStatus

        if self._conninfo is not None and (self._connection is None or self._connection.closed):
            self._connection = await AsyncConnection.connect(self._conninfo, autocommit=True)
            await self._connection.execute("SET synchronous_commit = on")
        connection = cast("AsyncConnection[Any]", self._connection)
        if connection.info.transaction_status is not TransactionStatus.IDLE:
            raise RuntimeError(
                "the connection is in a transaction of yours: what the store acknowledges would not be committed. "
                "Give the store a connection of its own."
            )
        if not self._is_set_up:
            await self._set_up(connection)
            self._is_set_up = True
        return connection

    async def _set_up(self, connection: AsyncConnection[Any]) -> None:
        async with connection.transaction(), connection.cursor() as cursor:
            await cursor.execute("SELECT pg_advisory_xact_lock(%s)", (_MAKING_TABLES,))
            await cursor.execute("SELECT to_regclass(%s)", (f"{self._schema}.pauses_of_conversation",))
            found = await cursor.fetchone()
            if found is not None and found[0] is not None:
                return
            await cursor.execute(in_postgres("CREATE SCHEMA IF NOT EXISTS {schema}", self._schema))
            for statement in statements.SCHEMA:
                await cursor.execute(in_postgres(statement, self._schema))
            for name, columns in statements.INDEXES.items():
                statement = f"CREATE INDEX IF NOT EXISTS {name} ON {{schema}}.{columns}"
                await cursor.execute(in_postgres(statement, self._schema))


@lru_cache(maxsize=256)
def in_postgres(statement: str, schema: str) -> LiteralString:
    """A statement as psycopg takes it. All are constants of this package, and the schema's name is a plain one."""
    return cast("LiteralString", _PARAMETER.sub(r"%(\1)s", statement.replace("{schema}", schema)))
