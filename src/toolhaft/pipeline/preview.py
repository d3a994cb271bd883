"""What a call would do: asked of its tool when a stage first needs it, and not again."""

from __future__ import annotations

from typing import Any

from pydantic_ai import ToolReturn

from toolhaft.pipeline.answer import parted
from toolhaft.pipeline.call import Call
from toolhaft.workspace.current import judged


class Preview:
    """The preview of one call. Awaiting it changes nothing; it raises what the tool itself would raise."""

    def __init__(self, call: Call) -> None:
        self._call = call
        self._known: ToolReturn[Any] | None = None

    async def __call__(self) -> ToolReturn[Any] | None:
        """Text and facts, or None where the tool cannot tell."""
        preview = self._call.spec.preview if self._call.spec else None
        if preview is not None and self._known is None:
            with judged():  # a preview does nothing, so it may be of what nobody has allowed yet
                self._known = parted(self._call.name, await preview(**self._call.args))
        return self._known
