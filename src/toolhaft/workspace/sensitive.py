"""Which files are sensitive or protected: one list of patterns for files, searches, commands and guardrails.

A pattern names a file by its last name or names, at any depth and in any case: `*.pem`, `.aws/credentials`.
`folder/**` is the folder itself and everything below it. `!pattern` takes back what patterns before it matched,
so the last one that applies decides, as in a `.gitignore`. `*`, `?` and `[abc]` never reach across a slash.
"""

import re
from collections.abc import Sequence
from fnmatch import fnmatchcase, translate
from functools import lru_cache

DEFAULT_SENSITIVE_FILES: tuple[str, ...] = (
    ".env",
    ".env.*",
    "!.env.example",
    "*.pem",
    "*.key",
    "id_*",
    ".netrc",
    ".aws/credentials",
    ".ssh/**",
)
DEFAULT_PROTECTED_FILES: tuple[str, ...] = (".git/**",)


def matches(relative_path: str, patterns: Sequence[str]) -> str | None:
    """Return the pattern that makes a path sensitive, or None.

    `relative_path` is the *real* path, relative to the workspace root: a link is judged by what it leads to.

    >>> matches("deploy/.env", DEFAULT_SENSITIVE_FILES)
    '.env'
    """
    names = relative_path.casefold().split("/")
    if not any(map(_telling_name(tuple(patterns)).match, names)):
        return None
    hit: str | None = None
    for pattern in patterns:
        if _applies(pattern.casefold().removeprefix("!").split("/"), names):
            hit = None if pattern.startswith("!") else pattern
    return hit


@lru_cache(maxsize=64)
def _telling_name(patterns: tuple[str, ...]) -> re.Pattern[str]:
    """Return what matches a name that some pattern cannot do without.

    Nearly every path has no such name, and every file that is read or searched is asked about.
    """
    parts = [pattern.casefold().removeprefix("!").split("/") for pattern in patterns]
    telling = {names[0] if names[-1] == "**" else names[-1] for names in parts}
    return re.compile("|".join(map(translate, sorted(telling))) or r"(?!)")


def _applies(wanted: list[str], names: list[str]) -> bool:
    if wanted[-1] != "**":
        return _equal(names[-len(wanted) :], wanted)
    folder = wanted[:-1]
    return any(_equal(names[start : start + len(folder)], folder) for start in range(len(names)))


def _equal(names: list[str], wanted: list[str]) -> bool:
    return len(names) == len(wanted) and all(map(fnmatchcase, names, wanted))
