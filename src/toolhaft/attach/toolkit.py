"""The capability: everything of toolhaft that an agent gets, in one line."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import KW_ONLY, dataclass, field
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, Self, Unpack

from pydantic_ai import Agent, ModelRetry, RunContext, ToolOutput
from pydantic_ai.agent import AbstractAgent
from pydantic_ai.capabilities import AbstractCapability, CombinedCapability, OutputContext, durable_operation
from pydantic_ai.exceptions import RunCancelled
from pydantic_ai.messages import ToolCallPart
from pydantic_ai.tools import ToolDefinition
from pydantic_ai.toolsets import AbstractToolset, CombinedToolset
from pydantic_ai.workspaces import WorkspaceBackend, WorkspaceRef

from toolhaft.attach.events import RunEvents
from toolhaft.attach.gate import Gate
from toolhaft.attach.instructions import instructions_for
from toolhaft.attach.mcp_toolset import McpToolset
from toolhaft.attach.profiles import chosen_tools
from toolhaft.attach.run import workspace_of
from toolhaft.attach.toolset import GovernedToolset, is_governed
from toolhaft.decorators.making import AsyncFunction, ToolOptions
from toolhaft.makers.agent import agent_tool
from toolhaft.makers.mcp import McpTools
from toolhaft.pipeline.confirmation import Answerer, Filing, Mode
from toolhaft.pipeline.guardrails import Guardrails
from toolhaft.pipeline.hooks import Hooks
from toolhaft.pipeline.pipeline import Pipeline
from toolhaft.spec import tool_spec
from toolhaft.tools import submit
from toolhaft.workspace import CommandRules, LocalWorkspace

if TYPE_CHECKING:
    from toolhaft.approvals.store import ApprovalStore


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

    tools: str | ModuleType | Sequence[str | ModuleType | McpTools | Callable[..., Any]] = "coding"
    """A profile (`coding`, `tunacode`, `architect`, `read-only`), or names of built-in tools, groups (`files`,
    `search`, `commands`, `all`), decorated functions, packages of tools, and `mcp_tools` of a server."""

    _: KW_ONLY

    mode: Mode = "confirm-sensitive"
    """Whom it asks: `yolo` nobody, `confirm-sensitive` about what may change things, `confirm-all` about every call."""

    answerer: Answerer | None = None
    """Who answers; `Terminal()` asks there. None: the run pauses where it can, else the call is refused."""

    guardrails: Guardrails = field(default_factory=Guardrails)
    hooks: Hooks = field(default_factory=Hooks)
    dry_run: bool = False
    """Whether calls are only told, and not made."""

    approvals: ApprovalStore | None = None
    """Where runs that wait for somebody are filed; then only what is decided there counts. A `Desk` decides."""

    allowed_tools: Sequence[str] | None = None
    """Patterns of names: only tools that match one are offered. `[]` offers none."""

    commands: CommandRules | bool = True
    """Rules for commands in the folder; False leaves the tools that run commands out."""

    read_only: bool = False
    """Whether the folder may be changed."""

    allow_delete: bool = False
    """Whether tools may delete files in the folder."""

    id: str | None = "toolhaft"

    toolset: GovernedToolset = field(init=False, repr=False, compare=False)
    """The tools as a pydantic-ai toolset, for agents that take toolsets."""

    def __post_init__(self) -> None:
        self._opened: LocalWorkspace | None = None
        if isinstance(self.workspace, str | Path):
            self.workspace = self._opened = LocalWorkspace(
                self.workspace,
                read_only=self.read_only,
                allow_delete=self.allow_delete,
                commands=None if isinstance(self.commands, bool) else self.commands,
            )
        elif self.read_only or self.allow_delete or not isinstance(self.commands, bool):
            raise ValueError(
                "read_only, allow_delete and commands are settings of a folder that the toolkit opens, and it was "
                f"given workspace={self.workspace!r}. Make the settings there, or give the folder's path."
            )
        chosen = [self.tools] if isinstance(self.tools, str | ModuleType) else self.tools
        servers = [one for one in chosen if isinstance(one, McpTools)]
        functions = chosen_tools(
            [one for one in chosen if not isinstance(one, McpTools)],
            allowed=self.allowed_tools,
            commands=self.commands is not False,
        )
        if self.approvals is not None and self.answerer is not None:
            raise ValueError("approvals and answerer are two who decide. Give the toolkit one of them.")
        filing, self._pauses = (None, None) if self.approvals is None else _filed_in(self.approvals)
        pipeline = Pipeline(
            mode=self.mode,
            guardrails=self.guardrails,
            hooks=self.hooks,
            answerer=self.answerer,
            dry_run=self.dry_run,
            filing=filing,
        )
        if self.workspace is not None:
            self.workspace = self.guardrails.over(self.workspace)
        self.toolset = GovernedToolset(functions, workspace=self.workspace, pipeline=pipeline, id=self.id)
        self._servers = [
            McpToolset(server, workspace=self.workspace, pipeline=pipeline, allowed=self.allowed_tools)
            for server in servers
        ]

    @classmethod
    def from_file(cls, path: str | Path, *, answerer: Answerer | None = None) -> Toolkit:
        """The toolkit that a configuration file describes (`toolhaft.toml`, or the same in YAML or JSON).

        Raises `ConfigurationError` that names file, line and key.
        """
        # Here, and not at the top: only those who have a file need what reads it, and that takes long to load.
        from toolhaft.attach.configuration import hooks_of, load_configuration

        configuration = load_configuration(path)
        return cls(
            configuration.open_workspace(),
            configuration.tools,
            mode=configuration.mode,
            answerer=answerer,
            guardrails=configuration.guardrails(),
            hooks=Hooks(hooks_of(configuration)),
            dry_run=configuration.dry_run,
            allowed_tools=configuration.allowed_tools,
            commands=configuration.commands.enabled,
        )

    @classmethod
    def from_spec(cls, *args: Any, file: str | None = None, **settings: Any) -> Toolkit:
        """The toolkit that an agent spec describes: by its fields, or by `file`, a configuration file."""
        if file is None:
            return cls(*args, **settings)
        if args or settings:
            raise ValueError(f"file={file!r} says everything about the toolkit. Write the other settings there.")
        return cls.from_file(file)

    def agent_tool(
        self,
        agent: Agent[Any, Any],
        name: str,
        description: str,
        *,
        request_limit: int = 50,
        max_depth: int = 2,
        **options: Unpack[ToolOptions],
    ) -> AsyncFunction:
        """Another agent as a tool of this toolkit: its agents get it, and the agent itself, down to `max_depth`.

        The agent works with this toolkit, and its own tools are judged by the same pipeline; so the call itself is not
        sensitive unless the options say so. See `toolhaft.makers.agent`.
        """
        given: ToolOptions = {"sensitive": False, **options}
        tool = agent_tool(
            agent, name, description, capabilities=[self], request_limit=request_limit, max_depth=max_depth, **given
        )
        self.toolset.add(tool)
        return tool

    @property
    def output_type(self) -> ToolOutput[str]:
        """`submit` as an output tool: pass it to the agent, and the model ends the run by submitting."""
        spec = tool_spec(submit)
        return ToolOutput(submit, name=spec.name, description=spec.description)

    async def aclose(self) -> None:
        """End what runs in the background: hooks, and the jobs of a folder that the toolkit opened itself.

        `async with Toolkit(...) as kit` does it when the block ends; the end of the interpreter does it in any case.
        """
        await self.hooks.aclose()
        if self._opened is not None:
            await self._opened.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *error: object) -> None:
        await self.aclose()

    def get_toolset(self) -> AbstractToolset[Any]:
        return CombinedToolset([self.toolset, *self._servers]) if self._servers else self.toolset

    def get_instructions(self) -> str | None:
        """Which of the agent's tools to choose for what."""
        return instructions_for(self.toolset.specs)

    def for_agent(self, agent: AbstractAgent[Any, Any]) -> AbstractCapability[Any]:
        """This toolkit, with what judges the agent's other tools and what tells hooks of its runs."""
        parts: list[AbstractCapability[Any]] = [self, Gate(self.toolset.pipeline)]
        if self._pauses is not None:
            parts.insert(0, self._pauses)
        events = RunEvents(self.hooks)
        return CombinedCapability([events, *parts] if events.is_needed else parts)

    def get_workspace(self, ctx: RunContext[Any], *, ref: WorkspaceRef | None) -> WorkspaceBackend | None:
        """The toolkit's own workspace, so that `ctx.workspace` is what the tools act in."""
        assert not isinstance(self.workspace, str | Path)
        if self.workspace is None or (ref is not None and ref != self.workspace.ref):
            return None
        return self.workspace

    @durable_operation(name="gates")
    async def failed_gates(self, ctx: RunContext[Any], conversation_id: str) -> list[str]:
        """What keeps a run from ending. A durable engine asks once, outside the code that it replays."""
        with workspace_of(ctx):
            return await self.guardrails.gates(conversation_id)

    async def after_output_process(self, ctx: RunContext[Any], *, output_context: OutputContext, output: Any) -> Any:
        """Send the failures of the gates back to the model before its output is accepted."""
        failures = [] if ctx.partial_output else await self.failed_gates(ctx, ctx.conversation_id or "")
        if failures:
            raise ModelRetry("\n\n".join(failures))
        return output

    async def on_tool_execute_error(
        self,
        ctx: RunContext[Any],
        *,
        call: ToolCallPart,
        tool_def: ToolDefinition,
        args: dict[str, Any],
        error: Exception,
    ) -> Any:
        """End the run where somebody ended it in a durable engine's activity, from where it cannot be cancelled."""
        if type(error) is RunCancelled and is_governed(tool_def):
            ctx.cancel()
        raise error


def _filed_in(store: ApprovalStore) -> tuple[Filing, AbstractCapability[Any]]:
    """What files calls and pauses in a store."""
    # Here, and not at the top: most agents have no store, and loading what uses one takes as long as all file tools.
    from toolhaft.approvals.filing import StoreFiling
    from toolhaft.attach.pauses import FilesPauses

    return StoreFiling(store), FilesPauses(store)
