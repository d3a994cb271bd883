"""The ways to an MCP server: a command that is started here, a URL, a server in this process, a transport."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from importlib.util import find_spec
from typing import Any, cast


def checked_server(server: Any) -> Any:
    """The server, if there is a way to it. Raises `TypeError`, and `ImportError` without the library."""
    if find_spec("mcp") is None:
        raise ImportError("MCP servers need the library mcp, which is not installed. Run: pip install 'toolhaft[mcp]'")
    from mcp import StdioServerParameters
    from mcp.server import MCPServer, Server

    if isinstance(server, str) and not server.startswith(("http://", "https://")):
        raise TypeError(
            f"the MCP server {server!r} is no URL. Give a command as a list, such as ['npx', '-y', 'its-package']."
        )
    is_known = isinstance(server, StdioServerParameters | Server | MCPServer) or callable(server)
    if not (is_known or _is_command(server)):
        raise TypeError(
            f"{server!r} is no MCP server. Give a URL, a command as a list of words, StdioServerParameters, a server "
            "of the SDK, or a function that opens a transport."
        )
    return cast("object", server)


def _is_command(server: Any) -> bool:
    words = cast("Sequence[object]", server) if isinstance(server, Sequence) else ()
    return bool(words) and all(isinstance(word, str) for word in words)


def transport_to(server: Any, gone: asyncio.Event) -> Any:
    """What the SDK's client connects to; where there is a stream, `gone` tells its end."""
    from mcp import StdioServerParameters
    from mcp.client.stdio import stdio_client
    from mcp.client.streamable_http import streamable_http_client
    from mcp.server import MCPServer, Server

    if isinstance(server, Server | MCPServer):
        return cast("object", server)
    if isinstance(server, str):
        return _watched(streamable_http_client(server), gone)
    if isinstance(server, StdioServerParameters):
        return _watched(stdio_client(server), gone)
    if callable(server):
        return _watched(server(), gone)
    return _watched(stdio_client(StdioServerParameters(command=server[0], args=list(server[1:]))), gone)


@asynccontextmanager
async def _watched(transport: Any, gone: asyncio.Event) -> AsyncGenerator[Any]:
    """The transport, with the end of what the server sends made known: until a call failed, nobody would notice."""
    from anyio import create_memory_object_stream, create_task_group

    async with transport as (received, sent), create_task_group() as group:
        passing_on, passed_on = create_memory_object_stream[Any](0)

        async def pass_on() -> None:
            async with passing_on:
                async for message in received:
                    await passing_on.send(message)
            gone.set()

        group.start_soon(pass_on)
        async with passed_on:
            yield passed_on, sent
            group.cancel_scope.cancel()
