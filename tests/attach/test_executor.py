"""Calls without a model."""

import asyncio
from pathlib import Path

import pytest
from pydantic import BaseModel
from pydantic_ai import ApprovalRequired, BinaryContent, CallDeferred, ModelRetry

from toolhaft import Registry, ToolExecutionError, ToolNotFoundError, ToolText, base_tool
from toolhaft.attach.executor import Executor
from toolhaft.attach.model_calls import ModelCall
from toolhaft.pipeline.pipeline import Pipeline


@base_tool(kind="read")
async def ask(what: str, times: int = 1) -> str:
    """Do what is asked, or fail as asked."""
    match what:
        case "retry":
            raise ModelRetry("Ask for something else.")
        case "fail":
            raise ToolExecutionError("ask", "It broke.")
        case "bug":
            raise ZeroDivisionError("by zero")
        case "approval":
            raise ApprovalRequired({"reason": "costly"})
        case "deferred":
            raise CallDeferred({"job": 7})
        case "facts":
            return ToolText("text", truncated=True, exit_code=3, total=9)
        case _:
            return what * times


@base_tool(kind="read")
async def picture() -> list[str | BinaryContent]:
    """Show a picture."""
    return [ToolText("a dot", width=1), BinaryContent(b"12345", media_type="image/png")]


class Point(BaseModel):
    x: int
    y: int


@base_tool(kind="read")
async def origin() -> Point:
    """Where it begins."""
    return Point(x=0, y=0)


@pytest.fixture
def executor() -> Executor:
    registry = Registry()
    for tool in (ask, picture, origin):
        registry.register(tool)
    return Executor(registry)


async def test_success_fills_output_and_not_error(executor: Executor) -> None:
    result = await executor.execute("ask", {"what": "ha", "times": 2})

    assert (result.tool_name, result.success, result.output, result.error) == ("ask", True, "haha", None)


async def test_arguments_may_be_json_text(executor: Executor) -> None:
    result = await executor.execute("ask", '{"what": "ha", "times": 3}')

    assert result.output == "hahaha"


async def test_facts_become_the_fields_that_are_named_so_and_metadata(executor: Executor) -> None:
    result = await executor.execute("ask", {"what": "facts"})

    assert (result.truncated, result.exit_code, result.metadata) == (True, 3, {"total": 9})


@pytest.mark.parametrize(
    ("what", "error", "metadata"),
    [
        ("retry", "Ask for something else.", {"retry": True}),
        ("fail", "Tool 'ask' failed: It broke.", {}),
        ("bug", "Tool 'ask' failed: ", {}),
    ],
)
async def test_a_failing_tool_is_a_failed_result(executor: Executor, what: str, error: str, metadata: dict) -> None:
    result = await executor.execute("ask", {"what": what})

    assert not result.success
    assert not result.output
    assert result.error is not None
    assert result.error.startswith(error)
    assert result.metadata == metadata


@pytest.mark.parametrize(("what", "extra"), [("approval", {"reason": "costly"}), ("deferred", {"job": 7})])
async def test_a_pause_is_pending_under_its_call_id(executor: Executor, what: str, extra: dict) -> None:
    result = await executor.execute("ask", {"what": what}, call_id="c1")

    assert not result.success
    assert result.metadata == {"pending": "c1", **extra}


@pytest.mark.parametrize("args", [{"what": 5}, {}, {"what": "x", "bogus": 1}, "{not json", '["a"]'])
async def test_wrong_arguments_name_the_mistake(executor: Executor, args: dict | str) -> None:
    result = await executor.execute("ask", args)

    assert not result.success
    assert result.error is not None
    assert result.error.startswith("Invalid arguments: ")
    assert result.metadata["retry"] is True


async def test_an_unknown_tool_is_the_callers_error(executor: Executor) -> None:
    with pytest.raises(ToolNotFoundError, match="ask"):
        await executor.execute("aks", {})


async def test_parts_that_are_not_text_are_named(executor: Executor) -> None:
    result = await executor.execute("picture", {})

    assert result.output == "a dot\n[image/png, 5 bytes]"
    assert result.metadata == {"width": 1}


async def test_an_answer_that_is_data_is_json_text(executor: Executor) -> None:
    result = await executor.execute("origin", {})

    assert result.output == '{"x":0,"y":0}'


async def test_a_call_may_name_its_own_workspace(project: Path, tmp_path: Path) -> None:
    executor = Executor(Registry().register_all(), Pipeline(mode="yolo"), workspace=tmp_path)

    elsewhere = await executor.execute("read_file", {"filepath": "README.md"})
    there = await executor.execute("read_file", {"filepath": "README.md"}, workspace=project)

    assert not elsewhere.success
    assert there.success


async def test_a_preview_tells_and_does_nothing(project: Path) -> None:
    executor = Executor(Registry().register_all(), Pipeline(mode="yolo"), workspace=project)
    args = {"filepath": "README.md", "old_str": "adds", "new_str": "sums"}

    preview = await executor.preview("edit_file", args)
    done = await executor.execute("edit_file", args)

    assert preview.output.startswith("Preview, nothing has changed yet.")
    assert preview.diff == done.diff
    assert done.diff is not None
    assert done.diff[0].path == "README.md"


async def test_a_preview_of_what_cannot_be_says_why(project: Path) -> None:
    executor = Executor(Registry().register_all(), Pipeline(mode="yolo"), workspace=project)

    wrong = await executor.preview("edit_file", {"filepath": "README.md"})
    missing = await executor.preview("delete_file", {"filepath": "README.md"})
    without = await executor.preview("list_dir", {})

    assert wrong.error is not None
    assert wrong.error.startswith("Invalid arguments: ")
    assert missing.error is not None
    assert "allow" in missing.error
    assert without.error is not None
    assert "has no preview" in without.error


async def test_many_calls_have_one_result_each_in_their_order_readers_side_by_side(executor: Executor) -> None:
    calls = [
        ModelCall("1", "ask", {"what": "a"}),
        ModelCall("2", "no_such_tool", {}),
        ModelCall("3", "ask", '{"what": "b"}'),
    ]

    results = await executor.execute_many(calls)

    assert [result.output for result in results] == ["a", "", "b"]
    assert str(results[1].error).startswith("Unknown tool: no tool is named 'no_such_tool'")


async def test_a_call_may_have_a_limit_of_time(tmp_path: Path) -> None:
    @base_tool(kind="read")
    async def wait() -> str:
        """Wait."""
        await asyncio.sleep(60)
        return "waited"

    registry = Registry()
    registry.register(wait)

    result = await Executor(registry).execute("wait", {}, timeout_seconds=0.01)

    assert (result.success, result.metadata) == (False, {"timeout": True})
    assert "longer than the 0.01 seconds" in str(result.error)


async def test_a_timeout_of_the_tools_own_is_its_failure(tmp_path: Path) -> None:
    @base_tool(kind="read")
    async def dial() -> str:
        """Dial."""
        raise TimeoutError("no answer")

    registry = Registry()
    registry.register(dial)

    result = await Executor(registry).execute("dial", {}, timeout_seconds=5)

    assert "no answer" in str(result.error)


async def test_cwd_is_where_a_command_starts_that_names_no_folder(project: Path) -> None:
    (project / "sub").mkdir()
    executor = Executor(Registry().register_all(), workspace=project)

    results = [
        await executor.execute("bash", {"command": "pwd"}, cwd="sub"),
        await executor.execute("bash", '{"command": "pwd", "cwd": "."}', cwd="sub"),
        await executor.execute("read_file", {"filepath": "README.md"}, cwd="sub"),
        await executor.execute("bash", "no json", cwd="sub"),
        await executor.execute("bash", "[1]", cwd="sub"),
    ]

    assert [result.success for result in results] == [True, True, True, False, False]
    assert results[0].output.splitlines()[0].endswith("/sub")
    assert not results[1].output.splitlines()[0].endswith("/sub")


async def test_a_refusal_says_which_stage_and_rule(project: Path) -> None:
    executor = Executor(Registry().register_all(), workspace=project)

    result = await executor.execute("write_file", {"filepath": "a.txt", "content": "x"})

    assert not result.success
    assert result.metadata == {"stage": "confirmation", "rule": "confirmation"}
