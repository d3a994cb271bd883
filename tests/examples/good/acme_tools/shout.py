"""Say something loudly."""

from typing import Literal

from toolhaft import ToolText, base_tool

from ._marks import MARKS


@base_tool(kind="read")
async def shout(text: str, tone: Literal["glad", "cross"] = "glad") -> ToolText:
    """Say `text` in capitals, in a tone."""
    return ToolText(text.upper() + MARKS[tone], tone=tone)
