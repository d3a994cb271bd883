"""`LocalWorkspace` as its callers see it."""

import os
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest
from pydantic_ai.workspaces import Workspace, WorkspaceReadOnlyError, WorkspaceUnavailableError

from toolhaft.workspace import DEFAULT_SENSITIVE_FILES, LocalWorkspace, PathTraversalError
from toolhaft.workspace.folders import DirEntry


@pytest.fixture
def workspace(tmp_path: Path) -> LocalWorkspace:
    return LocalWorkspace(tmp_path)


async def test_a_missing_root_is_a_dead_environment(tmp_path: Path) -> None:
    workspace = LocalWorkspace(tmp_path / "gone")

    with pytest.raises(WorkspaceUnavailableError, match="does not exist"):
        await workspace.working_dir()
    with pytest.raises(WorkspaceUnavailableError):
        workspace.open_file("a.txt")
    with pytest.raises(WorkspaceUnavailableError):
        workspace.replace_file("a.txt", b"")
    with pytest.raises(WorkspaceUnavailableError):
        await workspace.run(["true"])


async def test_a_read_only_workspace_reads_and_refuses_the_rest(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("old")
    workspace = LocalWorkspace(tmp_path, read_only=True)

    assert await workspace.read_bytes("a.txt") == b"old"
    assert [entry.name for entry in workspace.scan_dir(".")] == ["a.txt"]
    with pytest.raises(WorkspaceReadOnlyError, match=r"write 'a\.txt'"):
        await workspace.write_bytes("a.txt", b"new")
    with pytest.raises(WorkspaceReadOnlyError), workspace.change("edit"):
        pass
    with pytest.raises(WorkspaceReadOnlyError):
        await workspace.make_dir("d")
    with pytest.raises(WorkspaceReadOnlyError):
        await workspace.remove("a.txt")
    with pytest.raises(WorkspaceReadOnlyError):
        await workspace.run(["true"])
    assert os.listdir(tmp_path) == ["a.txt"]


async def test_a_sensitive_file_is_neither_read_nor_changed_nor_removed(
    workspace: LocalWorkspace, tmp_path: Path
) -> None:
    (tmp_path / ".env").write_text("KEY=1")

    with pytest.raises(PermissionError, match=r"'\.env' is a sensitive file \(pattern '\.env'\).*sensitive_files"):
        workspace.open_file(".env")
    with pytest.raises(PermissionError, match="sensitive"):
        workspace.replace_file(".env", b"")
    with pytest.raises(PermissionError, match="sensitive"):
        workspace.replace_file("new/id_rsa", b"", mode="create")
    with pytest.raises(PermissionError, match="sensitive"):
        await workspace.remove(".env")
    assert os.listdir(tmp_path) == [".env"]
    assert (tmp_path / ".env").read_text() == "KEY=1"


def test_a_link_to_a_sensitive_file_is_judged_by_what_it_leads_to(
    workspace: LocalWorkspace, tmp_path: Path, resolver: str
) -> None:
    (tmp_path / ".ssh").mkdir()
    (tmp_path / ".ssh" / "config").write_text("secret")
    (tmp_path / "notes.txt").symlink_to(".ssh/config")
    (tmp_path / "folder").symlink_to(tmp_path / ".ssh")

    for path in ("notes.txt", "folder/config"):
        with pytest.raises(PermissionError, match="sensitive"):
            workspace.open_file(path)
        with pytest.raises(PermissionError, match="sensitive"):
            workspace.replace_file(path, b"")
    with pytest.raises(PermissionError, match="sensitive"):
        workspace.replace_file("folder/new", b"")


def test_without_patterns_everything_is_open(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / ".env").write_text("KEY=1")
    workspace = LocalWorkspace(tmp_path, sensitive_files=(), protected_files=())

    workspace.replace_file(".git/config", b"x")

    with workspace.open_file(".env") as file:
        assert file.read() == b"KEY=1"


async def test_a_protected_file_is_read_but_not_changed(workspace: LocalWorkspace, tmp_path: Path) -> None:
    (tmp_path / "sub" / ".git" / "hooks").mkdir(parents=True)
    (tmp_path / "sub" / ".git" / "config").write_text("[core]")
    (tmp_path / "hooks").symlink_to("sub/.git/hooks")
    (tmp_path / "sub" / "a.txt").write_text("a")

    assert await workspace.read_bytes("sub/.git/config") == b"[core]"
    with pytest.raises(PermissionError, match=r"'hooks/pre-commit' is protected.*\.git/\*\*.*protected_files"):
        workspace.replace_file("hooks/pre-commit", b"#!/bin/sh")
    with pytest.raises(PermissionError, match="protected"):
        await workspace.make_dir("sub/.git/new")
    for path in ("sub/.git", "sub/.git/hooks", "sub"):
        with pytest.raises(PermissionError, match="protected"):
            await workspace.remove(path)
    assert (tmp_path / "sub" / "a.txt").exists()


async def test_removing_a_link_leaves_what_it_leads_to(workspace: LocalWorkspace, tmp_path: Path) -> None:
    out = tmp_path.parent / "out"
    out.mkdir(exist_ok=True)
    (tmp_path / "d").mkdir()
    (tmp_path / "d" / "ln").symlink_to(out)

    await workspace.remove("d/ln")
    (tmp_path / "d" / "ln").symlink_to(out)
    await workspace.remove("d")

    assert out.exists()
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("path", ["/", ".", "d/..", "{root}", "{root}/", "{parent}", "up/.."])
async def test_the_root_and_what_is_above_it_cannot_be_removed(
    workspace: LocalWorkspace, tmp_path: Path, path: str
) -> None:
    (tmp_path / "d").mkdir()
    (tmp_path / "up").symlink_to("d")

    with pytest.raises(ValueError, match="workspace root or a folder above it"):
        await workspace.remove(path.format(root=tmp_path, parent=tmp_path.parent))

    assert sorted(os.listdir(tmp_path)) == ["d", "up"]


def test_a_listing_says_what_links_lead_to_only_inside(workspace: LocalWorkspace, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("four")
    (tmp_path / "d").mkdir()
    (tmp_path / "to-d").symlink_to("d")
    (tmp_path / "to-a").symlink_to(tmp_path / "a.txt")
    (tmp_path / "out").symlink_to("/etc")
    (tmp_path / "broken").symlink_to("nothing")
    os.mkfifo(tmp_path / "fifo")

    assert workspace.scan_dir(".") == [
        DirEntry(name="a.txt", is_dir=False, is_link=False, size=4),
        DirEntry(name="broken", is_dir=False, is_link=True, size=None),
        DirEntry(name="d", is_dir=True, is_link=False, size=None),
        DirEntry(name="fifo", is_dir=False, is_link=False, size=None),
        DirEntry(name="out", is_dir=False, is_link=True, size=None),
        DirEntry(name="to-a", is_dir=False, is_link=True, size=4),
        DirEntry(name="to-d", is_dir=True, is_link=True, size=None),
    ]


@pytest.mark.parametrize(
    ("path", "exists"), [(".", True), ("a.txt", True), ("b.txt", False), ("a.txt/b", False), ("loop", False)]
)
async def test_exists_answers_without_an_error(
    workspace: LocalWorkspace, tmp_path: Path, path: str, exists: bool
) -> None:
    (tmp_path / "a.txt").write_text("a")
    (tmp_path / "loop").symlink_to("loop")

    assert await workspace.exists(path) is exists


@pytest.mark.parametrize("path", ["a.txt/", "ln/", "ln/."])
async def test_a_name_with_a_slash_behind_it_is_removed_only_where_it_is_a_folder(
    workspace: LocalWorkspace, tmp_path: Path, path: str
) -> None:
    (tmp_path / "a.txt").write_text("a")
    (tmp_path / "d").mkdir()
    (tmp_path / "ln").symlink_to("d")

    with pytest.raises(NotADirectoryError):
        await workspace.remove(path)
    await workspace.remove("d/")

    assert sorted(os.listdir(tmp_path)) == ["a.txt", "ln"]


async def test_asking_about_a_path_outside_is_refused(workspace: LocalWorkspace) -> None:
    for ask in (workspace.exists, workspace.stat, workspace.list_dir, workspace.read_bytes, workspace.make_dir):
        with pytest.raises(PathTraversalError):
            await ask("/etc/passwd")


async def test_real_paths_of_the_root_and_of_folders_above_it_are_known(
    workspace: LocalWorkspace, tmp_path: Path
) -> None:
    """pydantic-ai asks for them when it looks for links on the way to a file."""
    for path in ("/", str(tmp_path.parent), str(tmp_path)):
        assert await workspace.realpath(path) == path
    with pytest.raises(PathTraversalError):
        await workspace.realpath("/etc/passwd")


async def test_authority_of_a_file_behind_a_link_can_be_asked(workspace: LocalWorkspace, tmp_path: Path) -> None:
    (tmp_path / "d").mkdir()
    (tmp_path / "d" / "a.txt").write_text("a")
    (tmp_path / "ln").symlink_to("d")

    through = Workspace(workspace)

    assert await through.read_bytes("ln/a.txt") == b"a"
    if hasattr(through, "authority_of"):
        assert await through.authority_of("ln/a.txt")


@pytest.mark.parametrize(
    ("path", "shown"),
    [
        ("a.txt", "a.txt"),
        ("./d//a.txt", "d/a.txt"),
        ("{root}/d/a.txt", "d/a.txt"),
        ("{root}", "."),
        ("/etc/x", "/etc/x"),
    ],
)
def test_a_path_is_shown_relative_to_the_root(workspace: LocalWorkspace, tmp_path: Path, path: str, shown: str) -> None:
    assert workspace.relative(path.format(root=tmp_path)) == shown


async def test_commands_get_the_workspaces_environment_and_the_calls_on_top(tmp_path: Path) -> None:
    workspace = LocalWorkspace(tmp_path, env={"A": "1", "B": "1"})

    result = await workspace.run(["sh", "-c", "echo $A$B; pwd -P"], env={"B": "2"})

    assert result.stdout == f"12\n{await workspace.working_dir()}\n"


def test_allow_delete_is_for_tools_to_ask(tmp_path: Path) -> None:
    assert LocalWorkspace(tmp_path).allow_delete is False
    assert LocalWorkspace(tmp_path, allow_delete=True).allow_delete is True


def test_the_root_stays_what_it_was_when_the_process_moves(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "ws").mkdir()
    monkeypatch.chdir(tmp_path)
    workspace = LocalWorkspace("ws")
    monkeypatch.chdir("/")

    workspace.replace_file("a.txt", b"here")

    assert (tmp_path / "ws" / "a.txt").read_text() == "here"


def test_the_package_gives_its_names_when_they_are_asked_for() -> None:
    package = import_module("toolhaft.workspace")

    assert package.DEFAULT_SENSITIVE_FILES is DEFAULT_SENSITIVE_FILES
    assert set(package.__all__) <= set(dir(package))
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        package.nothing  # noqa: B018


def test_the_light_parts_of_the_package_load_no_third_party_module() -> None:
    """A tool's author, or a hook in another process, may want the patterns or a checked path and nothing else."""
    names = "beneath, files, folders, sensitive, DEFAULT_SENSITIVE_FILES, validate_path"
    code = f"import sys; from toolhaft.workspace import {names}; sys.exit('pydantic' in sys.modules)"

    assert subprocess.run([sys.executable, "-c", code]).returncode == 0


async def test_a_restricted_workspace_is_the_same_folder_with_further_patterns(tmp_path: Path) -> None:
    (tmp_path / "plan.secret").write_text("x")
    (tmp_path / "uv.lock").write_text("x")
    (tmp_path / ".env").write_text("x")
    whole = LocalWorkspace(tmp_path, allow_delete=True, journal_folder=tmp_path / "journal")

    narrow = whole.restricted(sensitive_files=["*.secret"], protected_files=["*.lock"])

    assert narrow.ref == whole.ref
    assert narrow.allow_delete
    assert await whole.read_bytes("plan.secret") == b"x"
    with pytest.raises(PermissionError, match="sensitive file"):
        await narrow.read_bytes("plan.secret")
    with pytest.raises(PermissionError, match="protected"):
        await narrow.write_bytes("uv.lock", b"y")
    with pytest.raises(PermissionError, match="sensitive file"):
        await narrow.read_bytes(".env")
