"""The Python engine: the walk and the content searched in one thread, where there is no ripgrep to do it."""

from collections.abc import Callable

from .content import hits, load, shown, with_context
from .dialect import Pattern
from .query import Query, Scope
from .results import FileMatches, Found, Ledger, Reason, Tally, Unsearched
from .tree import Tree
from .walk import Walk


def scan(
    query: Query,
    tree: Tree,
    *,
    stop: Callable[[], bool] = lambda: False,
    found: Callable[[FileMatches], None] = lambda file: None,
) -> Found:
    """Search and give what ripgrep would give. Runs in the caller's thread; `stop` ends it between two blocks.

    `found` is called with each file as it is searched. Raises `PatternError` before anything is read, and the
    `OSError` of a start that is not there.
    """
    pattern = Pattern(query.pattern, use_regex=query.use_regex, case_sensitive=query.case_sensitive)
    walk = Walk(tree, query.scope, stop=stop)
    tally = Tally(query)
    for path in walk.files():
        if stop():
            walk.judge.ledger.note(Reason.OUT_OF_TIME, path)
            break
        one = search_file(path, query, pattern, tree, walk.judge.ledger, stop=stop)
        if one is None:
            continue
        tally.add(one)
        found(one)
        if tally.is_full:
            break
    return tally.found(walk.judge.ledger, complete=lambda cut: with_context(cut, query, tree))


def scan_names(
    scope: Scope, tree: Tree, *, stop: Callable[[], bool] = lambda: False
) -> tuple[list[str], tuple[Unsearched, ...]]:
    """Give the names of the files of a scope, in no order, and what was left out.

    There is no engine of ripgrep for this: the survey that it would need beside it knows all the names itself.
    """
    walk = Walk(tree, scope, names_only=True, stop=stop)
    return list(walk.files()), walk.judge.ledger.entries()


def search_file(
    path: str, query: Query, pattern: Pattern, tree: Tree, ledger: Ledger, *, stop: Callable[[], bool]
) -> FileMatches | None:
    """Search one file, noting why where it cannot be. None where nothing matches."""
    try:
        with tree.open(path) as file:
            data = load(file, limit=query.scope.max_file_bytes)
    except OSError:
        ledger.note(Reason.UNREADABLE, path)
        return None
    if data is None:
        ledger.note(Reason.TOO_LARGE, path)
        return None
    is_binary = b"\0" in data
    if is_binary:
        data = data.replace(b"\0", b"\n")  # as ripgrep does: a NUL ends a piece of text
    matching = list(hits(data, pattern, stop=stop))
    if stop():
        ledger.note(Reason.OUT_OF_TIME, path)
    if is_binary and matching:
        ledger.note(Reason.BINARY, path)
    if is_binary or not matching:
        return None
    lines = shown(matching[: query.max_results + 1]) if query.output_mode == "content" else ()
    return FileMatches(path, len(matching), lines)
