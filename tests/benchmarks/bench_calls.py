"""What a call costs: the decorator, a small read, a hundred of them by an agent; and the event loop meanwhile."""

import asyncio
import gc
import tempfile
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

from pydantic_ai import Agent
from pydantic_ai.capabilities import AbstractCapability
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart
from pydantic_ai.models.function import AgentInfo, FunctionModel

from tests.benchmarks.measure import Figure, longest_stall, ratio
from toolhaft import GovernedToolset, Toolkit, base_tool, use_workspace
from toolhaft.pipeline.guardrails import Guardrails
from toolhaft.pipeline.hooks import Hook, Hooks
from toolhaft.pipeline.pipeline import Pipeline
from toolhaft.tools import edit_file, list_dir, read_file, write_file

FILES = 100
CALLS = 200
ENTRIES = 9_000
LONG = "a line of thirty-one charactérs\n" * 600_000


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
        doors = {
            "a plain function, the floor": Agent(_reads("plain"), tools=[_plain(root)]),
            "the same, and one empty capability": Agent(_reads("plain"), tools=[_plain(root)], capabilities=[Idle()]),
            "read_file by the toolset": Agent(
                _reads("read_file"), toolsets=[GovernedToolset([read_file], workspace=root)]
            ),
            "read_file by the Toolkit": Agent(_reads("read_file"), capabilities=[Toolkit(root, tools=["read_file"])]),
        }
        for door, agent in doors.items():
            yield await ratio(
                f"100 parallel calls / raw threads: {door}",
                lambda agent=agent: agent.run("read"),
                lambda: _thread_reads(root),
                goal=7,
                rounds=25,
            )
    with tempfile.TemporaryDirectory() as folder:
        async for figure in _governed(folder):
            yield figure
    with tempfile.TemporaryDirectory() as folder, use_workspace(folder):
        async for figure in _stalls(Path(folder)):
            yield figure


async def _governed(folder: str) -> AsyncIterator[Figure]:
    """What governing adds to a call of a tool that asks somebody: rules that look at it, a hook, an answer, a preview.

    The goal is 60 us more than 135, on the machine on which both were first measured; so it is a ratio.
    """
    every_stage: dict[str, Any] = {
        "answerer": lambda tool, arguments, preview: True,
        "guardrails": Guardrails(
            protected_files=["*.lock", "vendor/**"],
            sensitive_files=["private/**"],
            blocked_commands=["curl"],
            max_files_modified=1_000,
            code_rules=[{"pattern": "print\\(", "message": "Log it."}],
        ),
    }
    hooks = Hooks([Hook(event, "looks", function=_looks) for event in ("pre_tool_use", "post_tool_use")])
    doors = {
        "by the toolset": {
            "toolsets": [GovernedToolset([note], workspace=folder, pipeline=Pipeline(**every_stage))],
        },
        "by the Toolkit": {"capabilities": [Toolkit(folder, tools=[note], **every_stage)]},
        "by the Toolkit, with two Python hooks": {
            "capabilities": [Toolkit(folder, tools=[note], hooks=hooks, **every_stage)],
        },
    }
    bare = Agent(_calls("note", "text", CALLS), tools=[note])
    for door, governs in doors.items():
        governed: Agent[None, str] = Agent(_calls("note", "text", CALLS), **governs)
        yield await ratio(
            f"a call with every stage on / an ungoverned one: {door}",
            lambda governed=governed: governed.run("note"),
            lambda: bare.run("note"),
            goal=1.44,
        )


@base_tool(kind="memory")
async def note(text: str) -> str:
    """Note a text."""
    return text


async def _looks(told: dict[str, Any]) -> None:
    """Look at a call, and let it go on."""


async def _stalls(root: Path) -> AsyncIterator[Figure]:
    """The longest time that calls with much to do keep the event loop waiting."""
    (root / "legacy.txt").write_bytes("Съешь же ещё этих мягких французских булок\n".encode("cp1251") * 40)
    (root / "many").mkdir()
    for number in range(ENTRIES):
        (root / "many" / f"{number}.txt").touch()
    calls = {
        "the first file in a legacy encoding": lambda: read_file("legacy.txt"),
        "a folder of 9,000 entries": lambda: list_dir("many", max_files=10_000),
        "a new file of 20 MB": lambda: write_file("long.txt", LONG),
        "20 MB more": lambda: write_file("long.txt", LONG, mode="append"),
        "a line of 40 MB changed everywhere": lambda: edit_file("long.txt", "a line", "one line", replace_all=True),
    }
    # A collection of Python's garbage stops every thread, for longer the more the whole program holds.
    gc.collect()
    gc.disable()
    for what, call in calls.items():
        yield await longest_stall(f"event loop meanwhile: {what}", call, goal=20)
    gc.enable()


class Idle(AbstractCapability[Any]):
    """A capability that does nothing: what pydantic-ai itself takes for having one."""


async def _thread_reads(root: Path) -> None:
    await asyncio.gather(*(asyncio.to_thread((root / f"{number}.txt").read_bytes) for number in range(FILES)))


def _plain(root: Path):
    async def plain(filepath: str) -> str:
        """Read a file."""
        return await asyncio.to_thread((root / filepath).read_text)

    return plain


def _reads(tool: str) -> FunctionModel:
    """A model that reads every file in one response, and then is done."""
    return _calls(tool, "filepath", FILES)


def _calls(tool: str, parameter: str, count: int) -> FunctionModel:
    """A model that makes so many calls in one response, and then is done."""

    def respond(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        if len(messages) > 1:
            return ModelResponse(parts=[TextPart("done")])
        return ModelResponse(parts=[ToolCallPart(tool, {parameter: f"{n}.txt"}) for n in range(count)])

    return FunctionModel(respond)
