"""The capability: tools, workspace and the end of a job in one line."""

import json
from pathlib import Path
from typing import Any

import pytest
from pydantic_ai import Agent
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart
from pydantic_ai.models.function import AgentInfo, FunctionModel

from tests.attach.agents import answers, calling
from toolhaft import LocalWorkspace, Toolkit, ToolNotFoundError, base_tool, use_workspace
from toolhaft.pipeline.guardrails import Guardrails, QualityGate
from toolhaft.pipeline.hooks import Hook, Hooks
from toolhaft.tools import list_dir, read_file


@base_tool(kind="read")
async def greet(name: str) -> str:
    """Greet somebody by name."""
    return f"Hello, {name}!"


async def names_offered(kit: Toolkit) -> set[str]:
    seen: set[str] = set()

    def respond(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        seen.update(tool.name for tool in info.function_tools)
        return ModelResponse(parts=[ToolCallPart("greet", {"name": "you"})] if "greet" in seen else [])

    agent = Agent(FunctionModel(respond), capabilities=[kit])
    with pytest.raises(Exception):  # noqa: B017, PT011 - the run is stopped once the names are known
        await agent.run("who is there?", usage_limits=_one_request())
    return seen


def _one_request():
    from pydantic_ai.usage import UsageLimits

    return UsageLimits(request_limit=1)


async def test_tools_are_chosen_by_name_group_and_function(project: Path) -> None:
    assert await names_offered(Toolkit(project, tools="read_file")) == {"read_file"}
    assert await names_offered(Toolkit(project, tools=["read_file", greet])) == {"read_file", "greet"}
    assert {"read_file", "write_file", "list_dir"} <= await names_offered(Toolkit(project, tools=["files"]))


async def test_an_unknown_name_is_an_error_that_lists_the_near_ones(project: Path) -> None:
    with pytest.raises(ToolNotFoundError, match="read_file"):
        Toolkit(project, tools=["reed_file"])


async def test_the_tools_act_in_the_workspace_and_see_it_as_the_runs(project: Path) -> None:
    kit = Toolkit(project, tools=["read_file", "write_file"], mode="yolo")
    agent = Agent(
        calling(
            [("write_file", {"filepath": "notes/a.txt", "content": "one\n"})],
            [("read_file", {"filepath": "notes/a.txt"})],
        ),
        capabilities=[kit],
    )

    result = await agent.run("write, then read")

    assert (project / "notes" / "a.txt").read_text() == "one\n"
    assert "one" in answers(result.all_messages())[1].model_response_str()


async def test_submitting_ends_the_run_with_the_summary(project: Path) -> None:
    kit = Toolkit(project, tools=["read_file", "submit"])
    agent = Agent(calling([("submit", {"summary": " All read. "})]), capabilities=[kit], output_type=kit.output_type)

    result = await agent.run("read all")

    assert result.output == "All read."


async def test_a_blank_summary_is_asked_for_again(project: Path) -> None:
    kit = Toolkit(project)
    model = calling([("submit", {"summary": " "})], [("submit", {"summary": "Read."})])

    result = await Agent(model, capabilities=[kit], output_type=kit.output_type).run("read all")

    assert result.output == "Read."


async def test_a_failing_tool_does_not_end_the_run(project: Path) -> None:
    kit = Toolkit(project, tools=["read_file"])
    model = calling([("read_file", {"filepath": "../outside.txt"})])

    result = await Agent(model, capabilities=[kit]).run("read")

    assert result.output == "done"
    assert answers(result.all_messages())[0].outcome == "failed"


async def test_a_read_only_toolkit_changes_nothing(project: Path) -> None:
    kit = Toolkit(project, tools="files", read_only=True, mode="yolo")
    model = calling([("write_file", {"filepath": "new.txt", "content": "x"})])

    result = await Agent(model, capabilities=[kit]).run("write")

    assert answers(result.all_messages())[0].outcome == "failed"
    assert not (project / "new.txt").exists()


def test_settings_of_a_folder_are_refused_for_a_workspace_that_was_given(project: Path) -> None:
    with pytest.raises(ValueError, match="read_only, allow_delete and commands"):
        Toolkit(LocalWorkspace(project), read_only=True)


async def test_it_loads_from_an_agent_spec(project: Path) -> None:
    spec = {"model": "test", "capabilities": [{"Toolkit": {"workspace": str(project), "tools": ["read_file"]}}]}
    agent = Agent.from_spec(spec, custom_capability_types=[Toolkit])

    result = await agent.run("read", model=calling([("read_file", {"filepath": "README.md"})]))

    assert "It adds numbers." in answers(result.all_messages())[0].model_response_str()


async def test_a_bare_agent_takes_the_functions_themselves(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(project)
    agent = Agent(calling([("list_dir", {})], [("read_file", {"filepath": "README.md"})]), tools=[list_dir, read_file])

    result = await agent.run("look around")

    tree, page = (answer.model_response_str() for answer in answers(result.all_messages()))
    assert "README.md" in tree
    assert "It adds numbers." in page


async def test_a_ref_of_another_place_is_left_to_others(project: Path, tmp_path: Path) -> None:
    kit = Toolkit(project)

    elsewhere = LocalWorkspace(tmp_path).ref

    assert kit.get_workspace(None, ref=elsewhere) is None  # pyright: ignore[reportArgumentType]
    assert kit.get_workspace(None, ref=LocalWorkspace(project).ref) is kit.workspace  # pyright: ignore[reportArgumentType]


async def test_it_loads_from_an_agent_spec_file(project: Path, tmp_path: Path) -> None:
    spec = tmp_path / "agent.json"
    spec.write_text(
        json.dumps({"model": "test", "capabilities": [{"Toolkit": {"workspace": str(project), "tools": "read_file"}}]})
    )
    agent = Agent.from_file(spec, custom_capability_types=[Toolkit])

    result = await agent.run("read", model=calling([("read_file", {"filepath": "README.md"})]))

    assert "It adds numbers." in answers(result.all_messages())[0].model_response_str()


class TestFromFile:
    """A toolkit that a configuration file describes."""

    FILE = """mode = "yolo"
tools = ["read_file", "write_file", "bash"]

[workspace]
root = "."
read_only = false

[commands]
enabled = false

[guardrails]
protected_files = ["README.md"]
"""

    async def test_it_has_the_tools_and_the_rules_of_the_file(self, project: Path) -> None:
        (project / "toolhaft.toml").write_text(self.FILE)
        kit = Toolkit.from_file(project / "toolhaft.toml")
        calls = [("write_file", {"filepath": name, "content": "x", "mode": "overwrite"}) for name in ("README.md", "n")]

        result = await Agent(calling(calls), capabilities=[kit]).run("Go.")

        assert await names_offered(kit) == {"read_file", "write_file"}
        refused, done = answers(result.all_messages())
        assert "[protected_files, toolhaft.toml:12]" in refused.model_response_str()
        assert done.outcome == "success"
        assert (project / "n").read_text() == "x"

    async def test_an_agent_spec_may_name_the_file(self, project: Path) -> None:
        (project / "toolhaft.toml").write_text(self.FILE)
        spec = {"model": "test", "capabilities": [{"Toolkit": {"file": str(project / "toolhaft.toml")}}]}

        agent = Agent.from_spec(spec, custom_capability_types=[Toolkit])

        kits: list[Any] = []
        agent.root_capability.apply(lambda capability: kits.append(capability))
        [kit] = [kit for kit in kits if isinstance(kit, Toolkit)]
        assert set(kit.toolset.specs) == {"read_file", "write_file"}

    def test_a_file_and_other_settings_contradict_each_other(self) -> None:
        with pytest.raises(ValueError, match="says everything about the toolkit"):
            Toolkit.from_spec(file="toolhaft.toml", mode="yolo")

    def test_an_unreadable_policy_is_an_error_and_no_toolkit(self, project: Path) -> None:
        (project / "toolhaft.toml").write_text("mode = [")

        with pytest.raises(ValueError, match=r"toolhaft\.toml"):
            Toolkit.from_file(project / "toolhaft.toml")


async def test_quality_gates_send_the_output_back_until_they_pass(project: Path) -> None:
    gate = QualityGate(name="there", command="test -e done.txt")
    kit = Toolkit(project, mode="yolo", guardrails=Guardrails(quality_gates=[gate]))

    def respond(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        match len(messages):
            case 1:
                return ModelResponse(parts=[TextPart("I am done.")])
            case 3:
                return ModelResponse(parts=[ToolCallPart("write_file", {"filepath": "done.txt", "content": "x"})])
            case _:
                return ModelResponse(parts=[TextPart("Now I am.")])

    result = await Agent(FunctionModel(respond), capabilities=[kit]).run("Go.")

    assert result.output == "Now I am."
    assert "there" in str(result.all_messages()[2])


async def test_events_of_the_run_reach_the_hooks_of_the_toolkit(project: Path) -> None:
    heard: list[str] = []

    def spy(occasion: dict[str, Any]) -> None:
        heard.append(occasion["event"])

    events = ("session_start", "pre_llm_call", "pre_tool_use", "post_tool_use", "agent_complete", "session_end")
    kit = Toolkit(project, hooks=Hooks([Hook(event, "spy", function=spy) for event in events]))

    await Agent(calling([("read_file", {"filepath": "README.md"})]), capabilities=[kit]).run("Go.")

    assert heard == [
        "session_start",
        "pre_llm_call",
        "pre_tool_use",
        "post_tool_use",
        "pre_llm_call",
        "agent_complete",
        "session_end",
    ]


async def test_jobs_and_hooks_in_the_background_end_with_the_toolkit(project: Path) -> None:
    hook = Hook("post_tool_use", "slow", command="sleep 60", background=True)
    calls = [("bash", {"command": "sleep 60", "background": True})]

    async with Toolkit(project, mode="yolo", hooks=Hooks([hook])) as kit:
        await Agent(calling(calls), capabilities=[kit]).run("Go.")
        assert isinstance(kit.workspace, LocalWorkspace)
        with use_workspace(kit.workspace) as place:
            job = place.job("job-1")
            assert (await job.read()).running

    with pytest.raises(LookupError):
        place.job("job-1")
