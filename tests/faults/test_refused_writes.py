"""A file that may not be changed is left alone, with an error that says why."""

import os
import subprocess
import sys
from collections.abc import Generator
from pathlib import Path

import pytest

NOBODY = 65534
REPEATS = 20 if os.environ.get("TOOLHAFT_STRESS") else 2

# Becomes an ordinary user where it is root, then tries to write again and again and prints each outcome once.
AS_USER = """
import os, sys
from toolhaft.workspace import LocalWorkspace
LocalWorkspace(sys.argv[1]).open_file("warm.txt").close()
if os.geteuid() == 0 and sys.argv[3] == "user":
    os.setgroups([]); os.setgid(65534); os.setuid(65534)
outcomes = set()
for _ in range(int(sys.argv[5])):
    try:
        LocalWorkspace(sys.argv[1]).replace_file(sys.argv[2], b"new", mode=sys.argv[4])
    except OSError as error:
        outcomes.add(f"{type(error).__name__} {error}")
    else:
        outcomes.add("written")
print(*outcomes, sep="\\n")
"""


@pytest.fixture
def folder(tmp_path: Path) -> Generator[Path]:
    """A folder that an ordinary user may search, with a file of theirs in it."""
    root = tmp_path / "ws"
    root.mkdir()
    (root / "warm.txt").write_text("")
    (root / "a.txt").write_text("old")
    if os.geteuid() == 0:
        for path in (root, root / "a.txt"):
            os.chown(path, NOBODY, NOBODY)
        for parent in tmp_path.parents:
            if parent.owner() == "root" and parent != Path("/tmp") and parent != Path("/"):
                parent.chmod(parent.stat().st_mode | 0o111)
        tmp_path.chmod(0o755)
    yield root
    root.chmod(0o755)


def write(folder: Path, path: str = "a.txt", *, who: str = "user", mode: str = "overwrite") -> str:
    child = subprocess.run(
        [sys.executable, "-c", AS_USER, str(folder), path, who, mode, str(REPEATS)], capture_output=True, text=True
    )
    assert child.returncode == 0, child.stderr
    assert len(child.stdout.splitlines()) == 1, child.stdout
    return child.stdout.strip()


def unchanged(folder: Path) -> None:
    assert (folder / "a.txt").read_text() == "old"
    assert sorted(os.listdir(folder)) == ["a.txt", "warm.txt"]


def test_in_a_writable_folder_a_user_writes_their_file(folder: Path) -> None:
    assert write(folder) == "written"


def test_a_read_only_file_in_a_writable_folder_is_not_replaced(folder: Path) -> None:
    """A rename alone would do it: it asks only whether the folder is writable."""
    (folder / "a.txt").chmod(0o444)

    assert write(folder).startswith("PermissionError [Errno 13] Permission denied: 'a.txt'")
    unchanged(folder)


def test_in_a_read_only_folder_a_writable_file_is_refused_saying_why(folder: Path) -> None:
    folder.chmod(0o555)

    error = write(folder)

    assert error.startswith("PermissionError")
    assert "its folder cannot be written" in error
    assert "'a.txt'" in error
    unchanged(folder)


def test_in_a_read_only_folder_no_file_is_made(folder: Path) -> None:
    folder.chmod(0o555)

    assert write(folder, "new.txt", mode="create").startswith("PermissionError")
    assert write(folder, "d/new.txt", mode="create").startswith("PermissionError")
    unchanged(folder)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root makes files for other users")
def test_another_users_file_that_everybody_may_write_is_refused_saying_why(folder: Path) -> None:
    """The new file could not be given to them, so replacing it would change whose it is."""
    os.chown(folder / "a.txt", 0, 0)
    (folder / "a.txt").chmod(0o666)

    error = write(folder)

    assert error.startswith("PermissionError")
    assert "belongs to user 0, group 0" in error
    unchanged(folder)


@pytest.mark.needs("chattr")
def test_an_immutable_file_is_left_alone_by_root_too(folder: Path) -> None:
    if subprocess.run(["chattr", "+i", str(folder / "a.txt")], capture_output=True).returncode:
        pytest.skip("this user or file system cannot make a file immutable")

    error = write(folder, who="root")

    subprocess.run(["chattr", "-i", str(folder / "a.txt")], check=True)
    assert error.startswith("PermissionError [Errno 1] Operation not permitted: 'a.txt'")
    unchanged(folder)


@pytest.mark.needs("mount")
def test_a_read_only_file_system_is_named(folder: Path) -> None:
    if subprocess.run(["mount", "--bind", "-o", "ro", str(folder), str(folder)], capture_output=True).returncode:
        pytest.skip("this user may not mount a file system")

    errors = [write(folder, who="root"), write(folder, "new.txt", who="root", mode="create")]

    subprocess.run(["umount", str(folder)], check=True)
    assert all("Read-only file system" in error for error in errors), errors
    unchanged(folder)


@pytest.mark.skipif(sys.platform != "linux", reason="other systems allow it")
def test_a_program_that_is_running_is_not_replaced(tmp_path: Path) -> None:
    program = tmp_path / "sleeper"
    program.write_bytes(Path("/bin/sleep").read_bytes())
    program.chmod(0o755)
    (tmp_path / "warm.txt").write_text("")
    running = subprocess.Popen([str(program), "60"])

    error = write(tmp_path, "sleeper", who="root")

    running.kill()
    running.wait()
    assert "Text file busy: 'sleeper'" in error
