"""Find files by their names."""

from toolhaft.decorators import base_tool
from toolhaft.searching.glob import compile_glob
from toolhaft.searching.query import Scope
from toolhaft.spec import ToolKind
from toolhaft.tools._search import mendable, named_files


@base_tool(kind=ToolKind.READ)
async def find_files(pattern: str, path: str = ".", recursive: bool = True) -> str:
    """Answer the files below the folder `path` that `pattern` names, one a line, by path, at most 1,000.

    Raises `ModelRetry` for a pattern that is absolute or leads upwards, and for a path that is missing or no folder.
    """
    with mendable(path):
        return await named_files(path, Scope(files=compile_glob(pattern), recursive=recursive), via="glob with ")
