"""The fault: the description says next to nothing."""

from toolhaft import base_tool


@base_tool
async def curt(text: str) -> str:
    """Say the text again, as it was given."""
    return text
