"""What a call says that it touches: the files that its arguments name, and the command in them.

Of a tool with a card the names of the arguments are believed. Of anybody else's tool every argument that could be a
path is one that it writes: what it really does, nobody here knows.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, cast
from urllib.parse import unquote

from pydantic_core import to_jsonable_python

from toolhaft.pipeline.call import Call
from toolhaft.shell import PathUse
from toolhaft.shell.options import names
from toolhaft.spec import ToolKind

_WORDS = re.compile(r"[A-Z]?[a-z]+|[A-Z]+")
_PATHS = names(
    "path paths file files filename filepath filenames filepaths dir dirs directory directories folder folders cwd"
)
# Further names under which servers take paths.
_FOREIGN_PATHS = _PATHS | names(
    "source src destination dest dst uri uris url target root location document resource input output"
)
_NO_PATHS = names("pattern patterns glob globs include exclude ignore")
_COMMANDS = names("command commands cmd commandline script shell")
_PATCHES = names("patch diff")
_URI = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://")
_ADDRESS = re.compile(r"(?!file:)[A-Za-z][A-Za-z0-9+.-]*://")
_MAX_PATH_CHARACTERS = 4_096


@dataclass(frozen=True, slots=True, kw_only=True)
class Touched:
    """What the arguments of a call say; nothing is asked of the disk."""

    paths: tuple[PathUse, ...] = ()
    """The files that arguments name."""

    suspects: tuple[PathUse, ...] = ()
    """Further values of somebody else's tool that could be paths: addresses, and what only looks like a path."""

    commands: tuple[str, ...] = ()
    cwd: str = "."
    texts: tuple[str, ...] = ()
    """What else the arguments hold, and so may be written: of a patch, the lines that it adds."""


def is_foreign(call: Call) -> bool:
    """Whether a call is of somebody else's tool, of which nothing can be believed."""
    return call.spec is None or call.kind is ToolKind.MCP


def touched_by(call: Call) -> Touched:
    """What a call says that it touches."""
    foreign = is_foreign(call)
    access = "read" if call.kind is ToolKind.READ and not foreign else "write"
    paths: list[PathUse] = []
    suspects: list[PathUse] = []
    commands: list[str] = []
    texts: list[str] = []
    for name, text in _texts(call.args):
        words = _words(name)
        if words & _COMMANDS and (foreign or call.kind is ToolKind.SHELL):
            commands.append(text)
        elif words & _FOREIGN_PATHS if foreign else _names_path(name):
            use = "read" if name == "cwd" else access
            (suspects if _ADDRESS.match(text) else paths).extend(PathUse(path, use) for path in _paths_in(text))
        else:
            if "old" not in words:  # what an edit replaces is not written
                texts.append(_added(text) if words & _PATCHES else text)
            if foreign and _looks_like_path(text):
                suspects.extend(PathUse(path, access) for path in _paths_in(text))
    cwd = call.args.get("cwd")
    return Touched(
        paths=tuple(paths),
        suspects=tuple(suspects),
        commands=tuple(commands),
        cwd=cwd if isinstance(cwd, str) else ".",
        texts=tuple(texts),
    )


def read_paths(call: Call) -> list[str]:
    """The paths that a call of a tool with a card names: the same as `touched_by` finds, sooner."""
    return [
        text
        for name, value in call.args.items()
        if value is not None and _names_path(name)
        for text in ([value] if isinstance(value, str) else [text for _, text in _texts({name: value})])
    ]


@lru_cache(maxsize=1024)
def _names_path(name: str) -> bool:
    words = _words(name)
    return bool(words & _PATHS) and not words & _NO_PATHS


def _texts(args: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Every text in the arguments, however deep, with the name that it stands under; a list of words is one command."""
    for name, value in args.items():
        if isinstance(value, str):
            yield name, value
        elif isinstance(value, Mapping):
            inner = {str(key): item for key, item in cast("Mapping[Any, Any]", value).items()}
            yield from ((name, key) for key in inner if _looks_like_path(key))  # {"src/a.py": "its text"}
            yield from _texts(inner)
        elif isinstance(value, list):
            items = cast("list[Any]", value)
            if _words(name) & _COMMANDS and all(isinstance(item, str) for item in items):
                yield name, shlex.join(items)
            else:
                for item in items:
                    yield from _texts({name: item})
        elif value is not None and not isinstance(value, bool | int | float):
            yield from _texts({name: _plain(value)})


def _plain(value: object) -> object:
    """What a validated argument (a `Path`, a model, a set) is as JSON."""
    return to_jsonable_python(value, bytes_mode="base64", fallback=str)


@lru_cache(maxsize=1024)
def _words(name: str) -> frozenset[str]:
    return frozenset(word.lower() for word in _WORDS.findall(name))


def _paths_in(text: str) -> tuple[str, ...]:
    """The path of a text that may be a URI; where it holds a NUL, also what a program written in C reads of it."""
    if _URI.match(text):
        text = unquote(text.partition("://")[2])
    elif text[:5].casefold() == "file:":
        text = unquote(text[5:])
    return (text, text.partition("\0")[0]) if "\0" in text else (text,)


def _looks_like_path(text: str) -> bool:
    return len(text) <= _MAX_PATH_CHARACTERS and re.search(r"[./]", text) is not None and "\n" not in text


def _added(patch: str) -> str:
    return "\n".join(line[1:] for line in patch.split("\n") if line.startswith("+"))
