"""Find files by a pattern of their paths."""

from typing import Literal

from toolhaft.decorators import base_tool
from toolhaft.searching.glob import compile_glob
from toolhaft.searching.query import Scope
from toolhaft.spec import ToolKind
from toolhaft.tools._search import mendable, named_files


@base_tool(kind=ToolKind.READ)
async def glob(
    pattern: str,
    directory: str = ".",
    recursive: bool = True,
    include_hidden: bool = False,
    include_ignored: bool = False,
    sort: Literal["path", "modified", "size"] = "path",
    max_results: int = 1000,
) -> str:
    """Answer the files below `directory` that `pattern` names, one a line, sorted before they are cut.

    A pattern without a slash is about a name at any depth, one with a slash about the path from `directory`. The newest
    or the largest come first with `sort="modified"` or `"size"`; equal ones are by path.

    Raises `ModelRetry` for a pattern that is absolute or leads upwards, and for a path that is missing or no folder.
    """
    with mendable(directory):
        scope = Scope(
            files=compile_glob(pattern),
            recursive=recursive,
            include_ignored=include_ignored,
            include_hidden=include_hidden,
        )
        return await named_files(directory, scope, sort=sort, max_results=max_results, limit_name="max_results")
