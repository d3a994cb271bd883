"""A search as text for a model and as facts for a program: what was found, what was cut, what was not searched.

Matches stand under the path of their file, which is written once: `12: text` is a match, `12- text` is context. The
end is a sentence that says how much there is and how to get the rest, and one that says what was left out, since a
search that found nothing in the files it saw has not shown that there is nothing.
"""

import re
from collections.abc import Iterable

from .query import OutputMode, Query
from .results import FileMatches, Found, Listed, Reason, Unsearched

_CONTROL = re.compile(r"[\x00-\x1f\x7f\x85\u2028\u2029]")
_WORDS = {
    Reason.IGNORED: "ignored ({via}include_ignored=True {verb} them)",
    Reason.HIDDEN: "hidden ({via}include_hidden=True {verb} them)",
    Reason.SENSITIVE: "sensitive",
    Reason.BINARY: "binary that match",
    Reason.TOO_LARGE: "too large",
    Reason.UNREADABLE: "unreadable",
    Reason.LINKED_OUT: "links that are broken, circular or lead outside",
    Reason.NOT_DECODABLE: "not decodable",
    Reason.NOT_A_FILE: "not regular files",
    Reason.OUT_OF_TIME: "not reached in time",
}


def render(found: Found, query: Query, *, via: str = "") -> str:
    """Give the text of a search. `via` names the tool to call for what was left out, where it is another one.

    Example of an end: `Shown 50 of 504 matches in 31 files; narrow the pattern or ask for max_results=504.`
    """
    body = _MODES[query.output_mode](found.files, query)
    end = [_summary(found, query), *_left_out("Not searched", "searches", found.unsearched, via=via)]
    return "\n".join([*body, *([""] if body else []), *end])


def render_names(listed: Listed, *, limit_name: str = "", via: str = "") -> str:
    """Give the text of a list of names, one a line. `limit_name` is the parameter that asks for more, if one does."""
    end = [_names_summary(listed, limit_name), *_left_out("Not listed", "lists", listed.unsearched, via=via)]
    return "\n".join([*map(shown_name, listed.files), *([""] if listed.files else []), *end])


def facts(found: Found, query: Query) -> dict[str, object]:
    """Give the same as JSON: files with their matches as `number:text`, `shown`, `total`, `not_searched`.

    `truncated` is true exactly where a result is missing; `total_is_exact` is false where the search stopped early.
    """
    return {
        "output_mode": query.output_mode,
        "files": [_file_facts(file, query.output_mode) for file in found.files],
        "shown": _shown(found, query.output_mode),
        "total": found.total,
        "total_files": found.total_files,
        "total_is_exact": found.is_complete,
        "truncated": _is_cut(found, query.output_mode),
        "not_searched": _unsearched_facts(found.unsearched),
    }


def names_facts(listed: Listed) -> dict[str, object]:
    """Give the same as JSON."""
    return {
        "files": [shown_name(name) for name in listed.files],
        "shown": len(listed.files),
        "total": listed.total,
        "total_is_exact": listed.is_complete,
        "truncated": len(listed.files) < listed.total or not listed.is_complete,
        "not_listed": _unsearched_facts(listed.unsearched),
    }


def shown_name(path: str) -> str:
    r"""Give a path as text of one line: bytes that are no UTF-8 and line ends are escaped.

    >>> shown_name("caf\udce9\n.txt")
    'caf\\udce9\\n.txt'
    """
    if path.isascii() and path.isprintable():
        return path
    escaped = _CONTROL.sub(lambda found: repr(found[0])[1:-1], path)
    return escaped.encode("utf-8", "backslashreplace").decode()


def _left_out(what: str, verb: str, unsearched: Iterable[Unsearched], *, via: str) -> list[str]:
    """Give the sentence about what was left out, no line where nothing was."""
    parts = [
        f"{entry.count:,} {_WORDS[entry.reason].format(via=via, verb=verb)}, such as {shown_name(entry.example)}"
        for entry in unsearched
    ]
    return [f"{what}: {'; '.join(parts)}."] if parts else []


def _unsearched_facts(unsearched: Iterable[Unsearched]) -> dict[str, object]:
    return {str(entry.reason): {"count": entry.count, "example": shown_name(entry.example)} for entry in unsearched}


def _names_summary(listed: Listed, limit_name: str) -> str:
    files = f"{listed.total:,} {'file' if listed.total == 1 else 'files'}"
    at_least = "" if listed.is_complete else "at least "
    if not listed.total:
        return "No such file." if listed.is_complete else "No such file in the part that was reached."
    if len(listed.files) == listed.total:
        return f"{at_least}{files}.".capitalize()
    more = f", or ask for {limit_name}={listed.total}" if limit_name else ""
    return f"Shown {len(listed.files):,} of {at_least}{files}; narrow the pattern or the path{more}."


def _content(files: Iterable[FileMatches], query: Query) -> list[str]:
    lines: list[str] = []
    for file in files:
        lines += [*([""] if lines else []), shown_name(file.path)]
        last = file.lines[0].number if file.lines else 0
        for line in file.lines:
            if query.context_lines and line.number > last + 1:
                lines.append("--")
            lines.append(f"{line.number}{':' if line.is_match else '-'} {line.text}")
            last = line.number
    return lines


def _paths(files: Iterable[FileMatches], query: Query) -> list[str]:
    return [shown_name(file.path) for file in files]


def _counts(files: Iterable[FileMatches], query: Query) -> list[str]:
    return [f"{shown_name(file.path)}: {file.count:,}" for file in files]


_MODES = {"content": _content, "files": _paths, "count": _counts}


def _summary(found: Found, query: Query) -> str:
    where = f"{found.total_files:,} {'file' if found.total_files == 1 else 'files'}"
    matches = f"{found.total:,} {'matching line' if found.total == 1 else 'matching lines'}"
    at_least = "" if found.is_complete else "at least "
    if not found.total:
        stopped = "" if found.is_complete else " in the part that was searched"
        return f"No match for {query.pattern!r}{stopped}."
    if not _is_cut(found, query.output_mode):
        return f"{matches} in {where}."
    total = found.total if query.output_mode == "content" else found.total_files
    shown = f"Shown {_shown(found, query.output_mode):,} of {at_least}"
    shown += f"{matches} in {where}" if query.output_mode == "content" else f"{where} with {matches}"
    rest = f"max_results={total}" if found.is_complete else "a larger max_results"
    return f"{shown}; narrow the pattern or the path, or ask for {rest}."


def _shown(found: Found, mode: OutputMode) -> int:
    return found.shown if mode == "content" else len(found.files)


def _is_cut(found: Found, mode: OutputMode) -> bool:
    total = found.total if mode == "content" else found.total_files
    return not found.is_complete or _shown(found, mode) < total


def _file_facts(file: FileMatches, mode: OutputMode) -> dict[str, object]:
    known: dict[str, object] = {"path": shown_name(file.path)}
    if mode != "files":
        known["count"] = file.count
    if mode == "content":
        known["matches"] = [f"{line.number}:{line.text}" for line in file.lines if line.is_match]
    return known
