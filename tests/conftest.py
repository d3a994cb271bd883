"""What many tests share."""

from pathlib import Path

import pytest


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A small project: two Python files, a README, a folder."""
    root = tmp_path / "project"
    (root / "src").mkdir(parents=True)
    (root / "README.md").write_text("# A project\n\nIt adds numbers.\n")
    (root / "src" / "add.py").write_text("def add(a, b):\n    return a + b\n")
    (root / "src" / "main.py").write_text("from add import add\n\nprint(add(1, 2))\n")
    return root
