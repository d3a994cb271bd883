"""A change set: what is read is what is changed, all of it or nothing."""

# ruff: noqa: PT012, SIM117 - what is refused is a block, and what happens in it is the point

import fcntl
import hashlib
import os
import stat
from pathlib import Path

import pytest
from pydantic_ai.workspaces import WorkspaceReadOnlyError

from toolhaft.workspace import LocalWorkspace
from toolhaft.workspace import files as files_module
from toolhaft.workspace.files import FileChangedError, Version


@pytest.fixture
def workspace(tmp_path: Path) -> LocalWorkspace:
    (tmp_path / "a.txt").write_text("old a")
    (tmp_path / "b.txt").write_text("old b")
    return LocalWorkspace(tmp_path, allow_delete=True)


def contents(folder: Path) -> dict[str, str]:
    return {str(path.relative_to(folder)): path.read_text() for path in folder.rglob("*") if path.is_file()}


def sha(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def test_a_change_says_what_it_did_to_every_file(workspace: LocalWorkspace, tmp_path: Path) -> None:
    (tmp_path / "a.txt").chmod(0o640)

    with workspace.change("edit") as change:
        change.write("a.txt", change.read("a.txt") + b"!")
        change.write("d/e/new.txt", b"made", mode=0o755)
        change.delete("b.txt")

    edited, made, deleted = change.applied.files
    assert contents(tmp_path) == {"a.txt": "old a!", "d/e/new.txt": "made"}
    assert (edited.path, edited.created, edited.deleted) == ("a.txt", False, False)
    assert (edited.before_hash, edited.after_hash) == (sha("old a"), sha("old a!"))
    assert (edited.mode_before, edited.mode_after, edited.size) == (0o640, 0o640, 6)
    assert edited.version == Version.of((tmp_path / "a.txt").stat())
    assert (made.path, made.created, made.before_hash, made.mode_before) == ("d/e/new.txt", True, None, None)
    assert made.mode_after == stat.S_IMODE((tmp_path / "d/e/new.txt").stat().st_mode) == 0o755
    assert (deleted.path, deleted.deleted, deleted.after_hash, deleted.mode_after) == ("b.txt", True, None, None)
    assert change.applied.change_id
    assert change.applied.notes == ()


def test_a_block_that_raises_changes_nothing(workspace: LocalWorkspace, tmp_path: Path) -> None:
    with pytest.raises(KeyError), workspace.change("edit") as change:
        change.write("a.txt", b"new")
        change.write("d/new.txt", b"new")
        raise KeyError

    assert contents(tmp_path) == {"a.txt": "old a", "b.txt": "old b"}
    assert sorted(os.listdir(tmp_path)) == ["a.txt", "b.txt"]
    with pytest.raises(RuntimeError, match="applied when its block ends"):
        _ = change.applied


def test_a_change_of_nothing_has_no_id(workspace: LocalWorkspace) -> None:
    with workspace.change("look") as change:
        change.read("a.txt")
        change.write("never.txt", b"")
        change.delete("never.txt")

    assert change.applied.change_id is None
    assert change.applied.files == ()


def test_a_block_reads_what_it_staged(workspace: LocalWorkspace, tmp_path: Path) -> None:
    with workspace.change("patch") as change:
        change.write("a.txt", b"once")
        change.write("./a.txt", change.read("a.txt") + b" twice")
        change.delete("b.txt")
        with pytest.raises(FileNotFoundError, match=r"b\.txt"):
            change.read("b.txt")
        with pytest.raises(FileNotFoundError, match=r"b\.txt"):
            change.delete("b.txt")

    assert contents(tmp_path) == {"a.txt": "once twice"}


def test_a_link_that_stays_inside_is_written_through_and_removed_itself(
    workspace: LocalWorkspace, tmp_path: Path
) -> None:
    (tmp_path / "ln").symlink_to("a.txt")

    with workspace.change("edit") as change:
        change.write("ln", b"through")
    assert (tmp_path / "ln").is_symlink()
    with workspace.change("delete") as change:
        change.delete("ln")

    assert contents(tmp_path) == {"a.txt": "through", "b.txt": "old b"}
    assert not (tmp_path / "ln").is_symlink()


def test_a_link_that_leads_elsewhere_meanwhile_is_not_removed(workspace: LocalWorkspace, tmp_path: Path) -> None:
    (tmp_path / "ln").symlink_to("a.txt")

    with pytest.raises(FileChangedError), workspace.change("delete") as change:
        change.delete("ln")
        (tmp_path / "ln").unlink()
        (tmp_path / "ln").symlink_to("b.txt")

    assert os.readlink(tmp_path / "ln") == "b.txt"


def test_a_rename_carries_content_and_mode(workspace: LocalWorkspace, tmp_path: Path) -> None:
    (tmp_path / "a.txt").chmod(0o751)

    with workspace.change("patch") as change:
        change.rename("a.txt", "d/c.txt")
        change.write("d/c.txt", change.read("d/c.txt") + b"!")

    (file,) = change.applied.files
    assert (file.path, file.old_path, file.created, file.deleted) == ("d/c.txt", "a.txt", False, False)
    assert (file.before_hash, file.after_hash) == (sha("old a"), sha("old a!"))
    assert (file.mode_before, file.mode_after) == (0o751, 0o751)
    assert contents(tmp_path) == {"b.txt": "old b", "d/c.txt": "old a!"}


def test_a_rename_takes_no_name_that_is_used_and_no_link(workspace: LocalWorkspace, tmp_path: Path) -> None:
    (tmp_path / "ln").symlink_to("a.txt")

    with pytest.raises(FileExistsError, match=r"b\.txt"), workspace.change("patch") as change:
        change.rename("a.txt", "b.txt")
    with pytest.raises(ValueError, match="'ln' is a link"), workspace.change("patch") as change:
        change.rename("ln", "c.txt")
    with pytest.raises(FileNotFoundError, match="missing"), workspace.change("patch") as change:
        change.rename("missing", "c.txt")

    assert contents(tmp_path)["a.txt"] == "old a"


def test_deleting_and_renaming_need_a_workspace_that_allows_it(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("old")
    workspace = LocalWorkspace(tmp_path)

    with pytest.raises(PermissionError, match=r"cannot delete 'a\.txt'.*allow_delete=True"):
        with workspace.change("delete") as change:
            change.write("a.txt", b"new")
            change.delete("a.txt")
    with pytest.raises(PermissionError, match=r"cannot rename 'a\.txt'.*allow_delete=True"):
        with workspace.change("rename") as change:
            change.rename("a.txt", "b.txt")

    assert contents(tmp_path) == {"a.txt": "old"}


@pytest.mark.parametrize("path", ["d", ".", "d/"])
def test_a_folder_is_neither_read_nor_removed(workspace: LocalWorkspace, tmp_path: Path, path: str) -> None:
    (tmp_path / "d").mkdir()

    with workspace.change("edit") as change:
        with pytest.raises(IsADirectoryError):
            change.read(path)
        with pytest.raises(IsADirectoryError):
            change.delete(path)


def test_what_is_sensitive_protected_or_read_only_is_refused(tmp_path: Path) -> None:
    (tmp_path / ".env").write_text("secret")
    (tmp_path / "ln").symlink_to(".env")
    workspace = LocalWorkspace(tmp_path, allow_delete=True)

    with workspace.change("edit") as change:
        for path in (".env", "ln"):
            with pytest.raises(PermissionError, match="sensitive"):
                change.read(path)
        with pytest.raises(PermissionError, match="protected"):
            change.write(".git/config", b"")
    with pytest.raises(WorkspaceReadOnlyError), LocalWorkspace(tmp_path, read_only=True).change("edit"):
        raise AssertionError
    with pytest.raises(WorkspaceReadOnlyError):
        LocalWorkspace(tmp_path, read_only=True).undo("0" * 16)


def test_a_preview_writes_nothing_and_its_plan_is_the_changes(workspace: LocalWorkspace, tmp_path: Path) -> None:
    def plan(preview: bool, expected: str | None = None) -> str:
        with workspace.change("patch", preview=preview, expected_plan=expected) as change:
            change.write("a.txt", change.read("a.txt") + b"!")
            change.write("d/new.txt", b"made")
            change.rename("b.txt", "c.txt")
        assert (change.applied.change_id is None) == preview
        return change.applied.plan_id

    previewed = plan(True)
    assert contents(tmp_path) == {"a.txt": "old a", "b.txt": "old b"}
    assert sorted(os.listdir(tmp_path)) == ["a.txt", "b.txt"]

    assert plan(False, previewed) == previewed
    assert contents(tmp_path) == {"a.txt": "old a!", "c.txt": "old b", "d/new.txt": "made"}


def test_a_plan_is_not_applied_to_files_that_changed_since(workspace: LocalWorkspace, tmp_path: Path) -> None:
    with workspace.change("edit", preview=True) as preview:
        preview.write("a.txt", b"new")
    (tmp_path / "a.txt").write_text("theirs")

    with pytest.raises(FileChangedError, match="this is not the plan"):
        with workspace.change("edit", expected_plan=preview.applied.plan_id) as change:
            change.write("a.txt", b"new")

    assert contents(tmp_path) == {"a.txt": "theirs", "b.txt": "old b"}


def test_a_preview_waits_for_nobody(workspace: LocalWorkspace, tmp_path: Path) -> None:
    with (tmp_path / "a.txt").open() as other:
        fcntl.flock(other, fcntl.LOCK_EX)
        with workspace.change("edit", preview=True) as change:
            change.write("a.txt", b"new")

    assert change.applied.files[0].mode_after == change.applied.files[0].mode_before


def test_an_expected_hash_is_compared_with_what_is_read(workspace: LocalWorkspace, tmp_path: Path) -> None:
    with pytest.raises(FileChangedError, match=rf"its content has the hash {sha('old a')}"):
        with workspace.change("edit") as change:
            change.expect("a.txt", sha("something"))
            change.write("a.txt", b"new")
    with workspace.change("edit") as change:
        change.expect("a.txt", sha("old a").upper())
        change.write("a.txt", b"new")
        change.expect("a.txt", sha("new"))

    assert contents(tmp_path)["a.txt"] == "new"


def test_touching_a_file_is_no_conflict(workspace: LocalWorkspace, tmp_path: Path) -> None:
    with workspace.change("edit") as change:
        change.write("a.txt", change.read("a.txt") + b"!")
        os.utime(tmp_path / "a.txt", (1, 1))
        change.delete("b.txt")
        (tmp_path / "b.txt").write_text("old b")

    assert contents(tmp_path) == {"a.txt": "old a!"}


@pytest.mark.parametrize("change_it", ["longer", "other", None])
def test_a_file_to_be_removed_that_changes_meanwhile_stays(
    workspace: LocalWorkspace, tmp_path: Path, change_it: str | None
) -> None:
    with pytest.raises(FileChangedError), workspace.change("delete") as change:
        change.delete("b.txt")
        if change_it is None:
            (tmp_path / "b.txt").unlink()
        else:
            (tmp_path / "b.txt").write_text(change_it)

    assert contents(tmp_path).get("b.txt") == change_it


def test_a_file_that_somebody_else_makes_meanwhile_stays_theirs(workspace: LocalWorkspace, tmp_path: Path) -> None:
    with pytest.raises(FileChangedError, match=r"new\.txt"), workspace.change("edit") as change:
        change.write("a.txt", b"mine")
        change.write("new.txt", b"mine")
        (tmp_path / "new.txt").write_text("theirs")

    assert contents(tmp_path) == {"a.txt": "old a", "b.txt": "old b", "new.txt": "theirs"}


def test_what_a_failed_change_brings_back_is_the_very_file(workspace: LocalWorkspace, tmp_path: Path) -> None:
    """Its other names keep being names of it."""
    os.link(tmp_path / "a.txt", tmp_path / "twin.txt")
    inode = (tmp_path / "a.txt").stat().st_ino

    with pytest.raises(FileChangedError), workspace.change("patch") as change:
        change.write("a.txt", b"mine")
        change.write("b.txt", b"mine")
        (tmp_path / "b.txt").write_text("theirs")

    assert (tmp_path / "a.txt").stat().st_ino == inode
    assert (tmp_path / "a.txt").stat().st_nlink == 2
    assert contents(tmp_path) == {"a.txt": "old a", "b.txt": "theirs", "twin.txt": "old a"}


def test_two_names_of_one_file_are_changed_in_one_block(workspace: LocalWorkspace, tmp_path: Path) -> None:
    os.link(tmp_path / "a.txt", tmp_path / "twin.txt")

    with workspace.change("patch") as change:
        change.write("a.txt", change.read("a.txt") + b"!")
        change.write("twin.txt", change.read("twin.txt") + b"?")

    assert contents(tmp_path) == {"a.txt": "old a!", "b.txt": "old b", "twin.txt": "old a?"}
    assert "hard links" in change.applied.notes[0]


def test_only_real_twins_are_told_of(workspace: LocalWorkspace, tmp_path: Path) -> None:
    """The journal keeps old files by a hard link, for as long as they have no other name."""
    os.link(tmp_path / "a.txt", tmp_path / "twin.txt")

    notes: list[tuple[str, ...]] = []
    for name in ("a.txt", "a.txt", "twin.txt", "b.txt", "b.txt"):
        with workspace.change("edit") as change:
            change.write(name, change.read(name) + b"!")
        notes.append(change.applied.notes)

    assert [len(told) for told in notes] == [1, 0, 0, 0, 0]


def test_what_was_let_go_to_wait_for_another_file_is_not_lost(
    workspace: LocalWorkspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file with a lower number is held by somebody who wants the one that is held here."""
    first, second = sorted(("a.txt", "b.txt"), key=lambda name: (tmp_path / name).stat().st_ino)

    def other_change_ends(_seconds: float) -> None:
        monkeypatch.undo()
        with (tmp_path / second).open() as wanted:
            fcntl.flock(wanted, fcntl.LOCK_EX | fcntl.LOCK_NB)
            (tmp_path / second).write_text("theirs")
        fcntl.flock(other, fcntl.LOCK_UN)

    with (tmp_path / first).open() as other:
        fcntl.flock(other, fcntl.LOCK_EX)
        monkeypatch.setattr(files_module.time, "sleep", other_change_ends)
        with pytest.raises(FileChangedError, match=second), workspace.change("patch") as change:
            change.write(second, change.read(second) + b"!")
            change.write(first, change.read(first) + b"!")

    assert (tmp_path / second).read_text() == "theirs"
    assert (tmp_path / first).read_text() == f"old {first[0]}"


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everything")
def test_a_file_that_may_not_be_written_can_be_removed(workspace: LocalWorkspace, tmp_path: Path) -> None:
    (tmp_path / "a.txt").chmod(0o444)

    with workspace.change("delete") as change:
        change.delete("a.txt")

    assert contents(tmp_path) == {"b.txt": "old b"}


def test_large_contents_have_their_hashes_too(workspace: LocalWorkspace, tmp_path: Path) -> None:
    with workspace.change("edit") as change:
        change.write("a.txt", b"x" * 3_000_000)

    assert change.applied.files[0].after_hash == sha("x" * 3_000_000)
