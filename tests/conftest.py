"""What many tests share."""

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings

# How long an example takes says more about the machine than about the code.
settings.register_profile("toolhaft", deadline=None)
settings.load_profile("toolhaft")


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A small project: two Python files, a README, a folder."""
    root = tmp_path / "project"
    (root / "src").mkdir(parents=True)
    (root / "README.md").write_text("# A project\n\nIt adds numbers.\n")
    (root / "src" / "add.py").write_text("def add(a, b):\n    return a + b\n")
    (root / "src" / "main.py").write_text("from add import add\n\nprint(add(1, 2))\n")
    return root


@pytest.fixture
def thousand_folders(tmp_path: Path) -> Iterator[Path]:
    """A folder with a thousand folders `d` in each other and `deep.txt` in the last.

    It is removed here: Python's `rmtree`, with which pytest removes what tests leave, cannot go so deep.
    """
    root = tmp_path / "deep"
    root.mkdir()
    folder = os.open(root, os.O_RDONLY)
    for _ in range(1_000):
        os.mkdir("d", dir_fd=folder)
        below = os.open("d", os.O_RDONLY, dir_fd=folder)
        os.close(folder)
        folder = below
    file = os.open("deep.txt", os.O_WRONLY | os.O_CREAT, dir_fd=folder)
    os.write(file, b"needle")
    os.close(file)
    os.close(folder)
    yield root
    subprocess.run(["rm", "-rf", root], check=True)


@pytest.fixture(autouse=True)
def state_home(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The journals of a test's workspaces lie in a folder of its own, also for the processes it starts."""
    home = tmp_path_factory.mktemp("state")
    monkeypatch.setenv("XDG_STATE_HOME", str(home))
    return home
