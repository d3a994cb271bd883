r"""One dialect of regular expressions for both engines: ripgrep's, which is the Rust `regex` crate's.

The Python engine does not translate it: pydantic-core, which is here anyway, carries the same crate, and its string
validator answers "does this text match" in time linear in the text, whatever the pattern. So `\w`, `\b`, case folding
and `\p{..}` are the same by construction, and so is the refusal of look-around and back-references.

What ripgrep does about lines is written into the pattern: no class and no dot matches LF, CR or a byte that is no
UTF-8 (which stands as one reserved character in the text), and `^` and `$` are the ends of a line, CRLF being one end.
"""

import re
from collections.abc import Callable, Iterator

from pydantic_core import SchemaError, SchemaValidator, core_schema

from .errors import PatternError
from .tokens import largest_repeat, tokens

NO_TEXT = "\U0010fffe"  # a noncharacter that no text holds: what bytes that are no UTF-8 become before they are matched
_NEVER = rf"[\n\r\x{{{ord(NO_TEXT):x}}}]"
# The crate's time is text times pattern, and a repetition counts as often as it repeats: here a second for 64 KiB.
_MOST_REPEATS = 1_000
_LINE_END = re.compile(r"\\[nr]|\\x0[aAdD]|\\[xuU]\{0*[aAdD]\}|\\u000[aAdD]|\\U0000000[aAdD]")
_LINE_END_CLASS = re.compile(rf"\[(?:{_LINE_END.pattern})+\]")
_WORD_ENDS = ("\\b", "\\B", "\\<", "\\>")
_ADVICE = {
    "backref": "Write out what is repeated, such as (aa|bb) for ([ab])\\1.",
    "escape": "Known are \\d \\w \\s \\b \\p{..} and punctuation after a backslash; ^ and $ stand for \\A and \\Z.",
    "flag": "Known are (..), (?:..), (?P<name>..) and (?i:..); atomic groups and comments are not.",
    "invalid UTF-8": "Leave out (?-u): a pattern matches characters, not bytes.",
}


class Pattern:
    """A pattern that both engines understand alike. Raises `PatternError`, which shows where the fault is.

    `literal` is what to look for as bytes, where a match is that text and nothing else; else None.
    """

    def __init__(self, text: str, *, use_regex: bool, case_sensitive: bool) -> None:
        _check_text(text)
        if use_regex:
            _compile(text, text=text)
            _check_dialect(text)
        source = "".join(_rewritten(text)) if use_regex else re.sub(r"[\\.+*?()|\[\]{}^$#&\-~]", r"\\\g<0>", text)
        self._asks_for_words = use_regex and any(token[:2] in _WORD_ENDS for token in tokens(text))
        self.literal = text.encode() if case_sensitive and not use_regex else None
        self._matches = _compile(f"(?{'' if case_sensitive else 'i'}mR:{source})", text=text)

    def matches(self, text: str) -> bool:
        """Tell whether some line of `text`, which `readable` made of bytes, matches."""
        return self._matches(text)

    def locate(self, line: str) -> int:
        r"""Give a place in the first match of a line that matches, or beside it.

        The shortest head of the line that matches ends where a match ends; one that needs the end of the line is found
        there. Where the pattern asks for the end of a word, heads are cut behind words, to be true in the line too.
        """
        if not self.matches(line + NO_TEXT):
            return len(line)
        low, high = 0, len(line)
        while low < high:
            middle = (low + high) // 2
            cut = _word_end(line, middle) if self._asks_for_words else middle
            if self.matches(line[:cut] + NO_TEXT):
                high = middle
            else:
                low = middle + 1
        return low


def readable(data: bytes) -> str:
    """Decode UTF-8; every byte that is none becomes `NO_TEXT`, which no pattern matches."""
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        return re.sub("[\udc80-\udcff]", NO_TEXT, data.decode("utf-8", "surrogateescape"))


def _word_end(line: str, at: int) -> int:
    found = re.compile(r"\W").search(line, at)
    return found.start() if found else len(line)


def _check_text(text: str) -> None:
    if not text:
        raise PatternError("The pattern is empty and would match every line. Give the text to look for.")
    if re.search("[\0\ud800-\udfff]", text):
        raise PatternError(f"The pattern {text!r} holds a NUL or half of a surrogate pair, which no text has.")
    if re.search(r"[\n\r]", text):
        raise PatternError(f"The pattern {text!r} holds a line end, but each line is matched alone. Look for one line.")


def _check_dialect(text: str) -> None:
    at = 0
    for token in tokens(text):
        flags = re.fullmatch(r"\(\?([a-zA-Z-]*)[:)]", token)
        if _LINE_END.fullmatch(token) or _LINE_END_CLASS.fullmatch(token):
            raise _refused(
                text, token, at, "no line holds a line end, each is matched alone", "Leave it out, or use $."
            )
        if token in ("\\A", "\\z"):
            raise _refused(text, token, at, "each line is matched alone", "Use ^ for \\A and $ for \\z.")
        if flags and set(flags[1]) - set("isU-"):
            raise _refused(text, token, at, "of the flags only i, s and U are known", "Leave the others out.")
        at += len(token)
    if largest_repeat(text) > _MOST_REPEATS:
        raise PatternError(
            f"The pattern {text!r} repeats to more than {_MOST_REPEATS:,} elements. Use smaller counts, or + or *."
        )


def _refused(text: str, token: str, at: int, why: str, advice: str) -> PatternError:
    return PatternError(
        f"The pattern {text!r} is refused: {why}.\n    {text}\n    {' ' * at}{'^' * len(token)}\n{advice}"
    )


def _rewritten(text: str) -> Iterator[str]:
    for token in tokens(text):
        if token == ".":
            yield "[^" + _NEVER[1:]
        elif token.startswith("[") or re.match(r"\\[sSWDpP]", token):
            yield f"[{token}--{_NEVER}]"
        else:
            yield token


def _compile(source: str, *, text: str) -> Callable[[str], bool]:
    schema = core_schema.str_schema(pattern=source, regex_engine="rust-regex")
    try:
        return SchemaValidator(schema).isinstance_python
    except SchemaError as error:
        raise PatternError(_explained(text, str(error))) from error


def _explained(text: str, message: str) -> str:
    if "size limit" in message:
        return f"The pattern {text!r} is too large once its repetitions are written out. Use smaller counts, or + or *."
    shown, _, why = message.partition("regex parse error:\n")[2].rpartition("error: ")
    advice = next(
        (advice for word, advice in _ADVICE.items() if word in why), "Mend it, or search for it as plain text."
    )
    advice = _without_look_around(text) if "look-around" in why else advice
    return f"The pattern {text!r} is no regular expression here: {why.strip()}.\n{shown.rstrip()}\n{advice}"


def _without_look_around(text: str) -> str:
    if re.search(r"\(\?<?!", text):
        return (
            "Spell out what may stand there, such as foo([^b]|$) for foo(?!b), or look for the rest and read the lines."
        )
    return f"Write {re.sub(r'[(][?]<?=', '(?:', text)!r}: the lines it finds are the same."
