"""The fault: filepath is no text."""

from pathlib import Path

from toolhaft import base_tool


@base_tool
async def path_filepath(filepath: Path) -> str:
    """Say the text again, as it was given."""
    return filepath.name
