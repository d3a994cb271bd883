"""Every case of a path through the tools that read, list, write, edit and delete: as a model would call them."""

import asyncio
from pathlib import Path

import pytest
from pydantic_ai import ModelRetry
from pydantic_ai.exceptions import ToolFailed

from tests.path_cases import SECRET, WRITTEN, Row, Tree, check, rows
from toolhaft import LocalWorkspace, use_workspace
from toolhaft.tools import delete_file, edit_file, list_dir, read_file, write_file


def by_tools(tree: Tree):
    """The operations of a row, each as a call of its tool; what a model sees is what is answered."""
    workspace = LocalWorkspace(tree.root, allow_delete=True)

    async def called(op: str, path: str) -> str:
        with use_workspace(workspace):
            match op:
                case "read":
                    return str(await read_file(path))
                case "list":
                    return await list_dir(path)
                case "write":
                    return (await write_file(path, WRITTEN, "overwrite")).partition("\n\n")[0]
                case "edit":
                    return (await edit_file(path, SECRET, WRITTEN)).partition("\n\n")[0]
                case _:
                    return (await delete_file(path)).partition("\n\n")[0]

    return lambda op, path: asyncio.run(called(op, path))


@pytest.mark.parametrize("row", rows("read", "list", "write", "edit", "delete"), ids=lambda row: row.id)
def test_every_row_ends_as_it_must(row: Row, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))

    check(row, tmp_path, by_tools, (ModelRetry, ToolFailed))
