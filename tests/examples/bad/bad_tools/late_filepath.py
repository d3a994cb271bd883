"""The fault: filepath is not the first parameter."""

from toolhaft import base_tool


@base_tool
async def late_filepath(text: str, filepath: str) -> str:
    """Say the text again, as it was given."""
    return text
