"""A fault for the demo to repair: one function of the copied project is broken, and its failure can be seen."""

import subprocess
import sys
from pathlib import Path

FILE = "src/toolhaft/workspace/text.py"
WHOLE = 'return text.count("\\n") + (not text.endswith("\\n") and text != "")'
BROKEN = 'return text.count("\\n")'

FAILURE = f"""\
One function of this project is broken: count_lines("one\\ntwo") in {FILE} answers 1, and it should answer 2, since a
last line without its line end is a line too. Read the function, repair it, and change nothing else."""

_PROBE = """
from toolhaft.workspace.text import count_lines
print([count_lines(text) for text in ("", "one", "one\\n", "one\\ntwo")])
"""
_RIGHT = "[0, 1, 1, 2]"


def plant(project: Path) -> bool:
    """Break the function in a copy of this project; False where it is another project."""
    file = project / FILE
    if not file.exists() or WHOLE not in file.read_text():
        return False
    file.write_text(file.read_text().replace(WHOLE, BROKEN))
    return True


def shown(project: Path) -> str:
    """What the function answers in the copy, run in a process of its own."""
    done = subprocess.run(
        [sys.executable, "-c", _PROBE],
        cwd=project / "src",
        env={"PYTHONPATH": str(project / "src"), "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    return done.stdout.strip() or done.stderr.strip()


def is_repaired(project: Path) -> bool:
    """Whether the function answers rightly."""
    return shown(project) == _RIGHT
