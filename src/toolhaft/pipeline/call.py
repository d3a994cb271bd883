"""A call on its way through the pipeline, and how a stage refuses it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

from pydantic_ai import ToolReturn
from pydantic_ai.exceptions import ToolFailed

from toolhaft.spec import ToolKind, ToolSpec

Stage = Literal["guardrails", "hooks", "confirmation"]

RunTool = Callable[[dict[str, Any]], Awaitable[ToolReturn[Any]]]
"""Awaits the tool itself with the arguments that came out of the stages before."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """One call: which tool, with which arguments, in which conversation. Never changed; a stage makes a new one."""

    name: str
    args: Mapping[str, Any]
    """The arguments, validated."""

    kind: ToolKind
    """What the tool may do to the world; `mcp` for what another program's tool may do."""

    sensitive: bool
    spec: ToolSpec | None = None
    """The tool's card, None where it is somebody else's tool."""

    call_id: str
    conversation_id: str
    approved: bool = False
    """Whether a person has approved exactly this call."""

    in_agent: bool = False
    """Whether an agent runs the call."""

    can_pause: bool = False
    """Whether that agent can wait for a person and come back."""

    def with_args(self, args: Mapping[str, Any]) -> Call:
        """The same call with other arguments."""
        return replace(self, args=args)


class Refused(ToolFailed):
    """A stage said no: the tool was not awaited, nothing has changed.

    `rule` names what decided and `source` where it is written (`toolhaft.toml:12`), as far as that is known.
    """

    stage: Stage
    rule: str
    source: str | None

    def __init__(self, message: str, *, stage: Stage, rule: str, source: str | None = None) -> None:
        super().__init__(message)
        self.stage = stage
        self.rule = rule
        self.source = source

    def __reduce__(self) -> tuple[Any, ...]:
        return _refused, (self.message, self.stage, self.rule, self.source)


def _refused(message: str, stage: Stage, rule: str, source: str | None) -> Refused:
    return Refused(message, stage=stage, rule=rule, source=source)
