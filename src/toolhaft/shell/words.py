r"""A word of bash after its quotes are gone: what a program would be passed, and how sure we are of it.

Rules on commands look at words, never at spelling: `rm`, `r\m`, `'r'm` and `$'\x72m'` are one word. What only the
running shell knows (a variable, the output of a command) stays in the text as written and is marked unknown.
"""

from __future__ import annotations

import re
from typing import Any, NamedTuple

MAX_BRACE_WORDS = 256
MAX_BRACES = 40


class Word(NamedTuple):
    """One field a command is passed.

    `text` has its quotes removed; parts that only the shell knows stand in it as written (`$x`, `$(...)`), and `~`
    stands for the home folder however it was spelled. The other fields say how far the text can be trusted.
    """

    text: str
    known: bool = True  # text is exactly what the program gets
    splits: bool = False  # an unquoted expansion: it may become no word, or many
    globs: bool = False  # unquoted * ? [...]: it may become many file names
    home: bool = False  # text starts with the home folder (`~`, `~name`, `$HOME`)
    open: bool = False  # it begins with something unknown, so it may turn out to be an option
    quoted: bool = False
    nested: tuple[Any, ...] = ()  # the token lists of $(...), `...`, <(...) inside


_REST = (True, False, False, False, False, False, ())


def plain(text: str) -> Word:
    """The word of a text without quotes, expansions or globs; made in half the time, as most words are such."""
    return Word._make((text, *_REST))


class Redirect(NamedTuple):
    """`operator` without its descriptor (`>`, `>>`, `>&`, `<`, `<<<`, ...); for `<<` the target is the document."""

    operator: str
    target: Word


class NotBashError(ValueError):
    """The text is not bash, or bash that we do not read; nothing about it can be called safe."""


_ESCAPES = {"a": "\a", "b": "\b", "e": "\x1b", "E": "\x1b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}
_ANSI_C = re.compile(
    r"\\(?:x([0-9a-fA-F]{1,2})|u([0-9a-fA-F]{1,4})|U([0-9a-fA-F]{1,8})|([0-7]{1,3})|c([\s\S])|([\s\S]))"
)


def _escape(match: re.Match[str]) -> str:
    hexadecimal, short, long, octal, control, other = match.groups()
    if number := hexadecimal or short or long:
        code = int(number, 16)
        return chr(code) if code < 0x110000 else "\ufffd"
    if octal:
        return chr(int(octal, 8) & 0xFF)
    if control:
        return chr(ord(control) & 0x1F)
    return _ESCAPES.get(other, other if other in "\\'\"?" else "\\" + other)


def ansi_c(body: str) -> str:
    r"""The text that `$'body'` stands for; like bash it ends at the first NUL (`\0`)."""
    return _ANSI_C.sub(_escape, body).partition("\0")[0]


_ATOM = re.compile(r"""\\[\s\S]|\$'(?:[^'\\]|\\[\s\S])*'|'[^']*'|"(?:[^"\\]|\\[\s\S])*"|\$\{[^{}]*\}|[\s\S]""")
_SEQUENCE = re.compile(r"(-?\d+)\.\.(-?\d+)(?:\.\.(-?\d+))?|([A-Za-z])\.\.([A-Za-z])(?:\.\.(-?\d+))?")


def expand_braces(raw: str) -> list[str]:
    """The words, still quoted, that brace expansion makes of one: `{rm,-rf}` is two, `{}` and `{x}` stay as they are.

    Raises NotBashError above MAX_BRACE_WORDS words.
    """
    if raw.count("{") > MAX_BRACES:
        raise NotBashError(f"more than {MAX_BRACES} braces in one word")
    if "$(" in raw or "`" in raw:
        raise NotBashError("a brace expansion together with a command substitution in one word")
    return _expand(_ATOM.findall(raw))


def _expand(atoms: list[str]) -> list[str]:
    for start, atom in enumerate(atoms):
        if atom != "{":
            continue
        found = _alternatives(atoms, start)
        if found is None:
            continue
        parts, end = found
        head, tails = "".join(atoms[:start]), _expand(atoms[end + 1 :])
        middles = [middle for part in parts for middle in _expand(part)]
        if len(middles) * len(tails) > MAX_BRACE_WORDS:
            raise NotBashError(f"a brace expansion of more than {MAX_BRACE_WORDS} words")
        return [head + middle + tail for middle in middles for tail in tails]
    return ["".join(atoms)]


def _alternatives(atoms: list[str], start: int) -> tuple[list[list[str]], int] | None:
    """What stands between the brace at `start` and its partner, cut at the commas, and where the partner is."""
    depth = 0
    parts: list[list[str]] = [[]]
    for index in range(start, len(atoms)):
        atom = atoms[index]
        depth += (atom == "{") - (atom == "}")
        if depth == 0:
            if len(parts) > 1:
                return parts, index
            sequence = _sequence("".join(parts[0]))
            return ([[text] for text in sequence], index) if sequence else None
        if atom == "," and depth == 1:
            parts.append([])
        elif index > start:
            parts[-1].append(atom)
    return None


def _sequence(inner: str) -> list[str]:
    match = _SEQUENCE.fullmatch(inner)
    if not match:
        return []
    low, high, step, first, last, letter_step = match.groups()
    start, stop = (int(low), int(high)) if low else (ord(first), ord(last))
    stride = abs(int(step or letter_step or 1)) or 1
    if abs(stop - start) // stride >= MAX_BRACE_WORDS:
        raise NotBashError(f"a brace expansion of more than {MAX_BRACE_WORDS} words")
    numbers = range(start, stop + 1, stride) if start <= stop else range(start, stop - 1, -stride)
    padded = any(bound and re.match(r"-?0\d", bound) for bound in (low, high))
    width = max(len(low or ""), len(high or "")) if padded else 0
    return [str(number).zfill(width) if low else chr(number) for number in numbers]
