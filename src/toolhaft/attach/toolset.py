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
from pydantic_ai.messages import is_multi_modal_content
from pydantic_ai.toolsets import ToolsetTool
from pydantic_ai.workspaces import WorkspaceBackend
from pydantic_core import to_json

from toolhaft.exceptions import ToolExecutionError
from toolhaft.spec import ToolText, tool_spec
from toolhaft.workspace import use_workspace
from toolhaft.workspace.current import is_bound, tool_workspace

# A model that looks for a file by guessing its name is wrong a few times. What never ends is for `UsageLimits` to end.
MAX_RETRIES = 10


class GovernedToolset(FunctionToolset[Any]):
    """Decorated tools as a pydantic-ai toolset, each call bound to a workspace.

    `workspace` is a path or any pydantic-ai workspace; without one the tools act in the one of `use_workspace`, else in
    the one that is attached to the agent run, else in the current directory. `max_retries` is how often in a row a
    model may call a tool with arguments that it is asked to mend before the run ends; pydantic-ai's own default is 1.

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
        max_retries: int = MAX_RETRIES,
    ) -> None:
        super().__init__([tool_spec(tool).pydantic_tool() for tool in tools], id=id, max_retries=max_retries)
        self._place = None if workspace is None else tool_workspace(workspace)

    async def call_tool(
        self, name: str, tool_args: dict[str, Any], ctx: RunContext[Any], tool: ToolsetTool[Any]
    ) -> ToolReturn[Any]:
        with self._bound(ctx):
            return parted(name, await super().call_tool(name, tool_args, ctx, tool))

    def _bound(self, ctx: RunContext[Any]) -> AbstractContextManager[object]:
        if self._place is not None:
            return use_workspace(self._place)
        return use_workspace(ctx.workspace) if ctx.workspace.attached and not is_bound() else nullcontext()


def parted(name: str, answer: object) -> ToolReturn[Any]:
    """What the tool `name` answered, as text for the model and facts as metadata.

    Raises `ToolExecutionError` for an answer that nobody could write down: the run would end over it later.
    """
    if isinstance(answer, ToolReturn):
        return cast("ToolReturn[Any]", answer)
    if isinstance(answer, list):
        items = cast("list[object]", answer)
        facts = next((item.facts for item in items if isinstance(item, ToolText)), None)
        return ToolReturn(return_value=[_exact(name, item) for item in items], metadata=facts)
    return ToolReturn(
        return_value=_exact(name, answer), metadata=answer.facts if isinstance(answer, ToolText) else None
    )


def _exact(name: str, value: object) -> object:
    """Text as an exact `str` that is valid Unicode; other values as they are, if they can be written as JSON."""
    if isinstance(value, str):
        return str.__str__(value).encode(errors="backslashreplace").decode()
    if is_multi_modal_content(value):
        return value
    try:
        to_json(value)
    except ValueError as error:
        raise ToolExecutionError(
            name, f"it answered a {type(value).__name__} that cannot be written as JSON ({error})", error
        ) from error
    return value
