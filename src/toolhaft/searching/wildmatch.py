"""Git's wildcard patterns, translated to regular expressions over bytes.

Git compares bytes: `?` is one byte, a class lists bytes, and a file name need not be UTF-8. The rules are those of
wildmatch.c (git, in the mode WM_PATHNAME): `*` and `?` stop at a slash, `**` crosses it only when it is a whole
component, no class matches a slash. A pattern that git can never match (an open class, a backslash at the end, an
unknown `[:class:]`) gives None.
"""

import re

_CLASSES = {
    b"alnum": rb"a-zA-Z0-9",
    b"alpha": rb"a-zA-Z",
    b"blank": rb" \t",
    b"cntrl": rb"\x00-\x1f\x7f",
    b"digit": rb"0-9",
    b"graph": rb"\x21-\x7e",
    b"lower": rb"a-z",
    b"print": rb"\x20-\x7e",
    b"punct": rb"\x21-\x2f\x3a-\x40\x5b-\x60\x7b-\x7e",
    b"space": rb" \t\n\r",
    b"upper": rb"A-Z",
    b"xdigit": rb"0-9a-fA-F",
}
_WILD = frozenset(b"*?[\\")


def is_literal(pattern: bytes) -> bool:
    r"""Tell whether `pattern` matches itself and nothing else: it holds none of `*`, `?`, `[` and the backslash."""
    return not _WILD.intersection(pattern)


def translate(pattern: bytes) -> bytes | None:
    """Give the source of a regular expression whose `fullmatch` is git's match, or None where nothing can match.

    Compile it with `re.DOTALL`: a newline is an ordinary byte of a file name.
    """
    parts: list[bytes] = []
    at = 0
    while at < len(pattern):
        piece, at = _next_piece(pattern, at)
        if piece is None:
            return None
        parts.append(piece)
    return b"".join(parts)


def _next_piece(pattern: bytes, at: int) -> tuple[bytes | None, int]:
    match pattern[at : at + 1]:
        case b"*":
            return _stars(pattern, at)
        case b"?":
            return b"[^/]", at + 1
        case b"[":
            return _bracket(pattern, at + 1)
        case b"\\":
            return (re.escape(pattern[at + 1 : at + 2]) or None), at + 2
        case byte:
            return re.escape(byte), at + 1


def _stars(pattern: bytes, start: int) -> tuple[bytes, int]:
    end = start
    while pattern[end : end + 1] == b"*":
        end += 1
    opens = start == 0 or pattern[start - 1 : start] == b"/"
    closes = end == len(pattern) or pattern[end : end + 1] == b"/" or pattern[end : end + 2] == b"\\/"
    if end - start == 1 or not (opens and closes):
        return b"[^/]*", end
    if pattern[end : end + 1] == b"/":  # `**/` is also nothing at all: `a/**/b` matches `a/b`
        return b"(?:.*/)?", end + 1
    return b".*", end


def _bracket(pattern: bytes, at: int) -> tuple[bytes | None, int]:
    """Translate the class whose `[` stands just before `at`; `]` in first place is one of its bytes."""
    negated = pattern[at : at + 1] in (b"!", b"^")
    at += negated
    members: list[bytes] = []
    low: int | None = None  # what a `-` would make a range from
    first = True
    while first or pattern[at : at + 1] != b"]":
        first = False
        if pattern[at : at + 2] == b"[:":
            named, at = _named_class(pattern, at)
            if named is None:
                return None, at
            members.append(named)
            low = None
            continue
        is_range = pattern[at : at + 1] == b"-" and low is not None and pattern[at + 1 : at + 2] not in (b"", b"]")
        byte, at = _class_byte(pattern, at + is_range)
        if byte is None:
            return None, at
        members.append(_range(low, byte) if is_range and low is not None else _range(byte, byte))
        low = None if is_range else byte
    return _class_source(members, negated=negated), at + 1


def _class_byte(pattern: bytes, at: int) -> tuple[int | None, int]:
    at += pattern[at : at + 1] == b"\\"
    return (pattern[at], at + 1) if at < len(pattern) else (None, at)


def _named_class(pattern: bytes, at: int) -> tuple[bytes | None, int]:
    end = pattern.find(b"]", at + 2)
    if end < 0:
        return None, at
    if end == at + 2 or pattern[end - 1 : end] != b":":  # no `:]`: the `[` is a byte like any other
        return _range(0x5B, 0x5B), at + 1
    return _CLASSES.get(pattern[at + 2 : end - 1]), end + 1


def _range(low: int, high: int) -> bytes:
    return b"\\x%02x-\\x%02x" % (low, high) if low <= high else b""


def _class_source(members: list[bytes], *, negated: bool) -> bytes:
    body = b"".join(members)
    if negated:
        return b"[^/" + body + b"]"
    return b"(?!/)[" + body + b"]" if body else b"(?!)"
