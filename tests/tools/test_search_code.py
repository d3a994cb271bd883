"""What a model gets from `search_code`: matches of a regular expression with the lines around them."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from pydantic_ai import ModelRetry

from toolhaft import ToolText, use_workspace
from toolhaft.tools import search_code


@pytest.fixture(autouse=True)
def _in_project(project: Path) -> Iterator[None]:
    with use_workspace(project):
        yield


async def test_matches_of_an_expression_are_shown_with_the_lines_around_them() -> None:
    answer = await search_code(r"add\(\d")

    assert answer == ("src/main.py\n1- from add import add\n2- \n3: print(add(1, 2))\n\n1 matching line in 1 file.")
    assert isinstance(answer, ToolText)
    assert answer.facts["total"] == 1


async def test_only_python_files_are_searched_unless_others_are_named() -> None:
    assert "README.md" not in await search_code("numbers|add")
    assert "README.md" in await search_code("numbers", file_pattern="*.md,*.txt")
    assert "README.md" in await search_code("numbers", file_pattern="")


async def test_what_was_left_out_is_told_with_the_tool_that_searches_it(project: Path) -> None:
    (project / ".gitignore").write_text("main.py\n")

    assert "Not searched: 1 ignored (grep with include_ignored=True searches them)" in await search_code("add")


async def test_context_and_number_of_results_may_be_chosen() -> None:
    answer = await search_code("add", "src/main.py", context_lines=0, max_results=1)

    assert answer.startswith("src/main.py\n1: from add import add\n\nShown 1 of 2 matching lines in 1 file;")


@pytest.mark.parametrize(
    "arguments", [{"pattern": "a("}, {"pattern": "a", "path": "no"}, {"pattern": "a", "max_results": 0}]
)
async def test_what_cannot_be_right_is_for_the_model_to_mend(arguments: dict) -> None:
    with pytest.raises(ModelRetry):
        await search_code(**arguments)
