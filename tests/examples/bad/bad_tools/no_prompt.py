"""The fault: there is no prompt."""

from toolhaft import base_tool


@base_tool
async def no_prompt(text: str) -> str:
    """Say the text again, as it was given."""
    return text
