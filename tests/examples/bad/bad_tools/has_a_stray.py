"""The fault: a second async function that is public, and not decorated."""

from toolhaft import base_tool


@base_tool
async def has_a_stray(text: str) -> str:
    """Say the text again, as it was given."""
    return text


async def stray(text: str) -> str:
    """Say the text again, as it was given."""
    return text
