"""The toolkit under Temporal, on a real server: a call is judged in its activity, and nothing is touched elsewhere."""

import asyncio
import socket
import subprocess
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from pydantic_ai import Agent, DeferredToolRequests, DeferredToolResults, ToolApproved, ToolDenied
from pydantic_ai.durable_exec.temporal import AgentPlugin, PydanticAIPlugin, TemporalDurability
from pydantic_ai.exceptions import RunCancelled
from pydantic_ai.toolsets import FunctionToolset
from temporalio import workflow
from temporalio.client import Client, WorkflowHandle
from temporalio.worker import Worker
from temporalio.worker.workflow_sandbox import SandboxedWorkflowRunner, SandboxRestrictions

from tests.attach.agents import answers, calling
from tests.attach.attempts import READS, WRITES, kept, placed, rails, rigged
from toolhaft import Toolkit
from toolhaft.approvals import State
from toolhaft.approvals.desk import Desk
from toolhaft.approvals.sqlite import SqliteStore
from toolhaft.pipeline.confirmation import Abort
from toolhaft.pipeline.guardrails import Guardrails
from toolhaft.pipeline.hooks import Block, Hook, Hooks

WRITE = ("write_file", {"filepath": "new.txt", "content": "text\n"})
PATIENCE_SECONDS = 60
agents: dict[str, Agent[None, Any]] = {}
"""The agents of the workflows under test, by the workflow's name: an agent is no argument of one."""

Ended = list[tuple[str, str]]
Talk = Callable[..., AbstractAsyncContextManager[WorkflowHandle[Any, Ended]]]


@workflow.defn
class Conversation:
    """A run of an agent, and one more after each decision."""

    def __init__(self) -> None:
        self.asked: list[dict[str, Any]] = []
        self.decision: dict[str, Any] | None = None

    @workflow.run
    async def run(self, name: str) -> Ended:
        try:
            result = await agents[name].run("Go.")
            while isinstance(result.output, DeferredToolRequests):
                self.asked = list(result.output.metadata.values())
                await workflow.wait_condition(lambda: self.decision is not None)
                [request] = result.output.approvals
                results = DeferredToolResults(approvals={request.tool_call_id: self.decided()})
                messages = result.all_messages()
                result = await agents[name].run(message_history=messages, deferred_tool_results=results)
        except RunCancelled:
            return [("cancelled", "")]
        return [(answer.outcome, answer.model_response_str()) for answer in answers(result.all_messages())]

    def decided(self) -> ToolApproved | ToolDenied:
        decision, self.decision, self.asked = self.decision or {}, None, []
        return ToolDenied(decision["deny"]) if "deny" in decision else ToolApproved(override_args=decision.get("args"))

    @workflow.signal
    def decide(self, decision: dict[str, Any]) -> None:
        self.decision = decision

    @workflow.query
    def questions(self) -> list[dict[str, Any]]:
        return self.asked


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a server that lives as long as the tests of this module."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    program = Path(sys.executable).with_name("temporal")
    command = [program, "server", "start-dev", "--headless", "--port", str(port), "--log-level", "never"]
    with (tmp_path_factory.mktemp("temporal") / "log").open("wb") as log:
        process = subprocess.Popen(command, stdout=log, stderr=log)
    yield f"127.0.0.1:{port}"
    process.kill()
    process.wait()


@pytest.fixture
async def client(server: str) -> Client:
    """A client of the server, once it is up; what the last try says where it does not come up."""
    for _ in range(PATIENCE_SECONDS * 20):
        try:
            return await Client.connect(server, plugins=[PydanticAIPlugin()])
        except RuntimeError:
            await asyncio.sleep(0.05)
    return await Client.connect(server, plugins=[PydanticAIPlugin()])


@pytest.fixture
def talk(client: Client, project: Path, request: pytest.FixtureRequest) -> Talk:
    """Starts a workflow in which an agent makes the given calls in one step, with a worker that does it."""
    name = request.node.name
    restrictions = SandboxRestrictions.default.with_passthrough_modules("toolhaft", "tests")

    @asynccontextmanager
    async def start(
        *calls: Any, root: Path = project, pauses: bool = True, toolsets: Any = (), **settings: Any
    ) -> AsyncIterator[WorkflowHandle[Any, Ended]]:
        agents[name] = agent = Agent(
            calling(calls),
            name=name,
            output_type=[str, DeferredToolRequests] if pauses else str,
            toolsets=toolsets,
            capabilities=[Toolkit(root, **settings), TemporalDurability()],
        )
        async with Worker(
            client,
            task_queue=name,
            workflows=[Conversation],
            plugins=[AgentPlugin(agent)],
            workflow_runner=SandboxedWorkflowRunner(restrictions=restrictions),
        ):
            yield await client.start_workflow(Conversation.run, name, id=name, task_queue=name)

    return start


async def ended(handle: WorkflowHandle[Any, Ended]) -> Ended:
    return [(outcome, text) for outcome, text in await asyncio.wait_for(handle.result(), PATIENCE_SECONDS)]


async def question(handle: WorkflowHandle[Any, Ended]) -> dict[str, Any]:
    """What the paused workflow asks."""
    async with asyncio.timeout(PATIENCE_SECONDS):
        while not (asked := await handle.query(Conversation.questions)):
            await asyncio.sleep(0.02)
    return asked[0]


class TestPauses:
    """`ApprovalRequired` comes back from the activity, with its metadata, and the decision goes there."""

    async def test_an_approved_call_runs(self, talk: Talk, project: Path) -> None:
        async with talk(WRITE) as handle:
            asked = await question(handle)
            assert not (project / "new.txt").exists()
            await handle.signal(Conversation.decide, {})
            [(outcome, _)] = await ended(handle)

        assert (asked["reason"], asked["diff"][0]["path"]) == ("sensitive", "new.txt")
        assert outcome == "success"
        assert (project / "new.txt").read_text() == "text\n"

    async def test_a_refused_call_does_not(self, talk: Talk, project: Path) -> None:
        async with talk(WRITE) as handle:
            await question(handle)
            await handle.signal(Conversation.decide, {"deny": "Not now."})
            assert await ended(handle) == [("denied", "Not now.")]

        assert not (project / "new.txt").exists()

    async def test_an_approved_call_with_other_arguments_is_judged_again(self, talk: Talk, project: Path) -> None:
        async with talk(WRITE) as handle:
            await question(handle)
            await handle.signal(Conversation.decide, {"args": {"filepath": ".env", "content": "x"}})
            [(outcome, text)] = await ended(handle)

        assert outcome == "failed"
        assert "sensitive file" in text
        assert not (project / ".env").exists()


class TestWithAStore:
    """A pause is filed once, outside the code that is replayed; then only what the store says counts."""

    async def test_what_is_approved_there_runs_and_what_is_only_said_here_does_not(
        self, talk: Talk, project: Path, tmp_path: Path
    ) -> None:
        async with SqliteStore(tmp_path / "approvals.db") as store:
            async with talk(WRITE, approvals=store) as handle:
                await question(handle)
                [record] = await store.list()
                await Desk(store).approve(record.call_id, by="ann")
                await handle.signal(Conversation.decide, {"args": record.arguments})
                [(approved, _)] = await ended(handle)
            done = await store.get(record.key)

        assert (record.tool, record.preview["diff"][0]["path"]) == ("write_file", "new.txt")
        assert approved == "success"
        assert done is not None
        assert done.state is State.DONE

    async def test_an_approval_that_is_in_no_store_runs_nothing(
        self, talk: Talk, project: Path, tmp_path: Path
    ) -> None:
        async with SqliteStore(tmp_path / "approvals.db") as store, talk(WRITE, approvals=store) as handle:
            await question(handle)
            await handle.signal(Conversation.decide, {})
            [(outcome, text)] = await ended(handle)

        assert outcome == "failed"
        assert "Nothing has run." in text
        assert not (project / "new.txt").exists()


class TestRefusals:
    async def test_the_attempts_of_the_table_end_as_they_do_without_temporal(self, talk: Talk, tmp_path: Path) -> None:
        root = rigged(tmp_path / "rigged")
        calls = [placed(attempt, root) for attempt in (*READS, *WRITES)]
        settings: Any = {"tools": "all", "mode": "yolo", "guardrails": rails(), "allow_delete": True}

        async with talk(*calls, root=root, **settings) as handle:
            under_temporal = await ended(handle)

        result = await Agent(calling(calls), capabilities=[Toolkit(root, **settings)]).run("Go.")
        assert under_temporal == [(a.outcome, a.model_response_str()) for a in answers(result.all_messages())]
        assert len(under_temporal) == len(calls)
        assert kept(root)

    async def test_without_anybody_to_ask(self, talk: Talk, project: Path) -> None:
        async with talk(WRITE, pauses=False) as handle:
            [(outcome, text)] = await ended(handle)

        assert outcome == "failed"
        assert "nobody to ask" in text
        assert not (project / "new.txt").exists()

    async def test_by_a_hook(self, talk: Talk, project: Path) -> None:
        def no(told: dict[str, Any]) -> None:
            raise Block("not here")

        async with talk(WRITE, mode="yolo", hooks=Hooks([Hook("pre_tool_use", "no", function=no)])) as handle:
            [(outcome, text)] = await ended(handle)

        assert outcome == "failed"
        assert "Blocked by hook no: not here" in text
        assert not (project / "new.txt").exists()

    async def test_an_end_that_somebody_asked_for_is_not_tried_again(self, talk: Talk, project: Path) -> None:
        asked: list[str] = []

        def answer(tool: str, *_: Any) -> Abort:
            asked.append(tool)
            return Abort()

        async with talk(WRITE, answerer=answer) as handle:
            [(outcome, _)] = await ended(handle)

        assert asked == ["write_file"]
        assert outcome != "success"
        assert not (project / "new.txt").exists()

    async def test_an_end_that_somebody_asked_for_ends_the_run(self, talk: Talk) -> None:
        async with talk(WRITE, answerer=lambda *_: Abort()) as handle:
            assert await ended(handle) == [("cancelled", "")]


async def test_no_file_and_no_process_is_touched_by_the_workflow_itself(talk: Talk, project: Path) -> None:
    touched: list[tuple[str, Any]] = []
    watching = True

    def watch(event: str, args: tuple[Any, ...]) -> None:
        if watching and event.startswith(("open", "os.", "subprocess.", "socket.")) and workflow.in_workflow():
            touched.append((event, args))

    sys.addaudithook(watch)  # it cannot be taken away again, so it is switched off
    hooks = Hooks([Hook("pre_tool_use", "look", command="true"), Hook("post_tool_use", "log", command="true")])
    calls = [("read_file", {"filepath": "README.md"}), ("bash", {"command": "cat README.md"}), WRITE]

    async with talk(*calls, mode="yolo", guardrails=rails(), hooks=hooks) as handle:
        outcomes = [outcome for outcome, _ in await ended(handle)]
    watching = False

    assert outcomes == ["success"] * 3
    assert [one for one in touched if not str(one[1][0]).endswith((".py", ".pyc"))] == []


def deploy(path: str) -> str:
    return f"deployed {path}"


class TestWhatComesAnotherWay:
    async def test_a_tool_of_another_toolset_pauses_too(self, talk: Talk) -> None:
        toolsets = [FunctionToolset([deploy], id="mine")]

        async with talk(("deploy", {"path": "moon"}), toolsets=toolsets) as handle:
            asked = await question(handle)
            await handle.signal(Conversation.decide, {})
            told = await ended(handle)

        assert asked["reason"] == "sensitive"
        assert told == [("success", "deployed moon")]

    async def test_quality_gates_are_run(self, talk: Talk) -> None:
        rules = Guardrails(quality_gates=[{"name": "passes", "command": "true"}])

        async with talk(("read_file", {"filepath": "README.md"}), guardrails=rules) as handle:
            [(outcome, _)] = await ended(handle)

        assert outcome == "success"
