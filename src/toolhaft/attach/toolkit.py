"""The capability: everything of toolhaft that an agent gets, in one line."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import KW_ONLY, dataclass, field
from pathlib import Path
from typing import Any

from pydantic_ai import RunContext, ToolOutput
from pydantic_ai.capabilities import AbstractCapability
from pydantic_ai.toolsets import AbstractToolset
from pydantic_ai.workspaces import WorkspaceBackend, WorkspaceRef

from toolhaft.attach.toolset import GovernedToolset
from toolhaft.registry import Registry
from toolhaft.spec import tool_spec
from toolhaft.tools import submit
from toolhaft.workspace import LocalWorkspace


@dataclass
class Toolkit(AbstractCapability[Any]):
    """Tools and the workspace that they act in, as one pydantic-ai capability.

    ```python
    kit = Toolkit("./repo", tools=["files"])
    agent = Agent(model, capabilities=[kit], output_type=kit.output_type)
    ```
    """

    workspace: str | Path | WorkspaceBackend | None = None
    """Where the tools act: a folder, or any pydantic-ai workspace. `None`: the workspace attached to the run,
    else the current directory."""

    tools: str | Sequence[str | Callable[..., Any]] = "all"
    """Names of built-in tools, the groups `files`, `search`, `commands`, `all`, and decorated functions."""

    _: KW_ONLY

    read_only: bool = False
    """Whether the folder may be changed."""

    allow_delete: bool = False
    """Whether tools may delete files in the folder."""

    id: str | None = "toolhaft"

    toolset: GovernedToolset = field(init=False, repr=False, compare=False)
    """The tools as a pydantic-ai toolset, for agents that take toolsets."""

    def __post_init__(self) -> None:
        if isinstance(self.workspace, str | Path):
            self.workspace = LocalWorkspace(self.workspace, read_only=self.read_only, allow_delete=self.allow_delete)
        elif self.read_only or self.allow_delete:
            raise ValueError(
                "read_only and allow_delete are settings of a folder that the toolkit opens, and it was given "
                f"workspace={self.workspace!r}. Make the settings there, or give the folder's path."
            )
        chosen = [self.tools] if isinstance(self.tools, str) else list(self.tools)
        self.toolset = GovernedToolset(_functions(chosen), workspace=self.workspace, id=self.id)

    @property
    def output_type(self) -> ToolOutput[str]:
        """`submit` as an output tool: pass it to the agent, and the model ends the run by submitting."""
        spec = tool_spec(submit)
        return ToolOutput(submit, name=spec.name, description=spec.description)

    def get_toolset(self) -> AbstractToolset[Any]:
        return self.toolset

    def get_workspace(self, ctx: RunContext[Any], *, ref: WorkspaceRef | None) -> WorkspaceBackend | None:
        """The toolkit's own workspace, so that `ctx.workspace` is what the tools act in."""
        assert not isinstance(self.workspace, str | Path)
        if self.workspace is None or (ref is not None and ref != self.workspace.ref):
            return None
        return self.workspace


def _functions(chosen: Sequence[str | Callable[..., Any]]) -> list[Callable[..., Any]]:
    """The tools meant, each once; `submit` is left out, as `Toolkit.output_type` offers it."""
    built_in = Registry().register_all()
    functions: dict[str, Callable[..., Any]] = {}
    for one in chosen:
        for function in built_in.select([one]) if isinstance(one, str) else [one]:
            functions.setdefault(tool_spec(function).name, function)
    functions.pop("submit", None)
    return list(functions.values())
