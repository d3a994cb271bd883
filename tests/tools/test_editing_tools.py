"""The tools that change files, as a model meets them: answers, facts, refusals, previews, the way back."""

import hashlib
import os
from pathlib import Path
from typing import Any

import pytest
from pydantic_ai import ModelRetry

from tests.tools.test_editing_cases import state
from toolhaft import FileOperationError, LocalWorkspace, ToolExecutionError, ToolText, tool_spec, use_workspace
from toolhaft.tools import apply_patch, delete_file, edit_file, undo_change, update_file, write_file

PATCH = """\
--- a/src/add.py
+++ b/src/add.py
@@ -1,2 +1,2 @@
 def add(a, b):
-    return a + b
+    return b + a
--- /dev/null
+++ b/src/new.py
@@ -0,0 +1 @@
+x = 1
"""


@pytest.fixture(autouse=True)
def root(project: Path):
    with use_workspace(LocalWorkspace(project, allow_delete=True)):
        yield project


def facts(answer: object) -> dict[str, Any]:
    assert isinstance(answer, ToolText)
    return answer.facts


def sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


async def test_an_edit_answers_its_diff_and_the_way_back(root: Path) -> None:
    before = (root / "src/add.py").read_bytes()

    answer = await edit_file("src/add.py", "a + b", "b + a")

    assert answer.startswith("Edited src/add.py: 1 place, +1 -1 lines.\n\n--- a/src/add.py\n+++ b/src/add.py\n")
    assert f"undo_change with {facts(answer)['change_id']!r}" in answer
    assert facts(answer)["diff"][0]["path"] == "src/add.py"
    assert (facts(answer)["added"], facts(answer)["removed"], facts(answer)["truncated"]) == (1, 1, False)
    [file] = facts(answer)["files"]
    assert file["hash_before"] == sha256(before)
    assert file["hash_after"] == sha256((root / "src/add.py").read_bytes())


async def test_undo_takes_a_change_back_and_can_be_undone_itself(root: Path) -> None:
    before = state(root)
    answer = await apply_patch(PATCH)
    after = state(root)

    undone = await undo_change(facts(answer)["change_id"])
    assert state(root) == before

    await undo_change(facts(undone)["change_id"])
    assert {path: content for path, (_, content) in state(root).items()} == {
        path: content for path, (_, content) in after.items()
    }


async def test_undo_refuses_what_changed_since_and_what_it_does_not_know(root: Path) -> None:
    answer = await edit_file("README.md", "adds", "subtracts")
    (root / "README.md").write_text("something else\n")
    before = state(root)

    with pytest.raises(ToolExecutionError, match=r"README\.md"):
        await undo_change(facts(answer)["change_id"])
    with pytest.raises(ModelRetry, match="nothing-like-it"):
        await undo_change("nothing-like-it")

    assert state(root) == before


COPY = """\
diff --git a/src/add.py b/src/more.py
copy from src/add.py
copy to src/more.py
"""
IN_COPY = "--- a/src/add.py\n+++ b/src/more.py\n@@ -1 +1 @@\n-def add(a, b):\n+def more(a, b):\n"


@pytest.mark.parametrize("hunks", ["", IN_COPY])
async def test_a_copy_keeps_the_mode_and_is_shown(root: Path, hunks: str) -> None:
    (root / "src/add.py").chmod(0o750)

    answer = await apply_patch(COPY + hunks)

    assert (root / "src/more.py").stat().st_mode & 0o777 == 0o750
    assert COPY.strip() in answer
    assert ("+def more(a, b):" in answer) is bool(hunks)
    [file] = facts(answer)["files"]
    assert (file["old_path"], file["hash_before"]) == ("src/add.py", None)
    assert facts(answer)["diff"][0]["is_new_file"]


async def test_a_copy_of_a_file_that_goes_away_or_gets_another_mode(root: Path) -> None:
    (root / "src/add.py").chmod(0o640)
    text = (root / "src/add.py").read_text()
    shown = "".join(f"-{line}\n" for line in text.splitlines())
    delete = "diff --git a/src/add.py b/src/add.py\n--- a/src/add.py\n+++ /dev/null\n"
    delete += f"@@ -1,{text.count(chr(10))} +0,0 @@\n{shown}"

    await apply_patch(COPY.replace("copy from", "old mode 100644\nnew mode 100755\ncopy from") + delete)

    assert not (root / "src/add.py").exists()
    assert (root / "src/more.py").read_text() == text
    assert (root / "src/more.py").stat().st_mode & 0o777 == 0o751


async def test_a_miss_shows_the_nearest_place() -> None:
    with pytest.raises(ModelRetry, match="Nearest is line 2") as caught:
        await edit_file("src/add.py", "    return a +  b", "x")

    assert "·" in str(caught.value) or "return a + b" in str(caught.value)


async def test_several_places_are_listed_by_their_lines(root: Path) -> None:
    (root / "many.txt").write_text("x = 1\ny = 2\nx = 1\n")

    with pytest.raises(ModelRetry, match="1.*3"):
        await edit_file("many.txt", "x = 1", "x = 2")
    answer = await edit_file("many.txt", "x = 1", "x = 2", replace_all=True)

    assert facts(answer)["replacements"] == 2


async def test_an_update_names_how_it_found_the_place(root: Path) -> None:
    answer = await update_file("src/add.py", "def add(a, b):  \n    return a + b", "def add(a, b):\n    return b + a")

    assert facts(answer)["rung"] == "trailing blanks"
    assert "matched by trailing blanks" in answer
    assert (root / "src/add.py").read_text() == "def add(a, b):\n    return b + a\n"


async def test_an_update_that_is_exact_says_nothing_of_it() -> None:
    answer = await update_file("src/add.py", "a + b", "b + a")

    assert facts(answer)["rung"] == "exact"
    assert "matched by" not in answer


@pytest.mark.parametrize(
    "encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-32", "cp1252", "shift_jis", "gb18030"]
)
@pytest.mark.parametrize("tool", [edit_file, update_file])
async def test_a_file_keeps_its_encoding(root: Path, tool: Any, encoding: str) -> None:
    texts = {"shift_jis": "日本語のテキスト、一行目です。\n", "gb18030": "中文文本，第一行，用于测试编码。\n"}
    text = texts.get(encoding, "caf\u00e9 \u2014 one\n") + "two words\nthree\n"
    (root / "f.txt").write_bytes(text.encode(encoding))

    await tool("f.txt", "two words", "2 words")

    assert (root / "f.txt").read_bytes() == text.replace("two words", "2 words").encode(encoding)


@pytest.mark.parametrize("tool", [edit_file, update_file])
async def test_bytes_that_are_no_text_stay_as_they_are(root: Path, tool: Any) -> None:
    (root / "f.txt").write_bytes("naïve text\nein Wörterbuch\n".encode() * 20 + b"broken \xff\xc3 here\nold\n")

    await tool("f.txt", "old", "new")

    assert (root / "f.txt").read_bytes().endswith(b"broken \xff\xc3 here\nnew\n")


@pytest.mark.parametrize("tool", [edit_file, update_file])
async def test_a_binary_file_is_not_edited(root: Path, tool: Any) -> None:
    (root / "f.bin").write_bytes(bytes(range(256)) * 10)
    before = state(root)

    with pytest.raises(ToolExecutionError, match="binary"):
        await tool("f.bin", "abc", "xyz")

    assert state(root) == before


@pytest.mark.parametrize("tool", [edit_file, update_file])
async def test_a_text_that_cannot_be_written_is_refused(root: Path, tool: Any) -> None:
    before = state(root)

    with pytest.raises(ToolExecutionError, match="cannot be written"):
        await tool("README.md", "adds", "\ud800")

    assert state(root) == before


async def test_a_character_that_the_file_cannot_hold_is_refused(root: Path) -> None:
    (root / "f.txt").write_bytes("caf\u00e9 \u2014 \u201cquoted\u201d\nold\n".encode("cp1252"))

    with pytest.raises(ToolExecutionError, match="cannot be written in"):
        await edit_file("f.txt", "old", "日本")


async def test_a_patch_changes_all_its_files_or_none(root: Path) -> None:
    answer = await apply_patch(PATCH)

    assert "changed src/add.py" in answer
    assert "added src/new.py" in answer
    assert (root / "src/new.py").read_text() == "x = 1\n"
    assert [diff["is_new_file"] for diff in facts(answer)["diff"]] == [False, True]
    before = state(root)

    with pytest.raises(ModelRetry, match="no file was changed"):
        await apply_patch(PATCH.replace("src/new.py", "src/newer.py"))

    assert state(root) == before


async def test_a_hunk_that_moved_tells_how_far(root: Path) -> None:
    (root / "src/add.py").write_text("# a\n# b\n# c\ndef add(a, b):\n    return a + b\n")

    answer = await apply_patch(PATCH)

    assert "hunk 1 +3 lines off" in answer
    assert facts(answer)["hunks"][0]["offset"] == 3


async def test_a_patch_renames_deletes_and_sets_the_executable_bits(root: Path) -> None:
    os.chmod(root / "src/main.py", 0o640)
    patch = """\
diff --git a/src/add.py b/src/plus.py
similarity index 100%
rename from src/add.py
rename to src/plus.py
diff --git a/README.md b/README.md
deleted file mode 100644
--- a/README.md
+++ /dev/null
@@ -1,3 +0,0 @@
-# A project
-
-It adds numbers.
diff --git a/src/main.py b/src/main.py
old mode 100644
new mode 100755
"""

    answer = await apply_patch(patch)

    assert not (root / "README.md").exists()
    assert not (root / "src/add.py").exists()
    assert (root / "src/plus.py").read_text() == "def add(a, b):\n    return a + b\n"
    assert (root / "src/main.py").stat().st_mode & 0o777 == 0o751
    assert "renamed src/add.py to src/plus.py" in answer
    assert any(diff["is_deletion"] for diff in facts(answer)["diff"])


async def test_a_patch_may_be_limited_to_one_file(root: Path) -> None:
    await apply_patch("@@ -1,2 +1,2 @@\n def add(a, b):\n-    return a + b\n+    return b + a\n", "src/add.py")
    before = state(root)

    with pytest.raises(ModelRetry, match="filepath"):
        await apply_patch(PATCH, "README.md")

    assert state(root) == before


async def test_a_file_that_a_patch_misses_is_named() -> None:
    with pytest.raises(ModelRetry, match=r"no_such\.py"):
        await apply_patch(PATCH.replace("src/add.py", "src/no_such.py"))


async def test_a_patch_leads_nowhere_outside(root: Path) -> None:
    (root / "out").symlink_to("/tmp")
    for name in ("../evil.py", "/etc/evil.py", "out/evil.py"):
        with pytest.raises((ModelRetry, FileOperationError)):
            await apply_patch(f"--- /dev/null\n+++ {name}\n@@ -0,0 +1 @@\n+x\n")

    assert not Path("/tmp/evil.py").exists()


async def test_nothing_is_deleted_where_that_is_not_allowed(project: Path) -> None:
    before = state(project)
    rename = "diff --git a/README.md b/R.md\nrename from README.md\nrename to R.md\n"

    with use_workspace(project):
        for call in (delete_file("README.md"), apply_patch(rename)):
            with pytest.raises(FileOperationError, match="does not allow deleting"):
                await call

    assert state(project) == before


async def test_a_deleted_file_is_shown_and_comes_back(root: Path) -> None:
    before = state(root)

    answer = await delete_file("README.md")

    assert "-It adds numbers." in answer
    assert not (root / "README.md").exists()
    await undo_change(facts(answer)["change_id"])
    assert state(root) == before


async def test_a_link_is_removed_itself(root: Path) -> None:
    (root / "link").symlink_to("README.md")

    answer = await delete_file("link")

    assert "what it leads to is still there" in answer
    assert (root / "README.md").exists()
    assert not (root / "link").is_symlink()


@pytest.mark.parametrize("path", ["src", ".", "nowhere.txt"])
async def test_a_folder_and_a_missing_file_are_for_the_model_to_mend(root: Path, path: str) -> None:
    before = state(root)

    with pytest.raises(ModelRetry, match="folder|not found"):
        await delete_file(path)

    assert state(root) == before


async def test_a_binary_file_is_deleted_without_being_shown(root: Path) -> None:
    (root / "f.bin").write_bytes(bytes(range(256)))

    answer = await delete_file("f.bin")

    assert "Binary file f.bin differs" in answer


PREVIEWS: list[tuple[Any, dict[str, Any]]] = [
    (edit_file, {"filepath": "src/add.py", "old_str": "a + b", "new_str": "b + a"}),
    (update_file, {"filepath": "src/add.py", "old_text": "a + b", "new_text": "b + a"}),
    (apply_patch, {"patch": PATCH}),
    (delete_file, {"filepath": "README.md"}),
    (write_file, {"filepath": "README.md", "content": "new\n", "mode": "overwrite"}),
]


@pytest.mark.parametrize(("tool", "args"), PREVIEWS, ids=lambda value: getattr(value, "__name__", ""))
async def test_a_preview_shows_the_same_diff_and_changes_nothing(root: Path, tool: Any, args: dict[str, Any]) -> None:
    before = state(root)

    preview = await tool_spec(tool).preview(**args)

    assert state(root) == before
    assert preview.startswith("Preview, nothing has changed yet.")
    done = await tool(**args, expected_hash=facts(preview)["plan_id"])
    assert facts(done)["diff"] == facts(preview)["diff"]
    assert facts(done)["plan_id"] == facts(preview)["plan_id"]


@pytest.mark.parametrize(("tool", "args"), PREVIEWS, ids=lambda value: getattr(value, "__name__", ""))
async def test_a_plan_is_refused_when_the_files_have_changed(root: Path, tool: Any, args: dict[str, Any]) -> None:
    preview = await tool_spec(tool).preview(**args)
    for name in ("README.md", "src/add.py"):
        with (root / name).open("a") as file:
            file.write("# changed since\n")
    before = state(root)

    with pytest.raises((FileOperationError, ModelRetry)):
        await tool(**args, expected_hash=facts(preview)["plan_id"])

    assert state(root) == before


LINKED = [
    (edit_file, {"filepath": "link", "old_str": "same", "new_str": "new"}),
    (write_file, {"filepath": "link", "content": "new", "mode": "overwrite"}),
    (apply_patch, {"patch": "--- a/link\n+++ b/link\n@@ -1 +1 @@\n-same\n+new\n"}),
    (delete_file, {"filepath": "link"}),
]


@pytest.mark.parametrize(("tool", "args"), LINKED, ids=lambda value: getattr(value, "__name__", ""))
async def test_a_plan_is_refused_when_a_link_leads_elsewhere(root: Path, tool: Any, args: dict[str, Any]) -> None:
    for name in ("one", "other"):
        (root / name).write_text("same\n")
    (root / "link").symlink_to("one")
    preview = await tool_spec(tool).preview(**args)
    (root / "link").unlink()
    (root / "link").symlink_to("other")
    before = state(root)

    with pytest.raises(FileOperationError, match="not the plan"):
        await tool(**args, expected_hash=facts(preview)["plan_id"])

    assert state(root) == before


async def test_an_expected_hash_is_that_of_the_file_as_it_was_read(root: Path) -> None:
    read = sha256((root / "README.md").read_bytes())
    os.utime(root / "README.md", (1, 1))  # to touch a file is not to change it

    await edit_file("README.md", "adds", "sums", expected_hash=read)
    with pytest.raises(FileOperationError, match="not what was expected"):
        await edit_file("README.md", "sums", "adds", expected_hash=read)


async def test_a_hash_needs_a_file_that_it_is_of() -> None:
    with pytest.raises(ModelRetry, match="names no file"):
        await apply_patch(PATCH, expected_hash="0" * 64)


@pytest.mark.parametrize("path", ["./src/add.py", "src/../src/add.py", "{root}/src/add.py"])
async def test_the_diff_is_there_however_the_path_is_written(root: Path, path: str) -> None:
    path = path.format(root=root)

    edited = await edit_file(path, "a + b", "b + a")
    deleted = await delete_file(path)

    assert "-    return a + b" in edited
    assert facts(edited)["diff"][0]["path"] == "src/add.py"
    assert facts(edited)["diff"][0]["unified"].startswith("--- a/src/add.py\n+++ b/src/add.py\n")
    assert facts(deleted)["diff"][0]["unified"].startswith("--- a/src/add.py\n")
    assert "-    return b + a" in deleted


@pytest.mark.parametrize("tool", [update_file, edit_file])
async def test_an_answer_is_text_that_can_be_sent_whatever_the_file_holds(root: Path, tool: Any) -> None:
    (root / "f").write_bytes(b"good \xff\xfe bytes\n" + "é".encode() * 50 + b"\nx\n")

    done = await tool("f", "x\n", "y\n")
    patched = await apply_patch("--- a/f\n+++ b/f\n@@ -3 +3 @@\n-y\n+z\n")
    with pytest.raises(ModelRetry) as refused:
        await tool("f", "good bytes, nearly", "y")

    for text in (done, patched, str(refused.value), str(facts(done)), str(facts(patched))):
        text.encode()


async def test_a_patch_brings_no_half_characters(root: Path) -> None:
    before = state(root)

    with pytest.raises(ToolExecutionError, match="cannot be written"):
        await apply_patch(PATCH.replace("b + a", "\udcff"))

    assert state(root) == before


async def test_one_file_by_two_names_in_a_patch_is_refused(root: Path) -> None:
    (root / "link.py").symlink_to("src/add.py")
    second = "--- a/link.py\n+++ b/link.py\n@@ -1 +1 @@\n-def add(a, b):\n+def plus(a, b):\n"
    before = state(root)

    with pytest.raises(ModelRetry, match="one file by two names"):
        await apply_patch(PATCH + second)

    assert state(root) == before


@pytest.mark.parametrize(("old", "new"), [("\ufeff", "\ufeff"), ("\ufeff", ""), ("", "\ufeff")])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-16-le"])
async def test_a_patch_may_show_the_byte_order_mark(root: Path, old: str, new: str, encoding: str) -> None:
    """As the patches of git and diff do; without it such a file could not lose its mark, nor another one get it."""
    (root / "f").write_bytes(f"{old}one\ntwo\n".encode(encoding))

    await apply_patch(f"--- a/f\n+++ b/f\n@@ -1,2 +1,2 @@\n-{old}one\n+{new}One\n two\n")

    assert (root / "f").read_bytes() == f"{new}One\ntwo\n".encode(encoding)


@pytest.mark.parametrize("path", ["new/", "new/."])
async def test_the_name_of_a_folder_makes_no_file(root: Path, path: str) -> None:
    with pytest.raises(ModelRetry, match="names a folder"):
        await write_file(path, "x")

    assert not (root / "new").exists()


@pytest.mark.parametrize("path", ["src", ".", "README.md/f"])
async def test_what_is_no_file_is_for_the_model_to_mend(root: Path, path: str) -> None:
    calls = [
        edit_file(path, "a", "b"),
        update_file(path, "a", "b"),
        write_file(path, "a", "overwrite"),
        delete_file(path),
        apply_patch("@@ -1 +1 @@\n-a\n+b\n", path),
    ]

    for call in calls:
        with pytest.raises(ModelRetry, match=r"names a folder|through a file|no such file|not a path inside"):
            await call


@pytest.mark.parametrize("thing", ["folder", "fifo", "file in the way"])
async def test_undo_is_refused_where_something_else_stands_now(root: Path, thing: str) -> None:
    (root / "d").mkdir()
    (root / "d" / "f").write_text("old")
    removed = await delete_file("d/f")
    if thing == "folder":
        (root / "d" / "f").mkdir()
    elif thing == "fifo":
        os.mkfifo(root / "d" / "f")
    else:
        (root / "d").rmdir()
        (root / "d").write_text("")

    with pytest.raises(ToolExecutionError, match=r"nothing was: 'd/f' changed since"):
        await undo_change(facts(removed)["change_id"])


async def test_undo_shows_what_it_did(root: Path) -> None:
    answer = await edit_file("README.md", "adds", "sums")

    undone = await undo_change(facts(answer)["change_id"])

    assert "-It sums numbers.\n+It adds numbers." in undone
    assert (facts(undone)["added"], facts(undone)["removed"]) == (1, 1)


async def test_a_patch_that_only_sets_a_mode_says_so(root: Path) -> None:
    patch = "diff --git a/README.md b/README.md\nold mode 100644\nnew mode 100755\n"

    answer = await apply_patch(patch)

    assert "mode 755" in answer
    [file] = facts(answer)["files"]
    assert (file["mode_before"], file["mode_after"]) == ("644", "755")


@pytest.mark.parametrize("wrong", ["", "none", "sha256:12", "0" * 63])
async def test_what_is_no_hash_is_not_taken_for_a_plan(wrong: str) -> None:
    with pytest.raises(ModelRetry, match="is no hash"):
        await edit_file("README.md", "adds", "sums", expected_hash=wrong)


async def test_a_hash_may_be_written_as_people_write_it(root: Path) -> None:
    digest = sha256((root / "README.md").read_bytes())

    await edit_file("README.md", "adds", "sums", expected_hash=f" sha256:{digest.upper()}\n")


async def test_a_failure_of_a_patch_names_the_file(root: Path) -> None:
    with pytest.raises(FileOperationError, match=r"\.env"):
        await apply_patch("--- /dev/null\n+++ b/.env\n@@ -0,0 +1 @@\n+x\n")


async def test_an_update_of_several_places_is_refused_with_their_lines(root: Path) -> None:
    (root / "many.txt").write_text("x = 1\ny = 2\nx = 1\n")

    with pytest.raises(ModelRetry, match="stands in the file 2 times, on lines 1, 3"):
        await update_file("many.txt", "x = 1", "x = 2")
