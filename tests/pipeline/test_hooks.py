"""Hooks together: their order, what they add up to, and when they are told."""

import asyncio
import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any, NoReturn

import pytest

from tests.pipeline.hook_calls import call_of
from tests.workspace.processes import with_argument
from tests.workspace.test_process import mark as mark
from toolhaft.pipeline.call import Refused
from toolhaft.pipeline.hooks import Block, Hook, HookEvent, Hooks
from toolhaft.workspace import use_workspace

Told = dict[str, Any]


def pre(name: str, function: Callable[[Told], Any], **settings: Any) -> Hook:
    """A pre hook."""
    return Hook("pre_tool_use", name, function=function, **settings)


def fail(told: Told) -> NoReturn:
    """What a broken hook does."""
    raise RuntimeError("broken")


async def test_without_hooks_nothing_is_wanted_and_nothing_is_changed() -> None:
    hooks = Hooks()

    assert not any(hooks.has(event) for event in HookEvent)
    assert (await hooks.before_call(call_of())).args is None
    assert await hooks.after_call(call_of(), succeeded=True, output="") == []


async def test_a_hook_that_is_not_enabled_is_none() -> None:
    assert not Hooks([pre("off", fail, enabled=False)]).has("pre_tool_use")


async def test_each_hook_sees_what_the_one_before_it_made_of_the_arguments() -> None:
    def add(letter: str) -> Callable[[Told], Told]:
        return lambda told: {"updatedInput": {"path": told["tool_input"]["path"] + letter}, "additionalContext": letter}

    result = await Hooks([pre("b", add("b")), pre("c", add("c"))]).before_call(call_of(path="a"))

    assert result.args == {"path": "abc"}
    assert result.context == ["b", "c"]


async def test_a_hook_for_some_files_looks_at_the_path_that_another_hook_made() -> None:
    def no(told: Told) -> NoReturn:
        raise Block("secrets")

    rewrite = pre("rewrite", lambda told: {"updatedInput": {"path": "config/.env"}})

    with pytest.raises(Refused, match="secrets"):
        await Hooks([rewrite, pre("guard", no, file_patterns=[".env"])]).before_call(call_of(path="a.txt"))


async def test_the_first_that_blocks_ends_it() -> None:
    heard: list[Told] = []

    def no(told: Told) -> NoReturn:
        raise Block("no")

    with pytest.raises(Refused, match="Blocked by hook first: no"):
        await Hooks([pre("first", no), pre("second", heard.append)]).before_call(call_of())

    assert heard == []


async def test_on_an_approved_call_hooks_may_block_and_their_changes_are_dropped() -> None:
    heard: list[str] = []

    def change(told: Told) -> Told:
        return {"updatedInput": {"path": "other"}}

    def look(told: Told) -> None:
        heard.append(told["tool_input"]["path"])

    result = await Hooks([pre("change", change), pre("look", look)]).before_call(call_of(path="a", approved=True))

    assert result.args is None
    assert heard == ["a"]
    with pytest.raises(Refused):
        await Hooks([pre("broken", fail)]).before_call(call_of(approved=True))


async def test_hooks_for_other_tools_are_not_asked() -> None:
    result = await Hooks([pre("other", fail, matcher="edit_file")]).before_call(call_of("write_file"))

    assert result.context == []


async def test_hooks_for_other_files_are_not_asked(project: Path) -> None:
    hooks = Hooks([pre("python", fail, file_patterns=["*.py"])])

    with use_workspace(project):
        await hooks.before_call(call_of(path="README.md"))
        with pytest.raises(Refused):
            await hooks.before_call(call_of(path="src/add.py"))


async def test_post_hooks_add_to_success_and_failure_alike_and_one_that_fails_keeps_none_back() -> None:
    hooks = Hooks(
        [
            Hook("post_tool_use", "broken", function=fail),
            Hook("post_tool_use", "advice", function=lambda told: {"additionalContext": "Run the tests."}),
        ]
    )

    for succeeded in (True, False):
        remarks = await hooks.after_call(call_of(), succeeded=succeeded, output="")

        assert remarks == ["[Hook broken: FAILED (raised RuntimeError)]\nbroken", "Run the tests."]


async def test_a_pre_event_of_the_model_can_be_blocked_and_another_event_cannot() -> None:
    def no(told: Told) -> NoReturn:
        raise Block("over budget")

    hooks = Hooks([Hook(event, "guard", function=no) for event in ("pre_llm_call", "session_start")])

    with pytest.raises(Refused, match="Blocked by hook guard: over budget"):
        await hooks.notify("pre_llm_call", {"model": "test"})
    assert await hooks.notify("session_start", {}) == []


async def test_a_matcher_looks_at_the_tool_that_an_event_names() -> None:
    heard: list[Told] = []
    hooks = Hooks([Hook("on_error", "spy", function=heard.append, matcher="bash")])

    await hooks.notify("on_error", {"error": "x", "tool_name": "grep"})
    await hooks.notify("on_error", {"error": "y", "tool_name": "bash"})

    assert heard == [{"event": "on_error", "error": "y", "tool_name": "bash"}]


async def test_on_error_tells_of_a_hook_that_fails_and_not_of_itself() -> None:
    heard: list[Told] = []
    hooks = Hooks(
        [
            pre("broken", fail),
            Hook("on_error", "broken too", function=fail),
            Hook("on_error", "spy", function=heard.append),
        ]
    )

    with pytest.raises(Refused):
        await hooks.before_call(call_of())

    error = "hook broken failed: raised RuntimeError: broken"
    assert heard == [{"event": "on_error", "error": error, "hook": "broken", "tool_name": "write_file"}]


async def test_on_error_tells_of_a_tool_that_fails() -> None:
    heard: list[Told] = []
    hooks = Hooks([Hook("on_error", "spy", function=heard.append)])

    await hooks.after_call(call_of("grep"), succeeded=True, output="found")
    await hooks.after_call(call_of("grep"), succeeded=False, output="no such folder")

    assert heard == [{"event": "on_error", "error": "no such folder", "tool_name": "grep"}]


async def test_every_run_of_a_hook_is_a_record(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, "toolhaft.hooks"), pytest.raises(Refused):
        await Hooks([pre("look", lambda told: None), pre("broken", fail)]).before_call(call_of())

    assert [(record.levelname, getattr(record, "outcome", None)) for record in caplog.records] == [
        ("INFO", "allowed"),
        ("INFO", "failed"),
        ("WARNING", None),
    ]
    assert caplog.records[0].getMessage().startswith("hook look on pre_tool_use allowed in ")


async def test_a_hook_that_takes_too_long_for_one_path_is_not_asked_about_the_others(project: Path) -> None:
    hooks = Hooks([Hook("post_tool_use", "slow", command="echo {file} >>asked; sleep 60", timeout_seconds=1)])
    patch = "*** Begin Patch\n*** Delete File: a.py\n*** Delete File: b.py\n*** End Patch\n"

    with use_workspace(project):
        remarks = await hooks.after_call(call_of("apply_patch", patch=patch), succeeded=True, output="")

    assert remarks == ["[Hook slow: FAILED (no answer in 1 seconds)]"]
    assert (project / "asked").read_text() == "a.py\n"


async def test_one_run_for_each_path_of_a_call(project: Path) -> None:
    hooks = Hooks([Hook("post_tool_use", "lint", command="echo lint {file}; exit 1", file_patterns=["*.py"])])
    names = ("a.py", "b.md", "c.py")
    patch = "".join(["*** Begin Patch\n", *(f"*** Delete File: {name}\n" for name in names), "*** End Patch\n"])

    with use_workspace(project):
        remarks = await hooks.after_call(call_of("apply_patch", patch=patch), succeeded=True, output="")

    assert remarks == [f"[Hook lint: FAILED (exit 1)]\nlint {name}" for name in ("a.py", "c.py")]


async def test_a_hook_in_the_background_neither_delays_nor_blocks_and_ends_with_the_hooks(
    project: Path, mark: str
) -> None:
    hooks = Hooks([Hook("pre_tool_use", "slow", command=f"touch begun; sleep {mark}; exit 2", background=True)])

    with use_workspace(project):
        result = await hooks.before_call(call_of())
        while not (project / "begun").exists():
            await asyncio.sleep(0.01)
    await hooks.aclose()

    assert (result.args, result.context) == (None, [])
    assert not with_argument(mark)


async def test_what_a_background_hook_says_is_dropped() -> None:
    ended = asyncio.Event()

    async def no(told: Told) -> NoReturn:
        ended.set()
        raise Block("too late")

    hooks = Hooks([pre("late", no, background=True)])

    await hooks.before_call(call_of())
    await asyncio.wait_for(ended.wait(), timeout=10)
    await hooks.aclose()


async def test_only_so_many_hooks_run_in_the_background(caplog: pytest.LogCaptureFixture) -> None:
    begun: list[Told] = []

    async def wait(told: Told) -> None:
        begun.append(told)
        await asyncio.Event().wait()

    hooks = Hooks([pre("slow", wait, background=True)])

    for _ in range(25):
        await hooks.before_call(call_of())
    await asyncio.sleep(0)
    await asyncio.sleep(0)

    assert len(begun) == 20
    assert caplog.messages == ["hook slow is left out: 20 run in the background"] * 5
    await hooks.aclose()


def test_hooks_serve_one_event_loop_after_another(project: Path) -> None:
    hooks = Hooks([Hook("pre_tool_use", "no", command="exit 2"), pre("slow", lambda told: None, background=True)])

    async def ask() -> None:
        with use_workspace(project), pytest.raises(Refused):
            await hooks.before_call(call_of())
        await hooks.aclose()

    for _ in range(2):
        asyncio.run(ask())
