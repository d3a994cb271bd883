"""Exact replacement: one place, or nothing; and every byte outside it as it was."""

import base64
import json
import pickle
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolhaft.editing.exact import replace_exact, spans_of
from toolhaft.editing.refusal import EditError, Reason

CASES = Path(__file__).parents[1] / "cases" / "edits.jsonl"
ROWS = [json.loads(line) for line in CASES.read_text(encoding="utf-8").split("\n") if line]


def outcome(row: dict) -> bytes | None:
    """The bytes after the row's edit, None where it is refused."""
    before = base64.b64decode(row["before_b64"])
    try:
        old, new = (row[side].encode("utf-8") for side in ("old", "new"))
        return replace_exact(before, old, new, replace_all=row.get("replace_all", False)).text
    except ValueError:  # an EditError, or a text that has no bytes
        return None


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row["name"])
def test_every_edit_case_gives_an_accepted_outcome(row: dict):
    after = outcome(row)

    if after is None:
        assert "error" in row["accept"]
    else:
        assert "ok" in row["accept"]
        assert after == base64.b64decode(row["after_b64"])


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [("", "x", Reason.EMPTY), ("b", "b", Reason.SAME), ("zz", "x", Reason.NOT_FOUND), ("a", "x", Reason.AMBIGUOUS)],
)
def test_each_refusal_has_its_own_reason_and_message(old: str, new: str, reason: Reason):
    with pytest.raises(EditError) as refused:
        replace_exact("a b a", old, new)

    assert refused.value.reason is reason


def test_several_matches_are_listed_by_line_and_the_list_is_bounded():
    text = "x\n" * 1500

    with pytest.raises(EditError, match="more than 1,000 times, on lines 1, 2, 3") as refused:
        replace_exact(text, "x", "y")

    assert refused.value.lines == tuple(range(1, 11))


def test_overlapping_occurrences_are_counted():
    with pytest.raises(EditError, match="2 times, all on line 1"):
        replace_exact("aaa", "aa", "b")


def test_replace_all_goes_from_left_to_right_without_overlap():
    replaced = replace_exact("aaaa", "aa", "b", replace_all=True)

    assert (replaced.text, replaced.count) == ("bb", 2)


@pytest.mark.parametrize(
    ("text", "old", "new", "after"),
    [
        ("a\r\nb\r\nc\r\n", "a\nb", "A\nB\nC", "A\r\nB\r\nC\r\nc\r\n"),
        ("a\r\nb\r\n", "b", "B1\nB2", "a\r\nB1\r\nB2\r\n"),
        ("a\r\nb", "b", "B1\nB2", "a\r\nB1\r\nB2"),
        ("a\r\nb\nc\r\nd\n", "a\nb\nc", "A\nX\nb\nC", "A\r\nX\r\nb\nC\r\nd\n"),
        ("a\nb\r\nc\n", "b\nc", "b\nd\nc", "a\nb\r\nd\r\nc\n"),
        ("a\r\nb\r\n", "a\r\nb", "a\nb", "a\nb\r\n"),
        ("a\r\nb\r\n", "b\n", "", "a\r\n"),
        ("\r\n", "\n", "x\n", "x\r\n"),
        ("a\rb\rc\r", "b", "B1\nB2", "a\rB1\nB2\rc\r"),
        ("a\r\nb\r\n", "b", "X\r\nY\nZ", "a\r\nX\r\nY\r\nZ\r\n"),
        ("one line", "line", "a\nb", "one a\nb"),
    ],
)
def test_new_lines_take_the_line_ends_of_the_file(text: str, old: str, new: str, after: str):
    assert replace_exact(text, old, new).text == after
    assert replace_exact(text.encode(), old.encode(), new.encode()).text == after.encode()


def test_a_line_end_is_one_thing_so_that_its_lf_alone_never_matches_twice():
    replaced = replace_exact("a\r\nb", "\nb", "\nc")

    assert replaced.text == "a\r\nc"


def test_replacing_a_text_by_itself_with_other_line_ends_changes_nothing_and_says_so():
    with pytest.raises(EditError) as refused:
        replace_exact("a\r\nb\r\nc", "a\nb", "a\r\nb\nc"[:4])

    assert refused.value.reason is Reason.SAME


def test_lines_of_both_endings_are_one_search():
    with pytest.raises(EditError, match="2 times, on lines 1, 3"):
        replace_exact("a\nb\na\r\nb\r\n", "a\nb", "x")


def test_a_refusal_survives_pickling():
    with pytest.raises(EditError) as refused:
        replace_exact("a a", "a", "b")

    again = pickle.loads(pickle.dumps(refused.value))

    assert (str(again), again.reason, again.lines) == (str(refused.value), Reason.AMBIGUOUS, (1, 1))


def test_a_long_old_text_is_shortened_in_the_message():
    with pytest.raises(EditError, match=r"\.\.\. \(5,000 long\)"):
        replace_exact("a", "b" * 5000, "c")


pieces = st.text(alphabet="ab \r\n\x0c\u2028é", max_size=12)


@given(before=pieces, old=st.text(alphabet="ab\n", min_size=1, max_size=4), behind=pieces, new=pieces)
def test_bytes_outside_the_span_are_identical(before: str, old: str, behind: str, new: str):
    text = (before + old + behind).encode()
    try:
        replaced = replace_exact(text, old.encode(), new.encode())
    except EditError:
        return

    (edit,) = replaced.edits
    assert replaced.text == text[: edit.start] + edit.new + text[edit.end :]
    assert text[edit.start : edit.end].replace(b"\r\n", b"\n") == old.encode()
    assert edit.new.replace(b"\r\n", b"\n") == new.encode().replace(b"\r\n", b"\n")


def test_what_is_quoted_from_bytes_is_text():
    with pytest.raises(EditError, match="The old text 'café' is not in the file"):
        replace_exact("thé".encode(), "café".encode(), b"tea")
    with pytest.raises(EditError, match="The old text 'caf�' is not"):
        replace_exact(b"x", b"caf\xe9", b"tea")


@pytest.mark.parametrize(
    ("text", "old", "told"),
    [
        ("aaa\n", "a", "stands in the file 3 times, all on line 1."),
        ("a\nx aa\n", "a", "stands in the file 3 times, on lines 1, 2 (2 times)."),
        ("a\na\n", "a", "stands in the file 2 times, on lines 1, 2."),
        ("aaaa a\n" * 9, "a", "on lines 1 (5 times), 2 (5 times), 3 (5 times)"),
    ],
)
def test_a_line_with_several_occurrences_is_named_once(text: str, old: str, told: str):
    with pytest.raises(EditError) as refused:
        replace_exact(text, old, "b")

    assert told in str(refused.value)


LINE_PIECES = st.lists(st.sampled_from([b"a", b"b", b"ab", b"\r", b"\n", b"\r\n", b"\n\n"]), max_size=10).map(b"".join)


@given(text=LINE_PIECES, old=LINE_PIECES.filter(lambda old: b"\n" in old and b"\r" not in old))
def test_spans_over_line_ends_are_those_of_a_pattern(text: bytes, old: bytes):
    pattern = re.compile(rb"(?:\r\n|(?<!\r)\n)".join(map(re.escape, old.split(b"\n"))))
    expected: list[tuple[int, int]] = []
    match = pattern.search(text)
    while match:
        expected.append(match.span())
        match = pattern.search(text, match.start() + 1)

    assert list(spans_of(text, old, overlapping=True)) == expected
    assert list(spans_of(text, old)) == [match.span() for match in pattern.finditer(text)]
