"""What the searching tools share: how a mistake is told, and how a list of names is."""

import asyncio
from collections.abc import Generator
from contextlib import contextmanager

from pydantic_ai import ModelRetry

from toolhaft.searching.errors import EngineError, SearchError
from toolhaft.searching.glob import Glob, Sort, compile_glob
from toolhaft.searching.query import Query, Scope
from toolhaft.searching.report import facts, names_facts, render, render_names
from toolhaft.spec import ToolText
from toolhaft.workspace import workspace
from toolhaft.workspace.search import search_contents, search_names

MOST_RESULTS = 10_000


@contextmanager
def mendable(path: str) -> Generator[None]:
    """Tell the model what it can mend: a bad pattern, a path that is missing."""
    try:
        yield
    except EngineError:
        raise
    except SearchError as error:
        raise ModelRetry(str(error)) from error
    except FileNotFoundError as error:
        raise ModelRetry(f"There is no file or folder {path!r}. List the folder above it, or search in '.'.") from error
    except NotADirectoryError as error:
        raise ModelRetry(f"{path!r} is a file, not a folder. Read it with read_file.") from error


def checked_limit(max_results: int) -> int:
    """Return `max_results`, or raise `ModelRetry` where it is out of range."""
    if not 1 <= max_results <= MOST_RESULTS:
        raise ModelRetry(f"max_results={max_results} is out of range. Use 1 to {MOST_RESULTS:,}.")
    return max_results


def file_glob(pattern: str | None) -> Glob | None:
    """Compile a list of file patterns such as `*.py,*.js`; None for every file."""
    return compile_glob(pattern, commas=True) if pattern else None


async def found_lines(path: str, query: Query, *, via: str = "") -> ToolText:
    """Answer the lines that a query finds. `via` names the tool that can search what was left out."""
    found = await search_contents(workspace(), path, query)
    # In a thread: ten thousand results take longer to write down than the event loop may wait.
    return await asyncio.to_thread(lambda: ToolText(render(found, query, via=via), **facts(found, query)))


async def named_files(
    path: str, scope: Scope, *, sort: Sort = "path", max_results: int = 1_000, limit_name: str = "", via: str = ""
) -> ToolText:
    """Answer the files below `path` that a scope sees, sorted and then cut, and what was left out."""
    listed = await search_names(workspace(), path, scope, sort=sort, max_results=checked_limit(max_results))
    return await asyncio.to_thread(
        lambda: ToolText(render_names(listed, limit_name=limit_name, via=via), **names_facts(listed))
    )
