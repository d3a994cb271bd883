"""The fault: the function is not named like its file."""

from toolhaft import base_tool


@base_tool
async def other_name(text: str) -> str:
    """Say the text again, as it was given."""
    return text
