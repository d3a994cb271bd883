"""Several processes, and some that are killed: one continues a run, one runs a call, nothing runs twice."""

import asyncio
import os
import subprocess
import sys
from pathlib import Path

import pytest

from toolhaft.approvals import CallKey, State
from toolhaft.approvals.desk import Desk
from toolhaft.approvals.sqlite import SqliteStore
from toolhaft.registry import Registry

RESUMERS = 8 if os.environ.get("TOOLHAFT_STRESS") else 4

JOB = '''
import asyncio, os, signal, sys
from pydantic_ai import Agent, DeferredToolRequests
from pydantic_ai.messages import ModelResponse, TextPart, ToolCallPart
from pydantic_ai.models.function import FunctionModel
from toolhaft import Registry, Toolkit, base_tool
from toolhaft.approvals import ApprovalError
from toolhaft.approvals.desk import Desk
from toolhaft.approvals.sqlite import SqliteStore

WHEN = sys.argv[2] if len(sys.argv) > 2 else ""


@base_tool(kind="network")
async def pay(amount: int) -> str:
    """Pay so much."""
    with open("paid", "a") as file:
        file.write(f"{amount}\\n")
    if WHEN == "kill in the tool":
        os.kill(os.getpid(), signal.SIGKILL)
    return f"paid {amount}"


def respond(messages, info):
    if len(messages) > 1:
        if WHEN == "kill before the model sees it":
            os.kill(os.getpid(), signal.SIGKILL)
        return ModelResponse(parts=[TextPart(str(messages[-1].parts[-1].content))])
    return ModelResponse(parts=[ToolCallPart("pay", {"amount": 100}, tool_call_id="c1")])


async def main():
    async with SqliteStore("approvals.db") as store:
        kit = Toolkit(".", tools=[pay], approvals=store)
        agent = Agent(FunctionModel(respond), capabilities=[kit], output_type=[str, DeferredToolRequests])
        if sys.argv[1] == "begin":
            await agent.run("Pay.", conversation_id="talk")
            return
        registry = Registry()
        registry.register(pay)
        kit.toolset.pipeline.filing._lease_seconds = 1
        try:
            result = await Desk(store, registry, lease_seconds=1).resume(agent, "talk", timeout_seconds=30)
            print("continued:", result.output)
        except ApprovalError as error:
            print("told:", error)


asyncio.run(main())
'''


def job(folder: Path, *args: str) -> "subprocess.Popen[str]":
    return subprocess.Popen([sys.executable, "job.py", *args], cwd=folder, stdout=subprocess.PIPE, text=True)


def ended(process: "subprocess.Popen[str]") -> str:
    out, _ = process.communicate(timeout=120)
    return out


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with a run that waits for a payment to be approved."""
    (tmp_path / "job.py").write_text(JOB)
    ended(job(tmp_path, "begin"))
    return tmp_path


def paid(folder: Path) -> list[str]:
    return (folder / "paid").read_text().split() if (folder / "paid").exists() else []


async def decide(folder: Path) -> None:
    async with SqliteStore(folder / "approvals.db") as store:
        await Desk(store, _with_pay()).approve("c1", by="ann")


def _with_pay() -> Registry:
    from toolhaft.testing import mock_tool

    registry = Registry()
    registry.register(mock_tool("pay"))
    return registry


async def state_of(folder: Path) -> State:
    async with SqliteStore(folder / "approvals.db") as store:
        record = await store.get(CallKey("talk", "c1"))
    assert record is not None
    return record.state


async def test_of_many_processes_that_resume_one_continues_and_the_others_learn_it(folder: Path) -> None:
    await decide(folder)

    said = [ended(process) for process in [job(folder, "resume") for _ in range(RESUMERS)]]

    assert sorted(line.partition(":")[0] for line in said) == ["continued", *["told"] * (RESUMERS - 1)]
    assert paid(folder) == ["100"]


async def test_a_call_whose_process_was_killed_in_the_tool_waits_for_a_person_and_runs_no_more(folder: Path) -> None:
    await decide(folder)
    ended(job(folder, "resume", "kill in the tool"))
    await asyncio.sleep(1.2)  # the lease ends

    assert await state_of(folder) is State.UNKNOWN
    async with SqliteStore(folder / "approvals.db") as store:
        await Desk(store, _with_pay()).reconcile("c1", by="ann", result="the bank has it")
    said = ended(job(folder, "resume"))

    assert said == "continued: the bank has it\n"
    assert paid(folder) == ["100"]


async def test_a_result_that_did_not_reach_the_model_is_delivered_and_the_tool_not_run_again(folder: Path) -> None:
    await decide(folder)
    ended(job(folder, "resume", "kill before the model sees it"))
    assert await state_of(folder) is State.DONE
    await asyncio.sleep(1.2)  # the lease of the pause ends

    said = ended(job(folder, "resume"))

    assert said == "continued: paid 100\n"
    assert paid(folder) == ["100"]
