"""Many writers of one file: nothing that was reported as written is lost."""

import os
import subprocess
import sys
from pathlib import Path

EDITS = 200 if os.environ.get("TOOLHAFT_STRESS") else 25
ROUNDS = 20 if os.environ.get("TOOLHAFT_STRESS") else 1
WRITERS = 8

EDIT_OWN_LINE = """
import asyncio, sys
from toolhaft import use_workspace
from toolhaft.tools import edit_file
mine, edits = sys.argv[2], int(sys.argv[3])
async def main():
    for number in range(edits):
        await edit_file("lines.txt", f"writer {mine}: {number}.", f"writer {mine}: {number + 1}.")
with use_workspace(sys.argv[1]):
    asyncio.run(main())
"""

APPEND = """
import sys
from toolhaft.workspace import LocalWorkspace
workspace = LocalWorkspace(sys.argv[1])
for number in range(int(sys.argv[3])):
    workspace.replace_file("log.txt", f"{sys.argv[2]}:{number}\\n".encode(), mode="append")
"""


def run_writers(code: str, folder: Path) -> None:
    writers = [
        subprocess.Popen([sys.executable, "-c", code, str(folder), str(number), str(EDITS)])
        for number in range(WRITERS)
    ]
    assert [writer.wait() for writer in writers] == [0] * WRITERS


def test_eight_processes_that_edit_different_lines_lose_no_edit(tmp_path: Path) -> None:
    for _ in range(ROUNDS):
        (tmp_path / "lines.txt").write_text("\n".join(f"writer {n}: 0." for n in range(WRITERS)))

        run_writers(EDIT_OWN_LINE, tmp_path)

        assert (tmp_path / "lines.txt").read_text().split("\n") == [f"writer {n}: {EDITS}." for n in range(WRITERS)]
        assert os.listdir(tmp_path) == ["lines.txt"]


def test_eight_processes_that_append_lose_no_line(tmp_path: Path) -> None:
    """They start without the file, so one of them makes it and the others find it made."""
    run_writers(APPEND, tmp_path)

    lines = (tmp_path / "log.txt").read_text().splitlines()
    assert sorted(lines) == sorted(f"{writer}:{number}" for writer in range(WRITERS) for number in range(EDITS))
    assert os.listdir(tmp_path) == ["log.txt"]
