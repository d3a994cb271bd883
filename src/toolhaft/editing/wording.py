"""What may differ between a line as it is remembered and the line that it is.

Comments may be worded otherwise, but for their numbers, and a long word may be misspelled by one letter; blanks within
a line say nothing. Whatever else differs, a name, a number, an operator, a short word such as `not`, makes another line
of it.
"""

import re

__all__ = ["is_reworded", "says_the_same"]

SHORTEST_MISSPELLED = 5

_TOKEN = re.compile(r"[A-Z]?[a-z]+|[^\W\d_a-z]+|\d+|_|[^\w\s]")
_NUMBER = re.compile(r"\d+")
_COMMENT = re.compile(r"\s*(?:#+(?!\w)|//|/\*|\*\s|--\s|;|<!--|\"\"\"|''')")


def says_the_same(wanted: str, found: str) -> bool:
    """Whether the two lines differ in blanks alone."""
    return _TOKEN.findall(wanted) == _TOKEN.findall(found)


def is_reworded(wanted: str, found: str) -> bool:
    """Whether the two lines are one comment in other words, or one line with a long word misspelled.

    >>> is_reworded("recieve(item)", "receive(item)"), is_reworded("a > 1", "a < 1")
    (True, False)
    """
    if _COMMENT.match(wanted) and _COMMENT.match(found):
        return _NUMBER.findall(wanted) == _NUMBER.findall(found)
    ours, theirs = _TOKEN.findall(wanted), _TOKEN.findall(found)
    return len(ours) == len(theirs) and all(
        one == other or _is_misspelled(one, other) for one, other in zip(ours, theirs, strict=True)
    )


def _is_misspelled(one: str, other: str) -> bool:
    """Whether one letter is more, less or another, or two neighbours have changed places."""
    if min(len(one), len(other)) < SHORTEST_MISSPELLED or not (one.isalpha() and other.isalpha()):
        return False
    start = next((at for at, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))
    one, other = one[start:], other[start:]
    swapped = one[:2] == other[1::-1] and one[2:] == other[2:]
    return swapped or one[1:] == other or one == other[1:] or one[1:] == other[1:]
