"""Placing hunks: at an exact match, nearest to the line claimed; else refused with the reason."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.editing.trees import hunk, patched
from toolhaft.editing.patch_model import PatchError
from toolhaft.editing.patch_plan import plan_patch
from toolhaft.editing.refusal import Reason

TEN = "".join(f"{number}\n" for number in range(1, 11))


def refusal(before: str, patch: str) -> PatchError:
    with pytest.raises(PatchError) as refused:
        patched({"f.txt": before}, patch)
    return refused.value


def test_the_offset_is_reported():
    (change,) = plan_patch(hunk(" 6\n-7\n+seven\n 8\n", "@@ -2,3 +2,3 @@"), {"f.txt": TEN}.get)

    (placed,) = change.hunks
    assert (placed.number, placed.line, placed.offset, placed.added, placed.removed) == (1, 6, 4, 1, 1)


def test_the_nearest_of_several_places_is_taken():
    before = "x\ny\n" + "-\n" * 3 + "x\ny\n" + "-\n" * 300 + "x\ny\n"

    after = patched({"f.txt": before}, hunk(" x\n-y\n+Y\n -\n", "@@ -5,3 +5,3 @@"))["f.txt"]
    assert after.index("Y") == before.index("y", 4)


def test_a_place_far_away_is_found_too():
    before = "-\n" * 5000 + "x\n" + "-\n" * 5000

    assert patched({"f.txt": before}, hunk(" -\n-x\n+X\n -\n"))["f.txt"] == before.replace("x", "X")


def test_equally_far_places_are_ambiguous():
    error = refusal("x\n-\n-\n-\nx\n-\n", hunk("-x\n+X\n -\n", "@@ -3,2 +3,2 @@"))

    assert error.reason is Reason.AMBIGUOUS
    assert "line 1 and on line 5, both 2 lines" in str(error)


def test_a_hunk_that_might_end_the_file_or_not_is_ambiguous():
    error = refusal("x\ny\nz\nx\ny\n", hunk(" x\n-y\n+Y\n", "@@ -1,2 +1,2 @@"))

    assert error.reason is Reason.AMBIGUOUS
    assert "at the end of the file" in str(error)


def test_context_is_never_ignored():
    error = refusal(TEN, hunk(" WRONG\n-5\n+five\n 6\n", "@@ -4,3 +4,3 @@"))

    assert error.reason is Reason.NOT_FOUND
    assert "Nearest is lines 4 to 6" in str(error)
    assert "-WRONG\n+4\n" in str(error)


def test_a_stale_hunk_that_is_applied_already_says_so():
    error = refusal(TEN, hunk(" 4\n-V\n+5\n 6\n", "@@ -4,3 +4,3 @@"))

    assert error.reason is Reason.ALREADY_APPLIED
    assert "on line 4" in str(error)


def test_every_hunk_that_fails_is_told_with_its_number():
    patch = hunk("-A\n+a\n 2\n") + "@@ -4,2 +4,2 @@\n 4\n-5\n+five\n" + "@@ -9 +9 @@\n-NINE\n+9!\n"
    error = refusal(TEN, patch)

    assert [(problem.path, problem.hunk) for problem in error.problems] == [("f.txt", 1), ("f.txt", 3)]
    assert "f.txt, hunk 1: " in str(error)


@pytest.mark.parametrize(
    ("second", "told"),
    [
        ("@@ -2,2 +2,2 @@\n 2\n-3\n+three\n", "out of order"),
        ("@@ -5,2 +5,2 @@\n-5\n+V\n 6\n", "overlapping"),
        ("@@ -4,3 +4,3 @@\n 4\n 5\n-6\n+six\n", "overlapping"),
    ],
)
def test_hunks_out_of_order_or_overlapping_are_refused(second: str, told: str):
    error = refusal(TEN, hunk(" 4\n-5\n+five\n 6\n", "@@ -4,3 +4,3 @@") + second)

    assert error.reason is Reason.CONFLICT
    assert told in str(error)


def test_hunks_may_share_context():
    patch = hunk(" 4\n-5\n+five\n 6\n", "@@ -4,3 +4,3 @@") + "@@ -6,2 +6,2 @@\n 6\n-7\n+seven\n"

    assert patched({"f.txt": TEN}, patch)["f.txt"] == TEN.replace("5\n", "five\n").replace("7\n", "seven\n")


def test_two_insertions_at_one_place_keep_their_order():
    patch = hunk(" 4\n+a\n", "@@ -4 +4,2 @@") + "@@ -5 +6,2 @@\n+b\n 5\n"

    assert "4\na\nb\n5\n" in patched({"f.txt": TEN}, patch)["f.txt"]


def test_a_hunk_without_old_lines_is_only_for_an_empty_file():
    added = hunk("+a\n", "@@ -0,0 +1 @@")

    assert patched({"f.txt": ""}, added) == {"f.txt": "a\n"}
    assert refusal(TEN, added).reason is Reason.AMBIGUOUS


def test_a_hunk_without_a_number_must_have_one_place():
    error = refusal("a\n" * 12, hunk("-a\n+b\n", "@@"))

    assert error.reason is Reason.AMBIGUOUS
    assert "12 places (lines 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, ...)" in str(error)
    assert refusal("a\n", hunk("-b\n+c\n", "@@")).reason is Reason.NOT_FOUND


def test_the_text_behind_the_marks_tells_places_apart():
    before = "def f():\n    return 1\n\ndef g():\n    return 1\n"
    patch = hunk("-    return 1\n+    return 2\n", "@@ def g(): @@")

    assert patched({"f.txt": before}, patch)["f.txt"] == before[: before.index("def g")] + "def g():\n    return 2\n"


@pytest.mark.parametrize(
    ("before", "body", "after"),
    [
        ("a\nb", "-b\n\\ No newline at end of file\n+B\n\\ No newline at end of file\n", "a\nB"),
        ("a\nb", "-b\n\\ No newline at end of file\n+b\n", "a\nb\n"),
        ("a\nb\n", "-b\n+b\n\\ No newline at end of file\n", "a\nb"),
        ("a\nb", " b\n\\ No newline at end of file\n", None),
        ("a\nb", " a\n-b\n\\ No newline at end of file\n", "a\n"),
        ("a\nb\n", "-b\n\\ No newline at end of file\n+B\n", None),
        ("a\nb\nc\n", "-b\n+B\n\\ No newline at end of file\n", None),
        ("a\nb", "-b\n+B\n", "a\nB"),
        ("a\nb", " b\n+c\n", "a\nb\nc"),
        ("a\r\nb", " a\n-b\n+B\n+c\n", "a\r\nB\r\nc"),
        ("a\r\nb\r\nc", " b\n-c\n", "a\r\nb"),
        ("a\r\nb\r\nc", "-a\n+A\n b\n", "A\r\nb\r\nc"),
        ("a\nb", "-a\n-b\n", ""),
    ],
)
def test_the_last_newline_is_as_the_patch_says_or_else_as_it_was(before: str, body: str, after: str | None):
    patch = hunk(body, "@@ -1,9 +1,9 @@") if body.startswith((" a", "-a")) else hunk(body, "@@ -2,9 +2,9 @@")

    if after is None:
        refusal(before, patch)
    else:
        assert patched({"f.txt": before}, patch) == {"f.txt": after}


@pytest.mark.parametrize(
    ("before", "body", "after"),
    [
        ("a\r\nb\r\nc\r\n", " a\n-b\n+B\n+X\n c\n", "a\r\nB\r\nX\r\nc\r\n"),
        ("a\nb\nc\n", " a\r\n-b\r\n+B\r\n c\r\n", "a\nB\nc\n"),
        ("a\r\nb\nc\r\n", " a\n-b\n+B\n c\n", "a\r\nB\nc\r\n"),
        ("a\r\nb\nc\r\n", " a\n b\n+n\n c\n", "a\r\nb\nn\nc\r\n"),
        ("a\r\nb\r\n", " a\r\n-b\r\n+b\n", "a\r\nb\n"),
        ("a\nb\n", " a\n-b\n+b\r\n", "a\nb\r\n"),
        ("a\r\nb\r\n", "+n\n a\n b\n", "n\r\na\r\nb\r\n"),
        ("\x0c\u2028\x85\nb\n", " \x0c\u2028\x85\n-b\n+B\n", "\x0c\u2028\x85\nB\n"),
    ],
)
def test_lines_that_stay_keep_their_ends_and_new_ones_end_as_their_neighbours(before: str, body: str, after: str):
    assert patched({"f.txt": before}, hunk(body, "@@ -1,9 +1,9 @@")) == {"f.txt": after}


def test_a_patch_about_line_ends_must_find_those_it_changes():
    error = refusal("a\nb\n", hunk(" a\n-b\r\n+c\n", "@@ -1,2 +1,2 @@"))

    assert "not with the line ends" in str(error)


@given(lines=st.lists(st.sampled_from("abc"), min_size=3, max_size=30), shift=st.integers(0, 5), data=st.data())
def test_a_shifted_hunk_is_applied_where_its_lines_stand_or_refused(lines: list[str], shift: int, data: st.DataObject):
    at = data.draw(st.integers(0, len(lines) - 3))
    before, line, behind = lines[at : at + 3]
    text = "q\n" * shift + "\n".join(lines) + "\n"
    patch = hunk(f" {before}\n-{line}\n+NEW\n {behind}\n", f"@@ -{at + 1},3 +{at + 1},3 @@")
    try:
        (change,) = plan_patch(patch, {"f.txt": text}.get)
    except PatchError:
        return

    (placed,) = change.hunks
    after = text.split("\n")
    assert after[placed.line - 1 : placed.line + 2] == [before, line, behind]
    after[placed.line] = "NEW"
    assert change.text == "\n".join(after)
