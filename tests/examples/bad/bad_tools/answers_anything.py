"""The fault: the result is not annotated."""

from toolhaft import base_tool


@base_tool
async def answers_anything(text: str):
    """Say the text again, as it was given."""
    return text
