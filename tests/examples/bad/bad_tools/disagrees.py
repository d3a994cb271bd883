"""The fault: the prompt names another parameter than the function has."""

from toolhaft import base_tool


@base_tool
async def disagrees(text: str) -> str:
    """Say the text again, as it was given."""
    return text
