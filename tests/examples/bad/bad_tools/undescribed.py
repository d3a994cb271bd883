"""The fault: a parameter has no description."""

from toolhaft import base_tool


@base_tool
async def undescribed(text: str) -> str:
    """Say the text again, as it was given."""
    return text
