"""List the files of a folder."""

from toolhaft.decorators import base_tool
from toolhaft.searching.query import Scope
from toolhaft.spec import ToolKind
from toolhaft.tools._search import file_glob, mendable, named_files


@base_tool(kind=ToolKind.READ)
async def list_files(path: str = ".", pattern: str | None = None, recursive: bool = False) -> str:
    """Answer the files in the folder `path`, one a line, by path, at most 1,000; with `recursive`, those below it too.

    Raises `ModelRetry` for a pattern that is absolute or leads upwards, and for a path that is missing or no folder.
    """
    with mendable(path):
        return await named_files(path, Scope(files=file_glob(pattern), recursive=recursive), via="glob with ")
