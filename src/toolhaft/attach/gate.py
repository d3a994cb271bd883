"""Where tools that did not come through a leaf of ours meet the pipeline: as late as a capability can."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any

from pydantic_ai import RunContext, ToolReturn
from pydantic_ai.capabilities import AbstractCapability, CapabilityOrdering
from pydantic_ai.exceptions import SkipToolExecution
from pydantic_ai.messages import ToolCallPart
from pydantic_ai.tools import ToolDefinition

from toolhaft.attach.run import call_of, cancel_run, tracer_of, validator_of
from toolhaft.attach.toolset import is_governed
from toolhaft.pipeline.confirmation import AbortedError
from toolhaft.pipeline.pipeline import Pipeline

# pydantic-ai's own tools that load tools and capabilities: what these then do is judged.
_ONLY_REVEALS = ("capability-load", "tool-search")


@dataclass
class Gate(AbstractCapability[Any]):
    """Judges calls whose tool meets the pipeline nowhere else; such a tool counts as one that may do anything."""

    pipeline: Pipeline
    _: KW_ONLY
    id: str | None = "toolhaft-gate"

    def get_ordering(self) -> CapabilityOrdering:
        """The last to see a call before it runs: another capability may change arguments."""
        return CapabilityOrdering(position="innermost")

    async def before_tool_execute(
        self, ctx: RunContext[Any], *, call: ToolCallPart, tool_def: ToolDefinition, args: dict[str, Any]
    ) -> dict[str, Any]:
        if is_governed(tool_def) or tool_def.tool_kind in _ONLY_REVEALS:
            return args
        validate = validator_of(ctx, call.tool_name)
        try:
            admitted = await self.pipeline.admit(
                call_of(ctx, call.tool_name, args, spec=None), validate=validate, tracer=tracer_of(ctx)
            )
        except AbortedError as aborted:
            cancel_run(ctx, aborted)
            raise
        if isinstance(admitted, ToolReturn):
            raise SkipToolExecution(admitted)
        return dict(admitted)
