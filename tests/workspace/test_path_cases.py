"""Every read, write, list and delete row of the path cases, through the workspace alone."""

import asyncio
from pathlib import Path

import pytest

from tests.path_cases import WRITTEN, Operate, Row, Tree, check, rows
from toolhaft.workspace import LocalWorkspace


def on_workspace(tree: Tree) -> Operate:
    workspace = LocalWorkspace(tree.root)

    def operate(op: str, path: str) -> str:
        match op:
            case "read":
                with workspace.open_file(path) as file:
                    return file.read().decode()
            case "write":
                return repr(workspace.replace_file(path, WRITTEN.encode()))
            case "delete":
                return repr(asyncio.run(workspace.remove(path)))
            case _:
                return repr(workspace.scan_dir(path))

    return operate


@pytest.mark.parametrize("row", rows("read", "write", "list", "delete"), ids=lambda row: row.id)
def test_every_row_ends_as_it_must(row: Row, tmp_path: Path, resolver: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Right outcome, nothing outside read or changed, nothing inside changed but the target; with both resolvers."""
    monkeypatch.setenv("HOME", str(tmp_path / "home"))

    check(row, tmp_path, on_workspace, (OSError, ValueError))
