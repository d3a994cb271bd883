"""Find the lines that hold a text."""

from typing import Literal

from toolhaft.decorators import base_tool
from toolhaft.searching.query import Query, Scope
from toolhaft.spec import ToolKind
from toolhaft.tools._search import checked_limit, file_glob, found_lines, mendable


@base_tool(kind=ToolKind.READ)
async def grep(
    pattern: str,
    path: str = ".",
    file_pattern: str | None = None,
    use_regex: bool = False,
    case_sensitive: bool = True,
    context_lines: int = 0,
    max_results: int = 100,
    output_mode: Literal["content", "files", "count"] = "content",
    include_ignored: bool = False,
    include_hidden: bool = False,
    recursive: bool = True,
) -> str:
    """Answer the lines below `path` that hold `pattern`, under the files they are in, by path.

    The end says what was cut, and what was not searched with a count and an example of each kind. Regular expressions
    are ripgrep's. `path` may be a file, which is searched even where it is ignored.

    Raises `ModelRetry` for a pattern that is not understood, showing where, and for a path that is missing.
    """
    with mendable(path):
        scope = Scope(
            files=file_glob(file_pattern),
            recursive=recursive,
            include_ignored=include_ignored,
            include_hidden=include_hidden,
        )
        query = Query(
            pattern=pattern,
            scope=scope,
            use_regex=use_regex,
            case_sensitive=case_sensitive,
            context_lines=context_lines,
            max_results=checked_limit(max_results),
            output_mode=output_mode,
        )
        return await found_lines(path, query)
