"""What a model gets from `find_files`: the files that have a name."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from pydantic_ai import ModelRetry

from toolhaft import ToolText, use_workspace
from toolhaft.tools import find_files


@pytest.fixture(autouse=True)
def _in_project(project: Path) -> Iterator[None]:
    with use_workspace(project):
        yield


async def test_files_are_found_by_their_names_at_any_depth() -> None:
    assert await find_files("*.py") == "src/add.py\nsrc/main.py\n\n2 files."
    assert await find_files("main.py", "src") == "src/main.py\n\n1 file."
    assert await find_files("main.py", recursive=False) == "No such file."


async def test_at_most_a_thousand_are_shown_and_all_are_counted(project: Path) -> None:
    for number in range(1_200):
        (project / "src" / f"{number:04}.txt").touch()

    answer = await find_files("*.txt")

    assert isinstance(answer, ToolText)
    assert answer.facts["files"] == [f"src/{number:04}.txt" for number in range(1_000)]
    assert answer.endswith("Shown 1,000 of 1,200 files; narrow the pattern or the path.")


async def test_what_is_left_out_is_told_with_the_tool_that_lists_it(project: Path) -> None:
    (project / ".gitignore").write_text("*.log\n")
    (project / "a.log").touch()

    assert "1 ignored (glob with include_ignored=True lists them), such as a.log" in await find_files("*.log")


@pytest.mark.parametrize(("pattern", "path"), [("../../*", "."), ("/etc/*", "."), ("*", "no"), ("*", "README.md")])
async def test_what_cannot_be_right_is_for_the_model_to_mend(pattern: str, path: str) -> None:
    with pytest.raises(ModelRetry):
        await find_files(pattern, path)
