r"""Git's wildcard patterns, translated to regular expressions.

The rules are those of wildmatch.c (git, in the mode WM_PATHNAME): `*` and `?` stop at a slash, `**` crosses it only
when it is a whole component, no class matches a slash. A pattern that git can never match (an open class, a backslash
at the end, an unknown `[:class:]`) gives None.

Git compares bytes. Who wants that too decodes both sides as latin-1, so that one character is one byte; who hands in
text gets `?` for one character.
"""

import re
from collections.abc import Sequence
from typing import NamedTuple

_CLASSES = {
    "alnum": "a-zA-Z0-9",
    "alpha": "a-zA-Z",
    "blank": r" \t",
    "cntrl": r"\x00-\x1f\x7f",
    "digit": "0-9",
    "graph": r"\x21-\x7e",
    "lower": "a-z",
    "print": r"\x20-\x7e",
    "punct": r"\x21-\x2f\x3a-\x40\x5b-\x60\x7b-\x7e",
    "space": r" \t\n\r",
    "upper": "A-Z",
    "xdigit": "0-9a-fA-F",
}
_WILD = frozenset("*?[\\")


def is_literal(pattern: str) -> bool:
    r"""Tell whether `pattern` matches itself and nothing else: it holds none of `*`, `?`, `[` and the backslash."""
    return _WILD.isdisjoint(pattern)


def translate(pattern: str, *, spare_dots: bool = False) -> str | None:
    """Give the source of a regular expression whose `fullmatch` is git's match, or None where nothing can match.

    With `spare_dots` no wildcard matches a dot that begins a name, as in a shell: only a dot of the pattern does.
    Compile it with `re.DOTALL`: a newline is an ordinary character of a file name. It matches in time that grows
    with the product of the lengths: no pattern makes it try combinations.
    """
    pieces: list[_Piece] = []
    at = 0
    while at < len(pattern):
        # A name can begin here: after a slash, and where all that came before may have matched nothing.
        begins = spare_dots and not pattern[:at].rpartition("/")[2].strip("*")
        piece, at = _next_piece(pattern, at, begins=begins)
        if piece is None:
            return None
        pieces.append(piece)
    return _joined(pieces, _DEEP)


class _Piece(NamedTuple):
    """A part of the expression: one character, or (with `kind`) a wildcard that matches any number of them."""

    source: str
    kind: str = ""
    lazy: str = ""


_STAR, _DEEP = "star", "deep"


def _joined(pieces: Sequence[_Piece], kind: str) -> str:
    """The pieces as one expression.

    What follows a wildcard, up to the next one of its kind, is best matched where it stands first: the next wildcard
    takes what is left. So it stands in an atomic group, which is never entered again (`(?>...)`); only what follows
    the last one has to reach the end, and may be tried at more than one place.
    """
    starts = [at for at, piece in enumerate(pieces) if piece.kind == kind]
    if not starts:
        return _stretch(pieces, kind)
    joined = _stretch(pieces[: starts[0]], kind)
    for at, end in zip(starts, [*starts[1:], len(pieces)], strict=True):
        rest = _stretch(pieces[at + 1 : end], kind)
        joined += f"{pieces[at].source}{rest}" if end == len(pieces) else f"(?>{pieces[at].lazy}{rest})"
    return joined


def _stretch(pieces: Sequence[_Piece], kind: str) -> str:
    return _joined(pieces, _STAR) if kind == _DEEP else "".join(piece.source for piece in pieces)


def _next_piece(pattern: str, at: int, *, begins: bool) -> tuple[_Piece | None, int]:
    match pattern[at]:
        case "*":
            return _stars(pattern, at, begins=begins)
        case "?":
            return _Piece("[^/.]" if begins else "[^/]"), at + 1
        case "[":
            source, end = _bracket(pattern, at + 1)
            return (_Piece(rf"(?!\.){source}" if begins else source) if source else None), end
        case "\\":
            escaped = pattern[at + 1 : at + 2]
            return (_Piece(re.escape(escaped)) if escaped else None), at + 2
        case character:
            return _Piece(re.escape(character)), at + 1


def _stars(pattern: str, start: int, *, begins: bool) -> tuple[_Piece, int]:
    end = start
    while pattern[end : end + 1] == "*":
        end += 1
    opens = start == 0 or pattern[start - 1] == "/"
    closes = end == len(pattern) or pattern[end] == "/" or pattern[end : end + 2] == "\\/"
    if end - start == 1 or not (opens and closes):
        if begins:
            return _Piece("(?:[^/.][^/]*)?", _STAR, "(?:[^/.][^/]*?)??"), end
        return _Piece("[^/]*", _STAR, "[^/]*?"), end
    if pattern[end : end + 1] == "/":  # `**/` is also nothing at all: `a/**/b` matches `a/b`
        if begins:
            return _Piece("(?:[^/.][^/]*/)*", _DEEP, "(?:[^/.][^/]*/)*?"), end + 1
        return _Piece("(?:.*/)?", _DEEP, "(?:.*?/)??"), end + 1
    return _Piece("[^/.][^/]*(?:/[^/.][^/]*)*" if begins else ".*"), end


def _bracket(pattern: str, at: int) -> tuple[str | None, int]:
    """Translate the class whose `[` stands just before `at`; `]` in first place is one of its characters."""
    negated = pattern[at : at + 1] in ("!", "^")
    at += negated
    members: list[str] = []
    low = ""  # what a `-` would make a range from
    first = True
    while first or pattern[at : at + 1] != "]":
        first = False
        if pattern[at : at + 2] == "[:":
            named, at = _named_class(pattern, at)
            if named is None:
                return None, at
            members.append(named)
            low = ""
            continue
        is_range = pattern[at : at + 1] == "-" and low != "" and pattern[at + 1 : at + 2] not in ("", "]")
        member, at = _class_member(pattern, at + is_range)
        if not member:
            return None, at
        members.append(_range(low, member) if is_range else _range(member, member))
        low = "" if is_range else member
    return _class_source(members, negated=negated), at + 1


def _class_member(pattern: str, at: int) -> tuple[str, int]:
    at += pattern[at : at + 1] == "\\"
    return pattern[at : at + 1], at + 1


def _named_class(pattern: str, at: int) -> tuple[str | None, int]:
    end = pattern.find("]", at + 2)
    if end < 0:
        return None, at
    if end == at + 2 or pattern[end - 1] != ":":  # no `:]`: the `[` is a character like any other
        return _range("[", "["), at + 1
    return _CLASSES.get(pattern[at + 2 : end - 1]), end + 1


def _range(low: str, high: str) -> str:
    return f"{re.escape(low)}-{re.escape(high)}" if low <= high else ""


def _class_source(members: list[str], *, negated: bool) -> str:
    body = "".join(members)
    if negated:
        return f"[^/{body}]"
    return f"(?!/)[{body}]" if body else "(?!)"
