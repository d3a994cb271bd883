"""Hostile inputs cost time in proportion to their size, never to its square."""

import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from tests.editing.trees import hunk
from toolhaft.editing.diff import unified_diff
from toolhaft.editing.exact import STEP, line_numbers, replace_exact, spans_of
from toolhaft.editing.patch_model import PatchError
from toolhaft.editing.patch_plan import plan_patch
from toolhaft.editing.refusal import EditError
from toolhaft.editing.tolerant import replace_tolerant

EQUAL = "x\n" * 300_000
MANY = [f"line {number % 97} {number % 13} of {number % 7}" for number in range(10_000)]


# What is told from the square of such sizes, which takes minutes; each takes less than a second, and benchmarks tell
# how much. Here also a machine that traces every line must do.
MOST_SECONDS = 20.0


@contextmanager
def bounded() -> Iterator[None]:
    """CPU time of this thread, so that a busy machine does not matter."""
    began = time.thread_time()
    yield
    assert time.thread_time() - began < MOST_SECONDS


@pytest.mark.parametrize("old", ["x \n" * 5000, "  x\n" * 5000 + "y\n", "nothing\nlike\nit", "x\n" * 20 + "y"])
def test_a_miss_in_equal_lines(old: str):
    with bounded(), pytest.raises(EditError):
        replace_tolerant(EQUAL, old, "z")


@pytest.mark.parametrize("size", [3, 300, 5000])
def test_a_tolerant_miss_in_ten_thousand_lines(size: int):
    old = "\n".join(f"line {number % 89} {number % 17} of {number % 5} q" for number in range(size))

    with bounded(), pytest.raises(EditError):
        replace_tolerant("\n".join(MANY), old, "z")


def test_very_many_matches_are_not_all_listed():
    with bounded(), pytest.raises(EditError, match="more than 1,000"):
        replace_exact(EQUAL, "x", "y")


def test_a_hunk_whose_lines_stand_everywhere():
    with bounded(), pytest.raises(PatchError):
        plan_patch(hunk(" x\n x\n-y\n+z\n x\n", "@@ -1000,4 +1000,4 @@"), {"f.txt": EQUAL}.get)


def test_many_hunks_all_off_by_some_lines():
    before = [f"line {number} of the file" for number in range(40_000)]
    after = [line if number % 200 else f"{line} changed" for number, line in enumerate(before)]
    patch = unified_diff("\n".join(before), "\n".join(after), path="f.txt", max_lines=None).text
    text = "\n".join(["new"] * 7 + before)

    with bounded():
        (change,) = plan_patch(patch, {"f.txt": text}.get)

    assert len(change.hunks) == 200
    assert {placed.offset for placed in change.hunks} == {7}
    assert change.text == "\n".join(["new"] * 7 + after)


def test_a_diff_of_two_long_texts_with_nothing_in_common():
    with bounded():
        diff = unified_diff(EQUAL, "".join(f"{number}\n" for number in range(100_000)), path="f.txt")

    assert (diff.removed, diff.added, diff.truncated) == (300_000, 100_000, True)


def test_a_small_change_of_a_long_text_costs_little():
    text = "some words on a line\n" * 500_000
    at = len(text) // 2

    with bounded():
        diff = unified_diff(text, text[:at] + "NEW" + text[at:], path="f.txt")

    assert (diff.added, diff.removed) == (1, 1)


@pytest.mark.parametrize("old", [b"\nline 9 of it\n", b"\nnowhere\n", b"\n\n\nline 9"])
def test_an_old_text_that_begins_with_a_line_end_in_a_large_windows_file(old: bytes):
    data = b"".join(b"line %d of it\r\n" % number for number in range(600_000))

    with bounded():
        found = list(spans_of(data, old))

    assert [data[start:end].replace(b"\r", b"") for start, end in found] in ([], [old])


def test_matches_are_found_wherever_a_step_of_the_search_ends():
    for at in range(STEP - 4, STEP + 4):
        text = "x" * at + "ab\r\ncd" + "x" * 10
        assert list(spans_of(text, "ab\ncd")) == [(at, at + 6)]
        assert list(spans_of(text, "ab")) == [(at, at + 2)]
        assert list(spans_of(text, "\ncd")) == [(at + 2, at + 6)]
        assert line_numbers(text, [at + 5]) == [2]
