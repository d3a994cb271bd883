"""Decisions carried out without an agent and without a store."""

import pytest
from pydantic_ai import BinaryContent

from toolhaft import Executor, Registry, ToolExecutionError, base_tool
from toolhaft.approvals import ApprovalRecord, MemoryStore
from toolhaft.approvals.desk import Desk
from toolhaft.attach.model_calls import ModelCall
from toolhaft.attach.resolution import resolve_approved, resolve_rejected


@base_tool(kind="network")
async def refund(amount: int, to: str = "Ann") -> dict[str, object]:
    """Give money back."""
    if amount > 1_000:
        raise ToolExecutionError("refund", "There is not that much.")
    return {"amount": amount, "to": to}


@base_tool(kind="network")
async def picture() -> list[str | BinaryContent]:
    """Draw."""
    return ["a dot", BinaryContent(b"1", media_type="image/png")]


@pytest.fixture
def executor() -> Executor:
    registry = Registry()
    registry.register(refund)
    registry.register(picture)
    return Executor(registry)


async def test_an_approved_call_runs_with_its_arguments(executor: Executor) -> None:
    done = await resolve_approved(ModelCall("c1", "refund", '{"amount": 5}'), executor)

    assert (done.id, done.result_json, done.error) == ("c1", {"amount": 5, "to": "Ann"}, None)
    assert (done.arguments, done.edited, done.rejected) == ({"amount": 5}, False, False)


async def test_overrides_are_laid_over_a_copy(executor: Executor) -> None:
    record = ApprovalRecord(conversation_id="talk", call_id="c1", tool="refund", arguments={"amount": 5, "to": "Bob"})

    done = await resolve_approved(record, executor, {"amount": 3})

    assert (done.arguments, done.edited) == ({"amount": 3, "to": "Bob"}, True)
    assert record.arguments == {"amount": 5, "to": "Bob"}


async def test_several_parts_are_kept(executor: Executor) -> None:
    done = await resolve_approved(ModelCall("c1", "picture", {}), executor)

    assert done.parts is not None
    assert [isinstance(part, str) for part in done.parts] == [True, False]
    assert done.result_json is None


@pytest.mark.parametrize(
    ("name", "args", "error"),
    [
        ("refund", {"amount": 2_000}, "There is not that much"),
        ("refund", {"amount": "x"}, "Invalid arguments"),
        ("refnd", {}, "Unknown tool"),
    ],
)
async def test_what_goes_wrong_is_an_error_and_nothing_is_raised(
    executor: Executor, name: str, args: dict[str, object], error: str
) -> None:
    done = await resolve_approved(ModelCall("c1", name, args), executor)

    assert error in str(done.error)
    assert done.result == ""


async def test_arguments_that_are_no_mapping_are_the_callers_mistake(executor: Executor) -> None:
    with pytest.raises(TypeError, match="Give a mapping"):
        await resolve_approved(ModelCall("c1", "refund", [1]), executor)


def test_a_rejected_call_has_its_reason() -> None:
    assert resolve_rejected("c1", "no").rejection_reason == "no"


async def test_an_executor_with_a_store_files_what_waits_and_runs_it_once_approved() -> None:
    registry = Registry()
    registry.register(refund)
    async with MemoryStore() as store:
        executor = Executor(registry, approvals=store)
        ids = {"call_id": "c1", "conversation_id": "talk"}

        waiting = await executor.execute("refund", {"amount": 5}, **ids)
        early = await executor.execute("refund", {"amount": 5}, approved=True, **ids)
        again = await executor.execute("refund", {"amount": 5}, **ids)
        await Desk(store, registry).approve("c1", by="ann")
        other = await executor.execute("refund", {"amount": 6}, approved=True, **ids)
        done = await executor.execute("refund", {"amount": 5}, approved=True, **ids)
        twice = await executor.execute("refund", {"amount": 5}, approved=True, **ids)

    assert (waiting.success, waiting.metadata["pending"]) == (False, "c1")
    assert early.metadata["rule"] == "approvals"
    assert again.metadata["rule"] == "filing"
    assert other.metadata["rule"] == "digest"
    assert done.success
    assert not twice.success
