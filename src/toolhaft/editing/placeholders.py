"""Finds where a model wrote "the rest stays as it is" instead of the rest.

Such a line is a comment, a bracket or an ellipsis, and it speaks of code that it stands for. Ordinary prose and code
that mention such words are not taken for one: a line must begin as a comment, a bracket or an ellipsis.
"""

import re

__all__ = ["new_placeholder"]

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
_LEFT_OUT = re.compile(
    r"^(?:the |all )*(?:rest|remainder|remaining|other|existing)\b.*"
    r"\b(?:unchanged|unmodified|omitted|the same|as before|as is|not shown|stays?|remains?|goes here|here)\b"
    r"|^(?:the )?(?:rest|remainder) of (?:the |your |this )?\w+(?: \w+)?\.?$"
    r"|^(?:unchanged|omitted for brevity|no changes?(?: here)?|same as before)\.?$",
    re.IGNORECASE,
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
    return bool(match["opening"]) and _LEFT_OUT.search(said) is not None
