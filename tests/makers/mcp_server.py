"""An MCP server to test against: it does what it is told, also what no server should. `python -m` runs it."""

import asyncio
import os
import sys
from typing import Any

from mcp.server import MCPServer
from mcp.server.mcpserver import Context
from mcp.types import (
    BlobResourceContents,
    CallToolResult,
    EmbeddedResource,
    ImageContent,
    ResourceLink,
    TextContent,
    TextResourceContents,
    ToolAnnotations,
)

PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="


def a_server() -> MCPServer:
    """The server, for this process or one of its own."""
    server = MCPServer("test", log_level="CRITICAL")

    @server.tool(annotations=ToolAnnotations(read_only_hint=True))
    def echo(text: str, times: int = 1) -> str:
        """Say it again.

        Args:
            text: this line must reach the model to the letter.
        """
        return text * times

    @server.tool()
    def fail() -> CallToolResult:
        """Fail."""
        return CallToolResult(content=[TextContent(text="the disk is full")], is_error=True)

    @server.tool()
    def fail_silently() -> CallToolResult:
        """Fail, and do not say why."""
        return CallToolResult(content=[], is_error=True)

    @server.tool()
    def media() -> CallToolResult:
        """Many kinds of content."""
        return CallToolResult(
            content=[
                TextContent(text="see"),
                ImageContent(data=PIXEL, mime_type="image/png"),
                EmbeddedResource(resource=TextResourceContents(uri="test://text", text="words")),
                EmbeddedResource(
                    resource=BlobResourceContents(uri="test://zip", blob="UEs=", mime_type="application/zip")
                ),
                ResourceLink(uri="test://far", name="far", description="Not here."),
            ],
            structured_content={"seen": 1},
        )

    @server.tool()
    def only_image() -> CallToolResult:
        """An image, and facts."""
        return CallToolResult(
            content=[ImageContent(data=PIXEL, mime_type="image/png"), ImageContent(data="?", mime_type="image/png")],
            structured_content={"seen": 1},
        )

    @server.tool()
    def facts() -> CallToolResult:
        """Facts alone."""
        return CallToolResult(content=[], structured_content={"seen": 1})

    @server.tool()
    def long() -> CallToolResult:
        """More than anybody reads."""
        return CallToolResult(content=[TextContent(text="x" * 150_000)])

    @server.tool()
    def pid() -> str:
        """Which process this is."""
        return str(os.getpid())

    @server.tool()
    def die() -> str:
        """End the server."""
        os._exit(3)

    @server.tool()
    async def hang() -> str:
        """Never answer."""
        await asyncio.Event().wait()
        return ""

    @server.tool()
    def freeze() -> str:
        """Never answer anything any more."""
        os.kill(os.getpid(), 19)  # SIGSTOP
        return ""

    @server.tool()
    async def work(steps: int, seconds: float, ctx: Context[Any]) -> str:
        """Take long, and say so at each step."""
        for step in range(steps):
            await asyncio.sleep(seconds)
            await ctx.report_progress(step + 1, steps)
        return "done"

    @server.tool()
    async def learn(name: str, ctx: Context[Any]) -> str:
        """Have one more tool, forget `facts`."""

        def learned() -> str:
            return f"I am {name}"

        server.add_tool(learned, name=name, description="New.")
        server.remove_tool("facts")
        await ctx.notify_tools_changed()
        await ctx.session.send_tool_list_changed()
        return "learned"

    return server


if __name__ == "__main__":
    a_server().run(sys.argv[1] if len(sys.argv) > 1 else "stdio")  # type: ignore[arg-type]
