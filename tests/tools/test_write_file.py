"""Writing whole files, and to the end of one."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from pydantic_ai import ModelRetry

from tests.tools.test_editing_cases import state
from tests.tools.test_editing_tools import facts
from toolhaft import FileOperationError, use_workspace
from toolhaft.tools import undo_change, write_file


@pytest.fixture(autouse=True)
def root(project: Path) -> Iterator[Path]:
    with use_workspace(project):
        yield project


async def test_a_new_file_is_not_shown_to_the_model_that_wrote_it(root: Path) -> None:
    answer = await write_file("notes/new.txt", "one\ntwo\n")

    assert answer.partition("\n\n[")[0] == "Created notes/new.txt (8 bytes), +2 -0 lines."
    assert facts(answer)["diff"][0]["is_new_file"]
    await undo_change(facts(answer)["change_id"])
    assert not (root / "notes").exists()


async def test_create_refuses_a_file_that_is_there(root: Path) -> None:
    before = state(root)

    with pytest.raises(ModelRetry, match="mode='overwrite'"):
        await write_file("README.md", "x")

    assert state(root) == before


async def test_an_append_takes_the_files_encoding_and_line_ends(root: Path) -> None:
    (root / "f.txt").write_bytes("a\r\nb\r\n".encode("utf-16"))

    answer = await write_file("f.txt", "c\n", "append")

    assert (root / "f.txt").read_bytes() == "a\r\nb\r\nc\r\n".encode("utf-16")
    assert "+c" in answer


async def test_an_append_to_nothing_makes_the_file(root: Path) -> None:
    await write_file("f.txt", "c\n", "append")

    assert (root / "f.txt").read_text() == "c\n"


async def test_a_large_file_is_appended_to_without_being_held(root: Path) -> None:
    with (root / "big.log").open("wb") as file:
        for _ in range(1_001):
            file.write(b"a line of ten\n\n\n\n\n\n\n" * 5_000)
    size = (root / "big.log").stat().st_size

    answer = await write_file("big.log", "end\n", "append")

    assert "no diff" in answer
    assert (root / "big.log").stat().st_size == size + 4
    with (root / "big.log").open("rb") as file:
        file.seek(-4, os.SEEK_END)
        assert file.read() == b"end\n"


async def test_a_twin_of_a_file_keeps_its_bytes_and_the_change_can_be_undone(root: Path) -> None:
    os.link(root / "README.md", root / "twin.md")
    before = (root / "twin.md").read_text()

    answer = await write_file("README.md", "new\n", "overwrite")

    assert "hard link" in answer
    assert (root / "twin.md").read_text() == before
    await undo_change(facts(answer)["change_id"])
    assert (root / "README.md").read_text() == before


@pytest.mark.parametrize("path", [".env", "sub/.env", "id_rsa", "server.pem", ".git/hooks/pre-commit"])
async def test_secrets_and_the_repositorys_own_files_are_not_written(root: Path, path: str) -> None:
    before = state(root)

    with pytest.raises(FileOperationError, match="sensitive|protected"):
        await write_file(path, "x")

    assert state(root) == before
