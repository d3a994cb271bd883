"""One connection to an MCP server: opened when it is needed, and anew when it is gone.

The connection lives in a task of its own, as the SDK must leave it in the task that entered it, while calls come from
any task. A server that has ended is known by the end of its stream. One that did not answer in time may be dead or only
slow: before the next call it is asked for its list of tools, and where it does not answer that either, it is ended and
started anew. No call is ever sent twice: what happened to one that was under way nobody can know.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Any, cast

from toolhaft.exceptions import describe
from toolhaft.makers.mcp_reach import transport_to

if TYPE_CHECKING:
    from mcp import Client
    from mcp.types import CallToolResult, Tool

LOGGER = logging.getLogger("toolhaft.mcp")

LIST_CHANGED = "notifications/tools/list_changed"


class McpServerError(ConnectionError):
    """An MCP server cannot be reached, has ended, or does not answer. The text names the server."""


class McpConnection:
    """The way to one server, for any number of calls at once."""

    def __init__(self, server: Any, *, name: str, timeout_seconds: float) -> None:
        self.name = name
        self.timeout_seconds = timeout_seconds
        self._server = server
        self._lock = asyncio.Lock()
        self._kept: _Kept | None = None
        self._is_doubtful = False
        self.has_changed = True
        """Whether the list of tools may be another than the one that was read last."""

    async def list_tools(self) -> list[Tool]:
        """The server's tools, all pages. Raises `McpServerError`."""
        try:
            client = await self._client()
            self.has_changed = False  # before: a change that comes while it is read is seen by the next one
            async with asyncio.timeout(self.timeout_seconds):
                return await _all_tools(client)
        except Exception as error:
            self.has_changed = True
            raise self._failed("did not give its list of tools", error) from error

    async def call_tool(self, name: str, arguments: dict[str, Any]) -> CallToolResult:
        """What the server answers. Raises `McpServerError`, and the SDK's `MCPError` for what the server refuses.

        The time is that without any word: each report of progress starts it anew.
        """
        from mcp import MCPError
        from mcp.types import CONNECTION_CLOSED

        client = await self._client()
        clock = asyncio.get_running_loop()
        limit = asyncio.timeout(self.timeout_seconds)

        async def progressed(progress: float, total: float | None, message: str | None) -> None:
            if not limit.expired():
                limit.reschedule(clock.time() + self.timeout_seconds)

        try:
            async with limit:
                return await client.call_tool(name, arguments, progress_callback=progressed)
        except MCPError as error:
            self._is_doubtful = True
            if error.code != CONNECTION_CLOSED:
                raise
            raise self._failed("ended during the call, which may have been carried out or not", error) from error
        except TimeoutError as error:
            self._is_doubtful = True
            told = f"gave neither an answer nor a sign of progress for {self.timeout_seconds:g} seconds"
            raise self._failed(f"{told}; the call was given up, and may have been carried out or not", error) from error
        except Exception as error:
            self._is_doubtful = True
            raise self._failed("could not be understood", error) from error

    async def aclose(self) -> None:
        """End the connection, and the server where it is a process of ours; another call opens it anew."""
        kept, self._kept = self._kept, None
        if kept is not None:
            await kept.end()

    async def _client(self) -> Client:
        """The open connection, opened if it has to be."""
        async with self._lock:
            if self._kept is not None and self._is_doubtful and self._kept.is_open:
                await self._ask_for_a_sign(self._kept)
            self._is_doubtful = False
            if self._kept is None or not self._kept.is_open:
                if self._kept is not None:
                    LOGGER.warning("the MCP server %r has ended; it is started anew", self.name)
                await self.aclose()
                self._kept = await self._opened()
            return self._kept.client

    async def _ask_for_a_sign(self, kept: _Kept) -> None:
        try:
            async with asyncio.timeout(min(5.0, self.timeout_seconds)):
                await kept.client.list_tools(cache_mode="bypass")
        except Exception as error:  # noqa: BLE001 - whatever it is, this connection is of no use
            LOGGER.warning("the MCP server %r gives no sign (%s); it is ended", self.name, describe(error))
            await self.aclose()

    async def _opened(self) -> _Kept:
        self.has_changed = True
        kept = _Kept(self._server, self._list_changed)
        try:
            async with asyncio.timeout(self.timeout_seconds):
                await kept.start()
        except BaseException as error:
            await kept.end()
            if not isinstance(error, Exception):
                raise
            raise self._failed("cannot be reached", error) from error
        return kept

    def _list_changed(self) -> None:
        self.has_changed = True

    def _failed(self, what: str, error: Exception) -> McpServerError:
        if isinstance(error, McpServerError):
            return error
        why = "" if isinstance(error, TimeoutError) and "neither" in what else f" ({_innermost(error)})"
        return McpServerError(f"the MCP server {self.name!r} {what}{why}")


class _Kept:
    """A task that holds one connection open until it is told to end it."""

    def __init__(self, server: Any, on_change: Callable[[], None]) -> None:
        self._server = server
        self._on_change = on_change
        self._stop = asyncio.Event()
        self._gone = asyncio.Event()
        self._ready: asyncio.Future[Client] = asyncio.get_running_loop().create_future()
        self._task = asyncio.create_task(self._keep())

    @property
    def client(self) -> Client:
        return self._ready.result()

    @property
    def is_open(self) -> bool:
        return not self._task.done() and not self._gone.is_set()

    async def start(self) -> None:
        """Wait until it is open. Raises what keeps it from opening."""
        await asyncio.shield(self._ready)

    async def end(self) -> None:
        """Close it, by force where it is not open yet."""
        self._stop.set()
        if not self._ready.done():
            self._task.cancel()
        await asyncio.wait([self._task])

    async def _keep(self) -> None:
        from mcp import Client

        try:
            target = transport_to(self._server, self._gone)
            async with Client(target, message_handler=self._heard, cache=None) as client:
                self._ready.set_result(client)
                watching = asyncio.create_task(self._watch(client))
                try:
                    await self._stop.wait()
                finally:
                    watching.cancel()
                    await asyncio.wait([watching])
        except Exception as error:  # noqa: BLE001 - whoever waits is told; afterwards, whoever calls finds it closed
            if not self._ready.done():
                self._ready.set_exception(error)
            else:
                LOGGER.warning("the connection to an MCP server broke: %s", _innermost(error))
        finally:
            self._gone.set()
            if not self._ready.cancel() and not self._ready.cancelled():
                self._ready.exception()  # so that nobody is missed where nobody waits any more

    async def _heard(self, message: Any) -> None:
        if getattr(message, "method", None) == LIST_CHANGED:
            self._on_change()

    async def _watch(self, client: Client) -> None:
        """Listen for changes of the list, where the protocol's version has it that one asks to be told."""
        from mcp import MCPError
        from mcp.client.subscriptions import ListenNotSupportedError, SubscriptionLost

        with suppress(ListenNotSupportedError, SubscriptionLost, MCPError, TimeoutError):
            async with client.listen(tools_list_changed=True) as changes:
                async for _ in changes:
                    self._on_change()


async def _all_tools(client: Client) -> list[Tool]:
    page = await client.list_tools(cache_mode="bypass")
    tools = list(page.tools)
    while page.next_cursor is not None:
        page = await client.list_tools(cursor=page.next_cursor, cache_mode="bypass")
        tools += page.tools
    return tools


def _innermost(error: BaseException) -> str:
    """What went wrong, out of the groups that tasks wrap it in."""
    while isinstance(error, BaseExceptionGroup):
        error = cast("BaseExceptionGroup[BaseException]", error).exceptions[0]
    return describe(error)
