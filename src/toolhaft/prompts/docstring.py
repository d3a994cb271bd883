"""A text as a docstring that reaches a model whole.

`Agent(tools=[function])` knows nothing of prompts: it reads `__doc__`, with griffe, which takes lines such as
`Examples:`, `Note:` or `Returns:` for sections and drops what follows them.
"""

from __future__ import annotations

import re

# What griffe may take for the beginning of a section, in any of its three styles. Wider than need be: a text that
# matches without cause is armoured, and still arrives whole.
_SECTION = re.compile(r"^[ \t]*:\w|^\s*\w[\s\w-]*:(\s|$)|^[ \t]*-{3,}\s*$", re.MULTILINE)

# The fields that griffe's Sphinx style reads, at the beginning of a line only.
_FIELD = (
    r":(param|parameter|arg|argument|key|keyword|type|var|ivar|cvar|vartype|returns?|rtype|raises?|except|exception)"
)


def armour(text: str) -> str:
    """The text as a docstring that pydantic-ai shows whole, equal but for white space.

    A text without section-like lines is returned as it is. Any other is made to look like a docstring in Sphinx
    style, which loses nothing but its field lines: those are moved one blank to the right, and a last `:type:` is
    there to be lost.
    """
    if not _SECTION.search(text):
        return text
    lines = (f" {line}" if re.match(_FIELD, line) else line for line in text.split("\n"))
    return "\n" + "\n".join(lines) + "\n:type:\n"
