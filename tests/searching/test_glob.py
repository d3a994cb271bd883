"""File patterns: what they meet, what they refuse, and how lists are sorted and cut."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolhaft.searching.errors import GlobError, SearchError
from toolhaft.searching.glob import compile_glob, first_sorted, path_key
from toolhaft.searching.query import Query, Scope

PATHS = ["a.py", "b.js", "src/a.py", "src/x/a.ts", "src/x/b.tsx", ".env", "src/.env", ".github/w.yml", "a,b", "{x}.py"]


@pytest.mark.parametrize(
    ("pattern", "met"),
    [
        ("*.py", ["a.py", "src/a.py", "{x}.py"]),
        ("./*.py", ["a.py", "src/a.py", "{x}.py"]),
        ("src/*.py", ["src/a.py"]),
        ("src/**/*.{ts,tsx}", ["src/x/a.ts", "src/x/b.tsx"]),
        ("src/**/*.py", ["src/a.py"]),
        ("{src/{x,y},.github}/*.{yml,ts}", ["src/x/a.ts", ".github/w.yml"]),
        ("src/", ["src/a.py", "src/x/a.ts", "src/x/b.tsx", "src/.env"]),
        ("[ab].[!p]?", ["b.js", "src/x/a.ts"]),
        ("a\\,b", ["a,b"]),
        ("[{]x}.py", ["{x}.py"]),
        ("[{]{x,y}}.py", ["{x}.py"]),
        ("\\{x\\}.*", ["{x}.py"]),
        ("*.py,*.js", ["a.py", "b.js", "src/a.py", "{x}.py"]),
        ("{*.js,a.py}", ["a.py", "b.js", "src/a.py"]),
    ],
)
def test_a_pattern_meets(pattern: str, met: list[str]) -> None:
    assert [path for path in PATHS if compile_glob(pattern, commas=True).matches(path)] == met


def test_a_comma_is_a_letter_where_no_list_is_asked_for() -> None:
    assert compile_glob("a,b").matches("a,b")


@pytest.mark.parametrize(
    ("pattern", "path", "named"),
    [
        ("*.env*", ".env", True),
        ("*", ".env", False),
        ("**", ".github/w.yml", False),
        ("?env", ".env", False),
        ("[.]env", ".env", False),
        (".github/*", ".github/w.yml", True),
        ("**/.github/**", "a/.github/w.yml", True),
        ("**/*.yml", ".github/w.yml", False),
    ],
)
def test_a_hidden_name_is_named_only_by_a_dot_of_the_pattern(pattern: str, path: str, named: bool) -> None:
    assert bool(compile_glob(pattern).names(path)) is named


@pytest.mark.parametrize(
    ("pattern", "said"),
    [
        ("/etc/*", "absolute"),
        ("~/x", "absolute"),
        ("C:\\x", "absolute"),
        ("../../*", "upwards"),
        ("a/../b", "upwards"),
        ("!a", "begins with '!'"),
        ("", "empty part"),
        ("a\0", "NUL"),
        ("[a", "not closed"),
        ("a\\", "not closed"),
        ("{a,b", "not closed"),
        ("{a,b}" * 11, "more than 1,000"),
    ],
)
def test_a_pattern_without_a_meaning_is_refused(pattern: str, said: str) -> None:
    with pytest.raises(GlobError, match=re.escape(said)):
        compile_glob(pattern)


@given(
    st.lists(st.sampled_from(["a", "*", "?", "[ab]", ".py", "{a,b}", "\\*", "[!a]", "é", "-"]), min_size=1, max_size=4),
    st.text("abé*.py-", min_size=1, max_size=5),
)
def test_what_ripgrep_is_told_meets_all_that_the_pattern_meets(parts: list[str], name: str) -> None:
    pattern = compile_glob("".join(parts))
    rough = pattern.rough_names()

    if rough is not None and pattern.matches(name):
        assert any(re.fullmatch(re.escape(one).replace(r"\*", ".*"), name) for one in rough)


def test_a_pattern_of_wildcards_tells_ripgrep_nothing() -> None:
    assert compile_glob("**").rough_names() is None
    assert compile_glob("src/*.py").rough_names() == ("*.py",)
    assert not compile_glob("src/*").is_specific


def test_a_list_is_sorted_before_it_is_cut_and_ties_keep_the_order_of_paths() -> None:
    found = [("b", 1.0, 5), ("a/z", 2.0, 5), ("a-b", 2.0, 9), ("a", 2.0, 5)]

    assert [name for name, _, _ in first_sorted(found, "path", limit=9)[0]] == ["a", "a/z", "a-b", "b"]
    assert [name for name, _, _ in first_sorted(found, "modified", limit=3)[0]] == ["a", "a/z", "a-b"]
    assert first_sorted(found, "size", limit=2) == ([("a-b", 2.0, 9), ("a", 2.0, 5)], 4)
    assert sorted(["a/b", "a", "a.b", "A"], key=path_key) == ["A", "a", "a/b", "a.b"]


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: Scope(path="/etc"), "not relative"),
        (lambda: Scope(path="a/../b"), "not relative"),
        (lambda: Query(pattern="x", max_results=0), "max_results=0"),
        (lambda: Query(pattern="x", context_lines=-1), "context_lines=-1"),
    ],
)
def test_a_search_that_makes_no_sense_is_refused(make: object, said: str) -> None:
    with pytest.raises(SearchError, match=re.escape(said)):
        make()  # pyright: ignore
