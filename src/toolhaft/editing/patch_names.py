r"""File names as patches write them: prefixes, quotes, time stamps; and which of them are safe to use.

Git quotes a name like a C string, its bytes in UTF-8: `"a/\303\244.txt"`. GNU diff writes a tab and a time stamp behind
a name; a time stamp at the epoch means that there is no such file, as `/dev/null` does.
"""

import re

__all__ = ["NO_FILE", "git_pair", "header_name", "is_safe", "may_be_same", "read_name", "tidy"]

NO_FILE = "/dev/null"

_ESCAPES = {"a": 7, "b": 8, "t": 9, "n": 10, "v": 11, "f": 12, "r": 13, '"': 34, "\\": 92}
_LETTERS = {code: letter for letter, code in _ESCAPES.items()}
_ESCAPE = re.compile(rb'\\([abtnvfr"\\]|[0-7]{3})')
_QUOTED = re.compile(r'"(?:[^"\\]|\\.)*"')
_NEEDS_QUOTES = re.compile(r'[\x00-\x1f\x7f"\\]')
# "2024-01-02 03:04:05.000000000 +0000" (GNU diff, git) or "Tue Jan  2 03:04:05 2024" (POSIX diff)
_TIME = re.compile(
    r"\s+(\d{4}-\d\d-\d\d[ T]\d\d:\d\d(:\d\d)?\S*( [+-]\d{4})?|\w{3} \w{3} +\d+ \d\d:\d\d:\d\d \d{4}.*)\s*$"
)
_EPOCH = re.compile(r"(?:1969-12-31|1970-01-01) (\d\d):(\d\d):00(?:\.0+)?(?: ([+-])(\d\d)(\d\d))?$")


def read_name(text: str) -> str | None:
    """The file name in what follows `--- ` or `+++ `: unquoted, without its time stamp; None for "no such file"."""
    quoted = _QUOTED.match(text)
    if quoted:
        name, rest = _unquoted(quoted[0]), text[quoted.end() :]
    else:
        stamp = _TIME.search(text)
        name, rest = (text[: stamp.start()], text[stamp.start() :]) if stamp else (text, "")
        name = name.split("\t")[0].rstrip()
    return None if name == NO_FILE or _is_epoch(rest.strip()) else name


def header_name(prefix: str, name: str | None) -> str:
    """`name` as a header writes it, quoted where it must be; `/dev/null` for None."""
    if name is None:
        return NO_FILE
    if not _NEEDS_QUOTES.search(name):
        return prefix + name
    escaped = "".join(_escaped(byte) for byte in name.encode("utf-8", "surrogateescape"))
    return f'"{prefix}{escaped}"'


def git_pair(text: str) -> tuple[str, str] | None:
    """The two names of a `diff --git` line, prefixes and all; None where it cannot be told where the first one ends."""
    parts = [match[0] or match[1] for match in re.finditer(r'("(?:[^"\\]|\\.)*")|(\S+)', text)]
    if '"' in text and len(parts) == 2:
        first, second = (_unquoted(part) if part.startswith('"') else part for part in parts)
        return first, second
    half = len(text) // 2
    first, second = text[:half], text[half + 1 :]
    if text[half : half + 1] == " " and _without_prefix(first) == _without_prefix(second):
        return first, second
    return (parts[0], parts[1]) if len(parts) == 2 else None


def tidy(name: str | None) -> str | None:
    """`name` without what names no step of a path: one file has one name, however it is spelled.

    >>> tidy("./d/.//f")
    'd/f'
    """
    if name is None:
        return None
    steps = "/".join(step for step in name.split("/") if step not in ("", "."))
    # An absolute path stays one, and so does a folder: `is_safe` is to see what they are.
    return f"{'/' if name.startswith('/') else ''}{steps}{'/' if name.endswith('/') else ''}" if steps else name


def may_be_same(name: str, other: str) -> bool:
    """Whether two names can mean one file: equal, with or without a prefix before either."""
    ours, theirs = ({tidy(form) for form in (spelled, _without_prefix(spelled)) if form} for spelled in (name, other))
    return bool(ours & theirs)


def is_safe(path: str) -> bool:
    """Whether `path` is relative and names something below where it starts, as far as its text can tell."""
    parts = path.split("/")
    return path != "." and "\0" not in path and not path.startswith("~") and not {"", ".."} & set(parts)


def _escaped(byte: int) -> str:
    if byte in _LETTERS:
        return f"\\{_LETTERS[byte]}"
    return chr(byte) if 32 <= byte < 127 else f"\\{byte:03o}"


def _without_prefix(name: str) -> str:
    return name.partition("/")[2]


def _unquoted(quoted: str) -> str:
    def byte(match: re.Match[bytes]) -> bytes:
        code = match[1].decode("ascii")
        return bytes([_ESCAPES[code] if code in _ESCAPES else int(code, 8) & 0xFF])

    return _ESCAPE.sub(byte, quoted[1:-1].encode("utf-8", "surrogateescape")).decode("utf-8", "surrogateescape")


def _is_epoch(stamp: str) -> bool:
    match = _EPOCH.match(stamp)
    if not match:
        return False
    hours, minutes, sign, zone_hours, zone_minutes = match.groups()
    zone = (int(zone_hours or 0) * 60 + int(zone_minutes or 0)) * (-1 if sign == "-" else 1)
    local = int(hours) * 60 + int(minutes) - (24 * 60 if stamp.startswith("1969") else 0)
    return local == zone
