"""The fault: importing it ends the program."""

import sys

from toolhaft import base_tool


@base_tool
async def leaves(text: str) -> str:
    """Say the text again, as it was given."""
    return text


sys.exit(3)
