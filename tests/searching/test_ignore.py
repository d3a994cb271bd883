"""What an ignore file leaves out is what git would leave out, folder by folder from the top."""

import json
import os
import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.searching.trees import RG, build
from toolhaft.searching.ignore import IgnoreRules

STRESS = 10 if os.environ.get("TOOLHAFT_STRESS") else 1
CASES = Path(__file__).parents[1] / "cases" / "gitignore.jsonl"
ROWS = [json.loads(line) for line in CASES.read_text(encoding="utf-8").splitlines()]


def is_left_out(path: str, *, is_dir: bool, read: Callable[[str], bytes | None]) -> bool:
    """Walk from the root to `path`; an ignored folder on the way is not entered."""
    *folders, name = path.split("/")
    rules = IgnoreRules.for_folder(None, "", read=read)
    here: list[str] = []
    for folder in folders:
        if rules.is_ignored(folder, is_dir=True):
            return True
        here.append(folder)
        rules = IgnoreRules.for_folder(rules, "/".join(here), read=read)
    return rules.is_ignored(name, is_dir=is_dir)


def reader(files: Mapping[str, str | bytes]) -> Callable[[str], bytes | None]:
    held = {name: text.encode() if isinstance(text, str) else text for name, text in files.items()}
    return held.get


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row["id"])
def test_every_case_is_decided_as_git_and_ripgrep_decide_it(row: dict) -> None:
    files = dict(row["ignore_files"])
    if row["info_exclude"] is not None:
        files[".git/info/exclude"] = row["info_exclude"]

    left_out = is_left_out(row["path"], is_dir=row["is_dir"], read=reader(files))

    assert left_out == row["ignored"]


@pytest.mark.parametrize(
    ("content", "ignored", "seen"),
    [
        (b"\xef\xbb\xbffoo\n", ["foo"], ["\ufefffoo"]),
        (b"foo\r\nbar\r\n", ["foo", "bar"], ["foo\r"]),
        (b"foo \nbar\\ \nbaz\t\n", ["foo", "bar ", "baz\t"], ["foo ", "bar", "baz"]),
        (b"a\\\\ \n", ["a\\"], ["a", "a "]),
        (b"foo\0bar\n", ["foo"], ["foobar"]),
        (b"#a\n\\#b\n", ["#b"], ["#a", "a"]),
        (b"!\n/\n//\n\n  \n", [], ["a", "!", " "]),
        (b"[a-c]1\n[!a-c]2\n[]x]3\n[\\]]4\n[a-]5\n", ["b1", "z2", "]3", "x3", "]4", "-5"], ["d1", "b2", "y3", "b5"]),
        (b"[c-a]1\n[[:foo:]]2\n[a\n[[:\n[a\\\nb[\\", [], ["b1", "[a", "f2", "[", "b["]),
        (b"[[:x]1\n[[x]2\n[[:]]3\n[]-a]4\n", ["[1", ":1", "x1", "[2", "[]3", ":]3", "^4"], ["a1", "]2", "[3"]),
        (b"[a-\\c]1\n[[:digit:]-z]2\n[^[:alpha:]]3\n", ["b1", "72", "-2", "z2", "93"], ["y2", "b3"]),
        (b"?\n", ["a"], ["\u00e9"]),
        (b"a?\n", ["ab", "a\n"], ["a"]),
        (b"[/]x\n", [], ["/x"]),
        (b"***\n", ["anything"], []),
    ],
)
def test_a_line_means_what_git_reads_in_it(content: bytes, ignored: list[str], seen: list[str]) -> None:
    rules = IgnoreRules.for_folder(None, ".", read={".gitignore": content}.get)

    assert [name for name in ignored + seen if rules.is_ignored(name, is_dir=False)] == ignored


@pytest.mark.parametrize(
    ("pattern", "ignored", "seen"),
    [
        ("a/**/b", ["a/b", "a/x/b", "a/x/y/b"], ["ab", "a/xb", "z/a/b"]),
        ("**/b", ["b", "a/b", "a/c/b"], ["ab"]),
        ("a/**", ["a/b", "a/b/c"], ["a", "b/a"]),
        ("foo**/bar", ["foo/bar", "foox/bar"], ["foobar", "foo/x/bar"]),
        ("a/***/b", ["a/b", "a/x/b"], []),
        ("a/*/b", ["a/x/b"], ["a/b", "a/x/y/b"]),
        ("/a", ["a"], ["b/a"]),
        ("a/b", ["a/b"], ["x/a/b"]),
        ("**\\/b", ["a/b"], ["b"]),
    ],
)
def test_a_pattern_with_a_slash_is_about_the_path_from_its_own_folder(
    pattern: str, ignored: list[str], seen: list[str]
) -> None:
    read = reader({"sub/.gitignore": pattern})

    found = [path for path in ignored + seen if is_left_out(f"sub/{path}", is_dir=False, read=read)]

    assert found == ignored


def test_a_nested_repository_starts_its_git_rules_anew_but_keeps_the_other_kinds() -> None:
    files = {".gitignore": "*.log", ".ignore": "*.tmp", "inner/.git": "gitdir: elsewhere"}

    seen = [name for name in ["a.log", "a.tmp"] if not is_left_out(f"inner/{name}", is_dir=False, read=reader(files))]

    assert seen == ["a.log"]


def test_a_listing_handed_in_spares_the_reads_of_files_that_are_not_there() -> None:
    asked: list[str] = []

    def read(path: str) -> bytes | None:
        asked.append(path)
        return b"x\n"

    rules = IgnoreRules.for_folder(None, "", read=read, names=[".gitignore", "x", "y"])

    assert asked == [".gitignore"]
    assert rules.is_ignored("x", is_dir=False)


def test_a_name_that_is_not_utf8_is_compared_byte_by_byte() -> None:
    rules = IgnoreRules.for_folder(None, "", read={".gitignore": b"caf\xe9.*\n"}.get)

    assert rules.is_ignored(os.fsdecode(b"caf\xe9.txt"), is_dir=False)


PIECES = [
    *(
        "a",
        "b",
        "c",
        "*",
        "?",
        "[ab]",
        "[!a]",
        "/",
        "**/",
        "/**",
        "\\",
        " ",
        "!",
        ".",
        "\\a",
        "#",
        "\\#",
        "\\ ",
        "\t",
        "\r",
    ),
    *("[^a]", "[a-c]", "[[:alpha:]]", "[[:space:]]", "[]a]", "[a-]", "[", "]", "{a,b}", "é", "\\*", "-"),
]
LINES = (
    st.lists(st.sampled_from(PIECES), min_size=1, max_size=5)
    .map("".join)
    .filter(
        # git before 2.40 takes the stars of `a**/b` for a whole component, so such lines are not compared
        lambda line: "**" not in line.replace("/**/", "").replace("/**", "").removeprefix("**/").removeprefix("!**/")
    )
)
NAMES = st.sampled_from(
    ["a", "b", "ab", "c", "a b", ".a", "\\a", "b ", "#", "[a]", "{a,b}", "é", "*", "!a", "-", "a\t"]
)
PATHS = st.lists(NAMES, min_size=1, max_size=3).map("/".join)


@settings(max_examples=40 * STRESS, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    st.lists(LINES, max_size=6),
    st.lists(LINES, max_size=3),
    st.lists(LINES, max_size=2),
    st.sets(PATHS, min_size=1, max_size=8),
)
def test_git_agrees_on_any_rules_and_paths(
    tmp_path_factory: pytest.TempPathFactory, top: list[str], inner: list[str], exclude: list[str], paths: set[str]
) -> None:
    files = {
        ".gitignore": "\n".join(top), "a/.gitignore": "\n".join(inner), ".git/info/exclude": "\n".join(exclude),
    }  # fmt: skip
    root = tmp_path_factory.mktemp("tree")
    git = ["git", "-C", str(root), "-c", "core.excludesFile="]
    subprocess.run([*git, "init", "-q"], check=True)
    for name, text in files.items():
        (root / name).parent.mkdir(exist_ok=True)
        (root / name).write_bytes(text.encode())

    asked = subprocess.run(
        [*git, "check-ignore", "--no-index", "-z", "--stdin"],
        input="\0".join(sorted(paths)).encode(),
        capture_output=True,
        check=False,
    )

    ours = {path for path in paths if is_left_out(path, is_dir=(root / path).is_dir(), read=reader(files))}
    assert asked.stderr == b""
    assert ours == set(filter(None, asked.stdout.decode().split("\0")))


# What every reader of ignore files understands alike, so that ripgrep can be the judge.
PLAIN_LINES = st.tuples(
    st.sampled_from(["", "", "!", "/", "**/", "!/"]),
    st.lists(st.sampled_from(["a", "b", "ab", "*", "a*", "?", "[ab]", "[!a]", "*.log"]), min_size=1, max_size=3),
    st.sampled_from(["", "", "/", "/**", "/*"]),
).map(lambda parts: f"{parts[0]}{'/'.join(parts[1])}{parts[2]}")
PLAIN_PATHS = st.lists(st.sampled_from(["a", "b", "ab", "c.log", ".a"]), min_size=1, max_size=3).map("/".join)


@settings(max_examples=30 * STRESS, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    st.dictionaries(
        st.sampled_from([".gitignore", ".ignore", ".rgignore", "a/.gitignore", "a/.ignore", "a/b/.gitignore"]),
        st.lists(PLAIN_LINES, max_size=4).map("\n".join),
        max_size=4,
    ),
    st.sets(PLAIN_PATHS, min_size=1, max_size=8),
)
def test_ripgrep_agrees_which_kind_of_ignore_file_outranks_which(
    tmp_path_factory: pytest.TempPathFactory, ignore: dict[str, str], paths: set[str]
) -> None:
    paths = {path for path in paths if not any(other.startswith(f"{path}/") for other in (*paths, *ignore))}
    root = build(tmp_path_factory.mktemp("tree"), {**dict.fromkeys(paths, "x"), **ignore})
    switches = ["--hidden", "--no-require-git", "--no-ignore-parent", "--no-ignore-global", "--no-config", "--null"]

    listed = subprocess.run([RG, "--files", *switches], cwd=root, capture_output=True, text=True, check=False)

    ours = {path for path in paths if not is_left_out(path, is_dir=False, read=reader(ignore))}
    assert ours == paths & set(listed.stdout.split("\0"))
