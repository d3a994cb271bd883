"""Every case of an edit and of a patch through the tools: on disk, with modes, links, attributes and folders."""

import base64
import json
import os
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from pydantic_ai import ModelRetry

from toolhaft import FileOperationError, LocalWorkspace, ToolExecutionError, use_workspace
from toolhaft.tools import apply_patch, edit_file

CASES = Path(__file__).parents[1] / "cases"
EDITS = [json.loads(line) for line in (CASES / "edits.jsonl").read_text().splitlines()]
PATCHES = [json.loads(file.read_text()) for file in sorted((CASES / "patches").glob("*.json"))]
REFUSALS = (ModelRetry, ToolExecutionError, FileOperationError)

State = dict[str, tuple[int, bytes | str]]


def state(root: Path) -> State:
    """Every file, link and folder below `root`, with mode and content."""
    found: State = {}
    for path in sorted(root.rglob("*")):
        info = path.lstat()
        content: bytes | str = ""
        if stat.S_ISLNK(info.st_mode):
            content = os.readlink(path)
        elif stat.S_ISREG(info.st_mode):
            content = path.read_bytes()
        found[str(path.relative_to(root))] = (info.st_mode, content)
    return found


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path / "ws"
    root.mkdir()
    return root


@pytest.mark.parametrize("row", EDITS, ids=lambda row: f"{row['id']}-{row['name']}")
async def test_every_edit_case_holds(row: dict[str, Any], root: Path) -> None:
    path = build_edit(row, root)
    before = state(root)

    with use_workspace(root):
        try:
            await edit_file(path, row["old"], row["new"], bool(row.get("replace_all")))
            outcome = "ok"
        except REFUSALS:
            outcome = "error"

    assert outcome in row["accept"]
    if outcome == "error":
        assert state(root) == before
    else:
        after = base64.b64decode(row["after_b64"])
        assert (root / path).read_bytes() == after
        real = str(Path(os.path.realpath(root / path)).relative_to(root.resolve()))
        expected = {**before, real: (before[real][0], after)}
        assert state(root) == expected


def build_edit(row: dict[str, Any], root: Path) -> str:
    """Make the file of a row, as its `mode` and `setup` say; return the path to edit."""
    setup = row["setup"] or {}
    file = root / "f.txt"
    file.write_bytes(base64.b64decode(row["before_b64"]))
    if "mkdir" in setup:
        (root / setup["mkdir"]).mkdir()
    if "symlink" in setup:
        link, target = setup["symlink"]
        (root / link).symlink_to(target)
    if "xattr" in setup:
        name, value = setup["xattr"]
        os.setxattr(file, name, value.encode())
    if row["mode"]:
        file.chmod(int(str(row["mode"]), 8))
    return setup.get("edit_path", "f.txt")


@pytest.mark.parametrize("case", PATCHES, ids=lambda case: case["name"])
async def test_every_patch_case_holds(case: dict[str, Any], root: Path) -> None:
    for name, text in case["before"].items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text, newline="")
    for name, target in case["symlinks"].items():
        (root / name).symlink_to(target)
    for name, mode in case["modes"].items():
        (root / name).chmod(int(str(mode), 8) & 0o777)
    before = state(root)

    with use_workspace(LocalWorkspace(root, allow_delete=True)):
        try:
            await apply_patch(case["patch"])
            outcome: dict[str, str] | str = files(root)
        except REFUSALS:
            outcome = "error"
            assert state(root) == before

    assert any(_is(outcome, accepted) for accepted in case["accept"]), outcome


def files(root: Path) -> dict[str, str]:
    return {
        str(path.relative_to(root)): path.read_bytes().decode()
        for path in sorted(root.rglob("*"))
        if path.is_file() and not path.is_symlink()
    }


def _is(outcome: dict[str, str] | str, accepted: dict[str, Any] | str) -> bool:
    if isinstance(accepted, str) or "after" not in accepted:
        return outcome == "error"
    return outcome == accepted["after"]


@pytest.mark.skipif(os.geteuid() != 0, reason="the tests above are those of an ordinary user already")
def test_every_case_holds_for_an_ordinary_user_too() -> None:
    command = [sys.executable, "-m", "tests.tools.editing_cases_as_user", "65534"]

    child = subprocess.run(command, capture_output=True, text=True, cwd=CASES.parents[1])

    assert child.returncode == 0, child.stderr
    outcomes = json.loads(child.stdout)
    assert len(outcomes) == len(EDITS) + len(PATCHES)
    assert {name: outcome for name, outcome in outcomes.items() if outcome != "passed"} == {}
