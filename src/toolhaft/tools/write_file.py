"""Write a whole file: a new one, a new version of an old one, or more text at its end."""

from typing import Literal

from pydantic_ai import ModelRetry

from toolhaft.decorators import file_tool
from toolhaft.spec import ToolText
from toolhaft.workspace import workspace


@file_tool(writes=True)
async def write_file(filepath: str, content: str, mode: Literal["create", "overwrite", "append"] = "create") -> str:
    """Write `content` to a file: all of it or, when anything fails, nothing.

    `create` makes a new file, with its missing folders, and refuses an existing one; `overwrite` replaces the
    file whole or makes it; `append` adds to its end, in the file's own encoding and line ends, or makes it.

    Raises `ModelRetry` when `create` meets a file that is there already.
    """
    place = workspace()
    try:
        written = await place.write_file(filepath, content, mode=mode)
    except FileExistsError as error:
        raise ModelRetry(
            f"{filepath!r} exists already, and mode='create' never replaces a file. To replace all of it pass "
            "mode='overwrite', to add to its end mode='append'."
        ) from error
    verb = "Created" if written.created else {"overwrite": "Replaced", "append": "Appended to"}[mode]
    text = f"{verb} {written.path} ({written.size:,} bytes)."
    if written.note:
        text += f" {written.note}"
    return ToolText(text, path=written.path, created=written.created, size=written.size)
