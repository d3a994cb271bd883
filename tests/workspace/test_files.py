"""Files are read without blocking, and replaced whole or not at all."""

import errno
import fcntl
import os
import signal
import stat
import threading
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import pytest

from toolhaft.workspace import LocalWorkspace, kernel, replace, temporary
from toolhaft.workspace import files as files_module
from toolhaft.workspace.files import FileChangedError, Version


@pytest.fixture
def workspace(tmp_path: Path) -> LocalWorkspace:
    return LocalWorkspace(tmp_path)


@contextmanager
def umask(mask: int) -> Generator[None]:
    before = os.umask(mask)
    yield
    os.umask(before)


def fails(number: int) -> object:
    """Return a stand-in for a system call that fails with this error number."""

    def call(*_arguments: object, **_options: object) -> None:
        raise OSError(number, os.strerror(number))

    return call


# Reading


@pytest.mark.parametrize("kind", [stat.S_IFIFO, stat.S_IFSOCK])
def test_reading_a_fifo_or_socket_is_refused_at_once(workspace: LocalWorkspace, tmp_path: Path, kind: int) -> None:
    os.mknod(tmp_path / "special", kind | 0o600)

    with pytest.raises(OSError, match=r"not a regular file.*'special'"):
        workspace.open_file("special")


def test_reading_a_folder_is_an_is_a_directory_error(workspace: LocalWorkspace) -> None:
    with pytest.raises(IsADirectoryError):
        workspace.open_file(".")


@pytest.mark.skipif(os.geteuid() != 0, reason="only root makes device files")
def test_reading_or_writing_a_device_is_refused(workspace: LocalWorkspace, tmp_path: Path) -> None:
    os.mknod(tmp_path / "zero", stat.S_IFCHR | 0o666, os.makedev(1, 5))

    with pytest.raises(OSError, match="not a regular file"):
        workspace.open_file("zero")
    with pytest.raises(OSError, match="not a regular file"):
        workspace.replace_file("zero", b"x")


# Making


def test_a_new_file_has_the_mode_the_umask_gives(workspace: LocalWorkspace, tmp_path: Path) -> None:
    with umask(0o027):
        written = workspace.replace_file("a/b/new.txt", b"hello", mode="create")

    info = (tmp_path / "a/b/new.txt").stat()
    assert stat.S_IMODE(info.st_mode) == 0o640
    assert (written.path, written.created, written.size, written.note) == ("a/b/new.txt", True, 5, "")
    assert written.version == Version.of(info)


def test_create_leaves_an_existing_file_alone(workspace: LocalWorkspace, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("old")

    with pytest.raises(FileExistsError, match=r"a\.txt"):
        workspace.replace_file("a.txt", b"new", mode="create")

    assert (tmp_path / "a.txt").read_text() == "old"
    assert os.listdir(tmp_path) == ["a.txt"]


def test_a_file_can_be_made_through_a_dangling_link_inside(workspace: LocalWorkspace, tmp_path: Path) -> None:
    (tmp_path / "ln").symlink_to("d/new.txt")

    workspace.replace_file("ln", b"new", mode="create")

    assert (tmp_path / "ln").is_symlink()
    assert (tmp_path / "d/new.txt").read_text() == "new"


@pytest.mark.parametrize("path", ["new/", "d/new/"])
def test_a_new_name_that_ends_in_a_slash_is_no_file(workspace: LocalWorkspace, tmp_path: Path, path: str) -> None:
    with pytest.raises(IsADirectoryError):
        workspace.replace_file(path, b"new")

    assert os.listdir(tmp_path) == []


def test_a_name_of_255_bytes_can_be_written_and_replaced(workspace: LocalWorkspace, tmp_path: Path) -> None:
    name = "x" * 255

    workspace.replace_file(name, b"old")
    workspace.replace_file(name, b"new")

    assert (tmp_path / name).read_bytes() == b"new"


def test_folders_made_for_a_write_that_fails_are_removed_again(workspace: LocalWorkspace, tmp_path: Path) -> None:
    (tmp_path / "d").mkdir()

    with pytest.raises(OSError, match="name too long"):
        workspace.replace_file("d/e/f/" + "x" * 300, b"new")

    assert os.listdir(tmp_path / "d") == []


def test_a_path_longer_than_the_kernel_takes_makes_no_folder(workspace: LocalWorkspace, tmp_path: Path) -> None:
    with pytest.raises(OSError, match="name too long"):
        workspace.replace_file("a/" * 2500 + "a.txt", b"new", mode="create")

    assert os.listdir(tmp_path) == []


def test_a_folder_somebody_else_made_meanwhile_is_used(
    workspace: LocalWorkspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mkdir = os.mkdir

    def second(name: str, mode: int = 0o777, *, dir_fd: int | None = None) -> None:
        mkdir(name, mode, dir_fd=dir_fd)
        mkdir(name, mode, dir_fd=dir_fd)

    monkeypatch.setattr(os, "mkdir", second)

    workspace.replace_file("d/a.txt", b"new")

    assert (tmp_path / "d/a.txt").read_text() == "new"


@pytest.mark.parametrize(
    ("mode", "content"), [("overwrite", b"mine"), ("append", b"theirsmine"), ("create", b"theirs")]
)
def test_a_file_somebody_else_made_meanwhile_is_not_lost(
    workspace: LocalWorkspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, mode: str, content: bytes
) -> None:
    rename_new = kernel.rename_new

    def late(old: str, new: str, *, dir_fd: int) -> None:
        if not (tmp_path / new).exists():
            (tmp_path / new).write_bytes(b"theirs")
        rename_new(old, new, dir_fd=dir_fd)

    monkeypatch.setattr(kernel, "rename_new", late)

    if mode == "create":
        with pytest.raises(FileExistsError):
            workspace.replace_file("a.txt", b"mine", mode="create")
    else:
        workspace.replace_file("a.txt", b"mine", mode=mode)  # type: ignore[arg-type]

    assert (tmp_path / "a.txt").read_bytes() == content
    assert os.listdir(tmp_path) == ["a.txt"]


# Replacing


@pytest.fixture
def attributes(tmp_path: Path) -> None:
    """Extended attributes, where this file system has them."""
    (tmp_path / "probe").touch()
    try:
        os.setxattr(tmp_path / "probe", "user.probe", b"")
    except (AttributeError, OSError):
        pytest.skip("no extended attributes here")
    (tmp_path / "probe").unlink()


def test_replacing_keeps_extended_attributes(workspace: LocalWorkspace, tmp_path: Path, attributes: None) -> None:
    (tmp_path / "a.txt").write_text("old")
    os.setxattr(tmp_path / "a.txt", "user.origin", b"here")

    workspace.replace_file("a.txt", b"new")

    assert os.getxattr(tmp_path / "a.txt", "user.origin") == b"here"
    assert (tmp_path / "a.txt").read_text() == "new"


def test_replacing_keeps_mode_and_owner(workspace: LocalWorkspace, tmp_path: Path) -> None:
    path = tmp_path / "run.sh"
    path.write_text("old")
    path.chmod(0o4754)
    if os.geteuid() == 0:
        os.chown(path, 1234, 2345)
        path.chmod(0o4754)
    before = path.stat()

    written = workspace.replace_file("run.sh", b"new")

    after = path.stat()
    assert (after.st_mode, after.st_uid, after.st_gid) == (before.st_mode, before.st_uid, before.st_gid)
    assert (written.created, path.read_text()) == (False, "new")


def test_attributes_that_only_the_new_file_got_are_removed(
    workspace: LocalWorkspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, attributes: None
) -> None:
    """As a folder's default access list would give them."""
    (tmp_path / "a.txt").write_text("old")
    make = replace.make_temporary

    def marked(folder: int, *, mode: int) -> temporary.Temporary:
        made = make(folder, mode=mode)
        os.setxattr(made.fd, "user.inherited", b"yes")
        return made

    monkeypatch.setattr(replace, "make_temporary", marked)

    workspace.replace_file("a.txt", b"new")

    assert os.listxattr(tmp_path / "a.txt") == []


def test_a_file_system_without_attributes_is_no_obstacle(
    workspace: LocalWorkspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a.txt").write_text("old")
    monkeypatch.setattr(os, "listxattr", fails(errno.EOPNOTSUPP))

    workspace.replace_file("a.txt", b"new")

    assert (tmp_path / "a.txt").read_text() == "new"


@pytest.mark.parametrize(
    ("call", "number"),
    [
        ("listxattr", errno.EIO),
        ("fchmod", errno.EPERM),
        ("fsync", errno.EIO),
        ("fsync", errno.ENOSPC),
        ("dup", errno.EIO),
    ],
)
def test_a_step_that_fails_leaves_the_old_file_and_nothing_beside_it(
    workspace: LocalWorkspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call: str, number: int
) -> None:
    (tmp_path / "a.txt").write_text("old")
    monkeypatch.setattr(os, call, fails(number))

    with pytest.raises(OSError, match=f"{os.strerror(number)}.*a.txt") as failed:
        workspace.replace_file("a.txt", b"new")

    assert failed.value.errno == number
    assert (tmp_path / "a.txt").read_text() == "old"
    assert os.listdir(tmp_path) == ["a.txt"]


def test_a_folder_that_cannot_be_synced_is_said_and_the_new_content_stands(
    workspace: LocalWorkspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a.txt").write_text("old")
    fsync = os.fsync

    def only_files(fd: int) -> None:
        if stat.S_ISDIR(os.fstat(fd).st_mode):
            raise OSError(errno.EIO, "Input/output error")
        fsync(fd)

    monkeypatch.setattr(os, "fsync", only_files)

    written = workspace.replace_file("a.txt", b"new")

    assert "could not be synced (Input/output error)" in written.note
    assert (tmp_path / "a.txt").read_text() == "new"


@pytest.mark.parametrize("number", [errno.EACCES, errno.EPERM, errno.EROFS])
def test_a_folder_that_takes_no_new_file_is_refused_saying_why(
    workspace: LocalWorkspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    (tmp_path / "a.txt").write_text("old")
    monkeypatch.setattr(replace, "make_temporary", fails(number))

    with pytest.raises(OSError, match=r"its folder cannot be written.*change a copy: 'a\.txt'") as refused:
        workspace.replace_file("a.txt", b"new")
    with pytest.raises(OSError, match=f"{os.strerror(number)}: 'b.txt'"):
        workspace.replace_file("b.txt", b"new")

    assert refused.value.errno == number


def test_an_owner_who_cannot_be_kept_is_said(
    workspace: LocalWorkspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a.txt").write_text("old")
    make = replace.make_temporary

    def strange(folder: int, *, mode: int) -> temporary.Temporary:
        made = make(folder, mode=mode)
        owners[made.fd] = True
        return made

    owners: dict[int, bool] = {}
    fstat = os.fstat

    def other_owner(fd: int) -> os.stat_result:
        info = fstat(fd)
        return os.stat_result((*info[:4], 77, *info[5:10])) if fd in owners else info

    monkeypatch.setattr(replace, "make_temporary", strange)
    monkeypatch.setattr(replace.os, "fchown", fails(errno.EPERM))
    monkeypatch.setattr(replace.os, "fstat", other_owner)

    with pytest.raises(PermissionError, match=r"belongs to user .* cannot be given to them.*a.txt"):
        workspace.replace_file("a.txt", b"new")

    monkeypatch.undo()
    assert (tmp_path / "a.txt").read_text() == "old"
    assert os.listdir(tmp_path) == ["a.txt"]


def test_a_hard_linked_twin_keeps_its_bytes_and_the_result_says_so(workspace: LocalWorkspace, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("old")
    os.link(tmp_path / "a.txt", tmp_path / "twin.txt")

    written = workspace.replace_file("a.txt", b"new")

    assert "1 more name(s) (hard links); those keep the old content" in written.note
    assert (tmp_path / "twin.txt").read_text() == "old"


def test_append_puts_new_bytes_behind_the_old_ones(workspace: LocalWorkspace, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes(b"old" * 1_000_000)
    (tmp_path / "a.txt").chmod(0o640)

    workspace.replace_file("a.txt", b" new", mode="append")
    workspace.replace_file("log.txt", b"first", mode="append")

    assert (tmp_path / "a.txt").read_bytes() == b"old" * 1_000_000 + b" new"
    assert stat.S_IMODE((tmp_path / "a.txt").stat().st_mode) == 0o640
    assert (tmp_path / "log.txt").read_bytes() == b"first"


@pytest.mark.parametrize("missing", [True, False])
def test_append_copies_by_itself_where_the_kernel_does_not(
    workspace: LocalWorkspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, missing: bool
) -> None:
    (tmp_path / "a.txt").write_bytes(b"old" * 1_000_000)
    if missing:
        monkeypatch.delattr(os, "copy_file_range")
    else:
        monkeypatch.setattr(os, "copy_file_range", fails(errno.EXDEV))

    workspace.replace_file("a.txt", b" new", mode="append")

    assert (tmp_path / "a.txt").read_bytes() == b"old" * 1_000_000 + b" new"


def test_appending_to_a_file_that_changes_meanwhile_is_refused(
    workspace: LocalWorkspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a.txt").write_text("old")
    exchange = kernel.exchange

    def late(one: str, other: str, *, dir_fd: int) -> None:
        monkeypatch.setattr(kernel, "exchange", exchange)
        with (tmp_path / "a.txt").open("a") as log:
            log.write(" theirs")
        exchange(one, other, dir_fd=dir_fd)

    monkeypatch.setattr(kernel, "exchange", late)

    with pytest.raises(FileChangedError):
        workspace.replace_file("a.txt", b" mine", mode="append")

    assert (tmp_path / "a.txt").read_text() == "old theirs"
    assert os.listdir(tmp_path) == ["a.txt"]


# Compare-and-swap


def test_the_expected_version_is_replaced_and_any_other_left_alone(workspace: LocalWorkspace, tmp_path: Path) -> None:
    first = workspace.replace_file("a.txt", b"one").version

    second = workspace.replace_file("a.txt", b"two", expected=first).version

    assert second != first
    with pytest.raises(FileChangedError, match=r"'a\.txt' was changed or removed.*Read it again"):
        workspace.replace_file("a.txt", b"three", expected=first)
    assert (tmp_path / "a.txt").read_text() == "two"
    assert os.listdir(tmp_path) == ["a.txt"]


def test_a_file_that_is_gone_is_not_the_expected_one(workspace: LocalWorkspace, tmp_path: Path) -> None:
    version = workspace.replace_file("a.txt", b"one").version
    (tmp_path / "a.txt").unlink()

    with pytest.raises(FileChangedError):
        workspace.replace_file("a.txt", b"two", expected=version)

    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("exchanges", [True, False])
@pytest.mark.parametrize("change", ["in place", "by rename", "removed"])
def test_a_change_at_the_last_moment_survives(
    workspace: LocalWorkspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, change: str, exchanges: bool
) -> None:
    """Somebody else changes the file after every check and right before the two files trade places."""
    path = tmp_path / "a.txt"
    version = workspace.replace_file("a.txt", b"old").version
    exchange = kernel.exchange

    def late(one: str, other: str, *, dir_fd: int) -> None:
        monkeypatch.setattr(kernel, "exchange", exchange)
        if change == "in place":
            path.write_text("theirs, longer")
        elif change == "by rename":
            (tmp_path / "b.txt").write_text("theirs")
            (tmp_path / "b.txt").rename(path)
        else:
            path.unlink()
        if not exchanges:
            raise OSError(errno.EINVAL, "not on this file system")
        exchange(one, other, dir_fd=dir_fd)

    monkeypatch.setattr(kernel, "exchange", late)

    with pytest.raises(FileChangedError):
        workspace.replace_file("a.txt", b"mine", expected=version)

    assert os.listdir(tmp_path) == ([] if change == "removed" else ["a.txt"])
    assert change == "removed" or path.read_text().startswith("theirs")


@pytest.mark.usefixtures("no_kernel_calls")
def test_without_the_exchange_the_expected_version_is_still_replaced(workspace: LocalWorkspace, tmp_path: Path) -> None:
    version = workspace.replace_file("a.txt", b"old", mode="create").version

    workspace.replace_file("a.txt", b"new", expected=version)

    assert (tmp_path / "a.txt").read_text() == "new"
    assert os.listdir(tmp_path) == ["a.txt"]


@pytest.mark.parametrize("call", ["exchange", "rename_new"])
def test_a_rename_that_fails_for_good_is_an_error(
    workspace: LocalWorkspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call: str
) -> None:
    version = workspace.replace_file("a.txt", b"old").version
    monkeypatch.setattr(kernel, call, fails(errno.EIO))

    name, expected = ("a.txt", version) if call == "exchange" else ("b.txt", None)

    with pytest.raises(OSError, match="Input/output error"):
        workspace.replace_file(name, b"new", expected=expected)

    assert os.listdir(tmp_path) == ["a.txt"]
    assert (tmp_path / "a.txt").read_text() == "old"


# Locks


def test_threads_that_read_change_and_replace_lose_nothing(workspace: LocalWorkspace, tmp_path: Path) -> None:
    (tmp_path / "count").write_text("0")

    def count() -> None:
        for _ in range(25):
            with workspace.change("count") as change:
                change.write("count", str(int(change.read("count")) + 1).encode())

    threads = [threading.Thread(target=count) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert (tmp_path / "count").read_text() == "200"


def test_a_file_that_somebody_else_holds_is_waited_for_and_then_an_error(
    workspace: LocalWorkspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a.txt").write_text("old")
    monkeypatch.setattr(files_module, "_LOCK_WAIT_SECONDS", 0.05)

    with (tmp_path / "a.txt").open() as other:
        fcntl.flock(other, fcntl.LOCK_EX)
        with pytest.raises(TimeoutError, match=r"held this file's lock for 0.05 s.*a.txt"):
            workspace.replace_file("a.txt", b"new")

    assert (tmp_path / "a.txt").read_text() == "old"


def test_a_file_that_becomes_a_link_while_it_is_opened_for_change_is_refused(
    workspace: LocalWorkspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a.txt").write_text("old")
    real_open = os.open

    def swapped(path: str, flags: int, mode: int = 0o777, *, dir_fd: int | None = None) -> int:
        if path == "a.txt" and flags & (os.O_WRONLY | os.O_RDWR):
            (tmp_path / "a.txt").unlink()
            (tmp_path / "a.txt").symlink_to("/etc/passwd")
        return real_open(path, flags, mode, dir_fd=dir_fd)

    monkeypatch.setattr(os, "open", swapped)

    with pytest.raises(OSError, match="symbolic links"):
        workspace.replace_file("a.txt", b"new")


# Partial writes


def test_short_writes_and_interrupts_are_continued(
    workspace: LocalWorkspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`write` takes 7 bytes at a time while a signal arrives every millisecond."""
    data = os.urandom(20_000)
    write = os.write
    monkeypatch.setattr(os, "write", lambda fd, chunk: write(fd, chunk[:7]))
    before = signal.signal(signal.SIGALRM, lambda *_: None)
    signal.setitimer(signal.ITIMER_REAL, 0.001, 0.001)

    workspace.replace_file("a.bin", data)
    workspace.replace_file("a.bin", data, mode="append")

    signal.setitimer(signal.ITIMER_REAL, 0)
    signal.signal(signal.SIGALRM, before)
    assert (tmp_path / "a.bin").read_bytes() == data + data


# Temporary files


def leave_temporary(folder: Path) -> str:
    fd = os.open(folder, os.O_RDONLY)
    left = temporary.make_temporary(fd, mode=0o600)
    os.close(left.fd)  # as the kernel does for a writer that was killed
    os.close(fd)
    return left.name


def test_what_a_killed_writer_left_is_never_listed_and_removed_by_the_next_workspace(tmp_path: Path) -> None:
    left = leave_temporary(tmp_path)
    (tmp_path / ".toolhaft-notes.tmp").write_text("not ours")
    workspace = LocalWorkspace(tmp_path)

    listed = [entry.name for entry in workspace.scan_dir(".")]
    workspace.replace_file("a.txt", b"new")

    assert listed == [".toolhaft-notes.tmp"]
    assert left not in os.listdir(tmp_path)
    assert sorted(os.listdir(tmp_path)) == [".toolhaft-notes.tmp", "a.txt"]


def test_a_living_writers_temporary_file_is_not_removed(tmp_path: Path) -> None:
    fd = os.open(tmp_path, os.O_RDONLY)
    living = temporary.make_temporary(fd, mode=0o600)

    temporary.remove_leftovers(fd)

    assert os.listdir(tmp_path) == [living.name]
    living.discard()
    os.close(fd)


def test_a_name_like_a_temporary_file_that_is_none_is_left_alone(tmp_path: Path) -> None:
    name = f".toolhaft-{'0' * 16}.tmp"
    os.mkfifo(tmp_path / name)
    fd = os.open(tmp_path, os.O_RDONLY)

    temporary.remove_leftovers(fd)

    assert os.listdir(tmp_path) == [name]
    os.close(fd)


def test_a_temporary_file_that_a_cleaner_took_is_made_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The cleaner comes between the making and the locking of it."""
    fd = os.open(tmp_path, os.O_RDONLY)
    lock = temporary.try_lock

    def cleaned_first(temporary_fd: int) -> bool:
        monkeypatch.setattr(temporary, "try_lock", lock)
        temporary.remove_leftovers(fd)
        return lock(temporary_fd)

    monkeypatch.setattr(temporary, "try_lock", cleaned_first)

    made = temporary.make_temporary(fd, mode=0o600)

    assert os.listdir(tmp_path) == [made.name]
    made.discard()
    os.close(fd)


def test_a_temporary_file_that_became_the_target_is_not_removed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The cleaner opens it right before its writer renames it, and gets its lock right after."""
    left = leave_temporary(tmp_path)
    fd = os.open(tmp_path, os.O_RDONLY)
    lock = temporary.try_lock

    def renamed_first(temporary_fd: int) -> bool:
        (tmp_path / left).rename(tmp_path / "a.txt")
        return lock(temporary_fd)

    monkeypatch.setattr(temporary, "try_lock", renamed_first)

    temporary.remove_leftovers(fd)

    assert os.listdir(tmp_path) == ["a.txt"]
    os.close(fd)
