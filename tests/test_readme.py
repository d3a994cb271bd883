"""Every Python block of the README runs, and what its shell blocks call exists."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

CHECKOUT = Path(__file__).parents[1]
README = (CHECKOUT / "README.md").read_text()
# Whatever their language, so that the end of one is not taken for the beginning of another.
FENCED = re.findall(r"^```(\w*)\n(.*?)^```$", README, re.MULTILINE | re.DOTALL)
BLOCKS = [block for language, block in FENCED if language == "python"]
COMMANDS = [
    line
    for language, block in FENCED
    if not language
    for line in block.splitlines()
    if line.startswith("toolhaft ") and "CHANGE_ID" not in line
]


EARLIER = """
from pydantic_ai import Agent
from toolhaft import Toolkit
from tests.attach.agents import calling

model = calling([("submit", {"summary": "A project."})])
"""


@pytest.mark.parametrize("block", BLOCKS, ids=lambda block: block.strip().splitlines()[0][:40])
def test_a_python_block_runs(block: str, tmp_path: Path) -> None:
    """Each block is the `__init__.py` of a package, as the one on lazy packages says; what stands above it is known."""
    (tmp_path / "repo").mkdir()
    (tmp_path / "repo" / "README.md").write_text("# A project\n")
    (tmp_path / "block").mkdir()
    (tmp_path / "block" / "__init__.py").write_text(EARLIER + block)

    done = subprocess.run(
        [sys.executable, "-c", "import block"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(tmp_path), str(CHECKOUT)])},
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_runs(command: str, tmp_path: Path) -> None:
    (tmp_path / "README.md").write_text("# A project\n")

    done = subprocess.run(
        command.replace("toolhaft", f"{sys.executable} -m toolhaft.cli", 1),
        shell=True,
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 0, done.stderr


def test_the_blocks_were_found() -> None:
    assert len(BLOCKS) >= 9
    assert len(COMMANDS) >= 3
