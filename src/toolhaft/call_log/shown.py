"""Arguments on one line of a log: shortened, control characters escaped, secrets left out.

The work is bounded however large an argument is: pieces are made one by one and no more are made once the line is full.
Secrets are known by the name they stand under, at any depth, and by their form in running text. That is a net against
accidents, not a promise: a password in the middle of prose looks like any word.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import fields, is_dataclass
from enum import Enum
from functools import cache
from itertools import pairwise
from pathlib import PurePath
from typing import Any, cast

from pydantic import BaseModel
from pydantic_ai import RunContext

LINE_LIMIT = 2_000
"""Characters shown of all arguments together."""

TEXT_LIMIT = 200
"""Characters shown of one text."""

DEPTH_LIMIT = 6
"""Containers shown inside containers."""

_REDACTED = "[redacted]"
_SECRET_WORDS = frozenset(
    {"apikey", "auth", "authorization", "bearer", "cookie", "credential", "credentials", "passcode", "passphrase"}
    | {"jwt", "pass", "passwd", "password", "pwd", "secret", "secrets", "token"}
)
_SECRET_PAIRS = frozenset((kind, "key") for kind in ("access", "api", "encryption", "private", "secret", "signing"))
_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")

_TELLING = "(?:password|passwd|passphrase|pwd|_pass|secret|token|(?:api|access|signing)[_-]?key|authorization)"

# What secrets look like in running text: keys of well-known services, tokens, and what follows a telling word.
_SECRET_FORMS = rf"""
      \b(?:sk|pk|rk)[-_][\w-]{{16,}}                            # OpenAI, Anthropic, Stripe
    | \b(?:gh[pousr]|github_pat|glpat|xox[abeoprs]|npm|pypi|hf)[-_][\w-]{{10,}}
    | \b(?:AKIA|ASIA)[A-Z0-9]{{12,}} | \bAIza[\w-]{{20,}}
    | \beyJ[\w-]{{8,}}\.[\w-]{{4,}}(?:\.[\w-]*)?                # JSON web tokens
    | -----BEGIN[ ][A-Z ]*PRIVATE[ ]KEY-----.*?(?:-----END[ ][A-Z ]*-----|\Z)
    | (?<=://)[^\s/@:]*:[^\s/@]+(?=@)                         # user:password@ in an address
    | (?<=\s-u[ ])[^\s:]+:\S+                                # the same, for curl
    | (?<=bearer[ ])[\w.~+/=-]{{4,}} | (?<=basic[ ])[\w+/=-]{{8,}}
    | (?P<name>{_TELLING}["']?\s*[=:]\s*["']? | --[\w-]*{_TELLING}[ ]+)(?!(?:bearer|basic)\b)[^\s"',;&]+
    """


@cache
def _secret_forms() -> re.Pattern[str]:
    """Compiled when the first text is logged: it takes milliseconds, and most programs log no calls."""
    return re.compile(_SECRET_FORMS, re.VERBOSE | re.IGNORECASE | re.DOTALL)


def shown_arguments(arguments: Mapping[str, Any]) -> str:
    """`name=value, ...`, without the `RunContext`; never raises, whatever the values are."""
    try:
        return "".join(_until_full(_line(arguments)))
    except Exception:  # noqa: BLE001 - a stranger's object may raise anything, and a log must not fail the call
        return "arguments that cannot be shown"


def shown_text(text: str) -> str:
    """A text as a Python literal, so that no line break or terminal code gets into the log."""
    # A longer piece is searched than is shown: a secret that the cut divides must still be known as one.
    searched = _secret_forms().sub(lambda found: (found["name"] or "") + _REDACTED, text[: 2 * TEXT_LIMIT])
    if len(text) <= TEXT_LIMIT:
        return repr(searched)
    return f"{searched[:TEXT_LIMIT]!r}... ({len(text):,} characters)"


def _until_full(pieces: Iterable[str]) -> Iterator[str]:
    length = 0
    for piece in pieces:
        if length + len(piece) > LINE_LIMIT:
            yield " ..."
            return
        length += len(piece)
        yield piece


def _line(arguments: Mapping[str, Any]) -> Iterator[str]:
    separator = ""
    for name, value in arguments.items():
        if not isinstance(value, RunContext):
            yield f"{separator}{name}="
            yield from _value(value, name, DEPTH_LIMIT)
            separator = ", "


def _value(value: Any, name: str, depth: int) -> Iterator[str]:
    if isinstance(value, Enum):
        value = value.value
    if _is_secret(name, value):
        yield _REDACTED
    elif isinstance(value, str | PurePath):
        yield shown_text(str(value))
    elif value is None or isinstance(value, bool | float):
        yield repr(value)
    elif isinstance(value, int):
        # Python refuses to print integers of thousands of digits.
        yield repr(value) if value.bit_length() < 256 else f"<an integer of {value.bit_length():,} bits>"
    elif isinstance(value, bytes | bytearray):
        yield f"<{len(value):,} bytes>"
    else:
        yield from _container(value, depth)


def _container(value: Any, depth: int) -> Iterator[str]:
    items = _items(value)
    if items is None or depth == 0:
        yield f"<{type(value).__name__}>"
        return
    separator = "["
    for name, item in items:
        yield f"{separator}{shown_text(name)}: " if name else separator
        yield from _value(item, name, depth - 1)
        separator = ", "
    yield "[]" if separator == "[" else "]"


def _items(value: Any) -> Iterator[tuple[str, Any]] | None:
    """The parts of a container with their names, "" where they have none; None for what is no container."""
    if isinstance(value, Mapping):
        items = cast("Mapping[Any, Any]", value).items()
        return ((key if isinstance(key, str) else f"<{type(key).__name__}>", item) for key, item in items)
    if isinstance(value, BaseModel):
        return iter(vars(value).items())
    if is_dataclass(value) and not isinstance(value, type):
        return ((field.name, getattr(value, field.name)) for field in fields(value))
    if isinstance(value, list | tuple | set | frozenset):
        return (("", item) for item in cast("Iterable[Any]", value))
    return None


def _is_secret(name: str, value: Any) -> bool:
    if value is None or isinstance(value, bool):
        return False
    words = [word.lower() for word in _WORD.findall(name[:TEXT_LIMIT])]
    if "tokens" in words and not isinstance(value, int | float):  # max_tokens=100 is no secret
        return True
    return not _SECRET_WORDS.isdisjoint(words) or not _SECRET_PAIRS.isdisjoint(pairwise(words))
