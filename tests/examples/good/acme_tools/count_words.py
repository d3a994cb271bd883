"""Count the words of a file."""

from __future__ import annotations

from pydantic_ai import RunContext

from toolhaft import file_tool, workspace


@file_tool
async def count_words(ctx: RunContext[object], filepath: str, minimum_length: int = 1) -> str:
    """Count the words of a text file that have at least `minimum_length` letters."""
    text = (await workspace().read_bytes(filepath)).decode()
    words = [word for word in text.split() if len(word) >= minimum_length]
    return f"{len(words)} words in {filepath}"
