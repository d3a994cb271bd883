"""A decorated function keeps its own signature for a type checker."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
PYRIGHT = shutil.which("pyright", path=str(Path(sys.executable).parent)) or shutil.which("pyright")


def errors(name: str, folder: Path) -> dict[int, list[str]]:
    """What strict pyright finds in a file, by line."""
    source = Path(__file__).parents[2] / "src"
    (folder / "pyrightconfig.json").write_text(json.dumps({"typeCheckingMode": "strict", "extraPaths": [str(source)]}))
    shutil.copy(HERE / name, folder)
    command = [str(PYRIGHT), "--outputjson", "--pythonpath", sys.executable, "-p", str(folder)]
    report = json.loads(subprocess.run(command, capture_output=True, text=True, check=False).stdout)
    found: dict[int, list[str]] = {}
    for problem in report["generalDiagnostics"]:
        found.setdefault(problem["range"]["start"]["line"] + 1, []).append(problem["message"])
    return found


@pytest.mark.needs("pyright")
@pytest.mark.skipif(PYRIGHT is None, reason="pyright is missing: pip install pyright")
def test_decorated_functions_have_their_own_types(tmp_path: Path):
    assert errors("decorated.py", tmp_path) == {}


@pytest.mark.needs("pyright")
@pytest.mark.skipif(PYRIGHT is None, reason="pyright is missing: pip install pyright")
def test_mistakes_are_found_where_they_are_and_nowhere_else(tmp_path: Path):
    lines = (HERE / "mistakes.py").read_text().splitlines()

    found = errors("mistakes.py", tmp_path)

    assert set(found) == {number for number, line in enumerate(lines, 1) if "# mistake" in line}
