"""Commands that bash itself runs. Several evaluate a name as an array subscript, and any code in it (`printf -v`)."""

from __future__ import annotations

import re
from collections.abc import Callable

from .environment import matters
from .options import names, read_options
from .words import Word

_IDENTIFIER = re.compile(r"[A-Za-z_]\w*", re.A)
_ARITHMETIC_TESTS = names("-eq -ne -lt -le -gt -ge")
_PLAIN_NUMBER = re.compile(r"-?\d+")


def _names(words: tuple[Word, ...], values: str = "", only: str = "") -> str | None:
    """Why setting these variables is not harmless; an option not listed in `only` is not."""
    options = read_options(words, names(values))
    if options.doubtful or options.other(names(only)):
        return "an option that can run what a variable holds"
    for word in options.operands:
        name = word.text.partition("=")[0].removesuffix("+")
        if not _IDENTIFIER.fullmatch(name):
            return f"{name!r} is not a plain variable name"
        if matters(name):
            return f"setting {name} changes what programs run"
    return None


def _cd(words: tuple[Word, ...]) -> str | None:
    return None


def _set(words: tuple[Word, ...]) -> str | None:
    for word in words:
        if not word.known or not re.fullmatch(r"[-+][eufxvE]*o?|pipefail|errexit|nounset|xtrace|noglob", word.text):
            return f"set {word.text} is not known to be harmless"
    return None if words else "set without arguments prints and changes nothing known"


def _read(words: tuple[Word, ...]) -> str | None:
    return _names(words, values="d n N t p u", only="r s d n N t p u")


def _printf(words: tuple[Word, ...]) -> str | None:
    first = words[0] if words else Word("")
    if first.open or (first.text.startswith("-") and first.text != "--"):
        return "printf with an option can run code"
    return None


def _test(words: tuple[Word, ...]) -> str | None:
    for index, word in enumerate(words):
        if word.text in ("-v", "-R") or (word.open and word.splits):
            return "-v evaluates a subscript"
        before, after = words[index - 1 : index] or words[:0], words[index + 1 : index + 2]
        alone = len(words) == 1 or (len(words) == 2 and words[0].text == "!")
        if word.open and not alone and not _has_operator(before) and not _has_operator(after):
            return f"{word.text} could be -v, which evaluates a subscript"
    return None


_OPERATORS = re.compile(r"-[a-zA-Z]|-(?:eq|ne|lt|le|gt|ge|nt|ot|ef)|[=<>]|==|!=")


def _has_operator(words: tuple[Word, ...]) -> bool:
    return bool(words) and words[0].known and _OPERATORS.fullmatch(words[0].text) is not None


def _bracket(words: tuple[Word, ...]) -> str | None:
    if not words or words[-1].text != "]":
        return "[ without ]"
    return _test(words[:-1])


def _double_bracket(words: tuple[Word, ...]) -> str | None:
    if not words or words[-1].text != "]]":
        return "[[ without ]]"
    for index, word in enumerate(words):
        if word.text in ("-v", "-R"):
            return "-v evaluates a subscript"
        if word.text in _ARITHMETIC_TESTS:
            around = (*words[max(index - 1, 0) : index], *words[index + 1 : index + 2])
            if not all(_is_number(operand) for operand in around):
                return f"[[ {word.text} ]] evaluates what it compares"
    return None


def _is_number(word: Word) -> bool:
    """A number, or `$#`, `$?`, `$$`, `${#x}`, which the lexer shows as an unknown 0."""
    return _PLAIN_NUMBER.fullmatch(word.text) is not None and (word.known or not word.open)


def _arithmetic(words: tuple[Word, ...]) -> str | None:
    # what it evaluates was judged when it was read
    return "words behind (( ))" if words else None


BUILTINS: dict[str, Callable[[tuple[Word, ...]], str | None]] = {
    "cd": _cd,
    "set": _set,
    "export": lambda words: _names(words, only="n p"),
    "readonly": lambda words: _names(words, only="p"),
    "local": lambda words: _names(words, only="r x"),
    "declare": lambda words: _names(words, only="r x g p l u"),
    "typeset": lambda words: _names(words, only="r x g p l u"),
    "unset": lambda words: _names(words, only="v"),
    "read": _read,
    "printf": _printf,
    "test": _test,
    "[": _bracket,
    "[[": _double_bracket,
    "((": _arithmetic,
}
