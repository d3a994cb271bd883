"""No line of a patch that changes something is skipped: it is understood, or the patch is refused."""

import pytest

from tests.editing.trees import hunk, patched
from toolhaft.editing.patch_model import PatchError
from toolhaft.editing.patch_plan import plan_patch
from toolhaft.editing.refusal import Reason

MOVE = "diff --git a/x b/y\nrename from x\nrename to y\n"
MODES = "diff --git a/f b/f\nold mode 100644\nnew mode 100755\n"
NEW = "diff --git a/new b/new\nnew file mode 100644\n"
CODEX = "*** Begin Patch\n*** Update File: f\n@@\n-a\n+A\n*** End Patch\n"


def refusal(before: dict[str, str], patch: str) -> PatchError:
    with pytest.raises(PatchError) as refused:
        patched(before, patch)
    return refused.value


@pytest.mark.parametrize("name", ["d/./f", "d//f", "./d/f", "d/.//./f"])
def test_one_file_under_two_spellings_of_its_name_is_one_file(name: str):
    first, second = hunk("-a\n+A\n", name="d/f"), hunk("-b\n+B\n", "@@ -2 +2 @@", name=name)

    (change,) = plan_patch(first + second, {"d/f": "a\nb\n"}.get)

    assert (change.path, change.text) == ("d/f", "A\nB\n")


def test_the_spelling_of_a_rename_and_of_filepath_does_not_matter_either():
    moved = MOVE.replace("to y", "to d/./y").replace("from x", "from ./x")

    assert patched({"x": "a\n"}, moved + hunk("-a\n+A\n", name="d/y")) == {"d/y": "A\n"}
    assert patched({"d/f": "a\n"}, hunk("-a\n+A\n", name="d/f"), filepath="d/./f") == {"d/f": "A\n"}


@pytest.mark.parametrize(
    ("before", "patch", "after"),
    [
        ({}, "--- /dev/null\n+++ b/new\n+one\n+two\n", {"new": "one\ntwo\n"}),
        ({}, "+++ b/new\n+one\n".replace("+++", "--- /dev/null\n+++"), {"new": "one\n"}),
        ({}, NEW + "+one\n", {"new": "one\n"}),
        ({}, NEW + "--- /dev/null\n+++ b/new\n\n+one\n", {"new": "one\n"}),
        ({"x": "a\nb\n"}, MOVE + "--- a/x\n+++ b/y\n a\n-b\n+B\n", {"y": "a\nB\n"}),
        ({"x": "a\nb\n"}, MOVE + " a\n-b\n+B\n", {"y": "a\nB\n"}),
        ({"f": "a\nb\n"}, MODES + "-b\n+B\n", {"f": "a\nB\n"}),
        ({"f": "a\nb\n"}, MODES + "--- a/f\n+++ b/f\n-b\n+B\n", {"f": "a\nB\n"}),
        ({"f": "a\n"}, "diff --git a/f b/f\ndeleted file mode 100644\n-a\n", {}),
        ({"f": "a\n"}, "--- a/f\n-a\n+A\n", {"f": "A\n"}),
        (
            {"f": "a\n", "g": "b\n"},
            "--- a/f\n+++ b/f\n-a\n+A\n--- a/g\n+++ b/g\n-b\n+B\n",
            {"f": "A\n", "g": "B\n"},
        ),
    ],
)
def test_a_body_without_a_hunk_line_is_a_hunk_without_numbers(
    before: dict[str, str], patch: str, after: dict[str, str]
):
    assert patched(before, patch) == after


def test_a_signature_behind_headers_alone_is_no_body():
    assert patched({"x": "a\n"}, MOVE + "-- \n2.39.5\n") == {"y": "a\n"}
    assert patched({"x": "a\n"}, MOVE + "\n an indented remark\n") == {"y": "a\n"}


@pytest.mark.parametrize(
    "patch",
    [
        NEW + "This is what it holds:\n+one\n",
        MOVE + "and then\n-a\n",
        hunk("-a\n+A\n", name="f") + "```\n-b\n+B\n```\n",
        CODEX + "-b\n+B\n",
    ],
)
def test_lines_that_belong_to_no_hunk_are_refused(patch: str):
    assert refusal({"f": "a\nb\n", "x": "a\n"}, patch).reason is Reason.MALFORMED


def test_every_envelope_is_applied():
    second = CODEX.replace("f\n", "g\n", 1).replace("a\n", "b\n").replace("A\n", "B\n")

    assert patched({"f": "a\n", "g": "b\n"}, CODEX + "Then:\n" + second) == {"f": "A\n", "g": "B\n"}


def test_both_forms_may_follow_each_other():
    unified = hunk("-b\n+B\n", name="g")

    assert patched({"f": "a\n", "g": "b\n"}, CODEX + unified) == {"f": "A\n", "g": "B\n"}
    assert patched({"f": "a\n", "g": "b\n"}, unified + CODEX) == {"f": "A\n", "g": "B\n"}


@pytest.mark.parametrize("line", ["```", "*** x", "Index: x", "- b", "+ b", "prose", "---"])
def test_a_hunk_that_is_cut_short_by_a_line_is_refused_where_its_lines_follow(line: str):
    text = "a\nb\nc\nd\n"
    patch = hunk(f"-a\n+A\n b\n{line}\n-d\n+D\n", "@@ -1,5 +1,5 @@")

    assert refusal({"f.txt": text}, patch).reason in (Reason.MALFORMED, Reason.NOT_FOUND)


@pytest.mark.parametrize("line", ["```", "*** x", "Index: x", "prose"])
def test_bullets_count_as_lines_of_the_hunk_while_its_counts_miss_some(line: str):
    patch = hunk(f"-a\n+A\n{line}\n- d\n+ D\n", "@@ -1,3 +1,3 @@")

    assert refusal({"f.txt": "a\nb\n d\n"}, patch).reason is Reason.MALFORMED
    assert patched({"f.txt": "a\nb\n d\n"}, hunk(f"-a\n+A\n{line}\n- d\n")) == {"f.txt": "A\nb\n d\n"}


@pytest.mark.parametrize("line", ["```sh", "*** x", "Index: x", "two", "* two"])
@pytest.mark.parametrize("behind", ["", "run\n", "+three\n", "run\n```\n"])
def test_a_new_file_is_not_cut_short(line: str, behind: str):
    patch = f"--- /dev/null\n+++ b/new\n@@ -0,0 +1,4 @@\n+one\n{line}\n{behind}"

    assert refusal({}, patch).reason is Reason.MALFORMED


def test_a_new_file_whose_counts_are_wrong_ends_at_the_fence_that_closes_the_patch():
    patch = "```diff\n--- /dev/null\n+++ b/new\n@@ -0,0 +1,4 @@\n+one\n```\nDone.\n"

    assert patched({}, patch) == {"new": "one\n"}


@pytest.mark.parametrize(
    "patch",
    [
        MOVE + "--- a/g\n+++ b/g\n@@ -1 +1 @@\n-a\n+A\n",
        MOVE + "--- a/x\n+++ b/g\n@@ -1 +1 @@\n-a\n+A\n",
        MOVE + "--- a/g\n+++ b/y\n@@ -1 +1 @@\n-a\n+A\n",
        MOVE + "--- /dev/null\n+++ b/y\n@@ -0,0 +1 @@\n+A\n",
        MODES + "--- a/g\n+++ b/g\n@@ -1 +1 @@\n-a\n+A\n",
        MODES + "--- /dev/null\n+++ b/f\n@@ -0,0 +1 @@\n+A\n",
        MODES + "--- a/f\n+++ /dev/null\n@@ -1 +0,0 @@\n-a\n",
        NEW + "--- /dev/null\n+++ b/other\n@@ -0,0 +1 @@\n+A\n",
        NEW + "--- a/new\n+++ /dev/null\n@@ -1 +0,0 @@\n-a\n",
        "diff --git a/f b/f\ndeleted file mode 100644\n--- a/g\n+++ /dev/null\n@@ -1 +0,0 @@\n-a\n",
        "diff --git a/f b/f\ndeleted file mode 100644\n--- /dev/null\n+++ b/f\n@@ -0,0 +1 @@\n+a\n",
        "diff --git a/f b/f\nindex 1..2\n--- a/g\n+++ b/g\n@@ -1 +1 @@\n-a\n+A\n",
    ],
)
def test_headers_that_name_another_file_than_their_section_are_refused(patch: str):
    files = {"x": "a\n", "f": "a\n", "g": "a\n"}

    assert refusal(files, patch).reason is Reason.CONFLICT


def test_a_folder_called_like_a_prefix_is_not_taken_for_the_file():
    assert refusal({"b/f": "a\n"}, hunk("-a\n+A\n", name="f")).reason is Reason.MISSING_FILE


@pytest.mark.parametrize("number", ["9" * 10, "9" * 5000])
def test_a_number_that_no_file_has_lines_for_is_none(number: str):
    for at in (f"@@ -{number},2 +1,2 @@", f"@@ -1,{number} +1,2 @@", f"@@ -1 +{number} @@"):
        (change,) = plan_patch(hunk(" a\n-b\n+B\n", at), {"f.txt": "a\nb\n"}.get)
        assert (change.text, change.hunks[0].offset) == ("a\nB\n", 0)


def test_one_line_is_not_called_lines():
    gone = hunk("-a\n").replace("+++ b/f.txt", "+++ /dev/null")

    assert "(1 line more)" in str(refusal({"f.txt": "a\nb\n"}, gone))
    assert "both 1 line from line 2" in str(refusal({"f.txt": "a\nb\na\n"}, hunk("-a\n+c\n", "@@ -2 +2 @@")))


def test_a_list_behind_the_fence_around_the_patch_is_prose_whatever_the_counts_say():
    patch = "```diff\n" + hunk("-a\n+A\n", "@@ -1,7 +1,7 @@") + "```\n- I changed a line.\n"

    assert patched({"f.txt": "a\n"}, patch) == {"f.txt": "A\n"}
    assert refusal({"f.txt": "a\n"}, patch + "```\n").reason is Reason.MALFORMED
