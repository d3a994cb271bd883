"""The capability: everything of toolhaft that an agent gets, in one line."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import KW_ONLY, dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any

from pydantic_ai import ModelRetry, RunContext, ToolOutput, ToolReturn
from pydantic_ai.capabilities import AbstractCapability, CapabilityOrdering, OutputContext
from pydantic_ai.exceptions import SkipToolExecution
from pydantic_ai.messages import ToolCallPart
from pydantic_ai.tools import ToolDefinition
from pydantic_ai.toolsets import AbstractToolset
from pydantic_ai.workspaces import WorkspaceBackend, WorkspaceRef

from toolhaft.attach.instructions import instructions_for
from toolhaft.attach.profiles import chosen_tools
from toolhaft.attach.run import call_of, tracer_of, validator_of
from toolhaft.attach.toolset import GovernedToolset, is_governed
from toolhaft.pipeline.confirmation import AbortedError, Answerer, Mode
from toolhaft.pipeline.guardrails import Guardrails
from toolhaft.pipeline.hooks import Hooks
from toolhaft.pipeline.pipeline import Pipeline
from toolhaft.spec import tool_spec
from toolhaft.tools import submit
from toolhaft.workspace import CommandRules, LocalWorkspace

# pydantic-ai's own tools that load tools and capabilities: what these then do is judged.
_ONLY_REVEALS = ("capability-load", "tool-search")


@dataclass
class Toolkit(AbstractCapability[Any]):
    """Tools, the workspace that they act in, and the pipeline that governs them, as one pydantic-ai capability.

    ```python
    kit = Toolkit("./repo", mode="yolo")
    agent = Agent(model, capabilities=[kit], output_type=kit.output_type)
    ```
    """

    workspace: str | Path | WorkspaceBackend | None = None
    """Where the tools act: a folder, or any pydantic-ai workspace. `None`: the workspace attached to the run,
    else the current directory."""

    tools: str | ModuleType | Sequence[str | ModuleType | Callable[..., Any]] = "coding"
    """A profile (`coding`, `tunacode`, `architect`, `read-only`), or names of built-in tools, groups (`files`,
    `search`, `commands`, `all`), decorated functions, and packages of tools."""

    _: KW_ONLY

    mode: Mode = "confirm-sensitive"
    """Whom it asks: `yolo` nobody, `confirm-sensitive` about what may change things, `confirm-all` about every call."""

    answerer: Answerer | None = None
    """Who answers; `Terminal()` asks there. None: the run pauses where it can, else the call is refused."""

    guardrails: Guardrails = field(default_factory=Guardrails)
    hooks: Hooks = field(default_factory=Hooks)
    dry_run: bool = False
    """Whether calls are only told, and not made."""

    allowed_tools: Sequence[str] | None = None
    """Patterns of names: only tools that match one are offered. `[]` offers none."""

    commands: CommandRules | None = None
    """Rules for commands in the folder."""

    read_only: bool = False
    """Whether the folder may be changed."""

    allow_delete: bool = False
    """Whether tools may delete files in the folder."""

    id: str | None = "toolhaft"

    toolset: GovernedToolset = field(init=False, repr=False, compare=False)
    """The tools as a pydantic-ai toolset, for agents that take toolsets."""

    def __post_init__(self) -> None:
        if isinstance(self.workspace, str | Path):
            self.workspace = LocalWorkspace(
                self.workspace, read_only=self.read_only, allow_delete=self.allow_delete, commands=self.commands
            )
        elif self.read_only or self.allow_delete or self.commands:
            raise ValueError(
                "read_only, allow_delete and commands are settings of a folder that the toolkit opens, and it was "
                f"given workspace={self.workspace!r}. Make the settings there, or give the folder's path."
            )
        functions = chosen_tools(self.tools, allowed=self.allowed_tools)
        pipeline = Pipeline(
            mode=self.mode,
            guardrails=self.guardrails,
            hooks=self.hooks,
            answerer=self.answerer,
            dry_run=self.dry_run,
        )
        if self.workspace is not None:
            self.workspace = self.guardrails.over(self.workspace)
        self.toolset = GovernedToolset(functions, workspace=self.workspace, pipeline=pipeline, id=self.id)

    @property
    def output_type(self) -> ToolOutput[str]:
        """`submit` as an output tool: pass it to the agent, and the model ends the run by submitting."""
        spec = tool_spec(submit)
        return ToolOutput(submit, name=spec.name, description=spec.description)

    def get_toolset(self) -> AbstractToolset[Any]:
        return self.toolset

    def get_instructions(self) -> str | None:
        """Which of the agent's tools to choose for what."""
        return instructions_for(self.toolset.specs)

    def get_ordering(self) -> CapabilityOrdering:
        """The last to see a call before it runs."""
        return CapabilityOrdering(position="innermost")

    def get_workspace(self, ctx: RunContext[Any], *, ref: WorkspaceRef | None) -> WorkspaceBackend | None:
        """The toolkit's own workspace, so that `ctx.workspace` is what the tools act in."""
        assert not isinstance(self.workspace, str | Path)
        if self.workspace is None or (ref is not None and ref != self.workspace.ref):
            return None
        return self.workspace

    async def before_tool_execute(
        self, ctx: RunContext[Any], *, call: ToolCallPart, tool_def: ToolDefinition, args: dict[str, Any]
    ) -> dict[str, Any]:
        """Judge a call whose tool did not come through a leaf of ours, and so meets the pipeline nowhere else."""
        if is_governed(tool_def) or tool_def.tool_kind in _ONLY_REVEALS:
            return args
        validate = validator_of(ctx, call.tool_name)
        try:
            admitted = await self.toolset.pipeline.admit(
                call_of(ctx, call.tool_name, args, spec=None), validate=validate, tracer=tracer_of(ctx)
            )
        except AbortedError:
            ctx.cancel()
            raise
        if isinstance(admitted, ToolReturn):
            raise SkipToolExecution(admitted)
        return dict(admitted)

    async def after_output_process(self, ctx: RunContext[Any], *, output_context: OutputContext, output: Any) -> Any:
        """Send the failures of the gates back to the model before its output is accepted."""
        failures = [] if ctx.partial_output else await self.guardrails.gates(ctx.conversation_id or "")
        if failures:
            raise ModelRetry("\n\n".join(failures))
        return output
