"""Calls that wait, from the command line: look, decide, go on, audit."""

from __future__ import annotations

import getpass
import json
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import asdict
from importlib import import_module
from typing import Any, cast

from pydantic_ai import Agent
from rich.console import Console
from rich.syntax import Syntax

from toolhaft.approvals import ApprovalError, ApprovalRecord, ApprovalStore, State
from toolhaft.approvals.desk import Desk
from toolhaft.call_log import shown_arguments
from toolhaft.registry import ToolNotFoundError

_MISTAKES = (ApprovalError, ToolNotFoundError, TypeError, ValueError, TimeoutError, ImportError, AttributeError)


async def print_waiting(store: str) -> int:
    """Print the calls that wait for a person, one a line."""
    async with _desk(store) as desk:
        for record in await desk.pending():
            where = f"{record.conversation_id}\t{record.call_id}\t{record.state}"
            print(f"{where}\t{record.tool}({shown_arguments(record.final_arguments)})\t{record.message}")
    return 0


async def print_call(store: str, call_id: str, conversation_id: str | None) -> int:
    """Print what is known of a call, with the diff of its preview."""
    async with _desk(store) as desk:
        record = await desk.find(call_id, conversation_id=conversation_id)
        _show(record)
    return 0


async def decide(
    store: str, call_id: str, conversation_id: str | None, *, edits: str | None = None, reject: str | None = None
) -> int:
    """Approve a call, with edits (JSON) if there are any, or reject it for a reason."""
    by = getpass.getuser()
    async with _desk(store) as desk:
        if reject is not None:
            record = await desk.reject(call_id, reject, by=by, conversation_id=conversation_id)
        else:
            given = None if edits is None else _object(edits)
            record = await desk.approve(call_id, given, by=by, conversation_id=conversation_id)
        print(f"{record.call_id}: {record.state} by {by}")
    return 0


async def resume(store: str, conversation_id: str, agent: str) -> int:
    """Continue the run that waits in a conversation with the agent at `module:name`, and print its output."""
    async with _desk(store) as desk:
        result = await desk.resume(_agent(agent), conversation_id)
        print(result.output)
    return 0


def _agent(place: str) -> Agent[Any, Any]:
    sys.path.insert(0, "")  # as `python -m` has it: the agent is code of the folder one stands in
    module, _, name = place.partition(":")
    found = getattr(import_module(module), name or "agent")
    if not isinstance(found, Agent):
        raise TypeError(f"{place!r} is no pydantic-ai Agent. Name it as module:name.")
    return cast("Agent[Any, Any]", found)


async def audit(store: str, *, verify: bool) -> int:
    """Print the history, oldest first; with `verify` tell whether every row is there and as it was written."""
    async with _desk(store) as desk:
        if verify:
            verdict = await desk.store.verify()
            print(f"{verdict.rows} rows, " + ("intact" if verdict.is_intact else "NOT intact:"))
            print(*verdict.faults, sep="\n", end="\n" if verdict.faults else "")
            return 0 if verdict.is_intact else 1
        after = 0
        while changes := await desk.store.history(after=after):
            for change in changes:
                print(json.dumps(asdict(change)))
            after = changes[-1].seq
    return 0


@asynccontextmanager
async def _desk(store: str) -> AsyncGenerator[Desk]:
    """A desk at a store; what goes wrong is told, and the program ends with status 2."""
    try:
        async with opened_store(store) as opened:
            yield Desk(opened)
    except _MISTAKES as error:
        print(str(error) or type(error).__name__, file=sys.stderr)
        sys.exit(2)


@asynccontextmanager
async def opened_store(store: str) -> AsyncGenerator[ApprovalStore]:
    """The store at an address: `redis://...`, `postgresql://...`, else a file of SQLite."""
    if store.startswith(("redis://", "rediss://")):
        from redis.asyncio import Redis  # the library of this store, and of no other

        from toolhaft.approvals.redis import RedisStore

        client: Redis = Redis.from_url(store)  # pyright: ignore[reportUnknownMemberType] - it takes any setting
        async with client, RedisStore(client) as opened:
            yield opened
    elif store.startswith(("postgres://", "postgresql://")):
        from toolhaft.approvals.postgres import PostgresStore

        async with PostgresStore(store) as opened:
            yield opened
    else:
        from toolhaft.approvals.sqlite import SqliteStore

        async with SqliteStore(store) as opened:
            yield opened


def _object(text: str) -> dict[str, Any]:
    edits = json.loads(text)
    if not isinstance(edits, dict):
        raise TypeError(f"the edits {text!r} are no JSON object. Write them as {{'name': value}}.")
    return cast("dict[str, Any]", edits)


def _show(record: ApprovalRecord) -> None:
    facts = {
        "conversation": record.conversation_id,
        "call": record.call_id,
        "state": str(record.state),
        "tool": record.tool,
        "arguments": shown_arguments(record.final_arguments),
        "reason": f"{record.reason}: {record.message}",
    }
    if record.state is State.UNKNOWN:
        facts["note"] = "it was begun and may have partly run; look before you approve it again"
    for name, fact in facts.items():
        print(f"{name}: {fact}")
    preview: dict[str, Any] = record.preview or {}
    console = Console()
    diffs: list[dict[str, Any]] = preview.get("diff") or []
    for diff in diffs:
        console.print(Syntax(diff["unified"], "diff", background_color="default"))
    if not diffs and preview.get("preview"):
        print(f"\n{preview['preview']}")
