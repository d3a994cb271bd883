"""Notes that outlive a conversation."""

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from pydantic_ai import ModelRetry
from pydantic_ai.workspaces import WrapperWorkspace

from tests.tools.test_editing_tools import facts
from toolhaft import LocalWorkspace, ToolExecutionError, ToolKind, tool_spec, use_workspace
from toolhaft.tools import glob, memory
from toolhaft.workspace.conversation import use_conversation

NOTES = ".toolhaft/memory/notes.json"


@pytest.fixture(autouse=True)
def root(tmp_path: Path) -> Iterator[Path]:
    with use_workspace(tmp_path):
        yield tmp_path


def fill(root: Path, notes: dict[str, str]) -> None:
    (root / NOTES).parent.mkdir(parents=True)
    (root / NOTES).write_text(json.dumps(notes))


async def test_a_note_is_there_in_the_next_conversation() -> None:
    saved = await memory("save", "build", "make all\nmake test")

    with use_conversation("another"):
        got = await memory("get", " build ")

    assert saved == "Saved 'build' (18 characters)."
    assert got == "make all\nmake test"


async def test_saving_under_a_key_replaces_its_note() -> None:
    await memory("save", "build", "make")

    saved = await memory("save", "build", "make all")

    assert saved == "Saved 'build' (8 characters, in place of 4)."
    assert not facts(saved)["created"]
    assert await memory("get", "build") == "make all"


async def test_a_deleted_note_is_gone_also_where_files_may_not_be_deleted() -> None:
    await memory("save", "build", "make")

    assert await memory("delete", "build") == "Deleted 'build' (4 characters)."
    assert await memory("list") == "0 notes."


async def test_a_list_shows_keys_sizes_and_first_lines() -> None:
    await memory("save", "b", "first line\nsecond")
    await memory("save", "a", "x" * 1_000)

    listed = await memory("list")

    assert listed == f"2 notes.\n- a (1,000 characters): {'x' * 160}...\n- b (17 characters): first line"
    assert not facts(listed)["truncated"]


async def test_a_search_is_for_the_text_as_it_stands_in_any_case() -> None:
    await memory("save", "Deploy.notes", "ask the team")
    await memory("save", "style", "first\nuse the DEPLOY.* form\nlast")
    await memory("save", "other", "deployXnotes")

    found = await memory("search", query="deploy.")

    assert found == (
        "'deploy.' is in 2 of 3 notes.\n"
        "- Deploy.notes (12 characters): ask the team\n"
        "- style (32 characters): use the DEPLOY.* form"
    )
    assert await memory("search", query="nowhere") == "'nowhere' is in 0 of 3 notes."


async def test_what_is_left_out_is_said(root: Path) -> None:
    fill(root, {f"key {number:03}": "same" for number in range(130)})

    listed, found = await memory("list"), await memory("search", query="same")

    for answer in (listed, found):
        assert "[100 of 130 shown, by key; 30 left out." in answer
        assert (facts(answer)["shown"], facts(answer)["total"], facts(answer)["truncated"]) == (100, 130, True)


async def test_a_longer_note_than_can_be_saved_is_shown_cut(root: Path) -> None:
    fill(root, {"big": "x" * 20_001})

    got = await memory("get", "big")

    assert got.endswith(f"[The first 20,000 of 20,001 characters. For the rest read the file {NOTES}.]")
    assert facts(got)["truncated"]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        ({"action": "save", "text": "x"}, "needs key"),
        ({"action": "save", "key": "k", "text": "  "}, "needs text"),
        ({"action": "save", "key": "k", "text": "x" * 20_001}, "20,001 characters, and a note may have 20,000"),
        ({"action": "save", "key": "two\nlines", "text": "x"}, "is no key"),
        ({"action": "save", "key": "k" * 101, "text": "x"}, "101 characters"),
        ({"action": "get", "key": "biuld"}, "no note 'biuld' among 1 note. Near: 'build'"),
        ({"action": "delete", "key": "zzz"}, "action='list'"),
        ({"action": "search", "query": " "}, "needs query"),
    ],
)
async def test_a_mistake_is_for_the_model_to_mend(call: dict[str, str], message: str) -> None:
    await memory("save", "build", "make")

    with pytest.raises(ModelRetry, match=message):
        await memory(**call)

    assert await memory("list") == "1 note.\n- build (4 characters): make"


async def test_there_is_room_for_500_notes(root: Path) -> None:
    fill(root, {str(number): "x" for number in range(500)})

    with pytest.raises(ModelRetry, match="500 may be"):
        await memory("save", "one more", "x")
    assert await memory("save", "7", "y") == "Saved '7' (1 character, in place of 1)."


async def test_concurrent_writers_lose_nothing() -> None:
    await asyncio.gather(*(memory("save", f"key {number}", str(number)) for number in range(16)))

    assert facts(await memory("list"))["total"] == 16


async def test_searches_do_not_see_it(root: Path) -> None:
    await memory("save", "needle", "x")

    assert "notes.json" not in await glob("**/*", include_hidden=True)


async def test_notes_that_cannot_be_read_are_not_overwritten(root: Path) -> None:
    fill(root, {})
    (root / NOTES).write_text('{"a": 1}')

    for call in (memory("list"), memory("save", "k", "text")):
        with pytest.raises(ToolExecutionError, match="cannot be read: Input should be a valid string"):
            await call
    assert (root / NOTES).read_text() == '{"a": 1}'


async def test_a_preview_tells_and_changes_nothing(root: Path) -> None:
    await memory("save", "build", "make")
    before = (root / NOTES).read_bytes()
    preview = tool_spec(memory).preview
    assert preview is not None

    told = [
        await preview(action="save", key="new", text="text"),
        await preview(action="save", key="build", text="make all"),
        await preview(action="delete", key="build"),
        await preview(action="list"),
    ]

    assert told == [
        "Would save the note 'new':\ntext",
        "Would save the note 'build':\nmake all, in place of:\nmake",
        "Would delete the note 'build', which says:\nmake",
        "memory list changes nothing.",
    ]
    assert (root / NOTES).read_bytes() == before


async def test_it_works_in_any_workspace(root: Path) -> None:
    with use_workspace(WrapperWorkspace(LocalWorkspace(root))):
        await memory("save", "far", "away")
        await memory("delete", "far")
        await memory("save", "near", "by")

        assert facts(await memory("list"))["total"] == 1


class Restless(WrapperWorkspace):
    """A workspace in which every look at a file finds it changed."""

    looks = 0

    async def read_bytes(self, path: str) -> bytes:
        self.looks += 1
        return await super().read_bytes(path) + b" " * self.looks


async def test_a_file_that_is_changed_again_and_again_is_left_as_it_is(root: Path) -> None:
    await memory("save", "old", "text")
    before = (root / NOTES).read_bytes()

    with (
        use_workspace(Restless(LocalWorkspace(root))),
        pytest.raises(ToolExecutionError, match="changed"),
    ):
        await memory("save", "new", "text")

    assert (root / NOTES).read_bytes() == before


def test_somebody_is_asked_first() -> None:
    spec = tool_spec(memory)

    assert (spec.kind, spec.sensitive) == (ToolKind.MEMORY, True)
