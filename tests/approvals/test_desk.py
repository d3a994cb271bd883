"""People decide, and runs go on: once, with what was decided, across processes and crashes."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError
from pydantic_ai import Agent, DeferredToolRequests, DeferredToolResults, ToolApproved
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart
from pydantic_ai.models.function import AgentInfo, FunctionModel

from tests.attach.agents import answers
from toolhaft import Registry, Toolkit, ToolNotFoundError, ToolText, base_tool
from toolhaft.approvals import AlreadyDecided, ApprovalStore, CallKey, MemoryStore, PauseTaken, State
from toolhaft.approvals.desk import Desk, NothingWaits, UnknownCall
from toolhaft.approvals.sqlite import SqliteStore

paid: list[int] = []


async def _preview(amount: int) -> ToolText:
    return ToolText(f"would pay {amount}")


@base_tool(kind="network", preview=_preview)
async def pay(amount: int) -> str:
    """Pay so much."""
    paid.append(amount)
    return f"paid {amount}"


@pytest.fixture(autouse=True)
def nothing_paid() -> None:
    paid.clear()


@pytest.fixture(params=["memory", "sqlite"])
async def store(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[ApprovalStore]:
    made = MemoryStore() if request.param == "memory" else SqliteStore(tmp_path / "approvals.db")
    async with made:
        yield made


@pytest.fixture
def desk(store: ApprovalStore) -> Desk:
    registry = Registry()
    registry.register(pay)
    return Desk(store, registry)


def agent_of(store: ApprovalStore, folder: Path, *amounts: int) -> Agent[None, Any]:
    """An agent that pays each amount, in one step, and then answers 'done'."""

    def respond(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        if len(messages) > 1:
            return ModelResponse(parts=[TextPart("done")])
        calls = [ToolCallPart("pay", {"amount": amount}, tool_call_id=f"c{n}") for n, amount in enumerate(amounts, 1)]
        return ModelResponse(parts=calls)

    kit = Toolkit(folder, tools=[pay, "read_file"], approvals=store)
    return Agent(FunctionModel(respond), capabilities=[kit], output_type=[str, DeferredToolRequests])


async def paused(store: ApprovalStore, folder: Path, *amounts: int) -> Agent[None, Any]:
    """An agent whose run waits in the conversation `talk`."""
    agent = agent_of(store, folder, *amounts)
    result = await agent.run("Pay.", conversation_id="talk")
    assert isinstance(result.output, DeferredToolRequests)
    return agent


async def test_a_pause_is_filed_with_its_calls_and_what_they_would_do(
    store: ApprovalStore, desk: Desk, tmp_path: Path
) -> None:
    await paused(store, tmp_path, 100)

    [record] = await desk.pending()

    assert (record.key, record.tool, record.arguments) == (CallKey("talk", "c1"), "pay", {"amount": 100})
    assert (record.reason, record.message) == ("sensitive", "'pay' is a network tool")
    assert record.preview == {"preview": "would pay 100"}
    assert paid == []


async def test_an_approved_call_runs_once_and_the_run_goes_on(store: ApprovalStore, desk: Desk, tmp_path: Path) -> None:
    agent = await paused(store, tmp_path, 100)
    await desk.approve("c1", by="ann")

    result = await desk.resume(agent, "talk")

    assert (result.output, paid) == ("done", [100])
    record = await store.get(CallKey("talk", "c1"))
    assert record is not None
    assert (record.state, record.result["return_value"]) == (State.DONE, "paid 100")
    with pytest.raises(NothingWaits):
        await desk.resume(agent, "talk")


async def test_edits_are_merged_validated_and_told_to_the_model(
    store: ApprovalStore, desk: Desk, tmp_path: Path
) -> None:
    agent = await paused(store, tmp_path, 100)

    with pytest.raises(ValidationError):
        await desk.approve("c1", {"amount": "much"}, by="ann")
    with pytest.raises(ValueError, match="'pay' has no parameter 'amnt'. It has amount."):
        await desk.approve("c1", {"amnt": 1}, by="ann")
    await desk.approve("c1", {"amount": "50"}, by="ann")
    result = await desk.resume(agent, "talk")

    assert paid == [50]
    assert (
        str(answers(result.all_messages())[-1].content)
        == "paid 50\n\nann approved this with edited arguments: amount=50"
    )
    assert not (await store.verify()).faults


async def test_a_rejected_call_gives_the_model_the_reason(store: ApprovalStore, desk: Desk, tmp_path: Path) -> None:
    agent = await paused(store, tmp_path, 100, 200)
    await desk.reject("c1", "too much", by="ann")
    await desk.reject("c2", by="ann")

    result = await desk.resume(agent, "talk")

    assert [answer.content for answer in answers(result.all_messages())] == [
        "Rejected: too much",
        "Rejected. Nothing has run.",
    ]
    assert paid == []


async def test_of_two_who_decide_one_does_and_the_other_learns_what(
    store: ApprovalStore, desk: Desk, tmp_path: Path
) -> None:
    await paused(store, tmp_path, 100)

    decided = await asyncio.gather(
        desk.approve("c1", by="ann", conversation_id="talk"),
        desk.reject("c1", by="bob", conversation_id="talk"),
        return_exceptions=True,
    )

    [loser] = [one for one in decided if isinstance(one, AlreadyDecided)]
    assert loser.decision is not None
    assert loser.decision.by in ("ann", "bob")


async def test_resuming_waits_until_every_call_is_decided(store: ApprovalStore, desk: Desk, tmp_path: Path) -> None:
    agent = await paused(store, tmp_path, 100, 200)
    await desk.approve("c1", by="ann")
    with pytest.raises(TimeoutError):
        await desk.resume(agent, "talk", timeout_seconds=0.2)

    waiting = asyncio.create_task(desk.resume(agent, "talk"))
    await desk.approve("c2", by="ann")

    assert (await waiting).output == "done"
    assert sorted(paid) == [100, 200]


async def test_of_two_who_resume_one_continues_the_run(store: ApprovalStore, desk: Desk, tmp_path: Path) -> None:
    agent = await paused(store, tmp_path, 100)
    await desk.approve("c1", by="ann")

    done = await asyncio.gather(*(desk.resume(agent, "talk") for _ in range(5)), return_exceptions=True)

    assert sum(not isinstance(one, Exception) for one in done) == 1
    assert all(isinstance(one, PauseTaken | NothingWaits) for one in done if isinstance(one, Exception))
    assert paid == [100]


async def test_what_runs_is_what_was_approved(store: ApprovalStore, desk: Desk, tmp_path: Path) -> None:
    agent = agent_of(store, tmp_path, 100)
    result = await agent.run("Pay.", conversation_id="talk")
    await desk.approve("c1", by="ann")

    other = DeferredToolResults(approvals={"c1": ToolApproved(override_args={"amount": 50})})
    forged = await agent.run(message_history=result.all_messages(), deferred_tool_results=other, conversation_id="talk")

    assert "not what was approved" in str(answers(forged.all_messages())[-1].content)
    assert paid == []


async def test_an_approval_that_is_in_no_store_runs_nothing(store: ApprovalStore, tmp_path: Path) -> None:
    agent = agent_of(store, tmp_path, 100)
    result = await agent.run("Pay.", conversation_id="talk")

    inline = DeferredToolResults(approvals={"c1": ToolApproved()})
    done = await agent.run(message_history=result.all_messages(), deferred_tool_results=inline, conversation_id="talk")

    assert "Nothing has run." in str(answers(done.all_messages())[-1].content)
    assert paid == []


async def test_a_call_that_was_done_before_the_model_saw_it_is_answered_from_its_record(
    store: ApprovalStore, desk: Desk, tmp_path: Path
) -> None:
    agent = await paused(store, tmp_path, 100)
    await desk.approve("c1", by="ann")
    record = await store.get(CallKey("talk", "c1"))
    assert record is not None
    await store.begin(record.key, digest=record.digest, owner="one that was killed")
    await store.finish(record.key, owner="one that was killed", result={"return_value": "paid 100", "metadata": None})

    result = await desk.resume(agent, "talk")

    assert answers(result.all_messages())[-1].content == "paid 100"
    assert paid == []


async def test_a_call_that_was_interrupted_waits_for_a_person(store: ApprovalStore, desk: Desk, tmp_path: Path) -> None:
    agent = await paused(store, tmp_path, 100, 200, 300)
    for call in ("c1", "c2", "c3"):
        record = await desk.approve(call, by="ann")
        await store.begin(record.key, digest=record.digest, owner="killed", lease_seconds=0.01)
    await asyncio.sleep(0.05)

    assert [record.state for record in await desk.pending("talk")] == [State.UNKNOWN] * 3
    await desk.approve("c1", by="ann", conversation_id="talk")
    await desk.reconcile("c2", by="ann", result="paid 200, says the bank")
    await desk.reconcile("c3", by="ann", failed="interrupted; the bank knows nothing of it")
    result = await desk.resume(agent, "talk")

    assert paid == [100]
    contents = {answer.tool_call_id: answer.content for answer in answers(result.all_messages())}
    assert contents == {
        "c1": "paid 100",
        "c2": "paid 200, says the bank",
        "c3": "interrupted; the bank knows nothing of it",
    }


async def test_a_run_that_could_not_go_on_waits_again(store: ApprovalStore, desk: Desk, tmp_path: Path) -> None:
    agent = await paused(store, tmp_path, 100)
    await desk.approve("c1", by="ann")

    def broken(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        raise ConnectionError("no model today")

    with pytest.raises(ConnectionError):
        await desk.resume(agent, "talk", model=FunctionModel(broken))
    result = await desk.resume(agent, "talk")

    assert (result.output, paid) == ("done", [100])


async def test_what_the_desk_cannot_find_is_an_error_and_the_record_stays(
    store: ApprovalStore, desk: Desk, tmp_path: Path
) -> None:
    await paused(store, tmp_path, 100)
    empty = Desk(store, Registry())

    with pytest.raises(UnknownCall, match="No one call 'c9' waits: there is none."):
        await desk.approve("c9", by="ann")
    with pytest.raises(UnknownCall):
        await desk.reject("c1", by="ann", conversation_id="other")
    with pytest.raises(ToolNotFoundError):
        await empty.approve("c1", by="ann")
    assert [record.state for record in await desk.pending()] == [State.PENDING]


async def test_an_id_that_several_conversations_have_needs_its_conversation(
    store: ApprovalStore, desk: Desk, tmp_path: Path
) -> None:
    agent = await paused(store, tmp_path, 100)
    await agent.run("Pay.", conversation_id="other")

    with pytest.raises(UnknownCall, match="2 conversations have one"):
        await desk.approve("c1", by="ann")
    assert (await desk.approve("c1", by="ann", conversation_id="other")).conversation_id == "other"


async def test_an_expired_call_reaches_the_model_as_that(tmp_path: Path) -> None:
    async with MemoryStore(ttl_seconds=0.05) as store:
        agent = await paused(store, tmp_path, 100)
        await asyncio.sleep(0.1)

        result = await Desk(store).resume(agent, "talk")

    assert "expired" in str(answers(result.all_messages())[-1].content)
    assert paid == []


async def test_calls_that_need_no_approval_touch_no_store(tmp_path: Path) -> None:
    class Untouched(MemoryStore):
        def __getattribute__(self, name: str) -> Any:
            if name in ("add", "get", "begin", "file"):
                raise AssertionError(name)
            return super().__getattribute__(name)

    (tmp_path / "a.txt").write_text("text")

    def respond(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        if len(messages) > 1:
            return ModelResponse(parts=[TextPart("done")])
        return ModelResponse(parts=[ToolCallPart("read_file", {"filepath": "a.txt"})])

    kit = Toolkit(tmp_path, tools=["read_file"], approvals=Untouched())

    assert (await Agent(FunctionModel(respond), capabilities=[kit]).run("Read.")).output == "done"


def test_a_toolkit_has_one_who_decides(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="approvals and answerer"):
        Toolkit(tmp_path, approvals=MemoryStore(), answerer=lambda *asked: True)
