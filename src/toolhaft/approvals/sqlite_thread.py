"""The thread that owns the connection to an SQLite file."""

from __future__ import annotations

import asyncio
import os
import sqlite3
import threading
import time
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Any

from toolhaft.approvals import statements
from toolhaft.approvals.errors import ApprovalError
from toolhaft.approvals.sql import Operation, T

BUSY_SECONDS = 30.0
"""How long other processes are waited for."""

_MOST_AT_ONCE = 256

# 16 MB. A step writes some pages again and again; the longer the log, the fewer of them go to the file itself.
_LOG_PAGES = 4_000


@dataclass(slots=True)
class _Job:
    operation: Callable[[], Operation[Any]]
    writes: bool
    loop: asyncio.AbstractEventLoop
    future: asyncio.Future[Any]
    answer: Any = None
    error: BaseException | None = field(default=None)

    def deliver(self) -> None:
        if self.future.done():  # whoever waited was cancelled; what was committed stays
            return
        if self.error is not None:
            self.future.set_exception(self.error)
        else:
            self.future.set_result(self.answer)


class SqliteThread:
    """Runs operations one after the other; starts with the first of them."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._jobs: SimpleQueue[_Job | None] = SimpleQueue()
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self._closed = False

    async def run(self, operation: Callable[[], Operation[T]], *, writes: bool) -> T:
        """What the operation answers, once it is committed. Raises what it raises, and `sqlite3.Error`."""
        loop = asyncio.get_running_loop()
        job = _Job(operation, writes, loop, loop.create_future())
        with self._lock:
            if self._closed:
                raise RuntimeError(f"the store in {str(self._path)!r} is closed. Open another one.")
            if self._thread is None:
                # A daemon: a store that nobody closed must not keep the process from ending.
                self._thread = threading.Thread(target=self._serve, name="toolhaft-approvals", daemon=True)
                self._thread.start()
            self._jobs.put(job)
        return await job.future

    async def aclose(self) -> None:
        """Finish what was asked for, and end the thread."""
        with self._lock:
            thread, self._closed = self._thread, True
            self._jobs.put(None)
        if thread is not None:
            await asyncio.to_thread(thread.join)

    def _serve(self) -> None:
        connection: sqlite3.Connection | None = None
        while (jobs := self._next()) is not None:
            try:
                connection = connection or connect(self._path)
            except (sqlite3.Error, OSError) as error:
                _fail(jobs, error)
            else:
                _run_reads(connection, [job for job in jobs if not job.writes])
                _run_writes(connection, [job for job in jobs if job.writes])
            _deliver(jobs)
        if connection is not None:
            connection.close()

    def _next(self) -> list[_Job] | None:
        """Whatever waits; None when it is time to end."""
        first = self._jobs.get()
        if first is None:
            return None
        jobs = [first]
        while len(jobs) < _MOST_AT_ONCE:
            try:
                job = self._jobs.get_nowait()
            except Empty:
                break
            if job is None:
                self._jobs.put(None)
                break
            jobs.append(job)
        return jobs


def connect(path: Path) -> sqlite3.Connection:
    """A connection to the file, which is made with its tables where it is not there, for its owner's eyes alone."""
    os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600))
    connection = sqlite3.connect(path, timeout=BUSY_SECONDS, isolation_level=None)
    _set_up(connection)
    return connection


def _set_up(connection: sqlite3.Connection) -> None:
    _write_ahead(connection)
    connection.execute("PRAGMA synchronous = FULL")  # in this mode a commit is on the disk when it returns
    connection.execute(f"PRAGMA wal_autocheckpoint = {_LOG_PAGES}")
    connection.execute("BEGIN IMMEDIATE")
    for statement in statements.SCHEMA:
        connection.execute(_ours(statement))
    for name, columns in statements.INDEXES.items():
        connection.execute(f"CREATE INDEX IF NOT EXISTS {name} ON {columns}")
    connection.execute("COMMIT")


def _write_ahead(connection: sqlite3.Connection) -> None:
    """Switch the file to a write-ahead log. SQLite does not wait for others here, so we do."""
    give_up = time.monotonic() + BUSY_SECONDS
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL")
        except sqlite3.OperationalError:
            if time.monotonic() > give_up:
                raise
            time.sleep(0.01)
        else:
            return


def _run_reads(connection: sqlite3.Connection, jobs: list[_Job]) -> None:
    for job in jobs:
        _attempt(connection, [job], begin="BEGIN")


def _run_writes(connection: sqlite3.Connection, jobs: list[_Job]) -> None:
    """All in one transaction; where that fails, each in its own, so that one takes no other with it."""
    if jobs and not _attempt(connection, jobs, begin="BEGIN IMMEDIATE") and len(jobs) > 1:
        for job in jobs:
            _attempt(connection, [job], begin="BEGIN IMMEDIATE")


def _attempt(connection: sqlite3.Connection, jobs: list[_Job], *, begin: str) -> bool:
    """Run them and commit; whether that went well. A refusal is an answer: it comes before anything is written."""
    try:
        connection.execute(begin)
        for job in jobs:
            job.answer = job.error = None
            try:
                job.answer = _drive(connection, job.operation())
            except ApprovalError as refusal:
                job.error = refusal
        connection.execute("COMMIT")
    except Exception as error:  # noqa: BLE001 - each of them is told, and the thread goes on
        _fail(jobs, error)
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        return False
    return True


def _drive(connection: sqlite3.Connection, operation: Operation[T]) -> T:
    rows: list[tuple[Any, ...]] | None = None
    while True:
        try:
            statement, parameters = next(operation) if rows is None else operation.send(rows)
        except StopIteration as end:
            return end.value
        with closing(connection.execute(_ours(statement), parameters)) as cursor:
            rows = cursor.fetchall()


@lru_cache(maxsize=256)
def _ours(statement: str) -> str:
    return statement.replace("{schema}", "main")


def _fail(jobs: list[_Job], error: BaseException) -> None:
    for job in jobs:
        job.error = error


def _deliver(jobs: list[_Job]) -> None:
    for loop in {job.loop for job in jobs}:
        answered = [job for job in jobs if job.loop is loop]
        try:
            loop.call_soon_threadsafe(_deliver_all, answered)
        except RuntimeError:  # the loop is closed, and with it ended whoever waited
            continue


def _deliver_all(jobs: list[_Job]) -> None:
    for job in jobs:
        job.deliver()
