"""What a call costs: the decorator, one small read, a hundred of them through an agent."""

import asyncio
import tempfile
from collections.abc import AsyncIterator
from pathlib import Path

from pydantic_ai import Agent
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart
from pydantic_ai.models.function import AgentInfo, FunctionModel

from tests.benchmarks.measure import Figure, ratio
from toolhaft import Toolkit, base_tool, use_workspace
from toolhaft.tools import read_file

FILES = 100


async def bare(text: str) -> str:
    return text


@base_tool(kind="read")
async def decorated(text: str) -> str:
    """Answer the text."""
    return text


async def figures() -> AsyncIterator[Figure]:
    async def many(function) -> None:
        for _ in range(10_000):
            await function("x")

    yield await ratio("decorated call / bare await", lambda: many(decorated), lambda: many(bare), goal=4, rounds=11)
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        for number in range(FILES):
            (root / f"{number}.txt").write_text("a line of thirty-one characters\n" * 13)
        (root / "1k.txt").write_text("a line of thirty-one characters\n" * 32)
        with use_workspace(root):
            yield await ratio(
                "read_file of 1 KB / one read in a thread",
                lambda: read_file("1k.txt"),
                lambda: asyncio.to_thread((root / "1k.txt").read_bytes),
                goal=2,
                rounds=400,
            )
        yield await ratio(
            "100 parallel read_file by an agent / raw threads",
            lambda: _agent_reads(root),
            lambda: _thread_reads(root),
            goal=7,
            rounds=25,
        )


async def _thread_reads(root: Path) -> None:
    await asyncio.gather(*(asyncio.to_thread((root / f"{number}.txt").read_bytes) for number in range(FILES)))


async def _agent_reads(root: Path) -> None:
    def respond(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        if len(messages) > 1:
            return ModelResponse(parts=[TextPart("done")])
        return ModelResponse(parts=[ToolCallPart("read_file", {"filepath": f"{n}.txt"}) for n in range(FILES)])

    await _agent(root, respond).run("read")


_agents: dict[Path, Agent] = {}


def _agent(root: Path, respond) -> Agent:
    if root not in _agents:
        _agents[root] = Agent(FunctionModel(respond), capabilities=[Toolkit(root, tools=["read_file"])])
    return _agents[root]
