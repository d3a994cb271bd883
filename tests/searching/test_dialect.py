"""One dialect in both engines: what it refuses it refuses with a sentence, and nothing makes it slow."""

import re
import time

import pytest

from tests import BUSY_TIMES
from toolhaft.searching.dialect import Pattern, readable
from toolhaft.searching.errors import PatternError


def regex(text: str, *, case_sensitive: bool = True) -> Pattern:
    return Pattern(text, use_regex=True, case_sensitive=case_sensitive)


@pytest.mark.parametrize(
    ("pattern", "said"),
    [
        ("([", "unclosed character class.\n    ([\n     ^\n"),
        ("foo(?=bar)", "Write 'foo(?:bar)'"),
        ("(?<=a)b", "Write '(?:a)b'"),
        ("foo(?!bar)", "foo([^b]|$)"),
        (r"(a)\1", "(aa|bb)"),
        (r"a\Z", "unrecognized escape"),
        ("(?>a)", "atomic groups"),
        (r"(?-u:\xff)", "Leave out (?-u)"),
        ("a**{", "Mend it"),
        (r"\Ax", "Use ^"),
        (r"a\nb", "    a\\nb\n     ^^\n"),
        (r"a[\n\x0a]", "no line holds a line end"),
        ("(?x) a", "only i, s and U"),
        ("(?:.{1,50}){1,50}z", "more than 1,000"),
        (r"\w{900}", "too large"),
        ("", "is empty"),
        ("a\nb", "holds a line end"),
        ("a\0", "NUL"),
        ("\ud800", "surrogate"),
    ],
)
def test_a_pattern_that_cannot_be_answered_is_refused_with_what_to_do(pattern: str, said: str) -> None:
    with pytest.raises(PatternError, match=re.escape(said)):
        regex(pattern)


@pytest.mark.parametrize(
    ("pattern", "text", "matches"),
    [
        ("^b$", "a\nb\r\nc", True),
        ("a.b", "a\rb", False),
        ("a[^x]b", "a\nb", False),
        (r"a\Sb", "a\udcffb", False),
        (r"\bé\b", "x é", True),
        ("STRASSE", "strasse", False),
        (r"[]a]\]", "]]", True),
        (r"[^]]b", "ab", True),
        (r"[[:alpha:]--[a-c]]{2}", "dd", True),
        (r"(?P<n>x)(?:y)", "xy", True),
    ],
)
def test_a_pattern_matches_within_lines(pattern: str, text: str, matches: bool) -> None:
    assert regex(pattern).matches(readable(text.encode("utf-8", "surrogateescape"))) is matches


def test_plain_text_is_taken_to_the_letter_in_any_case() -> None:
    plain = Pattern("a.b(É", use_regex=False, case_sensitive=False)

    assert plain.matches("xA.B(éx")
    assert not plain.matches("axb(é")
    assert plain.literal is None
    assert Pattern("a.b(", use_regex=False, case_sensitive=True).literal == b"a.b("


@pytest.mark.parametrize("pattern", ["(a+)+$", "(a|a)+!b", "(x+x+)+y", "(.*)*.*=z", "a{1,100}b"])
def test_time_grows_with_the_text_and_not_faster(pattern: str) -> None:
    one = regex(pattern)
    text = "a" * 50_000 + "!" + "x" * 10_000
    start = time.perf_counter()

    one.matches(text)

    assert time.perf_counter() - start < 5 * BUSY_TIMES


@pytest.mark.parametrize(
    ("pattern", "line"),
    [
        ("needle", "x" * 5000 + " needle " + "y" * 900),
        (r"foo\b", "foobar " * 400 + "foo " + "a " * 500),
        ("end$", "end " * 300 + "end"),
    ],
)
def test_the_place_of_a_match_in_a_long_line_is_found(pattern: str, line: str) -> None:
    at = regex(pattern).locate(line)

    assert abs(at - re.search(pattern, line).start()) < 10  # pyright: ignore
