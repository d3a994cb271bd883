"""The journal: what was changed can be taken back, within bounds, and nobody else can read it."""

# ruff: noqa: PT012 - what is refused is a block, and what happens in it is the point

import errno
import os
import stat
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from toolhaft.workspace import LocalWorkspace, publication, recovery
from toolhaft.workspace import journal as journal_module
from toolhaft.workspace.changes import Applied, UndoRefusedError
from toolhaft.workspace.files import FileChangedError
from toolhaft.workspace.journal import Bounds, Journal, UnknownChangeError
from toolhaft.workspace.journal_folder import journal_folder
from toolhaft.workspace.local_target import LocalTarget


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path / "ws"
    root.mkdir()
    (root / "a.txt").write_text("old a")
    (root / "b.txt").write_text("old b")
    return root


@pytest.fixture
def workspace(root: Path) -> LocalWorkspace:
    return LocalWorkspace(root, allow_delete=True)


@pytest.fixture
def journal(root: Path, state_home: Path) -> Path:
    return Path(journal_folder(str(root)))


def bounded(workspace: LocalWorkspace, **bounds: float) -> LocalWorkspace:
    workspace._ground.journal.bounds = Bounds(**bounds)  # type: ignore[arg-type]
    return workspace


def contents(folder: Path) -> dict[str, str]:
    return {str(path.relative_to(folder)): path.read_text() for path in folder.rglob("*") if path.is_file()}


def edit(workspace: LocalWorkspace, path: str = "a.txt", data: bytes = b"new") -> Applied:
    with workspace.change("edit") as change:
        change.write(path, data)
    return change.applied


def patch(workspace: LocalWorkspace) -> str:
    """Change, make, rename and remove, and return the change's id."""
    with workspace.change("patch") as change:
        change.write("a.txt", change.read("a.txt") + b"!", mode=0o700)
        change.write("d/e/made.txt", b"made")
        change.rename("b.txt", "c.txt")
        change.delete("ln")
    assert change.applied.change_id is not None
    return change.applied.change_id


# Undo


def test_undo_brings_back_bytes_modes_existence_and_can_be_undone(workspace: LocalWorkspace, root: Path) -> None:
    (root / "ln").symlink_to("a.txt")
    (root / "b.txt").chmod(0o751)
    (root / "a.txt").chmod(0o604)

    undone = workspace.undo(patch(workspace))

    assert sorted(os.listdir(root)) == ["a.txt", "b.txt", "ln"]
    assert contents(root) == {"a.txt": "old a", "b.txt": "old b", "ln": "old a"}
    assert os.readlink(root / "ln") == "a.txt"
    assert stat.S_IMODE((root / "a.txt").stat().st_mode) == 0o604
    assert stat.S_IMODE((root / "b.txt").stat().st_mode) == 0o751
    assert {file.path for file in undone.files} == {"a.txt", "b.txt", "c.txt", "d/e/made.txt", "ln"}

    again = workspace.undo(str(undone.change_id))

    assert contents(root) == {"a.txt": "old a!", "c.txt": "old b", "d/e/made.txt": "made"}
    assert stat.S_IMODE((root / "a.txt").stat().st_mode) == 0o700
    assert again.change_id


def test_undo_gives_a_removed_file_its_owner_and_attributes_back(workspace: LocalWorkspace, root: Path) -> None:
    if os.geteuid() == 0:
        os.chown(root / "b.txt", 1234, 2345)
    before = (root / "b.txt").stat()
    with workspace.change("delete") as change:
        change.delete("b.txt")

    workspace.undo(str(change.applied.change_id))

    after = (root / "b.txt").stat()
    assert (after.st_uid, after.st_gid, after.st_mode) == (before.st_uid, before.st_gid, before.st_mode)


@pytest.mark.parametrize(
    "change_it",
    [
        lambda root: (root / "a.txt").write_text("theirs"),
        lambda root: (root / "a.txt").unlink(),
        lambda root: (root / "a.txt").chmod(0o444),
        lambda root: (root / "ln").write_text("theirs"),
        lambda root: (root / "c.txt").rename(root / "d.txt"),
    ],
)
def test_undo_after_somebody_elses_change_says_which_and_changes_nothing(
    workspace: LocalWorkspace, root: Path, change_it: Callable[[Path], object]
) -> None:
    (root / "ln").symlink_to("a.txt")
    change_id = patch(workspace)
    change_it(root)
    before = contents(root)

    with pytest.raises(UndoRefusedError, match=r"nothing was: '(a\.txt|ln|c\.txt)' changed since"):
        workspace.undo(change_id)

    assert contents(root) == before


def test_touching_a_file_does_not_keep_its_change_from_being_undone(workspace: LocalWorkspace, root: Path) -> None:
    change_id = str(edit(workspace).change_id)
    os.utime(root / "a.txt", (1, 1))

    workspace.undo(change_id)

    assert (root / "a.txt").read_text() == "old a"


def test_a_folder_made_for_a_change_goes_with_its_undo_unless_it_is_used(workspace: LocalWorkspace, root: Path) -> None:
    first = str(edit(workspace, "d/one.txt").change_id)
    second = str(edit(workspace, "e/two.txt").change_id)
    (root / "e" / "theirs.txt").write_text("theirs")

    workspace.undo(first)
    workspace.undo(second)

    assert sorted(os.listdir(root)) == ["a.txt", "b.txt", "e"]
    assert os.listdir(root / "e") == ["theirs.txt"]


@pytest.mark.parametrize("mode", ["create", "overwrite", "append"])
def test_whole_writes_are_undone_like_edits(workspace: LocalWorkspace, root: Path, mode: str) -> None:
    path = "new.txt" if mode == "create" else "a.txt"

    written = workspace.replace_file(path, b"new", mode=mode)  # type: ignore[arg-type]
    workspace.undo(str(written.change_id))

    assert contents(root) == {"a.txt": "old a", "b.txt": "old b"}


@pytest.mark.parametrize("change_id", ["0" * 16, "", "../../etc", "open", "1a22ac771859a0fe-0"])
def test_an_unknown_change_is_a_clear_error(workspace: LocalWorkspace, change_id: str) -> None:
    edit(workspace)

    with pytest.raises(UnknownChangeError, match=r"no change .* is in the journal.*Commands are not in it"):
        workspace.undo(change_id)


def test_a_change_whose_old_content_is_gone_from_the_journal_is_no_longer_known(
    workspace: LocalWorkspace, root: Path, journal: Path
) -> None:
    change_id = str(edit(workspace).change_id)
    (journal / f"{change_id}-0").unlink()

    with pytest.raises(UnknownChangeError, match="older than the journal keeps"):
        workspace.undo(change_id)

    assert (root / "a.txt").read_text() == "new"


def test_a_record_that_a_power_cut_left_empty_is_no_change(workspace: LocalWorkspace, journal: Path) -> None:
    change_id = str(edit(workspace).change_id)
    (record,) = journal.glob(f"{change_id}.*")
    record.write_bytes(b"")

    with pytest.raises(UnknownChangeError):
        workspace.undo(change_id)


def test_an_undo_that_fails_takes_back_the_link_that_it_made(
    workspace: LocalWorkspace, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (root / "ln").symlink_to("a.txt")
    with workspace.change("patch") as change:
        change.delete("ln")
        change.write("b.txt", b"new b")
    publish = LocalTarget.publish

    def failing(target: LocalTarget) -> None:
        if target.given == "b.txt":
            raise OSError(errno.EIO, "no disk")
        publish(target)

    monkeypatch.setattr(LocalTarget, "publish", failing)

    with pytest.raises(OSError, match="no disk"):
        workspace.undo(str(change.applied.change_id))

    assert contents(root) == {"a.txt": "old a", "b.txt": "new b"}
    assert sorted(os.listdir(root)) == ["a.txt", "b.txt"]


def test_a_program_that_still_writes_to_the_old_file_makes_the_undo_refuse(
    workspace: LocalWorkspace, root: Path
) -> None:
    with (root / "a.txt").open("a") as log, (root / "b.txt").open("r+") as other:
        edited = str(edit(workspace).change_id)
        written = str(workspace.replace_file("b.txt", b"new").change_id)
        log.write("late")
        other.write("late")

    for change_id in (edited, written):
        with pytest.raises(UndoRefusedError, match="had the old file open wrote to it"):
            workspace.undo(change_id)
    assert contents(root) == {"a.txt": "new", "b.txt": "new"}


def test_a_twin_that_is_changed_in_place_does_not_change_what_undo_brings_back(
    workspace: LocalWorkspace, root: Path
) -> None:
    os.link(root / "a.txt", root / "twin.txt")
    change_id = str(edit(workspace).change_id)
    (root / "twin.txt").write_text("changed")

    workspace.undo(change_id)

    assert (root / "a.txt").read_text() == "old a"
    assert (root / "twin.txt").stat().st_nlink == 1


def test_a_journal_on_another_file_system_keeps_copies(
    workspace: LocalWorkspace, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    link = os.link

    def crossing(*arguments: object, **options: object) -> None:
        raise OSError(errno.EXDEV, os.strerror(errno.EXDEV))

    monkeypatch.setattr(os, "link", crossing)
    (root / "ln").symlink_to("a.txt")
    (root / "a.txt").chmod(0o640)
    with pytest.raises(FileChangedError), workspace.change("patch") as change:
        change.write("a.txt", b"new")
        change.write("b.txt", b"new")
        (root / "b.txt").write_text("theirs")
    assert contents(root) == {"a.txt": "old a", "b.txt": "theirs", "ln": "old a"}
    assert stat.S_IMODE((root / "a.txt").stat().st_mode) == 0o640

    workspace.undo(patch(workspace))

    monkeypatch.setattr(os, "link", link)
    assert contents(root) == {"a.txt": "old a", "b.txt": "theirs", "ln": "old a"}


# Where it lies, and who may read it


def test_the_journal_is_private(workspace: LocalWorkspace, root: Path, journal: Path) -> None:
    (root / "a.txt").chmod(0o666)
    patch_like = edit(workspace)
    os.link(root / "a.txt", root / "twin.txt")
    edit(workspace)

    modes = {path: stat.S_IMODE(path.stat().st_mode) for path in [journal, *journal.rglob("*")]}

    assert patch_like.change_id
    assert len(modes) == 6
    assert not [path for path, mode in modes.items() if mode & 0o077]


def test_a_journal_that_others_could_enter_is_closed_to_them(root: Path, tmp_path: Path) -> None:
    (tmp_path / "j").mkdir(mode=0o755)
    (tmp_path / "j").chmod(0o755)

    edit(LocalWorkspace(root, journal_folder=tmp_path / "j"))

    assert stat.S_IMODE((tmp_path / "j").stat().st_mode) == 0o700


def test_two_workspaces_have_journals_of_their_own(root: Path, tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    change_id = str(edit(LocalWorkspace(root, journal_folder=tmp_path / "j")).change_id)

    with pytest.raises(UnknownChangeError):
        LocalWorkspace(tmp_path / "other", journal_folder=tmp_path / "j").undo(change_id)


def test_without_a_state_home_of_its_own_the_user_has_one(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    for given in ("", "relative/is/ignored"):
        monkeypatch.setenv("XDG_STATE_HOME", given)

        assert journal_folder(str(root)).startswith(f"{tmp_path}/home/.local/state/toolhaft/")


def test_a_home_that_is_the_workspace_or_cannot_be_written_leaves_the_temporary_folder(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "tmp"))
    (tmp_path / "file").write_text("")
    for home in (root / "state", tmp_path / "file"):
        monkeypatch.setenv("XDG_STATE_HOME", str(home))

        assert journal_folder(str(root)).startswith(f"{tmp_path}/tmp/toolhaft-{os.geteuid()}/")


@pytest.mark.skipif(os.geteuid() != 0, reason="only root makes folders of other users")
def test_a_folder_of_another_user_is_not_trusted(root: Path, tmp_path: Path) -> None:
    (tmp_path / "j").mkdir()
    os.chown(tmp_path / "j", 1234, 1234)

    applied = edit(LocalWorkspace(root, journal_folder=tmp_path / "j"))

    assert applied.change_id is None
    assert "not a folder of this user's own" in applied.notes[0]


def test_without_a_journal_one_file_is_changed_with_a_note_and_several_are_refused(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "file"))
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "file"))
    workspace = LocalWorkspace(root)

    applied = edit(workspace)
    with pytest.raises(OSError, match="all or none only with a journal"), workspace.change("patch") as change:
        change.write("a.txt", b"newer")
        change.write("b.txt", b"newer")

    assert applied.change_id is None
    assert "cannot be undone: the journal cannot be written (no folder for it can be written" in applied.notes[0]
    assert contents(root) == {"a.txt": "new", "b.txt": "old b"}
    assert sorted(os.listdir(root)) == ["a.txt", "b.txt"]


@pytest.mark.parametrize("step", ["intend", "keep", "write_down", "settle"])
def test_a_journal_that_fails_on_the_way_is_said(
    workspace: LocalWorkspace, root: Path, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    def full(*_arguments: object, **_options: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(journal_module.Draft, step, full)

    applied = edit(workspace)

    assert applied.change_id is None
    assert "undone" in applied.notes[0]
    assert "No space left on device" in applied.notes[0]
    assert contents(root) == {"a.txt": "new", "b.txt": "old b"}


# Bounds


def test_the_oldest_changes_go_first(workspace: LocalWorkspace, root: Path, journal: Path) -> None:
    bounded(workspace, change_sets=16)

    ids = [str(edit(workspace, data=str(number).encode()).change_id) for number in range(40)]

    records = [path for path in journal.iterdir() if "." in path.name]
    images = [path for path in journal.iterdir() if "-" in path.name]
    assert 14 <= len(records) <= 16
    assert len(images) == len(records)
    with pytest.raises(UnknownChangeError, match="16 changes"):
        workspace.undo(ids[0])
    workspace.undo(ids[-1])
    assert (root / "a.txt").read_text() == "38"


def test_the_journal_stays_within_its_bytes(workspace: LocalWorkspace, journal: Path) -> None:
    bounded(workspace, size_bytes=100_000)

    for number in range(20):
        edit(workspace, data=str(number).encode() * 10_000)

    assert sum(path.stat().st_size for path in journal.iterdir() if "-" in path.name) <= 100_000


def test_a_change_larger_than_the_journal_is_made_and_said(
    workspace: LocalWorkspace, root: Path, journal: Path
) -> None:
    bounded(workspace, size_bytes=1000)
    (root / "a.txt").write_text("x" * 2000)

    applied = edit(workspace)

    assert applied.change_id is None
    assert "larger than the journal keeps" in applied.notes[0]
    assert (root / "a.txt").read_text() == "new"
    assert os.listdir(journal) == ["open"]


def test_what_is_older_than_the_journal_keeps_goes(
    workspace: LocalWorkspace, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    change_id = str(edit(workspace).change_id)
    now = journal_module.time.time()
    monkeypatch.setattr(journal_module.time, "time", lambda: now + 15 * 86_400)
    monkeypatch.setattr(journal_module.time, "time_ns", lambda: int((now + 15 * 86_400) * 1e9))

    edit(LocalWorkspace(root))

    with pytest.raises(UnknownChangeError, match="14 days"):
        workspace.undo(change_id)


# Writers that were killed


DIE = """
import os, sys
from toolhaft.workspace import LocalWorkspace
from toolhaft.workspace.local_target import LocalTarget
workspace = LocalWorkspace(sys.argv[1], allow_delete=True)
publish, left = LocalTarget.publish, [int(sys.argv[2])]
def dying(target):
    if not left[0]:
        os._exit(9)
    left[0] -= 1
    publish(target)
LocalTarget.publish = dying
with workspace.change("patch") as change:
    change.write("a.txt", b"new a")
    change.write("d/made.txt", b"made")
    change.delete("ln")
    change.delete("b.txt")
    if sys.argv[2] == "4":
        change.write("last.txt", b"never made")
"""


@pytest.fixture
def dead(root: Path) -> Callable[[int], None]:
    """Let a process be killed when it has published so many files."""
    (root / "ln").symlink_to("a.txt")

    def die(published: int) -> None:
        child = subprocess.run([sys.executable, "-c", DIE, str(root), str(published)])
        assert child.returncode == 9

    return die


@pytest.mark.parametrize("published", range(5))
def test_the_next_opening_takes_back_what_a_dead_writer_began(
    dead: Callable[[int], None], root: Path, journal: Path, published: int
) -> None:
    dead(published)

    with LocalWorkspace(root).open_file("a.txt") as file:
        content = file.read()

    assert content == b"old a"
    assert contents(root) == {"a.txt": "old a", "b.txt": "old b", "ln": "old a"}
    assert sorted(os.listdir(root)) == ["a.txt", "b.txt", "ln"]
    assert os.listdir(journal) == ["open"]
    assert os.listdir(journal / "open") == []


DIE_AT_UNLINK = """
import os, sys
from toolhaft.workspace import LocalWorkspace
workspace = LocalWorkspace(sys.argv[1], allow_delete=True)
with workspace.change("patch") as change:
    change.write("b.txt", b"new b")
    if sys.argv[2] == "delete":
        change.delete("a.txt")
    else:
        change.write("a.txt", b"new a")
    unlink, left = os.unlink, [1]
    def dying(path, **options):
        if not left[0]:
            os._exit(9)
        left[0] -= 1
        unlink(path, **options)
    os.unlink = dying
"""


@pytest.mark.parametrize("last", ["delete", "write"])
def test_the_old_file_that_a_dead_writer_had_set_aside_goes_when_its_change_is_finished(
    root: Path, journal: Path, last: str
) -> None:
    """All files are as they are to be, but the last old one still has a hidden name."""
    child = subprocess.run([sys.executable, "-c", DIE_AT_UNLINK, str(root), last])
    hidden = [path.name for path in root.iterdir() if path.name.startswith(".")]

    workspace = LocalWorkspace(root, allow_delete=True)
    workspace.scan_dir(".")

    new = {"b.txt": "new b"} | ({"a.txt": "new a"} if last == "write" else {})
    assert child.returncode == 9
    assert len(hidden) == 1
    assert contents(root) == new
    assert all(path.stat().st_nlink == 1 for path in journal.iterdir() if "-" in path.name)
    (change_id,) = [path.name.split(".")[0] for path in journal.iterdir() if "." in path.name]
    workspace.undo(change_id)
    assert contents(root) == {"a.txt": "old a", "b.txt": "old b"}


def test_what_somebody_changed_after_the_kill_stays_theirs(dead: Callable[[int], None], root: Path) -> None:
    dead(4)
    (root / "a.txt").write_text("theirs")
    (root / "b.txt").write_text("theirs")

    LocalWorkspace(root).scan_dir(".")

    assert contents(root) == {"a.txt": "theirs", "b.txt": "theirs", "ln": "theirs"}


def test_a_read_only_workspace_repairs_nothing(dead: Callable[[int], None], root: Path) -> None:
    dead(2)

    LocalWorkspace(root, read_only=True).scan_dir(".")

    assert (root / "a.txt").read_text() == "new a"


def test_what_cannot_be_repaired_yet_is_said_and_tried_again(
    dead: Callable[[int], None], root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_disk(*_arguments: object) -> None:
        raise OSError("no disk")

    dead(2)
    with monkeypatch.context() as patched:
        patched.setattr(recovery, "take_back", no_disk)
        applied = edit(LocalWorkspace(root), "other.txt")

    LocalWorkspace(root).scan_dir(".")

    assert "could not be taken back (no disk)" in applied.notes[0]
    assert (root / "a.txt").read_text() == "old a"


def test_what_a_failed_change_could_not_take_back_is_noted_and_tried_again(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_disk(*_arguments: object) -> None:
        raise OSError("no disk")

    monkeypatch.setattr(publication, "take_back", no_disk)
    with pytest.raises(FileChangedError) as caught, LocalWorkspace(root).change("patch") as change:
        change.write("a.txt", b"new a")
        change.write("b.txt", b"new b")
        (root / "b.txt").write_text("theirs")
    left = contents(root)

    LocalWorkspace(root).scan_dir(".")

    assert "could not be taken back (no disk); the next opening will try" in caught.value.__notes__[0]
    assert left == {"a.txt": "new a", "b.txt": "theirs"}
    assert contents(root) == {"a.txt": "old a", "b.txt": "theirs"}


def test_a_change_that_was_whole_but_for_its_last_step_is_finished(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As after a kill right before the record is renamed."""

    def killed(_journal: Journal, draft: journal_module.Draft) -> str:
        draft.close()
        return draft.id

    with monkeypatch.context() as patched:
        patched.setattr(Journal, "commit", killed)
        with LocalWorkspace(root).change("patch") as change:
            change.write("a.txt", b"new a")
            change.write("b.txt", b"new b")
    workspace = LocalWorkspace(root)

    workspace.scan_dir(".")

    assert contents(root) == {"a.txt": "new a", "b.txt": "new b"}
    workspace.undo(str(change.applied.change_id))
    assert contents(root) == {"a.txt": "old a", "b.txt": "old b"}


def test_the_change_of_a_living_writer_is_left_to_it(
    root: Path, journal: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(journal_module, "_ADOPT_WAIT_SECONDS", 0.02)
    draft = Journal(lambda: str(journal)).begin()

    LocalWorkspace(root).scan_dir(".")

    assert os.listdir(journal / "open") == [draft.id]
    draft.close()
