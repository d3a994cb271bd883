"""Whatever is broken or missing before a call: it is refused, and said; through an agent and without one."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from pydantic_ai import Agent
from pydantic_ai.toolsets import FunctionToolset

from tests.attach.agents import answers, calling
from toolhaft import Executor, Registry, Toolkit, ToolText, base_tool
from toolhaft.pipeline.confirmation import Answerer
from toolhaft.pipeline.guardrails import Guardrails
from toolhaft.pipeline.hooks import Hook, HookEvent, Hooks
from toolhaft.pipeline.pipeline import Pipeline
from toolhaft.spec import NeedsApproval

WRITE = {"filepath": "new.txt", "content": "text\n"}
READ = {"filepath": "README.md"}


def raises(*args: Any, **kwargs: Any) -> Any:
    raise ZeroDivisionError("a bug of its own")


def says_nothing(*args: Any) -> Any:
    return None


def hook(command: str = "", **settings: Any) -> dict[str, Any]:
    """A pipeline that asks nobody but one hook."""
    how = {"command": command} if command else settings
    return {"mode": "yolo", "hooks": Hooks([Hook("pre_tool_use", "bad", timeout_seconds=1, **how)])}


class BrokenRails(Guardrails):
    """Guardrails with a bug."""

    admit = raises  # type: ignore[assignment]


class BrokenHooks(Hooks):
    """Hooks with a bug that is not a hook's."""

    def has(self, event: HookEvent | str) -> bool:
        return event == HookEvent.PRE_TOOL_USE

    before_call = raises  # type: ignore[assignment]


ROWS: dict[str, tuple[dict[str, Any], str]] = {
    "no answerer": ({}, "there is nobody to ask"),
    "an answerer that raises": ({"answerer": raises}, "nobody could answer"),
    "an answerer that answers nothing": ({"answerer": says_nothing}, "which is none"),
    "an answerer that takes no question": ({"answerer": lambda: True}, "nobody could answer"),
    "a hook that hangs": (hook("sleep 60"), "no answer in 1 seconds"),
    "a hook that floods": (hook("yes"), "Blocked by hook bad"),
    "a hook that floods its errors": (hook("yes >&2"), "Blocked by hook bad"),
    "a hook that segfaults": (hook("kill -SEGV $$"), "Blocked by hook bad"),
    "a hook that prints garbage": (hook("echo '{garbage'"), "Blocked by hook bad"),
    "a hook that prints half an answer": (hook("""printf '{"updatedInput": '"""), "Blocked by hook bad"),
    "a hook that prints another answer": (hook("""echo '{"updatedInput": 5}'"""), "Blocked by hook bad"),
    "a hook that is missing": (hook("no-such-program-anywhere"), "Blocked by hook bad"),
    "a hook that fails": (hook("exit 1"), "Blocked by hook bad"),
    "a function that raises, as hook": (hook(function=raises), "Blocked by hook bad"),
    "a function that answers garbage, as hook": (hook(function=lambda told: object()), "Blocked by hook bad"),
    "a hook that gives arguments that do not fit": (
        hook("""echo '{"updatedInput": {"filepath": 5}}'"""),
        "do not fit",
    ),
    "guardrails with a bug": ({"mode": "yolo", "guardrails": BrokenRails()}, "the guardrails stage failed"),
    "hooks with a bug": ({"mode": "yolo", "hooks": BrokenHooks()}, "the hooks stage failed"),
}

each_row = pytest.mark.parametrize(("settings", "said"), ROWS.values(), ids=ROWS)


@each_row
async def test_through_an_agent(project: Path, settings: dict[str, Any], said: str) -> None:
    agent = Agent(calling([("write_file", WRITE)]), capabilities=[Toolkit(project, **settings)])

    result = await agent.run("Go.")

    [answer] = answers(result.all_messages())
    assert answer.outcome == "failed"
    assert said in answer.model_response_str()
    assert not (project / "new.txt").exists()


@each_row
async def test_through_the_executor(project: Path, settings: dict[str, Any], said: str) -> None:
    executor = Executor(Registry().register_all(), Pipeline(**settings), workspace=project)

    result = await executor.execute("write_file", WRITE)

    assert not result.success
    assert said in (result.error or "")
    assert result.metadata["stage"] in ("guardrails", "hooks", "confirmation")
    assert result.metadata["rule"]
    assert not (project / "new.txt").exists()


@pytest.mark.parametrize("row", [row for row in ROWS if "hook" in row or "guardrails" in row])
async def test_a_tool_that_only_reads_is_refused_too(project: Path, row: str) -> None:
    settings, said = ROWS[row]
    given = {**settings, "hooks": settings.get("hooks", Hooks())}
    executor = Executor(Registry().register_all(), Pipeline(**given), workspace=project)

    result = await executor.execute("read_file", READ)

    assert (result.success, said in (result.error or "")) == (False, True)


async def test_a_tool_without_a_card_is_asked_about(project: Path) -> None:
    """No rule: nothing says what this tool does."""
    ran: list[str] = []

    def deploy(where: str) -> str:
        ran.append(where)
        return "done"

    agent = Agent(
        calling([("deploy", {"where": "moon"})]), toolsets=[FunctionToolset([deploy])], capabilities=[Toolkit(project)]
    )

    result = await agent.run("Go.")

    [answer] = answers(result.all_messages())
    assert (answer.outcome, ran) == ("failed", [])
    assert "there is nobody to ask" in answer.model_response_str()


def _asks_in_vain(amount: int) -> NeedsApproval | None:
    raise LookupError("the list of limits is gone")


async def _broken_preview(amount: int) -> ToolText:
    raise LookupError("the list of limits is gone")


@pytest.mark.parametrize("options", [{"approval": _asks_in_vain}, {"preview": _broken_preview}])
async def test_a_tool_that_cannot_say_what_it_would_do_is_not_run(options: Mapping[str, Any]) -> None:
    ran: list[int] = []

    async def pay(amount: int) -> str:
        """Pay somebody."""
        ran.append(amount)
        return "paid"

    registry = Registry()
    registry.register(base_tool(kind="network", **options)(pay))

    result = await Executor(registry).execute("pay", {"amount": 1})

    assert (result.success, ran) == (False, [])
    assert "the list of limits is gone" in (result.error or "")


async def test_an_answerer_is_never_asked_about_what_a_guardrail_refuses(project: Path) -> None:
    asked: list[str] = []

    def allow(tool: str, *_: Any) -> bool:
        asked.append(tool)
        return True

    answerer: Answerer = allow
    rules = Guardrails(protected_files=["new.txt"])
    executor = Executor(Registry().register_all(), Pipeline(guardrails=rules, answerer=answerer), workspace=project)

    result = await executor.execute("write_file", WRITE)

    assert (result.success, asked, result.metadata["rule"]) == (False, [], "protected_files")
