"""Calls for hooks to judge."""

from typing import Any

from toolhaft.pipeline.call import Call
from toolhaft.spec import ToolKind


def call_of(name: str = "write_file", /, *, approved: bool = False, **args: Any) -> Call:
    """A call of a tool that changes files."""
    return Call(
        name=name,
        args=args,
        kind=ToolKind.WRITE,
        sensitive=True,
        call_id="call-1",
        conversation_id="conversation-1",
        approved=approved,
    )
