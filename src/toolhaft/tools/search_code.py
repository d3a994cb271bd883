"""Find the lines of source files that match a regular expression, with the lines around them."""

from toolhaft.decorators import base_tool
from toolhaft.searching.query import Query, Scope
from toolhaft.spec import ToolKind
from toolhaft.tools._search import checked_limit, file_glob, found_lines, mendable


@base_tool(kind=ToolKind.READ)
async def search_code(
    pattern: str, path: str = ".", file_pattern: str = "*.py", context_lines: int = 2, max_results: int = 50
) -> str:
    """Answer the lines below `path` that match the regular expression `pattern`, and those around them.

    The end says what was cut and what was not searched. Raises `ModelRetry` as `grep` does.
    """
    with mendable(path):
        query = Query(
            pattern=pattern,
            scope=Scope(files=file_glob(file_pattern)),
            use_regex=True,
            context_lines=context_lines,
            max_results=checked_limit(max_results),
        )
        return await found_lines(path, query, via="grep with ")
