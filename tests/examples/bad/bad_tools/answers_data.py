"""The fault: the result is no text."""

from toolhaft import base_tool


@base_tool
async def answers_data(text: str) -> dict[str, int]:
    """Say the text again, as it was given."""
    return {text: len(text)}
