"""What the tolerant ladder must not take, and must not call applied."""

import pytest

from toolhaft.editing.nearest import shown_nearest
from toolhaft.editing.refusal import EditError, Reason
from toolhaft.editing.tolerant import replace_tolerant

BLOCK = "def total(a):\n    if a > 10 and ready:\n        first(a)\n        second(a, b)\n    return sum_of(a)\n"


def refusal(text: str, old: str, new: str) -> EditError:
    with pytest.raises(EditError) as refused:
        replace_tolerant(text, old, new)
    return refused.value


@pytest.mark.parametrize(
    ("text", "old", "new", "after"),
    [
        ("a\nb \nc\n", "a\nb\n", "a\n", "a\nc\n"),
        ("a\nb \nc\nd\n", "a\nb\nc", "a\nb", "a\nb \nd\n"),
        ("a\nb\nc \nd\n", "a\nb\nc\n", "a\nb\n", "a\nb\nd\n"),
        ("  a\n  b\n", "a\nb", "a", "  a\n"),
        ("x\nsay “hi”\nend\n", 'x\nsay "hi"\n', "x\n", "x\nend\n"),
    ],
)
def test_lines_at_the_end_of_a_block_can_be_dropped_on_every_rung(text: str, old: str, new: str, after: str):
    assert replace_tolerant(text, old, new).text == after


@pytest.mark.parametrize(
    ("text", "old", "new"),
    [
        ("one\nresult = compute()\ntwo\n", "foo()\nbar()", "result = compute()"),
        ("a\nb\nlonger_name = 1\ny\n", "completely other text", "longer_name = 1"),
        ("timeout = 60\n\nclass A:\n    timeout = 45\n", "timeout = 30", "timeout = 60"),
        ("import os\nimport re\n\nx = 1\n", "import sys\nimport os", "import os"),
        (
            "def f():\n    return None\n\ndef g():\n    work(1)\n    rest()\n",
            "    work(2)\n    rest()",
            "    return None",
        ),
        ("log(x)\nlog(x)\n", "log(y)", "log(x)"),
    ],
)
def test_a_new_text_that_stands_elsewhere_is_not_called_applied(text: str, old: str, new: str):
    error = refusal(text, old, new)

    assert error.reason is Reason.NOT_FOUND
    assert "Nearest is" in str(error) or "Nothing in the file" in str(error)


@pytest.mark.parametrize(
    ("text", "old", "new"),
    [
        ("a\nc\n", "a\nb\nc", "a\nc"),
        ("one\nx = compute(1)\ntwo\n", "x = compute(0)", "x = compute(1)"),
        (
            "def f():\n    a = 1\n    b = 2\n    c\n",
            "def f():\n    a = 1\n    c",
            "def f():\n    a = 1\n    b = 2\n    c",
        ),
    ],
)
def test_a_place_that_reads_as_the_new_text_is_called_applied(text: str, old: str, new: str):
    assert refusal(text, old, new).reason is Reason.ALREADY_APPLIED


@pytest.mark.parametrize(
    ("here", "there"),
    [
        ("def total(a):", "def totals(a):"),
        ("def total(a):", "def other(a):"),
        ("sum_of(a)", "sum_of(b)"),
        ("a > 10", "a < 10"),
        ("a > 10", "a > 11"),
        ("and ready", "and not ready"),
        ("and ready", "or ready"),
        ("first(a)", "third(a)"),
        ("        first(a)\n", "        first(a)\n        first(a)\n"),
    ],
)
def test_a_similar_block_must_not_differ_in_what_it_says(here: str, there: str):
    text = f"import os\n\n{BLOCK.replace(here, there)}"

    error = refusal(text, BLOCK, BLOCK.replace("second(a, b)", "second(a, c)"))

    assert error.reason in (Reason.NOT_FOUND, Reason.CONFLICT)


def test_a_line_that_the_file_has_twice_in_a_row_is_not_taken_for_one():
    text = "if x > 1:\n    log()\n    log()\n    go(there)\n    run(there)\nend()\n"
    old = text.replace("    log()\n    log()\n", "    log()\n")

    assert refusal(text, old, old.replace("    log()\n", "")).reason in (Reason.NOT_FOUND, Reason.CONFLICT)
    assert refusal(text, old, old.replace("run(there)", "run(home)")).reason in (Reason.NOT_FOUND, Reason.CONFLICT)


def test_an_extra_line_next_to_the_change_makes_the_place_unsure():
    text = BLOCK.replace("        second(a, b)\n", "        between(a)\n        second(a, b)\n")

    assert refusal(text, BLOCK, BLOCK.replace("second(a, b)", "second(a, c)")).reason is Reason.CONFLICT


@pytest.mark.parametrize(
    ("there", "wanted"),
    [
        ("# how to recieve it\n", "# how to receive it all\n"),
        ("recieve(first)\n", "receive(first)\n"),
        ("x = {1:  2}\n", "x = {1: 2}\n"),
    ],
)
def test_comments_spelling_and_blanks_within_a_line_may_differ(there: str, wanted: str):
    before, behind = BLOCK.split("        second", 1)
    old, text = (f"{before}        {line}        second{behind}".replace("    return", "    log(a)\n    return")
                 for line in (wanted, there))  # fmt: skip

    replaced = replace_tolerant(text, old, old.replace("log(a)", "log(b)"))

    assert replaced.rung == "similar"
    assert replaced.text == text.replace("log(a)", "log(b)")


@pytest.mark.parametrize(
    ("wanted", "shown"),
    [
        (["a\r\n", "b\n"], "-a␍\n+a\n b"),
        (["a\n", "b"], " a\n-b\n+b␊"),
        (["a\n", "x\n"], " a\n-x\n+b"),
    ],
)
def test_line_ends_are_shown_where_they_differ(wanted: list[str], shown: str):
    assert shown_nearest(["a\n", "b\n"], wanted)[0].endswith(f":\n{shown}")


def test_the_first_line_must_be_there():
    old = "import re\n" + BLOCK

    assert refusal("pass\n" + BLOCK, old, old.replace("sum_of(a)", "sum_of(b)")).reason is Reason.NOT_FOUND
