"""The tools of an MCP server as tools of ours: they meet the same pipeline, and keep the words of their author.

A server is another program, and what it says of its tools is a hint: each is of kind `mcp` and sensitive, whatever it
claims. Its schema and its description reach the model to the letter.
"""

from __future__ import annotations

import hashlib
import logging
import re
from types import TracebackType
from typing import TYPE_CHECKING, Any

from pydantic_core import to_jsonable_python

from toolhaft.decorators.making import AsyncFunction
from toolhaft.exceptions import ToolExecutionError
from toolhaft.makers.given_schema import tool_of_schema
from toolhaft.makers.mcp_answer import answer_of, text_of
from toolhaft.makers.mcp_connection import McpConnection, McpServerError
from toolhaft.makers.mcp_reach import checked_server
from toolhaft.registry import DuplicateToolError
from toolhaft.spec import ToolKind, tool_spec

if TYPE_CHECKING:
    from mcp.types import Tool

LOGGER = logging.getLogger("toolhaft.mcp")

LONGEST_NAME = 64
"""Characters: what providers take as the name of a function."""

_HASH = 8


def mcp_tools(server: Any, *, name: str, timeout_seconds: float = 60) -> McpTools:
    """The tools of an MCP server, each named `mcp_<name>_<its name>`.

    `server` is a URL, a command as a list of words, `StdioServerParameters` (with folder and environment), a server of
    the SDK in this process, or a function that opens a transport of the SDK. `timeout_seconds` is how long a call may
    go on without an answer or a report of progress.

    ```python
    github = mcp_tools("https://example.com/mcp", name="github")
    agent = Agent(model, capabilities=[Toolkit("./repo", tools=["coding", github])])

    async with mcp_tools(["npx", "-y", "some-server"], name="some") as tools:
        registry = Registry()
        for tool in tools:
            registry.register(tool)
    ```

    Raises `ImportError` without the library `mcp`.
    """
    return McpTools(server, name=name, timeout_seconds=timeout_seconds)


class McpTools:
    """A server's tools, as they are at the moment. Opened with `async with`, or by the first call; see `mcp_tools`."""

    def __init__(self, server: Any, *, name: str, timeout_seconds: float = 60) -> None:
        if not re.fullmatch(r"[A-Za-z0-9_-]{1,32}", name):
            raise ValueError(f"name={name!r} cannot stand in names of tools. Use 1 to 32 of A-Z, a-z, 0-9, _ and -.")
        self.name = name
        self._connection = McpConnection(checked_server(server), name=name, timeout_seconds=timeout_seconds)
        self._tools: dict[str, AsyncFunction] = {}
        self._listed: dict[str, Tool] = {}
        self._entered = 0

    async def __aenter__(self) -> list[AsyncFunction]:
        """The tools; `tools()` tells later ones. Raises `McpServerError` where the server cannot be reached."""
        tools = await self.tools()
        self._entered += 1
        return tools

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._entered -= 1
        if not self._entered:
            await self.aclose()

    async def aclose(self) -> None:
        """End the connection, and the server where it is a process that was started here. A call opens it anew."""
        await self._connection.aclose()

    async def tools(self) -> list[AsyncFunction]:
        """The server's tools, read anew where it said that they changed, and where it was started anew.

        Where it cannot be reached any more they are those of before, and a call tells why it fails. Raises
        `McpServerError` if there were none before, and `DuplicateToolError` for two of one name.
        """
        if self._connection.has_changed:
            try:
                listed = await self._connection.list_tools()
            except McpServerError as error:
                if not self._tools:
                    raise
                LOGGER.warning("%s; its tools stay as they were", error)
            else:
                self._take(listed)
        return list(self._tools.values())

    def _take(self, listed: list[Tool]) -> None:
        """Make tools of what is listed; what is as it was stays the same function."""
        tools: dict[str, AsyncFunction] = {}
        originals: dict[str, Tool] = {}
        for tool in listed:
            name = tool_name(self.name, tool.name)
            if name in tools:
                raise DuplicateToolError(
                    f"the MCP server {self.name!r} has two tools that would be named {name!r}: "
                    f"{originals[name].name!r} and {tool.name!r}. One of them must be renamed there."
                )
            originals[name] = tool
            is_as_before = self._listed.get(name) == tool
            tools[name] = self._tools[name] if is_as_before else self._made(name, tool)
        if self._tools:
            _report(self.name, self._listed, originals)
        self._tools, self._listed = tools, originals

    def _made(self, name: str, tool: Tool) -> AsyncFunction:
        async def call(arguments: dict[str, Any]) -> Any:
            return await self._call(name, tool.name, arguments)

        annotations = None if tool.annotations is None else to_jsonable_python(tool.annotations, exclude_none=True)
        return tool_of_schema(
            call,
            name=name,
            description=tool.description or "",
            schema=tool.input_schema,
            about={"mcp": {"server": self.name, "tool": tool.name, "annotations": annotations}},
            made_from="a tool of an MCP server",
            options={"kind": ToolKind.MCP, "sensitive": True},
        )

    async def _call(self, name: str, original: str, arguments: dict[str, Any]) -> Any:
        from mcp import MCPError

        try:
            result = await self._connection.call_tool(original, arguments)
        except MCPError as error:
            raise ToolExecutionError(name, f"the MCP server {self.name!r} refused the call: {error.message}") from error
        if result.is_error:
            raise ToolExecutionError(name, text_of(result))
        return answer_of(result)


def tool_name(server: str, tool: str) -> str:
    """The name of a server's tool here: `mcp_<server>_<tool>`, in the letters and the length that providers take.

    Where that changes it, a hash of the whole name stands at its end, so that different names stay different.
    """
    whole = f"mcp_{server}_{tool}"
    name = re.sub(r"[^A-Za-z0-9_-]", "_", whole)
    if name == whole and len(name) <= LONGEST_NAME:
        return name
    tail = hashlib.sha256(whole.encode(errors="backslashreplace")).hexdigest()[:_HASH]
    return f"{name[: LONGEST_NAME - _HASH - 1]}_{tail}"


def original_name(tool: AsyncFunction) -> str:
    """How a tool that was made here is named by its server."""
    return tool_spec(tool).card()["mcp"]["tool"]


def _report(server: str, before: dict[str, Tool], now: dict[str, Tool]) -> None:
    added, removed = sorted(now.keys() - before.keys()), sorted(before.keys() - now.keys())
    changed = sorted(name for name in now.keys() & before.keys() if now[name] != before[name])
    for what, names in (("added", added), ("removed", removed), ("changed", changed)):
        if names:
            LOGGER.warning("the MCP server %r %s tools: %s", server, what, ", ".join(names))
