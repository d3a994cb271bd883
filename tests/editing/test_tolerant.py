"""The ladder: what is forgiven, what is refused, and what a match leaves alone."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolhaft.editing.exact import Replaced
from toolhaft.editing.refusal import EditError, Reason
from toolhaft.editing.tolerant import replace_tolerant

BLOCK = (
    "def total(items):\n    # compute the grand total\n    result = 0\n    for item in items:\n"
    "        result += item.price\n    return result\n"
)
AROUND = f"import os\n\n{BLOCK}\nprint(1)\n"


def refusal(text: str, old: str, new: str, *, replace_all: bool = False) -> EditError:
    with pytest.raises(EditError) as refused:
        replace_tolerant(text, old, new, replace_all=replace_all)
    return refused.value


@pytest.mark.parametrize(
    ("rung", "text", "old", "new", "after"),
    [
        ("exact", "a\nb\n", "b", "c", "a\nc\n"),
        ("trailing blanks", "a  \nb\t\nc\n", "a\nb\nc", "a\nB\nc", "a  \nB\nc\n"),
        ("trailing blanks", "a\nb\n", "a \nb  \n", "a \nB\n", "a\nB\n"),
        ("trailing blanks", "a\r\n b \r\nc\r\n", "a\n b\nc", "a\n b\nd\nc", "a\r\n b \r\nd\r\nc\r\n"),
        ("trailing blanks", "a\nb  ", "a\nb\n", "a\nb\nc\n", "a\nb  \nc"),
        ("trailing blanks", "a \nb \nc\n", "a\nb\n", "", "c\n"),
        ("trailing blanks", "a \nb\n", "\na\nb", "\na\nB", "a \nB\n"),
        ("trailing blanks", "é\nfoo\n", "foo ", "bar", "é\nbar\n"),
        ("indentation", "class A:\n    def f():\n        x\n", "def f():\n    x", "def f():\n    y", None),
        ("indentation", "if a:\n  b\n    c\n", "    b\n      c\n", "    b\n\n      d\n", "if a:\n  b\n\n    d\n"),
        ("indentation", "\tif a:\n\t\tb\n", "    if a:\n        b", "    if a:\n        if c:\n            b", None),
        ("indentation", "    if a:\n        b\n", "\tif a:\n\t\tb", "\tif a:\n\t\tc", "    if a:\n        c\n"),
        ("indentation", "    if a:\n        b\n", "  if a:\n    b", "  if a:\n    c", "    if a:\n        c\n"),
        ("punctuation", "say “hi” – now\n", 'say "hi" - now', 'say "ho" - now', "say “ho” – now\n"),
        ("punctuation", "x = a\u00a0+ b; y = ‘z’\n", "a + b", "a * b", "x = a\u00a0* b; y = ‘z’\n"),
        ("punctuation", "  “a”\n  b\n", '"a"\nb', '"a"\nB', "  “a”\n  B\n"),
        ("punctuation", "it’s\r\n", "it's", "it's\nnew", "it’s\r\nnew\r\n"),
    ],
)
def test_a_rung_changes_only_what_the_new_text_changes(rung: str, text: str, old: str, new: str, after: str | None):
    replaced = replace_tolerant(text, old, new)

    assert replaced.rung == rung
    if after is not None:
        assert replaced.text == after
    (edit,) = replaced.edits
    assert replaced.text == text[: edit.start] + edit.new + text[edit.end :]


def test_new_lines_are_indented_as_the_block_is():
    spaces = replace_tolerant(
        "class A:\n    def f():\n        x\n", "def f():\n    x", "def f():\n    if y:\n        x"
    )
    tabs = replace_tolerant("\tif a:\n\t\tb\n", "    if a:\n        b", "    if a:\n        if c:\n            b")

    assert spaces.text == "class A:\n    def f():\n        if y:\n            x\n"
    assert tabs.text == "\tif a:\n\t\tif c:\n\t\t\tb\n"


def test_a_similar_block_is_changed_where_it_is_certain_and_keeps_the_rest():
    old = BLOCK.replace("compute the grand", "computes the")

    replaced = replace_tolerant(AROUND, old, old.replace("item.price", "item.price * item.count"))

    assert replaced.rung == "similar"
    assert replaced.text == AROUND.replace("item.price", "item.price * item.count")


def test_a_similar_block_may_lack_a_line_or_have_one_more():
    less = BLOCK.replace("    # compute the grand total\n", "")
    more = BLOCK.replace("    result = 0\n", "    result = 0\n    extra = 1\n")

    for old in (less, more):
        replaced = replace_tolerant(AROUND, old, old.replace("return result", "return result + 1"))
        assert replaced.text == AROUND.replace("return result", "return result + 1")


def test_a_similar_block_takes_an_insertion_between_lines_that_are_certain():
    old = BLOCK.replace("compute the grand", "computes the")
    new = old.replace("    return result", "    log(result)\n    return result")

    assert replace_tolerant(AROUND, old, new).text == AROUND.replace("    return", "    log(result)\n    return")
    assert replace_tolerant(AROUND, old, "# top\n" + new).text.count("# top\ndef total") == 1


def test_where_the_file_differs_on_the_changed_line_nothing_is_overwritten():
    old = BLOCK.replace("item.price", "item.cost")

    error = refusal(AROUND, old, old.replace("item.cost", "item.cost * 2"))

    assert error.reason is Reason.CONFLICT
    assert "-········result += item.cost\n+········result += item.price" in str(error)


def test_two_similar_blocks_are_not_chosen_between():
    text = BLOCK + "\n" + BLOCK.replace("grand", "great").replace("total(", "totals(")
    old = BLOCK.replace("grand", "whole")

    assert refusal(text, old, old.replace("price", "cost")).reason is Reason.NOT_FOUND


def test_a_similar_block_with_unequal_indentation_is_refused():
    old = BLOCK.replace("compute", "computes").replace("    result = 0", "      result = 0")

    assert refusal(AROUND, old, old.replace("price", "cost")).reason is Reason.NOT_FOUND


@pytest.mark.parametrize(
    ("text", "old", "lines"),
    [
        ("a \nb\n-\na \nb\n", "a\nb\n", (1, 4)),
        ("  x\n-\n    x\n", " x ", (1, 3)),
        ("“a”\n‘b’ “a”\n", '"a"', (1, 2)),
    ],
)
def test_several_places_on_a_rung_are_ambiguous(text: str, old: str, lines: tuple[int, ...]):
    error = refusal(text, old, "y")

    assert error.reason is Reason.AMBIGUOUS
    assert error.lines == lines


def test_many_places_are_not_all_listed():
    assert "lines 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, ..." in str(refusal("x \n" * 50, "x\n" * 3, "y"))


def test_the_right_indentation_wins_over_a_shifted_block():
    text = "if a:\n    x \n    y\n        x \n        y\n"

    assert replace_tolerant(text, "    x\n    y\n", "    x\n    z\n").text.count("    z") == 1


@pytest.mark.parametrize(
    ("text", "old", "new"),
    [
        ("a\nB\nc\n", "a\nb\nc", "a\nB\nc"),
        ("  x\n", "    x", "  x"),
        ("x  \ny\n", "x\ny\n", "x  \ny\n"),
        ("foo(1, 2)\n", "foo(1)", "foo(1, 2)"),
        ("# c\nx = 1\n", "  x = 1", "# c\nx = 1"),
        ("“a”\n", '"a"', "“a”"),
        (
            AROUND.replace("return result", "return result "),
            BLOCK.replace("grand", "whole"),
            BLOCK.replace("grand", "whole").replace("return result", "return result "),
        ),
    ],
)
def test_what_is_applied_already_is_said_to_be(text: str, old: str, new: str):
    assert refusal(text, old, new).reason is Reason.ALREADY_APPLIED


def test_a_short_new_text_that_stands_somewhere_proves_nothing():
    assert refusal("xyz abc\n", "no such\ntext", "abc").reason is Reason.NOT_FOUND


def test_a_miss_shows_the_nearest_text_with_visible_blanks():
    error = refusal("one\n\tif x:\n\t\treturn 1\n", "\tif x:\n\t\traise 2\nend", "y")

    assert error.reason is Reason.NOT_FOUND
    assert error.lines == (2, 3)
    assert "Nearest is lines 2 to 3" in str(error)
    assert "-→→raise 2\n-end\n+→→return 1" in str(error)


def test_a_miss_far_from_everything_says_so():
    assert "Nothing in the file is like it" in str(refusal("a\nb\n", "something\nelse", "y"))
    assert "Nothing in the file is like it" in str(refusal("", "something\nelse", "y"))


def test_words_find_the_nearest_line_where_no_line_is_equal():
    assert refusal("one two\nthree four five\n", "three four six", "y").lines == (2, 2)


def test_a_long_comparison_is_bounded():
    text = "".join(f"line {number}\n" for number in range(300))
    old = "".join(f"line {number}{'q' * 500 * (number % 2)}\n" for number in range(300))

    message = str(refusal(text, old, "y"))

    assert "more rows of this comparison are not shown" in message
    assert "long)" in message
    assert len(message) < 20_000


@pytest.mark.parametrize("old", ["", "  \n \n"])
def test_blanks_alone_name_no_place(old: str):
    assert refusal("a\nb\n", old, "y").reason in (Reason.EMPTY, Reason.NOT_FOUND)


def test_replace_all_replaces_exact_places_only():
    assert replace_tolerant("a a", "a", "b", replace_all=True).text == "b b"
    assert refusal("a \nb\na \nb\n", "a\nb\n", "c", replace_all=True).reason is Reason.AMBIGUOUS


def test_an_indentation_that_no_rule_covers_is_refused():
    text = "    a\n        b\n"

    assert refusal(text, "      a\n          b", "      a\n c").reason is Reason.CONFLICT


def test_lines_that_are_shifted_unequally_are_no_match():
    assert refusal("a\n  b\n", "  a\n  b", "  a\n  c").reason is Reason.NOT_FOUND


def test_deleting_a_line_that_ends_the_file_leaves_no_newline_where_there_was_none():
    assert replace_tolerant("a\nb \nc ", "b\nc", "b").text == "a\nb "


pieces = st.lists(st.sampled_from(["a", " a", "  a ", "b", "“a”", "", "\tb"]), max_size=8).map("\n".join)


@given(text=pieces, old=pieces, new=pieces)
def test_it_answers_or_refuses_and_bytes_outside_the_edits_are_identical(text: str, old: str, new: str):
    try:
        replaced: Replaced[str] = replace_tolerant(text, old, new)
    except EditError as refused:
        assert str(refused)  # noqa: PT017 -- either outcome is right
        return

    at = 0
    made = ""
    for edit in replaced.edits:
        made += text[at : edit.start] + edit.new
        at = edit.end
    assert made + text[at:] == replaced.text != text


def test_a_line_end_more_or_less_at_the_end_of_the_old_text_is_no_change():
    with pytest.raises(EditError) as refused:
        replace_tolerant("x\n  a\ny\n", "a \n", "a ")

    assert refused.value.reason is Reason.ALREADY_APPLIED
