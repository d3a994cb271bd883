"""Which files are sensitive or protected: one list of patterns for files, searches, commands and guardrails.

A pattern names a file by its last name or names, at any depth and in any case: `*.pem`, `.aws/credentials`.
`folder/**` (or `folder/`) is the folder itself and everything below it, and `**` between names is any number of
folders. A pattern that begins with `/` or `./` begins at the root. `!pattern` takes back what patterns before it
matched, so the last one that applies decides, as in a `.gitignore`. `*`, `?` and `[abc]` never reach across a slash.
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
        if _applies(_parts(pattern), names):
            hit = None if pattern.startswith("!") else pattern
    return hit


@lru_cache(maxsize=64)
def _telling_name(patterns: tuple[str, ...]) -> re.Pattern[str]:
    """Return what matches a name that some pattern cannot do without.

    Nearly every path has no such name, and every file that is read or searched is asked about.
    """
    parts = [[name for name in _parts(pattern) if name] for pattern in patterns]
    telling = {names[0] if names[-1] == "**" else names[-1] for names in parts if names}
    return re.compile("|".join(map(translate, sorted(telling))) or r"(?!)")


@lru_cache(maxsize=1024)
def _parts(pattern: str) -> tuple[str, ...]:
    """The names of a pattern; the first is empty where it begins at the root."""
    text = pattern.casefold().removeprefix("!")
    text = text[1:] if text.startswith("./") else text
    return (*text.rstrip("/").split("/"), "**") if text.endswith("/") else tuple(text.split("/"))


def _applies(wanted: Sequence[str], names: Sequence[str]) -> bool:
    if not wanted[0]:
        return _fits(wanted[1:], names)
    if "**" not in wanted:
        return _fits(wanted, names[-len(wanted) :])
    return any(_fits(wanted, names[start:]) for start in range(len(names)))


def _fits(wanted: Sequence[str], names: Sequence[str]) -> bool:
    if not wanted or not names:
        return not names and all(name == "**" for name in wanted)
    if wanted[0] == "**":
        return _fits(wanted[1:], names) or _fits(wanted, names[1:])
    return fnmatchcase(names[0], wanted[0]) and _fits(wanted[1:], names[1:])
