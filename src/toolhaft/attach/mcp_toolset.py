"""The tools of an MCP server as a leaf toolset: read when a run asks for them, governed as all others are."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Self

from pydantic_ai import RunContext
from pydantic_ai.toolsets import ToolsetTool
from pydantic_ai.workspaces import WorkspaceBackend

from toolhaft.attach.profiles import is_allowed
from toolhaft.attach.toolset import GovernedToolset
from toolhaft.makers.mcp import McpTools
from toolhaft.pipeline.pipeline import Pipeline
from toolhaft.spec import tool_spec


class McpToolset(GovernedToolset):
    """A server's tools, opened with the run, or before it by `async with agent`; each step sees them as they are then.

    `allowed` is as for `Toolkit`. It reads the list over the network, so in a durable workflow give an agent the tools
    of an opened server instead.

    ```python
    agent = Agent(model, toolsets=[McpToolset(mcp_tools(url, name="github"), pipeline=Pipeline(mode="yolo"))])
    ```
    """

    def __init__(
        self,
        server: McpTools,
        *,
        workspace: str | Path | WorkspaceBackend | None = None,
        pipeline: Pipeline | None = None,
        allowed: Sequence[str] | None = None,
        id: str | None = None,
    ) -> None:
        super().__init__([], workspace=workspace, pipeline=pipeline, id=id or f"mcp-{server.name}")
        self._server = server
        self._allowed = allowed
        self._taken: list[Callable[..., Any]] = []

    async def __aenter__(self) -> Self:
        await self._server.__aenter__()
        return self

    async def __aexit__(self, *error: Any) -> bool | None:
        await self._server.__aexit__(*error)
        return None

    async def get_tools(self, ctx: RunContext[Any]) -> dict[str, ToolsetTool[Any]]:
        """The tools that the server has now."""
        tools = await self._server.tools()
        if tools != self._taken:
            self._take(tools)
        return await super().get_tools(ctx)

    def _take(self, tools: list[Callable[..., Any]]) -> None:
        """Offer these tools; whoever reads the ones of before keeps reading those."""
        specs = [spec for spec in map(tool_spec, tools) if is_allowed(spec.name, self._allowed)]
        self.specs = {spec.name: spec for spec in specs}
        self.tools = {}
        for spec in specs:
            self.add_tool(spec.pydantic_tool())
        self._taken = tools
