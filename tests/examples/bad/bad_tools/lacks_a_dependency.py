"""The fault: what it imports is not installed."""

import no_such_module

from toolhaft import base_tool


@base_tool
async def lacks_a_dependency(text: str) -> str:
    """Say the text again, as it was given."""
    return no_such_module.say(text)
