"""The fault: the tool is made inside a factory, where nobody finds it."""

from collections.abc import Awaitable, Callable

from toolhaft import base_tool


def create_makes_tools(greeting: str) -> Callable[[str], Awaitable[str]]:
    """Make the tool."""

    @base_tool
    async def makes_tools(text: str) -> str:
        """Say the text again, after a greeting."""
        return f"{greeting} {text}"

    return makes_tools
