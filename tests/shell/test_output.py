"""Output for a model: progress bars folded, long text cut in the middle, what is left out counted."""

import doctest

import pytest

from toolhaft.shell import Gap, fold_progress, output, shown_output


@pytest.mark.parametrize(
    ("line", "shown"),
    [
        ("plain\n", "plain\n"),
        ("windows\r\n", "windows\n"),
        ("10%\r55%\r100%\n", "100%\n"),
        ("10%\r55%\r", "55%"),
        ("\r\r\n", "\n"),
        ("a\rb", "b"),
    ],
)
def test_of_a_line_written_over_itself_the_last_state_stays(line: str, shown: str) -> None:
    assert fold_progress(line) == shown


def test_parts_of_one_line_are_put_together_before_they_are_folded() -> None:
    assert shown_output(["10%\r5", "5%\r", "100%\n", "next"]).text == "100%\nnext"


def test_as_many_lines_as_are_allowed_are_shown_whole() -> None:
    assert shown_output(["1\n2\n3\n4"], max_lines=4) == ("1\n2\n3\n4", 0)


def test_of_more_lines_the_head_and_the_tail_are_shown() -> None:
    shown = shown_output(["1\n2\n3\n4\n5\n6\n"], max_lines=3)

    assert shown.text == "1\n2\n[... 3 lines, 6 bytes left out ...]\n6\n"
    assert shown.dropped_bytes == 6


def test_a_gap_stands_on_a_line_of_its_own() -> None:
    parts = ["a\nb", Gap(1_000, 7, "stdout"), "c\n", Gap(5, None, "stderr"), "d\n"]

    shown = shown_output(parts)

    assert shown.text == (
        "a\nb\n[... 7 lines, 1,000 bytes of stdout left out ...]\nc\n[... 5 bytes of stderr left out ...]\nd\n"
    )
    assert shown.dropped_bytes == 1_005


def test_a_gap_within_what_is_cut_is_counted_with_it() -> None:
    counted = shown_output(["1\n2\n", Gap(10, 3), "4\n5\n"], max_lines=2)
    uncounted = shown_output(["1\n2\n", Gap(10, None), "4\n5\n"], max_lines=2)

    assert counted.text == "1\n[... 5 lines, 14 bytes left out ...]\n5\n"
    assert uncounted.text == "1\n[... 14 bytes left out ...]\n5\n"


def test_nothing_is_nothing() -> None:
    assert shown_output([]) == ("", 0)
    assert shown_output([Gap(3, 1)]).text == "[... 1 line, 3 bytes left out ...]\n"


def test_the_examples_are_true() -> None:
    assert doctest.testmod(output).failed == 0


def test_only_a_newline_ends_a_line() -> None:
    text = "a\x0bb\x0cc\x1cd\x85e\u2028f\n"

    assert shown_output([text], max_lines=1) == (text, 0)


def test_output_in_very_many_parts_takes_no_longer_than_in_one() -> None:
    assert shown_output(["x"] * 200_000).text == "x" * 200_000
