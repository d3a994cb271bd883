"""Unified diffs: exact, bounded, and saying so where they are cut."""

import subprocess
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from toolhaft.editing.diff import edits_diff, unified_diff
from toolhaft.editing.diff_rows import MOST_COMPARED
from toolhaft.editing.exact import Edit, replace_exact
from toolhaft.editing.patch_plan import plan_patch

line = st.sampled_from(["a", "b", "", " ", "-- x", "++ y", "--- a", "+++ b", "@@ -1 +1 @@", "\x0c", "\u2028", "\\ No"])
end = st.sampled_from(["\n", "\n", "\r\n", "\r", "\n\n"])
texts = st.builds(
    lambda pairs, last: "".join(map("".join, pairs)) + last,
    st.lists(st.tuples(line, end), max_size=20),
    st.sampled_from(["", "z"]),
)


@given(old=texts, new=texts)
@example(old="", new="x")
@example(old="a\r\nb", new="a\r\nb\r")
@example(old="a\r\n\r", new="b\n\r")
@example(old="x", new="x\r\ny\r\n")
@settings(max_examples=400)
def test_applying_the_diff_of_two_texts_to_the_one_gives_the_other(old: str, new: str):
    diff = unified_diff(old, new, path="f.txt", max_lines=None, max_line_chars=None)

    assert not diff.truncated
    if old == new:
        assert diff.text == ""
    else:
        (change,) = plan_patch(diff.text, {"f.txt": old}.get)
        assert change.text == new


@given(old=texts, new=texts, context=st.integers(0, 4))
def test_the_counts_are_those_of_the_rows(old: str, new: str, context: int):
    diff = unified_diff(old, new, path="f", context=context)
    rows = diff.text.split("\n")[2:]

    assert diff.added == sum(row.startswith("+") for row in rows)
    assert diff.removed == sum(row.startswith("-") for row in rows)


@pytest.mark.parametrize("name", ["f.txt", "my file.txt", 'quo"te\t.txt', "ä/ö.txt", "back\\slash"])
def test_git_reads_the_names_and_hunks_as_they_are_meant(tmp_path: Path, name: str):
    old = "".join(f"line {number}\n" for number in range(40))
    new = old.replace("line 3\n", "").replace("line 20\n", "twenty\r\n") + "end without newline"
    (tmp_path / name).parent.mkdir(exist_ok=True)
    (tmp_path / name).write_bytes(old.encode())
    diff = unified_diff(old, new, path=name)

    done = subprocess.run(
        ["git", "apply", "--whitespace=nowarn", "-"], cwd=tmp_path, input=diff.text.encode(), capture_output=True
    )

    assert done.returncode == 0, done.stderr
    assert (tmp_path / name).read_bytes() == new.encode()


def test_files_that_come_go_or_move_are_named_as_git_does():
    assert unified_diff(None, "a\n", path="f").text == "--- /dev/null\n+++ b/f\n@@ -0,0 +1 @@\n+a\n"
    assert unified_diff("a\n", None, path="f").text == "--- a/f\n+++ /dev/null\n@@ -1 +0,0 @@\n-a\n"
    assert unified_diff(None, "", path="f").text == "diff --git a/f b/f\nnew file mode 100644\n"
    assert unified_diff("", None, path="f").text == "diff --git a/f b/f\ndeleted file mode 100644\n"
    assert unified_diff(None, None, path="f").text == ""
    moved = unified_diff("a\n", "a\n", path="g", old_path="f").text
    assert moved == "diff --git a/f b/g\nrename from f\nrename to g\n"


def test_what_comes_goes_or_moves_is_planned_from_its_own_diff():
    for old, new, old_path in [(None, "a\n", None), ("a\n", None, None), (None, "", None), ("", None, None)]:
        (change,) = plan_patch(unified_diff(old, new, path="f", old_path=old_path).text, {"f": old}.get)
        assert (change.path, change.text) == ("f", new)
    (change,) = plan_patch(unified_diff("a\n", "b\n", path="g", old_path="f").text, {"f": "a\n"}.get)
    assert (change.kind, change.old_path, change.path, change.text) == ("rename", "f", "g", "b\n")


def test_a_long_diff_is_cut_and_says_so_and_counts_all():
    diff = unified_diff("", "x\n" * 1000, path="f", max_lines=10)

    assert diff.truncated
    assert diff.added == 1000
    assert diff.text.endswith("+x\n... the rest of this diff is not shown; in all it has +1,000 -0 lines\n")
    assert diff.text.count("\n") == 11


def test_a_long_line_is_cut_and_says_so():
    diff = unified_diff("a", "b" * 5_000_000, path="f")

    assert diff.truncated
    assert len(diff.text) < 1200
    assert "... (5,000,001 characters)" in diff.text


def test_a_diff_that_just_fits_is_not_called_cut():
    assert not unified_diff("", "x\n" * 7, path="f", max_lines=10).truncated
    assert unified_diff("", "x\n" * 8, path="f", max_lines=10).truncated


def test_the_diff_of_edits_is_the_diff_of_their_texts():
    text = "".join(f"{number} x\n" for number in range(100))
    replaced = replace_exact(text, "x\n", "y\n", replace_all=True)
    few = replace_exact(text.replace("5 x", "5 q"), " q", " Q\nR", replace_all=True)

    assert edits_diff(text, replaced.edits, path="f").text == unified_diff(text, replaced.text, path="f").text
    before = text.replace("5 x", "5 q")
    assert edits_diff(before, few.edits, path="f").text == unified_diff(before, few.text, path="f").text


@given(text=texts, data=st.data())
def test_edits_among_repeated_lines_give_a_diff_that_applies(text: str, data: st.DataObject):
    at = data.draw(st.integers(0, len(text)))
    edited = text[:at] + "a\na\n" + text[at:]
    diff = edits_diff(text, [Edit(start=at, end=at, new="a\na\n")], path="f")

    assert plan_patch(diff.text, {"f": text}.get)[0].text == edited


def test_a_change_among_equal_lines_has_context_on_both_sides():
    text = "a\n" * 50 + "b\n" * 20

    diff = edits_diff(text, [Edit(start=0, end=0, new="a\n")], path="f")

    assert diff.text == "--- a/f\n+++ b/f\n@@ -48,6 +48,7 @@\n a\n a\n a\n+a\n b\n b\n b\n"


def test_bytes_are_decoded_only_for_showing():
    text = b"caf\xe9\nx\n" + b"\xff\xfe\n" * 20
    replaced = replace_exact(text, b"x", b"y")

    diff = edits_diff(text, replaced.edits, path="f", encoding="latin-1")

    assert diff.text.startswith("--- a/f\n+++ b/f\n@@ -1,5 +1,5 @@\n café\n-x\n+y\n")
    assert "\ufffd" in edits_diff(text, replaced.edits, path="f").text


def test_edits_that_are_no_change_among_those_not_shown_are_counted_as_none():
    text = "one\ntwo\n" * 100
    edits = [Edit(start=at * 8, end=at * 8 + 4, new="ONE\n") for at in range(20)]
    same = [Edit(start=at * 8, end=at * 8 + 8, new="one\ntwo\n") for at in range(20, 40)]
    two_in_a_line = [Edit(start=400 + at, end=401 + at, new="x") for at in range(2)]

    diff = edits_diff(text, [*edits, *same, *two_in_a_line], path="f", max_lines=10)

    assert (diff.removed, diff.added, diff.truncated) == (21, 21, True)


def test_what_is_not_shown_of_many_edits_is_counted_line_by_line():
    lines = [f"{number} x x\n" for number in range(2000)]
    text = "".join(lines)
    replaced = replace_exact(text, "x", "y", replace_all=True)
    joined = replace_exact(text, " x\n", " and ", replace_all=True)

    diff = edits_diff(text, replaced.edits, path="f", max_lines=50)
    in_one_line = edits_diff(text, joined.edits, path="f", max_lines=50)

    assert (len(replaced.edits), diff.removed, diff.added, diff.truncated) == (4000, 2000, 2000, True)
    assert (in_one_line.removed, in_one_line.added) == (2000, 1)
    whole = edits_diff(text, replaced.edits, path="f", max_lines=None)
    assert (whole.removed, whole.added, whole.truncated) == (2000, 2000, False)


def test_edits_that_change_how_many_lines_there_are_are_counted_where_they_are_not_shown():
    text = "one\ntwo\nthree\n" * 500
    edits = replace_exact(text, "two\nthree", "2\n3\n4", replace_all=True).edits

    diff = edits_diff(text, edits, path="f", max_lines=10)

    assert (diff.removed, diff.added, diff.truncated) == (1000, 1500, True)


@pytest.mark.parametrize(("old", "new"), [(None, "x" * 60), ("x" * 60, None), ("a\nx" * 20, "b\nyy" * 20)])
def test_what_is_very_long_is_one_block_with_all_its_lines_counted(old: str | None, new: str | None):
    times = MOST_COMPARED // 50
    shared = 0 if old is None or new is None else 2  # the first and the last line
    before, after = (None if text is None else "same\n" + f"{text}\n" * times + "end" for text in (old, new))

    diff = unified_diff(before, after, path="f")

    assert diff.removed == (0 if before is None else before.count("\n") + 1 - shared)
    assert diff.added == (0 if after is None else after.count("\n") + 1 - shared)
    assert diff.text.count("\n") <= 402
    assert diff.truncated


def test_one_edit_of_very_much_text_is_one_block():
    text = "first\n" + "x" * (MOST_COMPARED + 1) + "\nlast\n"

    diff = edits_diff(text, [Edit(start=6, end=len(text) - 6, new="short")], path="f", context=0)

    assert "\n@@ -2 +2 @@\n" in diff.text
    assert diff.text.endswith("\n+short\n")
    assert (diff.removed, diff.added) == (1, 1)


def test_single_edits_within_lines_are_counted_where_they_are_not_shown():
    text = "".join(f"{number} x\n" for number in range(1000))
    edits = replace_exact(text, "x", "y", replace_all=True).edits

    diff = edits_diff(text, edits, path="f", max_lines=20)

    assert (diff.removed, diff.added, diff.truncated) == (1000, 1000, True)


@pytest.mark.parametrize("most", [4, 5, 6, 7])
def test_a_missing_newline_that_is_not_shown_any_more_makes_the_diff_a_cut_one(most: int):
    diff = unified_diff(None, "a\nb", path="f", max_lines=most)

    assert diff.truncated == (most < 6)
    assert unified_diff(None, "a\nb" * 2, path="f", max_lines=1).truncated
