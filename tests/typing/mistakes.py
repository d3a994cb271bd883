"""Mistakes that a type checker must find, one on each line that says so; read by pyright, never imported."""

from toolhaft.decorators import base_tool, file_tool


@base_tool  # mistake: not async
def sync(text: str) -> str:
    return text


@base_tool(kin="read")  # mistake: no such option
async def unknown_option(text: str) -> str:
    return text


@file_tool(writes="yes")  # mistake: no bool
async def wrong_option(filepath: str) -> str:
    return filepath


@base_tool
async def fine(text: str, times: int = 1) -> str:
    return text * times


async def calls() -> None:
    await fine(1)  # mistake: no text
    await fine("a", limit=1)  # mistake: no such parameter
    (await fine("a")).append("b")  # mistake: no list
