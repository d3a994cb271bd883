"""The leaf toolset: the one place where an agent's call becomes a call of a tool.

It stands in `call_tool`, not in capability hooks: another capability may change the arguments after any hook of
ours, nothing can after the leaf; and the leaf runs inside a durable engine's activity, where hooks do not. Here the
call is bound to its workspace and goes through the pipeline.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager
from pathlib import Path
from secrets import token_hex
from typing import Any

from pydantic_ai import FunctionToolset, RunContext, Tool, ToolReturn
from pydantic_ai.tools import ToolDefinition
from pydantic_ai.toolsets import ToolsetTool
from pydantic_ai.workspaces import WorkspaceBackend

from toolhaft.attach.run import call_of, cancel_run, tracer_of
from toolhaft.pipeline.answer import parted
from toolhaft.pipeline.confirmation import AbortedError
from toolhaft.pipeline.pipeline import Pipeline
from toolhaft.spec import tool_spec
from toolhaft.workspace import LocalWorkspace, use_workspace, workspace
from toolhaft.workspace.conversation import use_conversation
from toolhaft.workspace.current import ToolWorkspace, is_bound, tool_workspace

# On each tool of a leaf, so that the toolkit knows which calls come through one. A tool of another program can claim
# our card in its metadata; it cannot know this.
_SEAL = token_hex(16)

# A model that looks for a file by guessing its name is wrong a few times. What never ends is for `UsageLimits` to end.
MAX_RETRIES = 10


class GovernedToolset(FunctionToolset[Any]):
    """Decorated tools as a pydantic-ai toolset, each call bound to a workspace and governed by a pipeline.

    `workspace` is a path or any pydantic-ai workspace; without one the tools act in the one of `use_workspace`, else in
    the one that is attached to the agent run, else in the current directory. `pipeline` is `Pipeline()` if left out:
    sensitive calls pause the run where it can be paused, and are refused where it cannot. `max_retries` is how often in
    a row a model may call a tool with arguments that it is asked to mend before the run ends; pydantic-ai's is 1.

    ```python
    agent = Agent(model, toolsets=[GovernedToolset([read_file, list_dir], workspace="./repo")])
    ```
    """

    def __init__(
        self,
        tools: Iterable[Callable[..., Any]],
        *,
        workspace: str | Path | WorkspaceBackend | None = None,
        pipeline: Pipeline | None = None,
        id: str | None = "toolhaft",
        max_retries: int = MAX_RETRIES,
    ) -> None:
        self.specs = {spec.name: spec for spec in map(tool_spec, tools)}
        super().__init__(id=id, max_retries=max_retries)
        for spec in self.specs.values():
            self.add_tool(spec.pydantic_tool())
        self.pipeline = pipeline or Pipeline()
        self._place = None if workspace is None else governed_place(self.pipeline, workspace)

    def add(self, tool: Callable[..., Any]) -> None:
        """Add a decorated tool. Raises pydantic-ai's `UserError` where one of its name is there."""
        spec = tool_spec(tool)
        self.add_tool(spec.pydantic_tool())
        self.specs[spec.name] = spec

    def add_tool(self, tool: Tool[Any]) -> None:
        """Add a tool. One that is no decorated function has no card: it counts as one that may do anything."""
        tool.metadata = {**(tool.metadata or {}), "toolhaft_leaf": _SEAL}
        super().add_tool(tool)

    async def call_tool(
        self, name: str, tool_args: dict[str, Any], ctx: RunContext[Any], tool: ToolsetTool[Any]
    ) -> ToolReturn[Any]:
        async def run(args: dict[str, Any]) -> ToolReturn[Any]:
            return parted(name, await super(GovernedToolset, self).call_tool(name, args, ctx, tool))

        call = call_of(ctx, name, tool_args, spec=self.specs.get(name))
        try:
            with self._bound(ctx), use_conversation(call.conversation_id):
                return await self.pipeline.run(
                    call, validate=tool.args_validator.validate_python, tool=run, tracer=tracer_of(ctx)
                )
        except AbortedError as aborted:
            cancel_run(ctx, aborted)
            raise

    def _bound(self, ctx: RunContext[Any]) -> AbstractContextManager[object]:
        if self._place is not None:
            return use_workspace(self._place)
        is_runs_own = ctx.workspace.attached and not is_bound()
        return use_workspace(governed_place(self.pipeline, ctx.workspace if is_runs_own else workspace()))


def governed_place(pipeline: Pipeline, workspace: str | Path | WorkspaceBackend) -> ToolWorkspace:
    """A folder or workspace as tools see it, with the pipeline's rules on files in all that is done there."""
    place = LocalWorkspace(workspace) if isinstance(workspace, str | Path) else workspace
    return tool_workspace(pipeline.guardrails.over(place))


def is_governed(tool: ToolDefinition) -> bool:
    """Whether calls of this tool come through a leaf, and so through its pipeline."""
    return (tool.metadata or {}).get("toolhaft_leaf") == _SEAL
