"""The leaf toolset: the one place where an agent's call becomes a call of a tool.

It stands in `call_tool`, not in capability hooks: another capability may change the arguments after any hook of
ours, nothing can after the leaf; and the leaf runs inside a durable engine's activity, where hooks do not. Here the
call is bound to its workspace, and the answer is parted into text for the model and facts for the program.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any, cast

from pydantic_ai import FunctionToolset, RunContext, ToolReturn
from pydantic_ai.toolsets import ToolsetTool
from pydantic_ai.workspaces import WorkspaceBackend

from toolhaft.spec import ToolText, tool_spec
from toolhaft.workspace import use_workspace
from toolhaft.workspace.current import tool_workspace


class GovernedToolset(FunctionToolset[Any]):
    """Decorated tools as a pydantic-ai toolset, each call bound to a workspace.

    `workspace` is a path or any pydantic-ai workspace; without one the tools act in the workspace that is attached
    to the agent run, else in the one of `use_workspace`, else in the current directory.

    ```python
    agent = Agent(model, toolsets=[GovernedToolset([read_file, list_dir], workspace="./repo")])
    ```
    """

    def __init__(
        self,
        tools: Iterable[Callable[..., Any]],
        *,
        workspace: str | Path | WorkspaceBackend | None = None,
        id: str | None = "toolhaft",
    ) -> None:
        super().__init__([tool_spec(tool).pydantic_tool() for tool in tools], id=id)
        self._place = None if workspace is None else tool_workspace(workspace)

    async def call_tool(
        self, name: str, tool_args: dict[str, Any], ctx: RunContext[Any], tool: ToolsetTool[Any]
    ) -> ToolReturn[Any]:
        with self._bound(ctx):
            return parted(await super().call_tool(name, tool_args, ctx, tool))

    def _bound(self, ctx: RunContext[Any]) -> AbstractContextManager[object]:
        if self._place is not None:
            return use_workspace(self._place)
        return use_workspace(ctx.workspace) if ctx.workspace.attached else nullcontext()


def parted(answer: object) -> ToolReturn[Any]:
    """What a tool answered, as text for the model and facts as metadata."""
    if isinstance(answer, ToolReturn):
        return cast("ToolReturn[Any]", answer)
    if isinstance(answer, list):
        items = cast("list[object]", answer)
        facts = next((item.facts for item in items if isinstance(item, ToolText)), None)
        return ToolReturn(return_value=[_exact(item) for item in items], metadata=facts)
    return ToolReturn(return_value=_exact(answer), metadata=answer.facts if isinstance(answer, ToolText) else None)


def _exact(value: object) -> object:
    return str.__str__(value) if isinstance(value, ToolText) else value
