"""The changes between two lists of lines are right whichever way they were found."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolhaft.editing import line_diff
from toolhaft.editing.line_diff import line_changes

some_lines = st.lists(st.sampled_from("abcdefg"), max_size=25)


def made(old: list[str], new: list[str]) -> list[str]:
    lines: list[str] = []
    at = 0
    for change in line_changes(old, new):
        lines += old[at : change.old_start]
        assert len(lines) == change.new_start
        lines += new[change.new_start : change.new_end]
        at = change.old_end
    return lines + old[at:]


@given(old=some_lines, new=some_lines)
def test_making_the_changes_gives_the_new_lines(old: list[str], new: list[str]):
    assert made(old, new) == new


@pytest.mark.parametrize("most_differences", [0, 1, 3])
@given(old=some_lines, new=some_lines)
def test_they_are_right_when_too_much_differs_for_the_shortest_answer(
    most_differences: int, old: list[str], new: list[str]
):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(line_diff, "MOST_DIFFERENCES", most_differences)

        assert made(old, new) == new


def test_the_fewest_lines_are_named():
    assert line_changes(list("abcabba"), list("cbabac")) == [(0, 2, 0, 0), (3, 3, 1, 2), (5, 6, 4, 4), (7, 7, 5, 6)]


def test_two_long_lists_with_nothing_in_common_are_one_change():
    old, new = [f"a{n}" for n in range(5000)], [f"b{n}" for n in range(5000)]

    assert line_changes(old, new) == [(0, 5000, 0, 5000)]


def test_unique_lines_hold_long_lists_together():
    old = [f"line {n}" for n in range(3000)]
    new = [line if number % 7 else f"{line} changed" for number, line in enumerate(old)]

    assert made(old, new) == new
    assert len(line_changes(old, new)) == len(range(0, 3000, 7))
