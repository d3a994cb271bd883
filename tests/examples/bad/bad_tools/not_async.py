"""The fault: the function is not async, and decorating it fails."""

from toolhaft import base_tool


@base_tool
def not_async(text: str) -> str:
    """Say the text again, as it was given."""
    return text
