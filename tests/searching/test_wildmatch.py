"""A wildcard pattern matches in bounded time, whoever wrote it."""

import re
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests import BUSY_TIMES
from toolhaft.searching.wildmatch import translate


@pytest.mark.parametrize(
    ("pattern", "name"),
    [
        ("*a" * 12 + "b", "a" * 255),
        ("**/a/" * 20, "a/" * 100 + "b"),
        ("*a*" * 20 + "/x", "a" * 200 + "/y"),
        ("**/*a*a*a*b", "/".join(["a" * 50] * 50)),
        ("**/" * 30 + "b", "a/" * 200),
    ],
)
@pytest.mark.parametrize("spare_dots", [False, True])
def test_no_pattern_makes_it_try_combinations(pattern: str, name: str, spare_dots: bool) -> None:
    source = translate(pattern, spare_dots=spare_dots)
    assert source is not None
    compiled = re.compile(source, re.DOTALL)

    started = time.process_time()
    assert compiled.fullmatch(name) is None

    assert time.process_time() - started < 0.02 * BUSY_TIMES


def plain(pattern: str, name: str) -> bool:
    """The same match, spelled as a recursion: slow and obviously right."""
    if pattern.startswith("**/"):
        rest = pattern[3:]
        starts = [0, *(at + 1 for at, one in enumerate(name) if one == "/")]
        return any(plain(rest, name[start:]) for start in starts)
    if pattern.startswith("*"):
        return plain(pattern[1:], name) or (name[:1] not in ("", "/") and plain(pattern, name[1:]))
    if not pattern or not name:
        return pattern == name
    return (pattern[0] == name[0] or (pattern[0] == "?" and name[0] != "/")) and plain(pattern[1:], name[1:])


PARTS = st.lists(st.sampled_from(["a", "b", "*", "?", "*a", "a*", "*b*"]), min_size=1, max_size=3).map("".join)
PATTERNS = st.lists(st.one_of(st.just("**"), PARTS), min_size=1, max_size=5).map("/".join)
NAMES = st.lists(st.text("ab", min_size=1, max_size=4), min_size=1, max_size=5).map("/".join)


@given(pattern=PATTERNS, name=NAMES)
def test_it_matches_what_the_rules_say(pattern: str, name: str) -> None:
    pattern = re.sub(r"(?<!\*)\*\*+(?![*/]|$)|(?<!/)(?<!^)\*\*+", "*", pattern)  # `**` counts only as a whole component
    source = translate(pattern)
    assert source is not None

    matched = re.fullmatch(source, name, re.DOTALL) is not None

    if pattern == "**" or pattern.endswith("/**"):
        return  # the rest of a path, of any depth: git's own cases hold it
    assert matched == plain(pattern, name)
