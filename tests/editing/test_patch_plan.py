"""A plan is for all files of a patch, or there is none; no path leads outside."""

import pickle

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from tests.editing.trees import hunk, patched
from toolhaft.editing.diff import unified_diff
from toolhaft.editing.exact import spliced
from toolhaft.editing.patch_model import PatchError
from toolhaft.editing.patch_plan import plan_patch
from toolhaft.editing.refusal import Reason

RENAME = "diff --git a/f b/g\nsimilarity index 90%\nrename from f\nrename to g\n"


def refusal(before: dict[str, str], patch: str, *, filepath: str | None = None) -> PatchError:
    with pytest.raises(PatchError) as refused:
        patched(before, patch, filepath=filepath)
    return refused.value


def test_one_bad_file_refuses_all_and_every_reason_is_told():
    files = {"f.txt": "a\n", "g.txt": "b\n"}
    patch = hunk("-a\n+A\n") + hunk("-X\n+Y\n", name="g.txt") + hunk("-q\n+r\n", name="no.txt")

    error = refusal(files, patch)

    assert [(problem.path, problem.reason) for problem in error.problems] == [
        ("g.txt", Reason.NOT_FOUND),
        ("no.txt", Reason.MISSING_FILE),
    ]
    assert str(error).startswith("The patch was not applied; no file was changed.\n")


def test_a_refusal_survives_pickling():
    error = refusal({}, hunk("-a\n+A\n"))

    again = pickle.loads(pickle.dumps(error))

    assert (str(again), again.problems, again.reason) == (str(error), error.problems, Reason.MISSING_FILE)


def test_a_new_file_has_the_added_lines_and_the_mode():
    patch = "diff --git a/n b/n\nnew file mode 100755\n--- /dev/null\n+++ b/n\n@@ -0,0 +1,2 @@\n+a\n+b\n"

    (change,) = plan_patch(patch, {}.get)

    assert (change.kind, change.path, change.old_text, change.text, change.mode) == ("add", "n", None, "a\nb\n", 0o755)


@pytest.mark.parametrize(
    ("patch", "after"),
    [
        (hunk("+a\n\n+b\n", "@@ -0,0 +1,3 @@").replace("--- a/f.txt", "--- /dev/null"), "a\n\nb\n"),
        (hunk("+a\n+b\n\\ No newline at end of file\n").replace("--- a/f.txt", "--- /dev/null"), "a\nb"),
        (hunk("+a\n", "@@ -0,0 +1 @@"), "a\n"),
        ("diff --git a/f.txt b/f.txt\nnew file mode 100644\nindex 0..0\n", ""),
        ("*** Begin Patch\n*** Add File: f.txt\n+a\n\n+b\n\n*** End Patch\n", "a\n\nb\n"),
        ("--- f.txt.orig\t1970-01-01 01:00:00.000 +0100\n+++ f.txt\t2024-01-02\n@@ -0,0 +1 @@\n+a\n", "a\n"),
    ],
)
def test_a_new_file_is_made_from_every_form(patch: str, after: str):
    assert patched({}, patch) == {"f.txt": after}


@pytest.mark.parametrize(
    ("before", "patch", "reason"),
    [
        ({"f.txt": "x"}, hunk("+a\n").replace("--- a/f.txt", "--- /dev/null"), Reason.FILE_EXISTS),
        ({"f.txt": "a\n"}, hunk("+a\n").replace("--- a/f.txt", "--- /dev/null"), Reason.ALREADY_APPLIED),
        ({}, hunk(" x\n+a\n").replace("--- a/f.txt", "--- /dev/null"), Reason.MALFORMED),
        ({"f.txt": "a\nb\n"}, hunk("-a\n").replace("+++ b/f.txt", "+++ /dev/null"), Reason.CONFLICT),
        ({"f": "a"}, "diff --git a/f b/f\ndeleted file mode 100644\n", Reason.CONFLICT),
        ({"f": "a", "g": "b"}, RENAME, Reason.FILE_EXISTS),
        ({}, RENAME, Reason.MISSING_FILE),
        ({"f": "a"}, "--- a/f\n+++ b/f\n@@ -1 +1 @@\n a\n", Reason.SAME),
        ({"f": "a\n", "g": "a\n"}, "--- f\n+++ g\n@@ -1 +1 @@\n-a\n+b\n", Reason.AMBIGUOUS),
        ({"f": "a\n"}, "--- f\n+++ g\n@@ -1 +1 @@\n-a\n+b\n", Reason.AMBIGUOUS),
        ({"f": "a\n"}, RENAME + "*** x\n" + RENAME, Reason.MISSING_FILE),
    ],
)
def test_what_would_lose_or_overwrite_something_is_refused(before: dict[str, str], patch: str, reason: Reason):
    assert refusal(before, patch).reason is reason


def test_a_file_is_deleted_when_all_of_it_is_shown():
    patch = hunk("-a\n-b\n").replace("+++ b/f.txt", "+++ /dev/null")

    assert patched({"f.txt": "a\nb\n"}, patch) == {}
    assert patched({"a/f.txt": "a\nb\n"}, patch) == {}
    epoch = hunk("-a\n-b\n").replace("+++ b/f.txt", "+++ b/f.txt\t1969-12-31 19:00:00.000000000 -0500")
    assert patched({"f.txt": "a\nb\n"}, epoch) == {}


def test_an_empty_file_is_deleted_by_its_git_header():
    assert patched({"f": ""}, "diff --git a/f b/f\ndeleted file mode 100644\nindex e69de29..0000000\n") == {}


def test_a_rename_may_change_the_file_and_its_mode():
    patch = RENAME.replace("similarity", "old mode 100644\nnew mode 100755\nsimilarity")

    (change,) = plan_patch(patch + "--- a/f\n+++ b/g\n@@ -1 +1 @@\n-a\n+A\n", {"f": "a\n"}.get)

    assert (change.kind, change.old_path, change.path, change.text, change.mode) == ("rename", "f", "g", "A\n", 0o755)
    assert change.old_text == "a\n"


def test_a_copy_keeps_its_source():
    patch = RENAME.replace("rename", "copy") + "--- a/f\n+++ b/g\n@@ -1 +1 @@\n-a\n+A\n"

    assert patched({"f": "a\n"}, patch) == {"f": "a\n", "g": "A\n"}


@pytest.mark.parametrize("changed_first", [True, False])
def test_a_copy_is_made_of_what_the_file_was_before_the_patch(changed_first: bool):
    """As git has it: the order of the sections says nothing."""
    change, copy = "diff --git a/f b/f\n" + hunk("-a\n+A\n", name="f"), RENAME.replace("rename", "copy")

    after = patched({"f": "a\n"}, change + copy if changed_first else copy + change)

    assert after == {"f": "A\n", "g": "a\n"}


def test_a_copy_of_a_file_that_the_patch_makes_is_refused():
    patch = hunk("+a\n", "@@ -0,0 +1 @@", name="f").replace("--- a/f", "--- /dev/null")

    assert refusal({}, patch + RENAME.replace("rename", "copy")).reason is Reason.MISSING_FILE


def test_a_rename_to_its_own_name_is_a_change():
    patch = RENAME.replace("rename to g", "rename to f") + "--- a/f\n+++ b/f\n@@ -1 +1 @@\n-a\n+A\n"

    assert patched({"f": "a\n"}, patch) == {"f": "A\n"}


def test_a_file_named_twice_is_one_change():
    first, second = hunk("-a\n+A\n"), hunk("-b\n+B\n", "@@ -2 +2 @@")

    (change,) = plan_patch(first + second, {"f.txt": "a\nb\n"}.get)

    assert (change.old_text, change.text, len(change.hunks)) == ("a\nb\n", "A\nB\n", 2)


@pytest.mark.parametrize(
    ("patch", "kind", "after"),
    [
        (hunk("-a\n+A\n", name="f") + RENAME, "rename", {"g": "A\n"}),
        (RENAME + hunk("-a\n+A\n", name="g"), "rename", {"g": "A\n"}),
        ("*** Begin Patch\n*** Delete File: f\n*** Add File: f\n+new\n*** End Patch", "change", {"f": "new\n"}),
        (
            hunk("-a\n+A\n", name="f") + hunk("-A\n", name="f").replace("+++ b/f", "+++ /dev/null"),
            "delete",
            {},
        ),
    ],
)
def test_two_steps_of_one_file_are_joined(patch: str, kind: str, after: dict[str, str]):
    (change,) = plan_patch(patch, {"f": "a\n"}.get)

    assert change.kind == kind
    assert patched({"f": "a\n"}, patch) == after


def test_making_and_deleting_one_file_is_refused():
    patch = "*** Begin Patch\n*** Add File: f\n+a\n*** Delete File: f\n*** End Patch"

    assert refusal({}, patch).reason is Reason.CONFLICT


@pytest.mark.parametrize(
    "name", ["../f", "/etc/passwd", "a/../../f", "x/../../f", "~/f", "a//etc/passwd", "..", "", "f\\000g"]
)
@pytest.mark.parametrize("side", ["old", "new", "both"])
def test_no_name_that_leads_outside_is_even_read(name: str, side: str):
    asked: list[str] = []
    written = f'"{name}"' if "\\" in name else name
    old = "/dev/null" if side == "new" else written
    new = "/dev/null" if side == "old" else written
    patch = f"--- {old}\n+++ {new}\n@@ -1 +1 @@\n{'' if side == 'new' else '-a'}\n{'' if side == 'old' else '+b'}\n"

    with pytest.raises(PatchError):
        plan_patch(patch, lambda path: asked.append(path))

    assert [path for path in asked if path.startswith(("/", "~")) or ".." in path or "\0" in path] == []


def test_a_rename_out_of_the_workspace_is_refused():
    assert refusal({"f": "a"}, RENAME.replace("rename to g", "rename to ../g")).reason is Reason.UNSAFE_PATH


def test_filepath_names_the_file_of_bare_hunks():
    assert patched({"x/f.txt": "a\n"}, "@@ -1 +1 @@\n-a\n+b\n", filepath="x/f.txt") == {"x/f.txt": "b\n"}


@pytest.mark.parametrize("name", ["f.txt", "x/f.txt", "b/x/f.txt"])
def test_filepath_agrees_with_a_header_that_is_its_end(name: str):
    patch = f"--- a/f.txt\n+++ {name}\n@@ -1 +1 @@\n-a\n+b\n"

    assert patched({"x/f.txt": "a\n"}, patch, filepath="x/f.txt") == {"x/f.txt": "b\n"}


def test_filepath_refuses_a_patch_about_another_file_and_changes_nothing():
    files = {"f.txt": "a\n", "g.txt": "b\n"}

    error = refusal(files, hunk("-a\n+A\n") + hunk("-b\n+B\n", name="g.txt"), filepath="f.txt")

    assert error.reason is Reason.CONFLICT
    assert "filepath limits the patch to 'f.txt'" in str(error)
    assert refusal({"f": "a"}, RENAME, filepath="f").reason is Reason.CONFLICT


def test_filepath_goes_with_new_and_deleted_files():
    add = hunk("+a\n").replace("--- a/f.txt", "--- /dev/null")
    delete = hunk("-a\n").replace("+++ b/f.txt", "+++ /dev/null")

    assert patched({}, add, filepath="f.txt") == {"f.txt": "a\n"}
    assert patched({"f.txt": "a\n"}, delete, filepath="f.txt") == {}


def test_a_missing_file_is_named_as_it_would_be():
    assert refusal({}, hunk("-a\n+b\n", name="src/f.txt")).problems[0].path == "src/f.txt"


def test_what_the_reader_raises_comes_through():
    def read(path: str) -> str | None:
        raise PermissionError(path)

    with pytest.raises(PermissionError, match=r"f\.txt"):
        plan_patch(hunk("-a\n+b\n"), read)


LINES = st.lists(st.sampled_from(["a", "b", "", "c\r", "def f():", "  y"]), max_size=14)


@given(old=LINES, new=LINES, old_end=st.sampled_from(["", "\n", "\r\n"]), new_end=st.sampled_from(["", "\n", "\r\n"]))
def test_the_edits_of_a_change_lead_from_the_old_text_to_the_new(
    old: list[str], new: list[str], old_end: str, new_end: str
) -> None:
    before, after = "\n".join(old) + old_end, "\n".join(new) + new_end
    patch = unified_diff(before, after, path="f", max_lines=None, max_line_chars=None).text
    assume(patch)

    for change in plan_patch(patch, {"f": before}.get):
        assert change.text == after
        assert spliced(before, change.edits) == after
