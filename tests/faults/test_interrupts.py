"""A signal every millisecond interrupts system calls; what is written is exact all the same."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

REPEATS = 50 if os.environ.get("TOOLHAFT_STRESS") else 5

CHANGE = """
import asyncio, signal, sys
from toolhaft import use_workspace
from toolhaft.tools import apply_patch, edit_file, read_file, write_file
beats = 0
def beat(*_):
    global beats
    beats += 1
async def main():
    signal.signal(signal.SIGALRM, beat)
    signal.setitimer(signal.ITIMER_REAL, 0.001, 0.001)
    for number in range(int(sys.argv[2])):
        await write_file("a.txt", "begin 0\\n" + "x" * 3_000_000 + "\\n", "overwrite")
        await edit_file("a.txt", "begin 0", "begin 1")
        await apply_patch("--- a/a.txt\\n+++ b/a.txt\\n@@ @@\\n-begin 1\\n+begin 2\\n")
        assert (await read_file("a.txt", 1, 1)).startswith("1\\tbegin 2")
    signal.setitimer(signal.ITIMER_REAL, 0)
    assert beats > 10, beats
with use_workspace(sys.argv[1]):
    asyncio.run(main())
"""


@pytest.mark.parametrize("restart", [True, False])
def test_a_signal_every_millisecond_spoils_nothing(tmp_path: Path, restart: bool) -> None:
    """Whether the kernel begins interrupted calls again by itself, or they fail with EINTR."""
    code = CHANGE.replace(
        "signal.setitimer", f"signal.siginterrupt(signal.SIGALRM, {not restart}); signal.setitimer", 1
    )

    child = subprocess.run([sys.executable, "-c", code, str(tmp_path), str(REPEATS)], capture_output=True, text=True)

    assert child.returncode == 0, child.stderr
    assert (tmp_path / "a.txt").read_bytes() == b"begin 2\n" + b"x" * 3_000_000 + b"\n"
    assert os.listdir(tmp_path) == ["a.txt"]
