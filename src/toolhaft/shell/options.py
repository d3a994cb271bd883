"""How programs read their options: clusters (`-uo FILE`), values, abbreviated long names (`--outp=x`), `--`."""

from __future__ import annotations

import re
from functools import cache
from typing import NamedTuple

from .words import Word


class Options(NamedTuple):
    """A command line taken apart. An option's name has no dashes: one letter, or the long name as written."""

    options: tuple[tuple[str, Word | None], ...]
    operands: tuple[Word, ...]
    doubtful: bool = False  # a word of unknown text stands where it could be an option

    def has(self, names: frozenset[str]) -> str | None:
        """The first option given that is one of `names`, or an abbreviation of a long one."""
        return next((name for name, _ in self.options if named(name, names)), None)

    def other(self, known: frozenset[str]) -> str | None:
        """The first option given that is none of `known`."""
        return next((name for name, _ in self.options if not named(name, known)), None)

    def values(self, names: frozenset[str]) -> list[Word]:
        """What was given to the options of these names."""
        return [value for name, value in self.options if value is not None and named(name, names)]


@cache
def names(text: str) -> frozenset[str]:
    """Option names from a table's cell, with blanks between."""
    return frozenset(text.split())


def named(given: str, full: frozenset[str]) -> bool:
    """Whether an option as typed is, or may be short for, one of `full`."""
    return given in _spellings(full)


@cache
def _spellings(full: frozenset[str]) -> frozenset[str]:
    """All names and what they may be shortened to; asked only for the sets in our tables."""
    return full | {name[:length] for name in full for length in range(2, len(name))}


def read_options(
    words: tuple[Word, ...], takes_value: frozenset[str], *, stop: bool = False, single_dash: bool = False
) -> Options:
    """Take apart the words behind a command's name.

    `takes_value` names the options whose value is the rest of the word or the next word. `stop`: the first operand ends
    the options, as for commands that run another. `single_dash`: long names have one dash (`find`, `java`).
    """
    options: list[tuple[str, Word | None]] = []
    operands: list[Word] = []
    doubtful = False
    index, count = 0, len(words)
    while index < count:
        word = words[index]
        index += 1
        text, known, splits = word[0], word[1], word[2]
        if not known or word[3]:
            doubtful = doubtful or word.open or (splits and not known) or text[:1] == "-"
        if text[:1] != "-" or len(text) < 2:
            operands.append(word)
            if stop:
                break
            continue
        if text == "--":
            break
        name, value, wanting = _split(word, takes_value, single_dash=single_dash)
        if wanting and index < count:
            value = words[index]
            index += 1
            doubtful = doubtful or value.splits or bool(_LOOKS_LIKE_OPTION(value.text))
        for letter in name[:-1]:
            options.append((letter, None))
        options.append((name[-1], value))
        if len(name[-1]) < 2 and text[1] == "-":
            doubtful = True
    operands += words[index:]
    return Options(tuple(options), tuple(operands), doubtful)


_LOOKS_LIKE_OPTION = re.compile(r"-[^\d]").match


def _split(word: Word, takes_value: frozenset[str], *, single_dash: bool) -> tuple[list[str], Word | None, bool]:
    """The options one word holds, the value written in it, and whether the next word is the value."""
    text = word.text
    if len(text) == 2 and text[1] != "-":
        return [text[1]], None, text[1] in takes_value
    if single_dash or text[1] == "-":
        name, equals, value = text.lstrip("-").partition("=")
        return [name], word._replace(text=value) if equals else None, not equals and named(name, takes_value)
    for place, letter in enumerate(text[1:], 2):
        if letter in takes_value:
            value = text[place:]
            return list(text[1:place]), word._replace(text=value) if value else None, not value
    return list(text[1:]), None, False
