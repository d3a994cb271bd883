"""A folder as a tree."""

import os
from pathlib import Path

import pytest
from pydantic_ai import ModelRetry

from toolhaft import FileOperationError, ToolText, use_workspace
from toolhaft.tools import list_dir


@pytest.fixture(autouse=True)
def _in_project(project: Path):
    with use_workspace(project):
        yield


async def test_it_shows_folders_first_then_files_with_their_sizes(project: Path) -> None:
    (project / "big.bin").write_bytes(b"x" * 1_500)

    tree = await list_dir()

    assert tree == (
        "./\n  src/\n    add.py  32 B\n    main.py  38 B\n  README.md  30 B\n  big.bin  1.5 KB\n\n[4 files, 1 folder]"
    )


async def test_a_folder_may_be_named_by_itself_also_absolutely(project: Path) -> None:
    assert (await list_dir("src")).startswith("src/\n  add.py")
    assert (await list_dir(f"{project}/src/")).startswith("src/\n  add.py")
    assert (await list_dir("src/../src")).startswith("src/\n  add.py")


async def test_what_is_hidden_or_ignored_is_counted_with_an_example(project: Path) -> None:
    (project / ".gitignore").write_text("*.log\nbuild/\n")
    (project / "build").mkdir()
    (project / "a.log").touch()
    (project / "src" / "b.log").touch()

    tree = await list_dir()

    assert "build" not in tree.partition("\n\n")[0]
    assert "1 hidden left out, such as .gitignore" in tree
    assert "3 ignored left out, such as a.log" in tree
    assert isinstance(tree, ToolText)
    assert tree.facts["left_out"] == {"hidden": 1, "ignored": 3}
    assert tree.facts["truncated"] is False


async def test_rules_of_the_folders_above_hold_in_a_folder_named_by_itself(project: Path) -> None:
    (project / ".gitignore").write_text("add.*\n")

    tree = await list_dir("src")

    assert "add.py" not in tree.partition("\n\n")[0]


async def test_hidden_entries_are_shown_when_asked_for(project: Path) -> None:
    (project / ".config").touch()
    (project / ".git").mkdir()

    tree = await list_dir(show_hidden=True)

    assert ".config  0 B" in tree
    assert "1 ignored left out, such as .git" in tree


async def test_more_patterns_may_be_ignored_and_outrank_the_trees_own(project: Path) -> None:
    (project / ".rgignore").write_text("README.md\n")

    tree = await list_dir(ignore=["src/main.py", "!README.md"])

    assert "README.md" in tree
    assert "main.py" not in tree.partition("\n\n")[0]


async def test_near_entries_go_before_deep_ones_and_the_rest_is_counted(project: Path) -> None:
    for number in range(20):
        (project / "src" / f"{number:02}.py").touch()

    tree = await list_dir(max_files=4)

    assert "README.md" in tree
    assert "    00.py  0 B\n    01.py  0 B\n    ... 20 more" in tree
    assert "at least 20 more not shown" in tree
    assert isinstance(tree, ToolText)
    assert tree.facts["truncated"] is True


async def test_a_folder_of_which_nothing_fits_tells_how_much_it_holds(project: Path) -> None:
    tree = await list_dir(max_files=2)

    assert "  src/  (2 entries)\n" in tree


async def test_an_empty_folder_says_so(project: Path) -> None:
    (project / "empty").mkdir()

    assert "(empty)" in await list_dir("empty")


async def test_links_are_marked_and_not_entered(project: Path) -> None:
    (project / "src" / "up").symlink_to("..")
    (project / "out").symlink_to("/etc")

    tree = await list_dir()

    assert "up/  (link)" in tree
    assert "out  (link)" in tree
    assert tree.count("README.md") == 1


async def test_names_that_are_not_text_are_shown_escaped(project: Path) -> None:
    os.close(os.open(os.fsencode(project) + b"/caf\xe9", os.O_CREAT))

    tree = await list_dir()

    assert r"caf\udce9" in tree
    tree.encode()


async def test_a_name_cannot_forge_a_line_of_the_tree(project: Path) -> None:
    (project / "a\n  forged.py  3 B").touch()
    (project / "b\x1b[2J").touch()

    tree = await list_dir()

    assert r"a\n  forged.py  3 B" in tree
    assert "\n  forged.py" not in tree
    assert "\x1b" not in tree


async def test_a_folder_that_cannot_be_listed_is_shown_with_the_reason(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scandir = os.scandir

    def refuse(fd: int):
        if os.fstat(fd).st_ino == (project / "src").stat().st_ino:
            raise PermissionError(13, "Permission denied")
        return scandir(fd)

    monkeypatch.setattr(os, "scandir", refuse)

    assert "src/  (Permission denied)" in await list_dir()


async def test_big_files_have_big_units(project: Path) -> None:
    for name, size in (("m", 2_500_000), ("g", 3_000_000_000), ("t", 4_000_000_000_000)):
        with (project / name).open("wb") as file:
            file.truncate(size)

    tree = await list_dir()

    assert "g  3.0 GB" in tree
    assert "m  2.5 MB" in tree
    assert "t  4.0 TB" in tree


@pytest.mark.parametrize("directory", ["nowhere", "README.md", "README.md/", "src/nowhere"])
async def test_a_path_that_is_missing_or_no_folder_is_for_the_model_to_mend(directory: str) -> None:
    with pytest.raises(ModelRetry, match=directory):
        await list_dir(directory)


@pytest.mark.parametrize("number", [0, -1, 10_001])
async def test_a_number_out_of_range_is_refused(number: int) -> None:
    with pytest.raises(ModelRetry, match="Use 1 to 10,000"):
        await list_dir(max_files=number)


async def test_a_thousand_nested_folders_are_no_problem(thousand_folders: Path) -> None:
    with use_workspace(thousand_folders):
        tree = await list_dir(max_files=10_000)

    assert tree.count("d/\n") == 1000
    assert tree.count("deep.txt  6 B") == 1


@pytest.mark.parametrize("directory", ["..", "/etc", "src/../.."])
async def test_nothing_outside_is_listed(directory: str) -> None:
    with pytest.raises(FileOperationError, match="access"):
        await list_dir(directory)
