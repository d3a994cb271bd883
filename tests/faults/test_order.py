"""The order of system calls that makes a replacement safe, as strace sees it."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

REPLACE = """
import os, sys
from toolhaft.workspace import LocalWorkspace
workspace = LocalWorkspace(sys.argv[1])
workspace.replace_file("warm.txt", b"")
os.mkdir(os.path.join(sys.argv[1], "begin"))
workspace.replace_file("a.txt", b"new")
"""


@pytest.mark.needs("strace")
def test_data_mode_and_owner_are_safe_before_the_name_and_the_folder_after(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("old")
    (tmp_path / "a.txt").chmod(0o640)
    log = tmp_path.parent / "strace.txt"
    calls = "trace=mkdir,openat,write,fchmod,fchown,fsync,rename,renameat,renameat2"

    subprocess.run(
        ["strace", "-f", "-y", "-o", str(log), "-e", calls, sys.executable, "-c", REPLACE, str(tmp_path)], check=True
    )

    lines = log.read_text().split("begin", 1)[1].splitlines()
    temporary = re.compile(r"\.toolhaft-[0-9a-f]{16}\.tmp")

    def first(pattern: str) -> int:
        return next(number for number, line in enumerate(lines) if re.search(pattern, line) and temporary.search(line))

    folder_sync = max(number for number, line in enumerate(lines) if re.search(rf"fsync\(\d+<{tmp_path}>\)", line))
    made, written, mode = first(r"openat\("), first(r"write\("), first(r"fchmod\(")
    synced, renamed = first(r"fsync\("), first(r"rename")
    assert re.search(r"O_CREAT\|O_EXCL\|O_NOFOLLOW", lines[made])
    assert f"<{tmp_path}>" in lines[made]
    assert made < written < mode < synced < renamed < folder_sync
