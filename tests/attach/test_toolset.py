"""The leaf toolset: it binds the workspace, and parts an answer into text and facts."""

from pathlib import Path

from pydantic_ai import Agent, ToolReturn
from pydantic_ai.capabilities import LocalWorkspace as HostWorkspace

from tests.attach.agents import answers, calling
from toolhaft import ToolText, base_tool, use_workspace
from toolhaft.attach.toolset import GovernedToolset
from toolhaft.pipeline.guardrails import Guardrails
from toolhaft.pipeline.pipeline import Pipeline
from toolhaft.tools import grep, read_file


async def test_the_tools_act_in_the_workspace_of_the_toolset(project: Path) -> None:
    agent = Agent(
        calling([("read_file", {"filepath": "README.md"})]),
        toolsets=[GovernedToolset([read_file], workspace=project)],
    )

    result = await agent.run("read")

    assert "It adds numbers." in answers(result.all_messages())[0].model_response_str()


async def test_without_its_own_workspace_they_act_in_the_one_in_use_else_in_that_of_the_run(
    project: Path, tmp_path: Path
) -> None:
    (tmp_path / "README.md").write_text("elsewhere\n")
    agent = Agent(
        calling([("read_file", {"filepath": "README.md"})]),
        toolsets=[GovernedToolset([read_file])],
        capabilities=[HostWorkspace(project)],
    )

    in_the_runs = await agent.run("read")
    with use_workspace(tmp_path):
        in_the_one_in_use = await agent.run("read")

    assert "It adds numbers." in answers(in_the_runs.all_messages())[0].model_response_str()
    assert "elsewhere" in answers(in_the_one_in_use.all_messages())[0].model_response_str()


async def test_without_either_they_act_in_the_one_in_use(project: Path) -> None:
    agent = Agent(calling([("read_file", {"filepath": "README.md"})]), toolsets=[GovernedToolset([read_file])])

    with use_workspace(project):
        result = await agent.run("read")

    assert "It adds numbers." in answers(result.all_messages())[0].model_response_str()


async def test_the_toolsets_workspace_wins_over_that_of_the_run(project: Path, tmp_path: Path) -> None:
    (tmp_path / "README.md").write_text("elsewhere\n")
    agent = Agent(
        calling([("read_file", {"filepath": "README.md"})]),
        toolsets=[GovernedToolset([read_file], workspace=project)],
        capabilities=[HostWorkspace(tmp_path)],
    )

    result = await agent.run("read")

    assert "It adds numbers." in answers(result.all_messages())[0].model_response_str()


async def test_the_model_gets_text_and_the_program_gets_facts() -> None:
    @base_tool(kind="read")
    async def measure() -> str:
        """Measure something."""
        return ToolText("long enough", length=7)

    agent = Agent(calling([("measure", {})]), toolsets=[GovernedToolset([measure])])

    result = await agent.run("measure")

    [answer] = answers(result.all_messages())
    assert type(answer.content) is str
    assert answer.content == "long enough"
    assert answer.metadata == {"length": 7}


async def test_an_answer_that_is_a_tool_return_already_stays_as_it_is() -> None:
    @base_tool(kind="read")
    async def measure() -> ToolReturn[str]:
        """Measure something."""
        return ToolReturn(return_value="long enough", metadata={"its": "own"})

    agent = Agent(calling([("measure", {})]), toolsets=[GovernedToolset([measure])])

    result = await agent.run("measure")

    assert answers(result.all_messages())[0].metadata == {"its": "own"}


async def test_text_with_an_image_keeps_both_and_the_facts(project: Path) -> None:
    (project / "dot.png").write_bytes(PNG)
    agent = Agent(
        calling([("read_file", {"filepath": "dot.png"})]),
        toolsets=[GovernedToolset([read_file], workspace=project)],
    )

    result = await agent.run("look")

    [answer] = answers(result.all_messages())
    text, image = answer.content
    assert type(text) is str
    assert image.media_type == "image/png"
    assert image.data == PNG
    assert answer.metadata["size"] == len(PNG)


PNG = bytes.fromhex(
    "89504e470d0a1a0a0000000d49484452000000010000000108060000001f15c4890000000d49444154789c6360000002000001e221bc33"
    "0000000049454e44ae426082"
)


async def test_a_model_may_be_wrong_a_few_times_without_ending_the_run(project: Path) -> None:
    wrong = [[("read_file", {"filepath": f"no{number}"})] for number in range(5)]
    agent = Agent(calling(*wrong), toolsets=[GovernedToolset([read_file], workspace=project)])

    result = await agent.run("read")

    assert result.output == "done"


async def test_an_answer_that_nobody_can_write_down_is_a_failed_call() -> None:
    @base_tool(kind="read")
    async def odd(what: str) -> object:
        """Answer something odd."""
        return {"object": {"a": object()}, "surrogate": "a\ud800b", "list": ["a\ud800", {"b": object()}]}[what]

    calls = [[("odd", {"what": what})] for what in ("object", "surrogate", "list")]
    agent = Agent(calling(*calls), toolsets=[GovernedToolset([odd])])

    result = await agent.run("answer")

    first, second, third = answers(result.all_messages())
    assert (first.outcome, second.outcome, third.outcome) == ("failed", "success", "failed")
    assert second.content == "a\\ud800b"
    result.all_messages_json()


async def test_the_guardrails_hold_in_search_results_wherever_the_tools_act(project: Path) -> None:
    (project / "customers.csv").write_text("needle\n")
    (project / "a.txt").write_text("needle\n")
    pipeline = Pipeline(guardrails=Guardrails(sensitive_files=["customers.csv"]))
    agent = Agent(calling([("grep", {"pattern": "needle"})]), toolsets=[GovernedToolset([grep], pipeline=pipeline)])

    with use_workspace(project):
        result = await agent.run("Go.")

    [answer] = answers(result.all_messages())
    assert "a.txt" in answer.model_response_str()
    assert "customers.csv:" not in answer.model_response_str()
    assert answer.metadata["total"] == 1
