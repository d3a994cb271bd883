"""Change sets where a workspace knows no more than whole files: one by one, put back on an error, and said so."""

from collections.abc import Callable
from pathlib import Path

import pytest
from pydantic_ai.workspaces import WrapperWorkspace

from toolhaft.workspace import Files, LocalWorkspace
from toolhaft.workspace.changes import Applied, ChangeSet, UndoRefusedError
from toolhaft.workspace.current import ToolWorkspace
from toolhaft.workspace.files import FileChangedError


class Wrapper(WrapperWorkspace):
    """A policy that refuses to write one file."""

    async def write_bytes(self, path: str, data: bytes) -> None:
        if path.endswith("never.txt"):
            raise PermissionError("not this one")
        await super().write_bytes(path, data)


@pytest.fixture
def wrapped(tmp_path: Path) -> ToolWorkspace:
    (tmp_path / "a.txt").write_text("old a")
    (tmp_path / "b.txt").write_text("old b")
    return ToolWorkspace(Wrapper(LocalWorkspace(tmp_path, allow_delete=True)))


async def change(
    wrapped: ToolWorkspace, steps: Callable[[ChangeSet], object], *, preview: bool = False, plan: str | None = None
) -> Applied:
    def work(files: Files) -> Applied:
        with files.change("patch", preview=preview, expected_plan=plan) as change:
            steps(change)
        return change.applied

    return await wrapped.in_thread(work)


def patch(change: ChangeSet) -> None:
    change.write("a.txt", change.read("a.txt") + b"!")
    change.rename("b.txt", "d/c.txt")
    change.write("new.txt", b"made", mode=0o755)


def contents(folder: Path) -> dict[str, str]:
    return {str(path.relative_to(folder)): path.read_text() for path in folder.rglob("*") if path.is_file()}


async def test_a_copy_is_told_as_one(wrapped: ToolWorkspace, tmp_path: Path) -> None:
    applied = await change(wrapped, lambda files: files.copy("a.txt", "d/c.txt"))

    assert contents(tmp_path) == {"a.txt": "old a", "b.txt": "old b", "d/c.txt": "old a"}
    assert [(file.path, file.old_path, file.created) for file in applied.files] == [("d/c.txt", "a.txt", True)]
    with pytest.raises(FileExistsError):
        await change(wrapped, lambda files: files.copy("a.txt", "b.txt"))


async def test_files_are_written_one_by_one_and_the_result_says_so(wrapped: ToolWorkspace, tmp_path: Path) -> None:
    preview = await change(wrapped, patch, preview=True)
    assert contents(tmp_path) == {"a.txt": "old a", "b.txt": "old b"}

    applied = await change(wrapped, patch, plan=preview.plan_id)

    assert contents(tmp_path) == {"a.txt": "old a!", "d/c.txt": "old b", "new.txt": "made"}
    assert applied.change_id is None
    assert [(file.path, file.old_path, file.created, file.size) for file in applied.files] == [
        ("a.txt", None, False, 6),
        ("d/c.txt", "b.txt", False, 5),
        ("new.txt", None, True, 4),
    ]
    assert "cannot be undone" in applied.notes[0]
    assert "Permission bits cannot be set" in applied.notes[1]


async def test_on_an_error_what_was_written_is_put_back(wrapped: ToolWorkspace, tmp_path: Path) -> None:
    def steps(change: ChangeSet) -> None:
        patch(change)
        change.write("never.txt", b"")

    with pytest.raises(PermissionError, match="not this one"):
        await change(wrapped, steps)

    assert contents(tmp_path) == {"a.txt": "old a", "b.txt": "old b"}


async def test_a_file_that_changed_since_it_was_read_is_left(wrapped: ToolWorkspace, tmp_path: Path) -> None:
    def steps(change: ChangeSet) -> None:
        patch(change)
        (tmp_path / "b.txt").write_text("theirs")

    with pytest.raises(FileChangedError, match=r"b\.txt"):
        await change(wrapped, steps)

    assert contents(tmp_path) == {"a.txt": "old a", "b.txt": "theirs"}


async def test_deleting_needs_a_backend_that_allows_it(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("old")
    wrapped = ToolWorkspace(Wrapper(LocalWorkspace(tmp_path)))

    with pytest.raises(PermissionError, match=r"cannot delete 'a\.txt'"):
        await change(wrapped, lambda change: change.delete("a.txt"))

    assert contents(tmp_path) == {"a.txt": "old"}


async def test_nothing_is_undone_there(wrapped: ToolWorkspace) -> None:
    with pytest.raises(UndoRefusedError, match="keeps no journal"):
        await wrapped.in_thread(lambda files: files.undo("0" * 16))
    assert (await change(wrapped, lambda change: change.read("a.txt"))).notes == ()
