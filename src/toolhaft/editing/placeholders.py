"""Finds where a model wrote "the rest stays as it is" instead of the rest.

Such a line is a comment, a bracket or an ellipsis, and says nothing but that the rest is as it was, or only names it
("existing code"). A sentence with a subject of its own, a heading, prose and code are not taken for one.
"""

import re

from toolhaft.editing.refusal import EditError, Reason

__all__ = ["new_placeholder", "refuse_placeholder"]

MOST_WORDS = 12

_LINE = re.compile(
    r"^\s*(?P<opening>\{/\*+|/\*+|<!--|//+|#+|--+|;+|%+|\*(?=\s)|[\[(<])?\s*(?P<said>.*?)\s*(?:\*+/\}?|--+>|[\])>])?\s*$"
)
_DOTS = re.compile(r"\.{3,}|…")
_KEPT = re.compile(
    r"\b(?:rest|remaind(?:er|ing)|remaining|existing|unchanged|unmodified|same|omitted|previous|original|other|"
    r"as before|truncated|elided|snip(?:ped)?|continues?)\b",
    re.IGNORECASE,
)
_IS = r"(?: (?:stays?|remains?|is|are|goes?))?"
_AS_IT_WAS = (
    rf"{_IS}(?: all| exactly)? (?:unchanged|unmodified|untouched|omitted|elided|the same|as before|as is|not shown)"
)
_HERE = rf"(?:{_IS} here)"
_WHY = r"(?: for brevity| here| below| above)?"
_CODE = (
    "(?:code|implementation|logic|body|contents?|lines|statements|markup|html|css|styles|imports?|methods|functions|"
    "classes|definitions|declarations|config(?:uration)?|fields|properties|props|routes|cases|tests)"
)
_LEFT_OUT = re.compile(
    rf"(?:the |all )*(?:rest|remainder)(?: of (?:the |your |this )?\w+(?: \w+)?)?{_AS_IT_WAS}{_WHY}"
    rf"|(?:the |all )*(?:remaining|existing|other|previous|original) \w+(?: \w+)?{_AS_IT_WAS}{_WHY}"
    rf"|(?:the |all )*(?:remaining|existing|other|previous|original) (?:\w+ )?{_CODE}{_HERE}"
    r"|no (?:further |other |more )?(?:changes?|modifications?|edits?)(?: needed| required| necessary)?"
    r"(?: (?:here|below|above|after|beyond|past|from)(?: here| (?:this|the) \w+)?)?"
    r"|(?:unchanged|unmodified)(?: code)?(?: below| above| here)?|omitted for brevity|(?:same )?as before",
    re.IGNORECASE,
)
_NAMED_ONLY = re.compile(
    rf"(?:the )?(?:rest|remainder) of (?:the |your |this )?\w+(?: \w+)?{_HERE}?"
    rf"|(?:the |all )*(?:remaining|existing|previous|original) (?:\w+ )?{_CODE}",
    re.IGNORECASE,
)


def refuse_placeholder(old: str, new: str) -> None:
    """Raise `EditError` where `new` leaves text out by a placeholder that `old` has not."""
    placeholder = new_placeholder(old, new)
    if placeholder is not None:
        raise EditError(
            Reason.PLACEHOLDER,
            f"The new text has the line {placeholder!r} in the place of text that it leaves out. Write the whole new "
            "text, or name a smaller old text that holds only what changes.",
        )


def new_placeholder(old: str, new: str) -> str | None:
    r"""The first line of `new` that stands for text left out, if `old` has no such line.

    >>> new_placeholder("a = 1", "a = 2\n# ... rest of the code unchanged")
    '# ... rest of the code unchanged'
    """
    shrinks = len(new.split()) < len(old.split())
    had = {line.strip() for line in old.split("\n")}
    return next(
        (line.strip() for line in new.split("\n") if line.strip() not in had and _stands_in(line, shrinks)), None
    )


def _stands_in(line: str, shrinks: bool) -> bool:
    match = _LINE.match(line) if len(line) < 200 else None
    said = match["said"] if match else ""
    if match is None or len(said.split()) > MOST_WORDS:
        return False
    dots = _DOTS.match(said) or (match["opening"] and _DOTS.search(said))
    if dots and not _DOTS.sub("", said).strip():
        return bool(match["opening"]) and shrinks  # a bare "# ..." can be meant; a bare "..." is Python
    if dots and (said.startswith(dots[0]) or said.endswith(dots[0])) and _KEPT.search(said):
        return True
    return _is_left_out(match["opening"], said.strip("[](){}<>. "))


def _is_left_out(opening: str | None, said: str) -> bool:
    """Whether a comment or bracket says nothing but that text is left out; what says more is a comment."""
    is_heading_or_item = opening in ("*", None) or opening.startswith("##")
    return bool(opening) and (
        _LEFT_OUT.fullmatch(said) is not None or (not is_heading_or_item and _NAMED_ONLY.fullmatch(said) is not None)
    )
