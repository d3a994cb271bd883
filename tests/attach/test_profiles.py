"""Which tools an agent gets."""

import types
from pathlib import Path

import pytest

import toolhaft.tools
from toolhaft import ModelRetry, ToolNotFoundError, base_tool, use_workspace
from toolhaft.attach.instructions import instructions_for
from toolhaft.attach.profiles import PROFILES, chosen_tools, is_allowed
from toolhaft.spec import ToolKind, tool_spec
from toolhaft.tools import read_file


@base_tool(kind="network")
async def mcp_github_create_pr() -> str:
    """Open a pull request."""
    return "opened"


def names(*args: object, **kwargs: object) -> list[str]:
    return [tool_spec(tool).name for tool in chosen_tools(*args, **kwargs)]  # type: ignore[arg-type]


@pytest.mark.parametrize("profile", sorted(PROFILES))
def test_a_profile_is_its_tools_in_order_but_for_submit(profile: str) -> None:
    assert names(profile) == [name for name in PROFILES[profile] if name != "submit"]


async def test_in_the_profile_architect_write_file_replaces_unless_told_otherwise(tmp_path: Path) -> None:
    [write_file] = [tool for tool in chosen_tools("architect") if tool_spec(tool).name == "write_file"]
    (tmp_path / "a.txt").write_text("old")
    preview = tool_spec(write_file).preview
    assert preview is not None

    with use_workspace(tmp_path):
        previewed = await preview("a.txt", "new")
        await write_file("a.txt", "new")
        with pytest.raises(ModelRetry):
            await write_file("a.txt", "newer", mode="create")

    assert "+new" in previewed
    assert (tmp_path / "a.txt").read_text() == "new"
    assert '"overwrite" if left out' in str(tool_spec(write_file).schema)


def test_read_only_is_every_tool_that_reads() -> None:
    chosen = chosen_tools("read-only")

    assert {"read_file", "list_dir", "grep", "glob"} <= {tool_spec(tool).name for tool in chosen}
    assert {tool_spec(tool).kind for tool in chosen} == {ToolKind.READ}


def test_names_groups_functions_and_packages_may_be_mixed_and_each_comes_once() -> None:
    assert names(["read_file", read_file, "search", mcp_github_create_pr])[:2] == ["read_file", "grep"]
    package = types.ModuleType(toolhaft.tools.__name__)
    assert set(names(package)) >= {"read_file", "bash"}
    with pytest.raises(ToolNotFoundError, match="reed_file"):
        names(["reed_file"])


def test_allowed_tools_are_patterns_and_none_means_none() -> None:
    assert names("coding", allowed=["read_*", "grep"]) == ["read_file", "grep"]
    assert names("coding", allowed=[]) == []


def test_commands_can_be_left_out() -> None:
    assert not {"bash", "bash_output", "stop_bash"} & set(names("coding", commands=False))


def test_tools_of_mcp_servers_join_unless_some_pattern_is_about_them() -> None:
    assert is_allowed("mcp_github_create_pr", ["read_file"])
    assert not is_allowed("mcp_github_create_pr", ["read_file", "mcp_database_*"])
    assert not is_allowed("mcp_github_create_pr", [])
    assert is_allowed("mcp_github_create_pr", None)


def test_instructions_name_only_tools_that_the_agent_has_in_the_order_of_the_documents() -> None:
    text = instructions_for({"edit_file", "write_file"})

    assert text is not None
    assert text.index("edit_file") < text.index("write_file")
    assert "apply_patch" not in text
    assert "update_file" not in text
    assert instructions_for({"read_file"}) is None
