"""What a model gets from `glob`: paths in an order of its choice, cut only after they were sorted."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pydantic_ai import ModelRetry

from toolhaft import FileOperationError, ToolText, use_workspace
from toolhaft.tools import glob


@pytest.fixture(autouse=True)
def _in_project(project: Path) -> Iterator[None]:
    with use_workspace(project):
        yield


async def names(*args: Any, **kwargs: Any) -> list[str]:
    """Return the paths of an answer, which must stand in its text too."""
    answer = await glob(*args, **kwargs)
    assert isinstance(answer, ToolText)
    files = answer.facts["files"]
    assert answer.startswith("\n".join(files))
    return files


@pytest.mark.parametrize(
    ("pattern", "files"),
    [
        ("*.py", ["src/add.py", "src/main.py"]),
        ("src/*.py", ["src/add.py", "src/main.py"]),
        ("src/**/*.py", ["src/add.py", "src/main.py"]),
        ("**/m*.{py,js}", ["src/main.py"]),
        ("./README.md", ["README.md"]),
        ("*", ["README.md", "src/add.py", "src/main.py"]),
        ("[a-m]*", ["src/add.py", "src/main.py"]),
        ("src", []),
        ("src/**", ["src/add.py", "src/main.py"]),
    ],
)
async def test_a_pattern_is_about_names_or_with_a_slash_about_paths(pattern: str, files: list[str]) -> None:
    assert await names(pattern) == files


async def test_paths_are_those_of_the_workspace_also_for_a_folder_below(project: Path) -> None:
    assert await names("*.py", "src") == ["src/add.py", "src/main.py"]
    assert await names("src/*.py", "src") == []
    assert await names("*.py", f"{project}/src") == ["src/add.py", "src/main.py"]
    assert await names("*.py", recursive=False) == []


async def test_they_are_sorted_by_path_time_or_size_and_ties_by_path(project: Path) -> None:
    for number, (name, size, age) in enumerate([("b", 5, 9), ("a", 5, 9), ("c", 9, 1), ("d", 1, 5)]):
        (project / f"{name}.x").write_bytes(b"x" * size)
        os.utime(project / f"{name}.x", (1_000_000 - age, 1_000_000 - age))
        assert number < 4

    assert await names("*.x") == ["a.x", "b.x", "c.x", "d.x"]
    assert await names("*.x", sort="modified") == ["c.x", "d.x", "a.x", "b.x"]
    assert await names("*.x", sort="size") == ["c.x", "a.x", "b.x", "d.x"]
    assert await names("*.x", sort="modified", max_results=2) == ["c.x", "d.x"]


async def test_what_was_cut_is_told_with_the_way_to_get_it(project: Path) -> None:
    answer = await glob("*", max_results=2)

    assert answer.endswith("Shown 2 of 3 files; narrow the pattern or the path, or ask for max_results=3.")
    assert isinstance(answer, ToolText)
    assert (answer.facts["total"], answer.facts["shown"], answer.facts["truncated"]) == (3, 2, True)
    exactly = await glob("*", max_results=3)
    assert isinstance(exactly, ToolText)
    assert exactly.endswith("\n\n3 files.")
    assert exactly.facts["truncated"] is False


async def test_hidden_and_sensitive_files_are_listed_where_the_pattern_names_them(project: Path) -> None:
    for name in (".env", ".env.local", "key.pem", ".config/a.toml"):
        (project / name).parent.mkdir(exist_ok=True)
        (project / name).touch()

    assert await names("*.env*") == [".env", ".env.local"]
    assert await names("*.pem") == ["key.pem"]
    assert await names(".config/*") == [".config/a.toml"]
    every = await glob("*")
    assert (
        "Not listed: 3 hidden (include_hidden=True lists them), such as .config/; 1 sensitive, such as key.pem" in every
    )
    assert ".config/a.toml" in await glob("*", include_hidden=True)


async def test_ignored_files_are_left_out_and_counted_unless_they_are_asked_for(project: Path) -> None:
    (project / ".gitignore").write_text("src/a*\n/build\n")
    (project / "build").mkdir()
    (project / "build" / "x.py").touch()

    answer = await glob("*.py")

    assert answer.startswith(
        "src/main.py\n\n1 file.\nNot listed: 2 ignored (include_ignored=True lists them), such as build/"
    )
    assert await names("*.py", include_ignored=True) == ["build/x.py", "src/add.py", "src/main.py"]


async def test_a_file_that_comes_or_goes_is_seen_in_the_next_answer(project: Path) -> None:
    """Listings are kept between calls, but not longer than they are true."""
    old = 1_000_000_000
    for _ in range(3):
        assert await names("*.new") == []
    for number in range(20):
        (project / "src" / f"{number}.new").touch()
        assert len(await names("*.new")) == number + 1
        os.utime(project / "src", ns=(old, old))
    (project / "src" / "3.new").rename(project / "src" / "3.old")

    assert len(await names("*.new")) == 19


async def test_links_are_listed_by_their_names_and_broken_ones_are_counted(project: Path) -> None:
    (project / "link.py").symlink_to("src/main.py")
    (project / "gone.py").symlink_to("nowhere")
    (project / "folder").symlink_to("src")

    answer = await glob("*.py", sort="modified")

    assert isinstance(answer, ToolText)
    assert sorted(answer.facts["files"]) == ["link.py", "src/add.py", "src/main.py"]
    assert answer.facts["not_listed"] == {"linked_out": {"count": 1, "example": "gone.py"}}


@pytest.mark.parametrize("pattern", ["../*", "src/../../*", "/etc/*", "~/x", "C:\\x", "", "[a", "{a,b", "!a", "a\0b"])
async def test_a_pattern_that_leads_out_or_means_nothing_is_for_the_model_to_mend(pattern: str) -> None:
    with pytest.raises(ModelRetry):
        await glob(pattern)


@pytest.mark.parametrize("directory", ["nowhere", "README.md", "src/nowhere"])
async def test_a_path_that_is_missing_or_no_folder_is_too(directory: str) -> None:
    with pytest.raises(ModelRetry, match=directory):
        await glob("*", directory)


@pytest.mark.parametrize("directory", ["..", "/etc", "out"])
async def test_nothing_outside_is_listed(directory: str, project: Path) -> None:
    (project / "out").symlink_to("/etc")

    with pytest.raises(FileOperationError, match="access"):
        await glob("*", directory)


async def test_no_file_says_so() -> None:
    assert await glob("*.rs") == "No such file."
