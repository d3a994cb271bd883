"""What a model gets from `list_files`: the files of a folder."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from pydantic_ai import ModelRetry

from tests.path_cases import Row, build, rows
from toolhaft import FileOperationError, use_workspace
from toolhaft.tools import find_files, glob, list_files


@pytest.fixture(autouse=True)
def _in_project(project: Path) -> Iterator[None]:
    with use_workspace(project):
        yield


async def test_the_files_of_a_folder_are_listed_and_with_recursive_those_below() -> None:
    assert await list_files() == "README.md\n\n1 file."
    assert await list_files("src") == "src/add.py\nsrc/main.py\n\n2 files."
    assert await list_files(recursive=True) == "README.md\nsrc/add.py\nsrc/main.py\n\n3 files."


async def test_only_files_of_some_names_may_be_asked_for() -> None:
    assert await list_files("src", "m*,*.js") == "src/main.py\n\n1 file."
    assert await list_files(pattern="*.py", recursive=True) == "src/add.py\nsrc/main.py\n\n2 files."
    assert await list_files(pattern="*.py") == "No such file."


async def test_hidden_files_are_counted(project: Path) -> None:
    (project / ".hidden").touch()

    assert (await list_files()).endswith(
        "Not listed: 1 hidden (glob with include_hidden=True lists them), such as .hidden."
    )


@pytest.mark.parametrize("tool", [glob, find_files, list_files])
@pytest.mark.parametrize("row", rows("list"), ids=lambda row: row.id)
async def test_every_path_case_ends_as_it_must_in_every_tool_that_lists(row: Row, tool, tmp_path: Path) -> None:
    tree = build(row, tmp_path)
    folder = tree.fill(row.path)

    with use_workspace(tree.root):
        try:
            answer = await (list_files(folder) if tool is list_files else tool("*", folder))
            outcome = "ok"
        except (ModelRetry, FileOperationError) as error:
            answer, outcome = str(error), "refused"

    assert outcome in row.accept
    assert "secret" not in answer


@pytest.mark.parametrize(("path", "pattern"), [(".", "../../*"), (".", "/etc/*"), ("no", None), ("README.md", None)])
async def test_what_cannot_be_right_is_for_the_model_to_mend(path: str, pattern: str | None) -> None:
    with pytest.raises(ModelRetry):
        await list_files(path, pattern)
