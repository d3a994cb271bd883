"""Where tools that did not come through a leaf of ours meet the pipeline: around all of the agent's toolsets.

There, and not in a hook, since another capability may change arguments after any hook; what a toolset does inside is
the tool's own affair. The judging is a durable operation: under a durable engine it is done in a unit of its own, and
answers with a verdict, as what is raised there would be tried again for ever.
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, field
from typing import Any

from pydantic_ai import ApprovalRequired, RunContext, ToolReturn
from pydantic_ai.capabilities import AbstractCapability, CapabilityOrdering, durable_operation
from pydantic_ai.toolsets import AbstractToolset, ToolsetTool, WrapperToolset

from toolhaft.attach.run import call_of, cancel_run, tracer_of, validator_of
from toolhaft.attach.toolset import is_governed
from toolhaft.pipeline.call import Refused, Stage
from toolhaft.pipeline.confirmation import AbortedError
from toolhaft.pipeline.pipeline import Pipeline

# pydantic-ai's own tools that load tools and capabilities: what these then do is judged.
_ONLY_REVEALS = ("capability-load", "tool-search")


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """What was decided about a call, as a value: one of these, and nothing where it may run as it is."""

    changed: dict[str, Any] | None = None
    told: str | None = None
    """In a dry run, what it would do."""

    facts: dict[str, Any] = field(default_factory=dict[str, Any])
    """Those of a dry run, or of the question that a paused call asks."""

    refused: str | None = None
    stage: Stage = "guardrails"
    rule: str = ""
    source: str | None = None
    paused: bool = False
    aborted: str | None = None


@dataclass
class Gate(AbstractCapability[Any]):
    """Judges calls whose tool meets the pipeline nowhere else; such a tool counts as one that may do anything."""

    pipeline: Pipeline
    _: KW_ONLY
    id: str | None = "toolhaft-gate"

    def get_ordering(self) -> CapabilityOrdering:
        """The last to see a call before it runs: another capability may change arguments."""
        return CapabilityOrdering(position="innermost")

    def get_wrapper_toolset(self, toolset: AbstractToolset[Any]) -> AbstractToolset[Any]:
        return _Judged(toolset, self)

    @durable_operation(name="judge")
    async def judge(self, ctx: RunContext[Any], name: str, args: dict[str, Any]) -> Verdict:
        """The verdict on a call; it is never raised."""
        call = call_of(ctx, name, args, spec=None)
        try:
            admitted = await self.pipeline.admit(call, validate=validator_of(ctx, name), tracer=tracer_of(ctx))
        except Refused as refused:
            return Verdict(refused=refused.message, stage=refused.stage, rule=refused.rule, source=refused.source)
        except ApprovalRequired as pause:
            return Verdict(paused=True, facts=pause.metadata or {})
        except AbortedError as aborted:
            return Verdict(aborted=str(aborted))
        if isinstance(admitted, ToolReturn):
            return Verdict(told=str(admitted.return_value), facts=admitted.metadata or {})
        return Verdict(changed=None if admitted is call.args else dict(admitted))


@dataclass
class _Judged(WrapperToolset[Any]):
    """An agent's toolset, with every call judged that no leaf of ours judges."""

    gate: Gate

    async def call_tool(
        self, name: str, tool_args: dict[str, Any], ctx: RunContext[Any], tool: ToolsetTool[Any]
    ) -> Any:
        if is_governed(tool.tool_def) or tool.tool_def.tool_kind in _ONLY_REVEALS:
            return await super().call_tool(name, tool_args, ctx, tool)
        verdict = await self.gate.judge(ctx, name, tool_args)
        if verdict.refused is not None:
            raise Refused(verdict.refused, stage=verdict.stage, rule=verdict.rule, source=verdict.source)
        if verdict.paused:
            raise ApprovalRequired(verdict.facts)
        if verdict.aborted is not None:
            aborted = AbortedError(verdict.aborted)
            cancel_run(ctx, aborted)
            raise aborted
        if verdict.told is not None:
            return ToolReturn(return_value=verdict.told, metadata=verdict.facts)
        # Once more where hooks or a person changed them: a durable unit has no validator, and gives JSON back.
        args = tool_args if verdict.changed is None else tool.args_validator.validate_python(verdict.changed)
        return await super().call_tool(name, args, ctx, tool)
