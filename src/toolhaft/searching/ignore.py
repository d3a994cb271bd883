r"""What a search leaves out because an ignore file says so: git's rules over any tree, with or without git.

A walk goes from the top down and asks one folder at a time. Each folder adds its own ignore files to the rules of the
folder above; a folder that is ignored is not entered, which is why nothing beneath it can be re-included. In each kind
of file the deepest one that says anything wins, and in a file the last line that matches. The kinds rank as ripgrep
ranks them: `.rgignore`, `.ignore`, `.gitignore`, `.git/info/exclude`. A nested repository starts its git rules anew.

Written here because pathspec 1.1.1 raises on lines that git reads (`t 1 \    `) and costs 19 µs a name where this
costs 4, for an ignore file of 40 lines.
"""

import os
import re
from collections.abc import Callable, Collection, Container, Sequence
from functools import lru_cache
from typing import NamedTuple, Self

from .wildmatch import is_literal, translate

_BOM = b"\xef\xbb\xbf"
_GIT_KINDS = (".gitignore", ".git/info/exclude")
# Lines that git and ripgrep read alike; they differ in classes, in blanks at an end and in what follows a backslash.
# (As text: `re` compiles it when it is first used.)
_PLAIN = rb"(?:#.*(?:\n|$)|(?:[\w./?!@+,~=$%:;&'()*-]|\[(?:\w-\w|\w)+\]| )*\r?(?:\n|$))*"
_LONG_STARS = rb"[^/!\n]\*\*|\*\*[^/\r\n]"
IGNORE_FILES = (".rgignore", ".ignore", *_GIT_KINDS)  # the ones that outrank the others come first
MARKS = frozenset((".rgignore", ".ignore", ".gitignore", ".git"))  # a folder without any has no rules of its own

Read = Callable[[str], bytes | None]


class IgnoreRules(NamedTuple):
    """The ignore rules in force in one folder: `is_ignored` answers for the names in it.

    One chain per kind of ignore file, in the order of `IGNORE_FILES`, each chain from the deepest file to the topmost.
    """

    prefix: str
    chains: tuple[tuple["_IgnoreFile", ...], ...]
    is_plain: bool
    """Whether the rules hold only what every reader of ignore files understands alike."""

    def inside(self, folder: str) -> "IgnoreRules":
        """Give the same rules for a folder below that has no ignore file of its own."""
        prefix = "" if folder in ("", ".") else _as_bytes(f"{folder}/")
        return self if prefix == self.prefix else IgnoreRules(prefix, self.chains, self.is_plain)

    @classmethod
    def for_folder(
        cls, parent: "IgnoreRules | None", folder: str, *, read: Read, names: Collection[str] | None = None
    ) -> Self:
        r"""Give the rules of `folder`: those of `parent` (None for the root) and what its own ignore files add.

        `folder` is relative to the root, with slashes, "" or "." for the root itself. `read` takes a path relative to
        the root and answers the file's bytes, or None where there is no such file or it cannot be read. `names`, where
        the caller has just listed the folder, spares the reads of files that are not there.

        >>> rules = IgnoreRules.for_folder(None, "", read={".gitignore": b"*.log\n!keep.log\n"}.get)
        >>> rules.is_ignored("a.log", is_dir=False), rules.is_ignored("keep.log", is_dir=False)
        (True, False)
        """
        folder = "" if folder == "." else folder
        prefix = f"{folder}/" if folder else ""
        inherited = parent.chains if parent else ((),) * len(IGNORE_FILES)
        if parent is not None and names is not None and MARKS.isdisjoint(names):
            return cls(_as_bytes(prefix), parent.chains, parent.is_plain)
        is_repository = _is_repository(prefix, read, names)
        chains: list[tuple[_IgnoreFile, ...]] = []
        for kind, above in zip(IGNORE_FILES, inherited, strict=True):
            kept = () if is_repository and kind in _GIT_KINDS else above
            there = names is None or kind.partition("/")[0] in names
            content = read(prefix + kind) if there else None
            chains.append((_parse(prefix, content), *kept) if content else kept)
        is_plain = all(file.is_plain for chain in chains for file in chain)
        return cls(_as_bytes(prefix), tuple(chains), is_plain)

    def suspects(self, names: Collection[str]) -> set[str]:
        """Give the names of files among which are all that `is_ignored` could be true of: a first look at a folder."""
        found = {name for name in names if not name.isascii()}  # compared byte by byte, which takes more than a look
        for chain in self.chains:
            for file in chain:
                found.update(file.suspect_names.intersection(names))
                if file.suspects is not None:
                    found.update(filter(file.suspects, names))
        return found

    def is_ignored(self, name: str, *, is_dir: bool) -> bool:
        """Tell whether the entry `name` of this folder is left out. A link is a file, wherever it leads."""
        base = _as_bytes(name)
        path = f"{self.prefix}{base}"
        for chain in self.chains:
            for file in chain:
                verdict = file.verdict(base, path[file.depth :], is_dir=is_dir)
                if verdict is not None:
                    return verdict
        return False


class _Rule(NamedTuple):
    pattern: str
    negated: bool
    dir_only: bool


class _IgnoreFile:
    """One ignore file, compiled so that a name costs two look-ups and at most two matches, whatever its length.

    A rule without a slash is about a name, one with a slash about a path from the file's own folder. Each table tells,
    for files and for folders, which rule is the last that matches. Two are equal only where they are the same object.
    """

    __slots__ = ("depth", "files", "folders", "is_plain", "suspect_names", "suspects")

    def __init__(self, prefix: str, content: bytes) -> None:
        rules = [rule for line in content.removeprefix(_BOM).split(b"\n") if (rule := _parse_line(line))]
        for_files = [rule for rule in rules if not rule.dir_only]
        names = {rule.pattern.rpartition("/")[2] for rule in for_files}
        self.is_plain = _is_plain(content)
        # what a file's name is, or matches, if any rule is about it
        self.suspect_names = frozenset(filter(is_literal, names))
        self.suspects = _any_of([name for name in names if not is_literal(name)])
        # how many characters of a path from the root lead to this file's folder
        self.depth = len(_as_bytes(prefix))
        self.files = _table([None if rule.dir_only else rule for rule in rules])
        self.folders = _table(rules)

    def verdict(self, base: str, path: str, *, is_dir: bool) -> bool | None:
        return (self.folders if is_dir else self.files).verdict(base, path)


class _Table(NamedTuple):
    negated: tuple[bool, ...]
    literal_names: dict[str, int]
    literal_paths: dict[str, int]
    names: "_LastMatch"
    paths: "_LastMatch"

    def verdict(self, base: str, path: str) -> bool | None:
        last = max(
            self.literal_names.get(base, -1),
            self.literal_paths.get(path, -1) if self.literal_paths else -1,
            self.names(base) if self.names else -1,
            self.paths(path) if self.paths else -1,
        )
        return None if last < 0 else not self.negated[last]


_LastMatch = Callable[[str], int] | None


def _is_repository(prefix: str, read: Read, names: Container[str] | None) -> bool:
    if names is not None:
        return ".git" in names
    return any(read(prefix + mark) is not None for mark in (".git/HEAD", ".git"))  # a worktree's `.git` is a file


@lru_cache(maxsize=1_000)  # also so that rules that have not changed are the same object in the next search
def _parse(prefix: str, content: bytes) -> _IgnoreFile:
    return _IgnoreFile(prefix, content)


def _any_of(patterns: Sequence[str]) -> Callable[[str], object] | None:
    """Give a function that tells whether any of the patterns matches, None where none could."""
    sources = [source for pattern in patterns if (source := translate(pattern)) is not None]
    return re.compile("|".join(f"(?:{source})" for source in sources), re.DOTALL).fullmatch if sources else None


def _is_plain(content: bytes) -> bool:
    return re.fullmatch(_PLAIN, content) is not None and re.search(_LONG_STARS, content) is None


def _as_bytes(name: str) -> str:
    """Give a name with one character for each of its bytes: git compares bytes, and a name need not be UTF-8."""
    return name if name.isascii() else os.fsencode(name).decode("latin-1")


def _parse_line(line: bytes) -> _Rule | None:
    if line.startswith(b"#"):
        return None
    line = _without_trailing_spaces(line.removesuffix(b"\r").partition(b"\0")[0])
    negated = line.startswith(b"!")
    pattern = line[negated:]
    dir_only = pattern.endswith(b"/")
    pattern = pattern[:-1] if dir_only else pattern
    return _Rule(pattern.decode("latin-1"), negated, dir_only) if pattern else None


def _without_trailing_spaces(line: bytes) -> bytes:
    r"""Cut blanks from the end, as git does: a blank after a backslash stays, and so does a tab."""
    kept = len(line.rstrip(b" "))
    backslashes = kept - len(line[:kept].rstrip(b"\\"))
    return line[: kept + 1] if backslashes % 2 else line[:kept]


def _table(rules: Sequence["_Rule | None"]) -> _Table:
    literal: tuple[dict[str, int], dict[str, int]] = ({}, {})
    wild: tuple[list[tuple[int, str]], list[tuple[int, str]]] = ([], [])
    for index, rule in enumerate(rules):
        if rule is None:
            continue
        is_path = "/" in rule.pattern
        pattern = rule.pattern.removeprefix("/")
        if is_literal(pattern):
            literal[is_path][pattern] = index
        elif (source := translate(pattern)) is not None:
            wild[is_path].append((index, source))
    negated = tuple(rule is not None and rule.negated for rule in rules)
    return _Table(negated, *literal, *map(_last_match, wild))


def _last_match(sources: list[tuple[int, str]]) -> _LastMatch:
    """Give a function that answers the index of the last of `sources` that matches, or -1; None where there is none.

    The alternatives of one expression are tried in order, so they stand in it from the last rule to the first.
    """
    if not sources:
        return None
    indices = [index for index, _ in reversed(sources)]
    fullmatch = re.compile("|".join(f"({source})" for _, source in reversed(sources)), re.DOTALL).fullmatch

    def last_match(subject: str) -> int:
        found = fullmatch(subject)
        return indices[(found.lastindex or 1) - 1] if found else -1

    return last_match
