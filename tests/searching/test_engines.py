"""Both engines give the same answer: the same lines of the same files, and the same account of what they left out."""

import asyncio
import json
import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.searching.trees import Ripgrep, build, tree_of
from toolhaft.searching.errors import PatternError
from toolhaft.searching.glob import compile_glob
from toolhaft.searching.query import Query, Scope
from toolhaft.searching.results import Found
from toolhaft.searching.ripgrep import search
from toolhaft.searching.scan import scan

STRESS = 10 if os.environ.get("TOOLHAFT_STRESS") else 1
CASES = Path(__file__).parents[1] / "cases" / "gitignore.jsonl"
ROWS = [json.loads(line) for line in CASES.read_text(encoding="utf-8").splitlines()]


def by_both(root: Path, query: Query) -> Found:
    """Search with both engines, which must agree."""
    tree = tree_of(root)
    fast = asyncio.run(search(query, tree, Ripgrep(root)))
    plain = scan(query, tree)
    assert fast == plain
    return plain


@pytest.mark.parametrize("row", [row for row in ROWS if not row["is_dir"]], ids=lambda row: row["id"])
def test_every_ignore_case_holds_in_both_engines(tmp_path: Path, row: dict) -> None:
    extra = [path for path in row["extra_tree"] if not path.startswith(row["path"] + "/")]
    files = dict.fromkeys(extra, "x") | row["ignore_files"]
    if row["info_exclude"] is not None:
        files[".git/info/exclude"] = row["info_exclude"]
    build(tmp_path, {row["path"]: "needle\n", **files})
    needle = row["ignore_files"].get(row["path"], "needle\n").splitlines()[0] or "needle"
    query = Query(pattern=needle, scope=Scope(include_hidden=True), output_mode="files")

    found = by_both(tmp_path, query)

    assert (row["path"] in [file.path for file in found.files]) == (not row["ignored"])


TEXTS = st.text(alphabet="ab foo\n\r\té\u2028ß😀K.", max_size=30) | st.sampled_from(["foo\r\nbar\r\n", "\n\n", "", "x"])
BYTES = (
    TEXTS.map(str.encode)
    | st.binary(max_size=12)
    | TEXTS.map(lambda text: b"a\0b" + text.encode())
    | TEXTS.map(lambda text: text.encode("utf-16"))
)
NAMES = st.sampled_from(["a.py", "b.txt", ".h", "x.log", "d/a.py", "d/.h/c", "build/b", "d/e/f.py", "é.txt", "d/x.log"])
ATOMS = [
    *("a", "b", "foo", ".", "é", r"\w", r"\W", r"\s", r"\S", r"\d", r"\b", r"\B", "^", "$", "k", "ss", " ", r"\."),
    *("[^a]", "[ab]", r"[^\s]", "[^\\n]", "(a|b)", "(?i:K)", "(?s:.)", r"\p{L}", r"\P{L}", "[[:alpha:]]"),
]
REGEXES = st.lists(
    st.tuples(st.sampled_from(ATOMS), st.sampled_from(["", "", "", "*", "+", "?", "{1,2}"])), min_size=1, max_size=4
)
PATTERNS = REGEXES.map(lambda parts: "".join(a + b for a, b in parts))
IGNORES = st.lists(
    st.sampled_from(["*.log", "build/", "/a.py", "!x.log", "d/*", "!d/e", "[a]*", "b.txt ", "\\a*"]), max_size=3
)


@settings(max_examples=60 * STRESS, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    files=st.dictionaries(NAMES, BYTES, max_size=5),
    ignore=IGNORES,
    pattern=PATTERNS,
    case_sensitive=st.booleans(),
    context=st.integers(0, 2),
    include_hidden=st.booleans(),
    mode=st.sampled_from(["content", "files", "count"]),
    glob=st.sampled_from([None, "*.py", "d/**", ".h", "*.{py,txt}"]),
)
def test_any_tree_and_pattern_are_answered_alike(
    tmp_path_factory: pytest.TempPathFactory,
    files: dict[str, bytes],
    ignore: list[str],
    pattern: str,
    case_sensitive: bool,
    context: int,
    include_hidden: bool,
    mode: str,
    glob: str | None,
) -> None:
    root = build(tmp_path_factory.mktemp("tree"), {**files, ".gitignore": "\n".join(ignore)})
    scope = Scope(include_hidden=include_hidden, files=compile_glob(glob) if glob else None)
    try:
        query = Query(
            pattern=pattern, use_regex=True, case_sensitive=case_sensitive, context_lines=context, scope=scope,
            output_mode=mode,
        )  # fmt: skip
        by_both(root, query)
    except PatternError:
        pass
