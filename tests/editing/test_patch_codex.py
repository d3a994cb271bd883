"""The Codex form: placed by context and order, made with the same rules."""

import pytest

from tests.editing.trees import patched
from toolhaft.editing.patch_model import PatchError
from toolhaft.editing.refusal import Reason

FILE = "class A:\n    def f(self):\n        return 1\n\nclass B:\n    def f(self):\n        return 1\n"


def codex(*lines: str) -> str:
    return "\n".join(["*** Begin Patch", *lines, "*** End Patch", ""])


def refusal(before: dict[str, str], patch: str) -> PatchError:
    with pytest.raises(PatchError) as refused:
        patched(before, patch)
    return refused.value


def test_all_kinds_of_change_in_one_patch():
    patch = codex(
        "*** Add File: new/n.txt", "+one", "+two",
        "*** Delete File: old.txt",
        "*** Update File: f.txt", "*** Move to: g.txt", "@@", " a", "-b", "+B",
    )  # fmt: skip

    assert patched({"old.txt": "whatever\n", "f.txt": "a\nb\n"}, patch) == {
        "new/n.txt": "one\ntwo\n",
        "g.txt": "a\nB\n",
    }


def test_anchors_tell_equal_places_apart():
    patch = codex("*** Update File: f", "@@ class B:", "@@     def f(self):", "-        return 1", "+        return 2")

    assert patched({"f": FILE}, patch)["f"] == FILE[:-2] + "2\n"


def test_an_anchor_that_stands_twice_does_not_help():
    patch = codex("*** Update File: f", "@@ def f(self):", "-        return 1", "+        return 2")

    assert refusal({"f": FILE}, patch).reason is Reason.AMBIGUOUS


def test_anchors_that_do_not_stand_one_behind_the_other_do_not_help():
    patch = codex("*** Update File: f", "@@ class B:", "@@ class A:", "-        return 1", "+        return 2")

    assert refusal({"f": FILE}, patch).reason is Reason.AMBIGUOUS


def test_hunks_come_in_order_so_the_second_of_equal_places_is_behind_the_first_hunk():
    patch = codex("*** Update File: f", "@@", "-class B:", "+class C:", "@@", "-        return 1", "+        return 2")

    assert patched({"f": FILE}, patch)["f"] == FILE[:-2].replace("B", "C") + "2\n"


def test_end_of_file_says_where():
    patch = codex("*** Update File: f", "@@", "-        return 1", "+        return 2", "*** End of File")

    assert patched({"f": FILE}, patch)["f"] == FILE[:-2] + "2\n"
    added = codex("*** Update File: f", "@@", "+# end", "*** End of File")
    assert patched({"f": FILE}, added)["f"] == FILE + "# end\n"


def test_a_file_without_a_last_newline_does_not_get_one():
    assert patched({"f": "a\nb"}, codex("*** Update File: f", "@@", " a", "-b", "+B")) == {"f": "a\nB"}


def test_windows_line_ends_are_kept_both_ways():
    patch = codex("*** Update File: f", "@@", " a", "-b", "+B", "+C")

    assert patched({"f": "a\r\nb\r\n"}, patch) == {"f": "a\r\nB\r\nC\r\n"}
    assert patched({"f": "a\nb\n"}, patch.replace("\n", "\r\n")) == {"f": "a\nB\nC\n"}


def test_prose_and_fences_around_it_and_a_missing_end_are_understood():
    patch = "Sure:\n```\n*** Begin Patch\n\n*** Update File: f\n@@\n-a\n+b\n\n"

    assert patched({"f": "a\n"}, patch) == {"f": "b\n"}
    assert patched({"f": "a\n"}, patch + "*** End Patch\n```\nDone.\n") == {"f": "b\n"}


@pytest.mark.parametrize(
    ("patch", "told"),
    [
        (codex(), "No file is named"),
        (codex("*** Rename File: f"), "stands where a line such as"),
        (codex("*** Add File: f", "+a", "b"), "stands where a line such as"),
        (codex("*** Update File: f", "@@", "a"), "begins with neither"),
        (codex("*** Update File: f", "@@ x"), "hunk 1 has no lines"),
        (codex("*** Update File: f", "@@", "-a", "*** What: is this"), "is no line of this form"),
        (codex("*** Update File: f"), "changes nothing"),
        (codex("*** Update File: f", "@@", "+only added"), "it only adds lines"),
        (codex("*** Update File: ../f", "@@", "-a", "+b"), "not a path inside the workspace"),
    ],
)
def test_what_cannot_be_read_is_refused(patch: str, told: str):
    assert told in str(refusal({"f": "a\n"}, patch))
