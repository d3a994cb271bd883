"""Faults that editing tools elsewhere were reported for, each as a fact that holds here."""

import pytest

from tests.editing.trees import hunk, patched
from toolhaft.editing.exact import replace_exact
from toolhaft.editing.patch_model import PatchError
from toolhaft.editing.refusal import EditError, Reason
from toolhaft.editing.tolerant import replace_tolerant


def test_a_crlf_file_is_edited_and_keeps_its_ends():
    assert replace_exact(b"a\r\nb\r\n", b"b", b"B").text == b"a\r\nB\r\n"
    assert replace_exact(b"x\r\ny\r\n", b"x\ny", b"x\nz").text == b"x\r\nz\r\n"
    assert replace_tolerant("a\r\nb \r\n", "a\nb\n", "a\nc\n").text == "a\r\nc\r\n"


def test_mixed_line_ends_are_not_normalised():
    assert replace_exact(b"a\r\nb\nc", b"c", b"C").text == b"a\r\nb\nC"
    assert (
        patched({"f.txt": "a\r\nb\nc\r\nd\n"}, hunk(" b\n-c\n+C\n", "@@ -2,2 +2,2 @@"))["f.txt"] == "a\r\nb\nC\r\nd\n"
    )


def test_a_byte_order_mark_stays():
    assert replace_exact(b"\xef\xbb\xbfconst value = 1;\n", b"1", b"2").text == b"\xef\xbb\xbfconst value = 2;\n"


@pytest.mark.parametrize("encoding", ["latin-1", "cp1252", "gbk", "utf-16-le", "shift_jis"])
def test_a_text_that_was_decoded_goes_back_to_the_same_bytes_outside_the_edit(encoding: str):
    text = "one\n" + {"gbk": "中文", "shift_jis": "日本"}.get(encoding, "café") + "\ntwo\n"

    after = replace_exact(text, "two", "2").text

    assert after.encode(encoding) == text.encode(encoding).replace("two".encode(encoding), "2".encode(encoding))


def test_bytes_that_no_encoding_explains_stay_too():
    assert replace_exact(b"\xff\xfe\x80\nold\n", b"old", b"new").text == b"\xff\xfe\x80\nnew\n"


def test_common_first_and_last_lines_do_not_swallow_what_is_between():
    text = "f {\n" + "".join(f"  l{number};\n" for number in range(2000)) + "}\n"

    with pytest.raises(EditError) as refused:
        replace_tolerant(text, "f {\n  color: red;\n}", "f {\n  color: blue;\n}")

    assert refused.value.reason is Reason.NOT_FOUND


def test_two_blocks_with_drifted_blanks_are_ambiguous_and_both_named():
    text = "".join("if x: \n    y()\n" if number in (9, 39) else f"{number}\n\n" for number in range(60))

    with pytest.raises(EditError) as refused:
        replace_tolerant(text, "if x:\n    y()", "z()")

    assert refused.value.lines == (19, 79)


def test_not_every_occurrence_is_replaced_unasked():
    with pytest.raises(EditError, match="2 times, on lines 1, 2"):
        replace_tolerant("x\nx\n", "x", "y")


def test_the_same_block_sent_again_is_called_applied():
    once = replace_tolerant("a\nold_call()\nb\n", "old_call()", "new_call()").text

    with pytest.raises(EditError) as refused:
        replace_tolerant(once, "old_call()", "new_call()")

    assert refused.value.reason is Reason.ALREADY_APPLIED


def test_a_tolerant_match_leaves_typography_and_blanks_elsewhere_alone():
    text = "“quoted”  \nfoo \n—dash—\u00a0\n"

    assert replace_tolerant(text, '"quoted"\nfoo\n', '"quoted"\nbar\n').text == "“quoted”  \nbar\n—dash—\u00a0\n"


def test_tabs_stay_tabs():
    assert replace_exact("all:\n\tcc x\n", "\tcc x", "\tcc x\n\tcc y").text == "all:\n\tcc x\n\tcc y\n"
    assert replace_tolerant("all:\n\tcc x\n", "    cc x", "    cc x\n    cc y").text == "all:\n\tcc x\n\tcc y\n"


def test_a_patch_that_fails_midway_changes_no_file():
    files = {"f.txt": "a\n", "g.txt": "b\n"}

    with pytest.raises(PatchError):
        patched(files, hunk("-a\n+A\n") + hunk(" WRONG\n-b\n+B\n", name="g.txt"))

    assert files == {"f.txt": "a\n", "g.txt": "b\n"}


def test_an_edit_that_changes_nothing_is_no_success():
    with pytest.raises(EditError):
        replace_exact("a\n", "a", "a")


def test_a_shifted_block_is_not_inserted_with_the_indentation_of_the_model():
    text = "class A:\n        def f(self):\n            return 1\n"

    after = replace_tolerant(text, "    def f(self):\n        return 1", "    def f(self):\n        return 2").text

    compile(after, "f.py", "exec")
    assert "            return 2\n" in after


def test_blocks_that_differ_only_in_indentation_are_not_chosen_between():
    with pytest.raises(EditError) as refused:
        replace_tolerant("if a:\n    x()\nwhile b:\n        x()\n", "\tx()", "\ty()")

    assert refused.value.reason is Reason.AMBIGUOUS
