"""The list of steps of a conversation."""

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pydantic_ai import ModelRetry
from pydantic_ai.workspaces import WrapperWorkspace

from tests.tools.test_editing_tools import facts
from toolhaft import LocalWorkspace, ToolExecutionError, ToolKind, tool_spec, use_workspace
from toolhaft.tools import glob, todo
from toolhaft.workspace.conversation import use_conversation


@pytest.fixture(autouse=True)
def root(tmp_path: Path) -> Iterator[Path]:
    with use_workspace(tmp_path):
        yield tmp_path


def item(content: str, status: str = "pending") -> Any:
    return {"content": content, "status": status}


async def test_a_list_is_shown_as_a_checklist() -> None:
    written = await todo("write", [item("Read", "completed"), item("Mend\nit ", "in_progress"), item("Test")])

    assert written == "1 of 3 done.\n1. [x] Read\n2. [>] Mend it\n3. [ ] Test"
    assert await todo("read") == written
    assert facts(written)["items"][1] == {"content": "Mend\nit", "status": "in_progress"}
    assert facts(written)["in_progress"] == 1


async def test_there_is_an_empty_list_before_the_first_and_after_clear() -> None:
    before = await todo("read")
    await todo("write", [item("Read")])
    cleared = await todo("clear")

    assert before == cleared == await todo("read") == "The todo list is empty."


@pytest.mark.parametrize(
    ("items", "message"),
    [
        (None, "needs items"),
        ([item("a", "in_progress"), item("b"), item("c", "in_progress")], "Items 1, 3 are all in_progress"),
        ([item("a"), item("  ")], r"items\[1\]\['content'\]: String should have at least 1 character"),
        ([item("a", "done")], r"items\[0\]\['status'\]: Input should be 'pending'"),
        ([item("a" * 501)], "at most 500 characters"),
        ([item("a")] * 101, "101 items, and 100 are allowed"),
    ],
)
async def test_a_list_that_is_none_is_refused_and_the_old_one_stays(items: Any, message: str) -> None:
    await todo("write", [item("old")])

    with pytest.raises(ModelRetry, match=message):
        await todo("write", items)

    assert "old" in await todo("read")


async def test_items_go_with_write_only() -> None:
    with pytest.raises(ModelRetry, match="action='write'"):
        await todo("read", [item("a")])
    assert await todo("read", []) == "The todo list is empty."


async def test_each_conversation_has_its_own_list(root: Path) -> None:
    ids = ["default", "Default", "../../etc", "a b", "a-b", "x" * 100, "", "ü"]
    for number, conversation in enumerate(ids):
        with use_conversation(conversation):
            await todo("write", [item(f"step {number}")])

    for number, conversation in enumerate(ids):
        with use_conversation(conversation):
            assert f"step {number}" in await todo("read")
    assert len(list((root / ".toolhaft/todo").glob("*.json"))) == len(ids)
    assert [path.name for path in root.iterdir()] == [".toolhaft"]


async def test_concurrent_writers_leave_one_whole_list() -> None:
    lists = [[item(f"{writer}.{step}") for step in range(20)] for writer in range(8)]

    await asyncio.gather(*(todo("write", one) for one in lists))

    assert facts(await todo("read"))["items"] in lists


async def test_searches_do_not_see_it(root: Path) -> None:
    await todo("write", [item("needle")])

    assert ".json" not in await glob("**/*", include_hidden=True)


async def test_a_list_that_cannot_be_read_is_not_overwritten(root: Path) -> None:
    await todo("write", [item("old")])
    file = root / ".toolhaft/todo/default.json"
    file.write_text("[{")

    for call in (todo("read"), todo("write", [item("new")]), todo("clear")):
        with pytest.raises(ToolExecutionError, match=r"'\.toolhaft/todo/default\.json' cannot be read"):
            await call
    assert file.read_text() == "[{"


async def test_it_works_in_any_workspace(root: Path) -> None:
    with use_workspace(WrapperWorkspace(LocalWorkspace(root))):
        await todo("write", [item("far away")])

        assert "far away" in await todo("read")
        assert await todo("clear") == "The todo list is empty."


def test_it_keeps_things_and_asks_nobody() -> None:
    spec = tool_spec(todo)

    assert (spec.kind, spec.sensitive) == (ToolKind.MEMORY, False)
