r"""File patterns: `*.py`, `src/**/*.{ts,tsx}`, `*.py,*.js`, matched against paths below the folder that is searched.

A pattern without a slash is about a name at any depth; one with a slash is about the path from the folder searched.
`*` and `?` stop at a slash, `**/` is any number of folders, `[a-z]`, `[!a-z]` and `\` are git's. A hidden name is met
only by a pattern that names it: its leading dot must be a dot of the pattern (`*.env*` names `.env`, `*` does not).
"""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from heapq import merge
from itertools import islice
from typing import Literal, NamedTuple

from .errors import GlobError
from .wildmatch import translate

_MOST_ALTERNATIVES = 1_000
_TO_BRACE = re.compile(r"(?:\\.|\[[!^]?\]?[^\]]*\]|[^\\{\[]|\[(?![^\]]*\]))*\{", re.DOTALL)
_TAIL = re.compile(r"[^/*?\[\]\\]+\Z")
_ROUGH = re.compile(r"\[[^\]]*\]?|\\.?|[^\w.\- ]|[^\x00-\x7f]")
_PART = 5_000
Sort = Literal["path", "modified", "size"]


class Glob(NamedTuple):
    """A compiled file pattern. `matches` ignores dots, `names` asks that hidden parts are named."""

    text: str
    alternatives: tuple[str, ...]
    matches: Callable[[str], object]
    names: Callable[[str], object]
    components: Callable[[str], object]
    tails: tuple[str, ...]
    is_by_tail: bool

    def select(self, names: Iterable[str], *, folder: str) -> list[str]:
        """Give those of `names` that match, whatever their dots; `folder`, where they are, is "" or ends with "/"."""
        if self.tails:
            tails = self.tails
            names = [name for name in names if name.endswith(tails)]
            if self.is_by_tail:
                return names
        return [name for name in names if self.matches(folder + name)]

    @property
    def names_hidden(self) -> bool:
        """Whether a hidden name may be met at all: some part of the pattern has a dot where a name may begin."""
        return any(part.lstrip("*").startswith(".") for one in self.alternatives for part in one.split("/"))

    @property
    def is_specific(self) -> bool:
        """Whether every alternative says something about the name itself, more than `*`."""
        return all(one.rpartition("/")[2].strip("*?") for one in self.alternatives)

    def enters(self, folder: str) -> bool:
        """Tell whether some part of the pattern names the hidden folder of this name."""
        return self.components(folder) is not None

    def rough_names(self) -> tuple[str, ...] | None:
        """Give plain `*` patterns that meet every name that this one can meet, None where that would be all names."""
        rough = {re.sub(r"\*+", "*", _ROUGH.sub("*", one.rpartition("/")[2])) for one in self.alternatives}
        return None if "*" in rough else tuple(sorted(rough))


def compile_glob(pattern: str, *, commas: bool = False) -> Glob:
    """Compile a file pattern; with `commas`, a list of them such as `*.py,*.js`.

    Raises `GlobError` for a pattern that is empty, absolute, negated, leads upwards, or is not closed.

    >>> compile_glob("src/**/*.{ts,tsx}").matches("src/a.ts") is not None
    True
    """
    split = _split(pattern) if commas else [pattern]
    alternatives = tuple(_checked(one, pattern) for part in split for one in _braces(part.strip() if commas else part))
    free = [_source(one, pattern, spare_dots=False) for one in alternatives]
    strict = [_source(one, pattern, spare_dots=True) for one in alternatives]
    parts = sorted({translate(part, spare_dots=True) or "(?!)" for one in alternatives for part in one.split("/")[:-1]})
    named = [part for part in parts if part.lstrip("(").startswith("\\.")]
    tails = tuple(_tail(one) for one in alternatives)
    is_by_tail = all(one in (f"*{tail}", f"**/*{tail}") for one, tail in zip(alternatives, tails, strict=True))
    return Glob(
        pattern,
        alternatives,
        _any_of(free),
        _any_of(strict),
        _any_of(named),
        tails if all(tails) else (),
        is_by_tail,
    )


def first_sorted(
    found: Iterable[tuple[str, float, int]], sort: Sort, *, limit: int
) -> tuple[list[tuple[str, float, int]], int]:
    """Sort (path, modified, size) and cut: the first `limit` and how many there were.

    Newest and largest come first; equal ones are in the order of their paths.
    """

    def key(entry: tuple[str, float, int]) -> tuple[float, bytes]:
        path, modified, size = entry
        return {"path": 0.0, "modified": -modified, "size": -size}[sort], path_key(path)

    # Sorted in parts: one long sort would keep every other thread waiting, that of the event loop too.
    parts: list[list[tuple[str, float, int]]] = []
    entries = iter(found)
    while part := list(islice(entries, _PART)):
        parts.append(sorted(part, key=key))
    return list(islice(merge(*parts, key=key), limit)), sum(map(len, parts))


def _tail(pattern: str) -> str:
    """Give the end of a pattern that stands for itself: `.py` of `**/test_*.py`."""
    found = _TAIL.search(pattern)
    return found[0] if found else ""


def path_key(path: str) -> bytes:
    """Give the key that sorts paths as a walk meets them: folder by folder, each by the bytes of its names."""
    return path.encode("utf-8", "surrogateescape").replace(b"/", b"\0")


def _any_of(sources: Sequence[str]) -> Callable[[str], object]:
    return re.compile("|".join(f"(?:{source})" for source in sources) or "(?!)", re.DOTALL).fullmatch


def _source(one: str, pattern: str, *, spare_dots: bool) -> str:
    source = translate(one if "/" in one else f"**/{one}", spare_dots=spare_dots)
    if source is None:
        raise GlobError(
            f"The pattern {pattern!r} has a '[' that is not closed or a '\\' at its end. Write '\\[' for '['."
        )
    return source


def _checked(one: str, pattern: str) -> str:
    while one.startswith("./"):
        one = one[2:].lstrip("/")
    if not one:
        raise GlobError(f"The pattern {pattern!r} has an empty part. Write '*' for every file.")
    if one.startswith(("/", "~")) or re.match(r"[A-Za-z]:[/\\]", one):
        raise GlobError(
            f"The pattern {pattern!r} is absolute. Give the folder as the path and the rest as the pattern."
        )
    if ".." in one.split("/"):
        raise GlobError(f"The pattern {pattern!r} leads upwards with '..'. Give the folder to look in as the path.")
    if one.startswith("!"):
        raise GlobError(f"The pattern {pattern!r} begins with '!'. Say which files to see, not which to leave out.")
    if "\0" in one:
        raise GlobError(f"The pattern {pattern!r} holds a NUL, which no file name has.")
    return one + "**" if one.endswith("/") else one


def _split(text: str) -> list[str]:
    """Cut at the commas that stand outside of braces and classes; a backslash keeps what follows it."""
    parts, depth = [""], 0
    for piece in re.findall(r"\\.|\[[!^]?\]?[^\]]*\]|.", text, re.DOTALL):
        depth += (piece == "{") - (piece == "}")
        if piece == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += piece
    return parts


def _braces(text: str) -> Iterator[str]:
    """Expand `{a,b}` from the left, nested ones too."""
    pending, made = [text], 0
    while pending:
        one = pending.pop()
        opening = _TO_BRACE.match(one)
        if opening is None:
            made += 1
            yield one
            continue
        body, rest = _closed(one[opening.end() :], text)
        pending += [one[: opening.end() - 1] + choice + rest for choice in reversed(_split(body))]
        if made + len(pending) > _MOST_ALTERNATIVES:
            raise GlobError(
                f"The pattern {text!r} stands for more than {_MOST_ALTERNATIVES:,} patterns. Use '*' instead."
            )


def _closed(text: str, pattern: str) -> tuple[str, str]:
    depth, at = 1, 0
    for piece in re.findall(r"\\.|\[[!^]?\]?[^\]]*\]|.", text, re.DOTALL):
        depth += (piece == "{") - (piece == "}")
        if depth == 0:
            return text[:at], text[at + 1 :]
        at += len(piece)
    raise GlobError(f"The pattern {pattern!r} has a '{{' that is not closed. Write '\\{{' for a brace of a name.")
