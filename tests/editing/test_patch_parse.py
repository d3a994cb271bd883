"""Reading patches: what models and tools write is understood, what is not understood is refused and never skipped."""

import pytest

from tests.editing.trees import hunk, patched
from toolhaft.editing.patch_model import PatchError
from toolhaft.editing.patch_plan import plan_patch
from toolhaft.editing.refusal import Reason

TEN = "".join(f"{number}\n" for number in range(1, 11))


@pytest.mark.parametrize(
    "patch",
    [
        hunk(" 4\n-5\n+five\n 6\n", "@@ -4,3 +4,3 @@"),
        hunk(" 4\n-5\n+five\n 6", "@@ -4,3 +4,3 @@"),
        hunk(" 4\n-5\n+five\n 6\n", "@@ -4,99 +4,1 @@"),
        hunk(" 4\n-5\n+five\n 6\n", "@@ -4 +4 @@ def f(): @@ more"),
        hunk(" 4\n-5\n+five\n 6\n", "@@"),
        hunk(" 4\n-5\n+five\n 6\n", "@@ @@"),
        hunk(" 4\n-5\n+five\n 6\n", "@@ ... @@"),
        hunk(" 4\n-5\n+five\n 6\n", "@@ -x,y +z @@"),
        hunk(" 4\n-5\n+five\n 6\n", "@@ -7,3 +7,3 @@"),
        hunk(" 4\n-5\n+five\n 6\n", "@@ -4,3 +4,3 @@").replace("\n", "\r\n"),
        hunk(" 4\n-5\n+five\n 6", "@@ -4,3 +4,3 @@").replace("\n", "\r\n"),
        "Here it is:\n```diff\n" + hunk(" 4\n-5\n+five\n 6\n", "@@ -4,3 +4,3 @@") + "```\n\n- I changed a line.\n",
        "Prose first.\n\n" + hunk(" 4\n-5\n+five\n 6\n", "@@ -4,3 +4,3 @@") + "Prose behind.\n- and a list\n",
        hunk(" 4\n-5\n+five\n 6\n", "@@ -4,3 +4,3 @@") + "-- \n2.39.5\n\n",
        hunk(" 4\n-5\n+five\n 6\n", "@@ -4,3 +4,3 @@") + "\n\n\n",
        hunk(" 4\n-5\n+five\n 6\n", "@@ -4,2 +4,2 @@") + "\n\n",
        "  " + hunk(" 4\n-5\n+five\n 6", "@@ -4,3 +4,3 @@").replace("\n", "\n  "),
        hunk(" 4\n-5\n+five\n 6\n", "@@ -4,3 +4,3 @@").replace("a/", "").replace("b/", ""),
        hunk(" 4\n-5\n+five\n 6\n", "@@ -4,3 +4,3 @@").replace("a/", "./").replace("b/", "./"),
        hunk(" 4\n-5\n+five\n 6\n", "@@ -4,3 +4,3 @@").replace("b/", "a/"),
        hunk(" 4\n-5\n+five\n 6\n", "@@ -4,3 +4,3 @@").replace("a/", "i/").replace("b/", "w/"),
        hunk(" 4\n-5\n+five\n 6\n", "@@ -4,3 +4,3 @@").replace("a/", "old/").replace("b/", "new/"),
        hunk(" 4\n-5\n+five\n 6\n", "@@ -4,3 +4,3 @@").replace("a/f.txt", "f.txt.orig").replace("b/", ""),
        hunk(" 4\n-5\n+five\n 6\n", "@@ -4,3 +4,3 @@").replace(".txt\n", ".txt\t2024-01-02 03:04:05.0 +0000\n"),
        hunk(" 4\n-5\n+five\n 6\n", "@@ -4,3 +4,3 @@").replace(".txt\n", ".txt 2024-01-02 03:04:05\n"),
        hunk(" 4\n-5\n+five\n 6\n", "@@ -4,3 +4,3 @@").replace(".txt\n", ".txt Tue Jan  2 03:04:05 2024\n"),
        hunk(" 4\n-5\n+five\n 6\n", "@@ -4,3 +4,3 @@").replace("a/f.txt", '"a/f\\056txt"'),
        hunk(" 4\n-5\n+five\n 6\n", "@@ -4,3 +4,3 @@").removeprefix("--- a/f.txt\n"),
        hunk(" 4\n-5\n+five\n 6\n", "@@ -4,3 +4,3 @@").replace("+++ b/f.txt\n", ""),
        "diff --git a/f.txt b/f.txt\nindex 1..2 100644\n" + hunk(" 4\n-5\n+five\n 6\n", "@@ -4,3 +4,3 @@"),
        "diff --git a/f.txt b/f.txt\n@@ -4,3 +4,3 @@\n 4\n-5\n+five\n 6\n",
        hunk("\n@@ -4,3 +4,3 @@\n 4\n-5\n+five\n 6\n", ""),
        "*** Begin Patch\n*** Update File: f.txt\n@@\n 4\n-5\n+five\n 6\n*** End Patch\n",
        "*** Update File: f.txt\n 4\n-5\n+five\n",
    ],
)
def test_the_same_change_is_understood_in_many_forms(patch: str):
    assert patched({"f.txt": TEN}, patch) == {"f.txt": TEN.replace("5\n", "five\n")}


def test_context_lines_that_lost_their_blank_are_context():
    before = "a\n\nb\n\nc\n"

    assert patched({"f.txt": before}, hunk(" a\n\n-b\n+B\n\n c\n", "@@ -1,5 +1,5 @@")) == {"f.txt": "a\n\nB\n\nc\n"}
    assert patched({"f.txt": before}, hunk(" a\n\n-b\n+B\n\n", "@@ -1,4 +1,4 @@")) == {"f.txt": "a\n\nB\n\nc\n"}


def test_removed_and_added_lines_that_look_like_headers_are_lines():
    before = "-- old\nx\n"
    patch = hunk("--- old\n+++ new\n x\n", "@@ -1,2 +1,2 @@")

    assert patched({"f.txt": before}, patch) == {"f.txt": "++ new\nx\n"}
    only = hunk("--- old\n+++ new\n", "@@ -1 +1 @@") + "@@ -2 +2 @@\n-x\n+y\n"
    assert patched({"f.txt": before}, only) == {"f.txt": "++ new\ny\n"}
    assert patched({"f.txt": before}, hunk("--- old\n x\n", "@@ -1,2 +1 @@")) == {"f.txt": "x\n"}


def test_two_files_without_git_lines_are_split_at_their_headers_whatever_the_counts():
    first, second = hunk("-a\n+A\n", "@@ -1,9 +1,9 @@"), hunk("-b\n+B\n", name="g.txt")

    assert patched({"f.txt": "a\n", "g.txt": "b\n"}, first + second) == {"f.txt": "A\n", "g.txt": "B\n"}
    uncounted = hunk("-a\n+A\n", "@@")
    assert patched({"f.txt": "a\n", "g.txt": "b\n"}, uncounted + second) == {"f.txt": "A\n", "g.txt": "B\n"}


def test_a_header_without_a_hunk_ends_the_file_before_it():
    with pytest.raises(PatchError, match=r"g\.txt: the patch changes nothing in it"):
        patched({"f.txt": "a\n", "g.txt": "b\n"}, hunk("-a\n+A\n") + "--- a/g.txt\n+++ b/g.txt\n")


def test_hunks_behind_prose_belong_to_the_file_before():
    patch = hunk("-1\n+one\n", "@@ -1 +1 @@") + "and further down:\n@@ -10 +10 @@\n-10\n+ten\n"

    assert patched({"f.txt": "1\n10\n"}, patch) == {"f.txt": "one\nten\n"}


@pytest.mark.parametrize(
    ("patch", "reason", "told"),
    [
        ("", Reason.MALFORMED, "No patch was found"),
        ("just words\n", Reason.MALFORMED, "No patch was found"),
        (hunk(""), Reason.MALFORMED, "followed by no line"),
        (hunk(" 1\n2\n-3\n+three\n", "@@ -1,3 +1,3 @@"), Reason.MALFORMED, "begins with neither a blank, \\+ nor -"),
        (hunk("-1\n+one\n2\n-3\n+three\n"), Reason.MALFORMED, "'2' begins with neither"),
        (hunk("\\ No newline at end of file\n-1\n+one\n"), Reason.MALFORMED, "belongs behind a line"),
        (hunk("-1\n\\ No newline at end of file\n-2\n+one\n"), Reason.MALFORMED, "stands in its middle"),
        ("@@ -1 +1 @@\n-1\n+one\n", Reason.MALFORMED, "no file is named"),
        ("*** f.txt\n--- f.txt\n***************\n*** 1 ****\n", Reason.UNSUPPORTED, "context diff"),
        ("--- a/f.txt\n+++ b/f.txt\n@@@ -1 -1 +1 @@@\n- 1\n", Reason.UNSUPPORTED, "combined diff"),
        ("diff --git a/f b/f\nGIT binary patch\nliteral 3\n", Reason.UNSUPPORTED, "binary"),
        ("Binary files a/f and b/f differ\n", Reason.UNSUPPORTED, "binary"),
        ("diff --git a/f b/f\nindex 1..2\nBinary files a/f and b/f differ\n", Reason.UNSUPPORTED, "binary"),
        ("diff --git a/f b/f\nnew file mode 160000\n", Reason.UNSUPPORTED, "not a regular file"),
        ("diff --git a/f b/f\nold mode 100644\nnew mode 120000\n", Reason.UNSUPPORTED, "not a regular file"),
        ("diff --git what is this\nold mode 100644\nnew mode 100755\n", Reason.MALFORMED, "which file"),
    ],
)
def test_what_cannot_be_read_as_a_whole_is_refused(patch: str, reason: Reason, told: str):
    with pytest.raises(PatchError, match=told) as refused:
        plan_patch(patch, {"f.txt": TEN}.get)

    assert refused.value.reason is reason


@pytest.mark.parametrize(
    ("line", "path"),
    [
        ("a/x y b/x y", "x y"),
        ('"a/\\303\\244" "b/\\303\\244"', "ä"),
        ('"a/q\\"t\\tab" "b/q\\"t\\tab"', 'q"t\tab'),
        ("a/same b/same", "same"),
    ],
)
def test_git_lines_name_a_file_by_themselves(line: str, path: str):
    (change,) = plan_patch(f"diff --git {line}\nold mode 100644\nnew mode 100755\n", {path: "x"}.get)

    assert (change.kind, change.path, change.text, change.mode) == ("change", path, "x", 0o755)
