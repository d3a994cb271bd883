"""Tells on which line each key of a TOML or JSON text stands, which their parsers do not say.

A key is named by its path: `("hooks", "pre_tool_use", 0, "command")`, an entry of a list by its place.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable

Key = tuple[str | int, ...]
Lines = dict[Key, int]

_TOKEN = re.compile(
    r'''"""(?:\\.|[^\\])*?"{3,5}|\'{3}.*?\'{3,5}|"(?:\\.|[^"\\\n])*"|'[^'\n]*'|\#[^\n]*|\n|[\[\]{}=:,]|[^\s\[\]{}=:,"'\#]+''',
    re.DOTALL,
)
_ENDS = frozenset((",", "]", "}", "\n", ""))


def add_line(lines: Lines, key: Key, line: int) -> None:
    """Note the line of a key. Raises `ValueError` for one that is there already."""
    if key in lines:
        raise ValueError(f"line {line}: {key[-1]!r} is there already, on line {lines[key]}. Write each key once.")
    lines[key] = line


class Scanner:
    """Walks a text that its parser has found valid; so nothing here checks grammar."""

    def __init__(self, text: str) -> None:
        self._tokens: list[tuple[str, int]] = []
        line, at = 1, 0
        for found in _TOKEN.finditer(text):
            line += text.count("\n", at, found.start())
            at = found.start()
            if not found[0].startswith("#"):
                self._tokens.append((found[0], line))
        self._tokens.append(("", line))
        self._at = 0
        self._lines: Lines = {}
        self._tables: dict[Key, int] = {}

    def document(self) -> Lines:
        """The lines of a JSON document."""
        self._value(())
        return self._lines

    def statements(self) -> Lines:
        """The lines of a TOML document."""
        table: Key = ()
        while self._peek():
            if self._peek() == "\n":
                self._next()
            elif self._peek() == "[":
                table = self._header()
            else:
                self._pair(table)
        return self._lines

    def _header(self) -> Key:
        line = self._line()
        self._next()
        is_list = self._peek() == "["
        if is_list:
            self._next()
        path = self._path(self._key("]"), line)
        if is_list:
            self._next()
            self._tables[path] = place = self._tables.get(path, -1) + 1
            self._lines.setdefault(path, line)
            path = (*path, place)
        self._lines.setdefault(path, line)
        return path

    def _path(self, names: list[str], line: int) -> Key:
        """The path of a header, with the places of the lists of tables on its way, whose lines are noted."""
        path: Key = ()
        for name in names[:-1]:
            path = (*path, name)
            self._lines.setdefault(path, line)
            if path in self._tables:
                path = (*path, self._tables[path])
        return (*path, names[-1])

    def _pair(self, table: Key) -> None:
        line = self._line()
        names = self._key("=", ":")
        for end in range(1, len(names)):
            self._lines.setdefault((*table, *names[:end]), line)
        path = (*table, *names)
        add_line(self._lines, path, line)
        self._value(path)

    def _key(self, *ends: str) -> list[str]:
        """The names of a dotted key, up to what ends it."""
        names: list[str] = []
        while (token := self._next()) not in ends:
            if token.startswith('"'):
                names.append(json.loads(token))
            elif token.startswith("'"):
                names.append(token[1:-1])
            else:
                names += [name for name in token.split(".") if name]
        return names

    def _value(self, path: Key) -> None:
        self._skip_lines()
        if self._peek() == "{":
            self._entries("}", lambda place: self._pair(path))
        elif self._peek() == "[":
            self._entries("]", lambda place: self._entry((*path, place)))
        else:
            while self._peek() not in _ENDS:
                self._next()

    def _entry(self, path: Key) -> None:
        self._lines[path] = self._line()
        self._value(path)

    def _entries(self, end: str, read: Callable[[int], None]) -> None:
        self._next()
        place = 0
        while True:
            self._skip_lines()
            if self._peek() == end:
                self._next()
                return
            if self._peek() == ",":
                self._next()
                continue
            read(place)
            place += 1

    def _skip_lines(self) -> None:
        while self._peek() == "\n":
            self._next()

    def _peek(self) -> str:
        return self._tokens[self._at][0]

    def _line(self) -> int:
        return self._tokens[self._at][1]

    def _next(self) -> str:
        token = self._tokens[self._at][0]
        self._at += 1
        return token
