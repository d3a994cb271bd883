"""A search as text for a model and as facts for a program: what was found, what was cut, what was not searched.

Matches stand under the path of their file, which is written once: `12: text` is a match, `12- text` is context. The
end is a sentence that says how much there is and how to get the rest, and one that says what was left out, since a
search that found nothing in the files it saw has not shown that there is nothing.
"""

from collections.abc import Iterable

from .query import OutputMode, Query
from .results import FileMatches, Found, Reason, Unsearched

_WORDS = {
    Reason.IGNORED: "ignored (include_ignored=True searches them)",
    Reason.HIDDEN: "hidden (include_hidden=True searches them)",
    Reason.SENSITIVE: "sensitive",
    Reason.BINARY: "binary that match",
    Reason.TOO_LARGE: "too large",
    Reason.UNREADABLE: "unreadable",
    Reason.LINKED_OUT: "links that are broken, circular or lead outside",
    Reason.NOT_DECODABLE: "not decodable",
    Reason.NOT_A_FILE: "not regular files",
    Reason.OUT_OF_TIME: "not reached in time",
}


def render(found: Found, query: Query) -> str:
    """Give the text of a search.

    Example of an end: `Shown 50 of 504 matches in 31 files; narrow the pattern or ask for max_results=504.`
    """
    body = _MODES[query.output_mode](found.files, query)
    return "\n".join([*body, *([""] if body else []), _summary(found, query), *not_searched(found.unsearched)])


def facts(found: Found, query: Query) -> dict[str, object]:
    """Give the same as JSON: files with their lines, `shown`, `total`, `truncated` and `not_searched`.

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
        "not_searched": {
            str(entry.reason): {"count": entry.count, "example": entry.example} for entry in found.unsearched
        },
    }


def not_searched(unsearched: Iterable[Unsearched]) -> list[str]:
    """Give the sentence about what was left out, no line where nothing was."""
    parts = [f"{entry.count:,} {_WORDS[entry.reason]}, such as {entry.example}" for entry in unsearched]
    return [f"Not searched: {'; '.join(parts)}."] if parts else []


def _content(files: Iterable[FileMatches], query: Query) -> list[str]:
    lines: list[str] = []
    for file in files:
        lines += [*([""] if lines else []), file.path]
        last = file.lines[0].number if file.lines else 0
        for line in file.lines:
            if query.context_lines and line.number > last + 1:
                lines.append("--")
            lines.append(f"{line.number}{':' if line.is_match else '-'} {line.text}")
            last = line.number
    return lines


def _paths(files: Iterable[FileMatches], query: Query) -> list[str]:
    return [file.path for file in files]


def _counts(files: Iterable[FileMatches], query: Query) -> list[str]:
    return [f"{file.path}: {file.count:,}" for file in files]


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
    known: dict[str, object] = {"path": file.path}
    if mode != "files":
        known["count"] = file.count
    if mode == "content":
        known["lines"] = [{"line": line.number, "text": line.text, "is_match": line.is_match} for line in file.lines]
    return known
