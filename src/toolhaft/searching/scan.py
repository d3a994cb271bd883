"""The Python engine: the walk and the content searched in one thread, where there is no ripgrep to do it."""

import errno
from collections.abc import Callable, Iterable, Iterator

from .content import hits, pieces, with_context
from .dialect import Pattern
from .query import Query, Scope
from .results import FileMatches, Found, Ledger, Line, Reason, Tally, Unsearched, window
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
    nuls = _Nuls()
    lines, count = list[Line](), 0
    most = query.max_results + 1 if query.output_mode == "content" else 0
    try:
        with tree.open(path) as file:
            for hit in hits(nuls.cut(pieces(file)), pattern, stop=stop):
                count += 1
                if len(lines) < most:
                    lines.append(Line(hit.number, window(hit.line, hit.at)))
                elif most and count > query.most_counted:  # enough for all that is told
                    break
    except OSError as error:
        ledger.note(Reason.TOO_LARGE if error.errno == errno.EFBIG else Reason.UNREADABLE, path)
        return None
    if stop():
        ledger.note(Reason.OUT_OF_TIME, path)
    if nuls.found and count:
        ledger.note(Reason.BINARY, path)
    return FileMatches(path, count, tuple(lines)) if count and not nuls.found else None


class _Nuls:
    """Cuts text at its NULs, as ripgrep does, and remembers whether there were any: such a file is binary."""

    def __init__(self) -> None:
        self.found = False

    def cut(self, parts: Iterable[bytes]) -> Iterator[bytes]:
        for part in parts:
            if b"\0" in part:
                self.found = True
                part = part.replace(b"\0", b"\n")
            yield part
