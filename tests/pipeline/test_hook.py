"""When a hook is for a call, and what no hook can be."""

from typing import Any

import pytest

from toolhaft.pipeline.hooks import POST_EDIT_MATCHER, Hook, HookEvent


def test_there_are_the_ten_events_and_two_can_be_blocked() -> None:
    blockable = [event for event in HookEvent if event.can_block]

    assert len(HookEvent) == 10
    assert blockable == [HookEvent.PRE_TOOL_USE, HookEvent.PRE_LLM_CALL]


@pytest.mark.parametrize(
    ("matcher", "tool", "wanted"),
    [
        ("*", "anything", True),
        ("write", "write_file", False),
        ("write_file|edit_file", "edit_file", True),
        ("write_file|edit_file", "edit_files", False),
        ("mcp_.*", "mcp_github_search", True),
        ("edit_file", "", False),
    ],
)
def test_a_matcher_is_for_the_whole_name(matcher: str, tool: str, wanted: bool) -> None:
    assert Hook("pre_tool_use", "check", command="true", matcher=matcher).is_for(tool) is wanted


@pytest.mark.parametrize(
    ("pattern", "path", "wanted"),
    [
        ("*.py", "a.py", True),
        ("*.py", "src/deep/a.py", True),
        ("*.py", "a.pyc", False),
        ("src/**", "src/deep/a.py", True),
        ("src/**", "lib/src/a.py", False),
        ("./src/*.py", "src/a.py", True),
        ("src/**/*.{ts,tsx}", "src/a.tsx", True),
        ("*.env", ".env", True),
    ],
)
def test_a_file_pattern_without_a_slash_is_for_names_and_one_with_a_slash_for_paths(
    pattern: str, path: str, wanted: bool
) -> None:
    assert Hook("pre_tool_use", "check", command="true", file_patterns=[pattern]).wants([path]) is wanted


def test_any_path_of_a_call_is_enough_and_no_path_is_not() -> None:
    hook = Hook("post_tool_use", "lint", command="true", file_patterns="*.py")

    assert hook.wants(["README.md", "src/a.py"])
    assert hook.chosen(["README.md", "src/a.py"]) == ["src/a.py"]
    assert not hook.wants([])


@pytest.mark.parametrize("command", ["lint {file}", 'lint "$TOOLHAFT_FILE_PATH"'])
def test_a_command_that_names_the_file_runs_once_for_each(command: str) -> None:
    assert Hook("post_tool_use", "lint", command=command).runs(["a", "b"]) == ["a", "b"]


def test_a_command_that_names_no_file_runs_once() -> None:
    hook = Hook("post_tool_use", "count", command="wc -c")

    assert hook.runs(["a", "b"]) == ["a"]
    assert hook.runs([]) == [""]


def test_without_a_path_there_is_nothing_to_put_for_the_placeholder() -> None:
    assert Hook("post_tool_use", "lint", command="lint {file}").runs([]) == []
    assert Hook("pre_tool_use", "look", command='test "$TOOLHAFT_FILE_PATH"').runs([]) == [""]


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"event": "before_tool"}, "there is no event 'before_tool'. Use one of pre_tool_use, "),
        ({"command": None}, "needs a command or a function"),
        ({"function": print}, "needs a command or a function, and not both"),
        ({"command": " \0"}, "is empty"),
        ({"command": 'lint "src/{file}"'}, "stands in double quotes"),
        ({"matcher": "*_file"}, "matcher='*_file' is no regular expression"),
        ({"file_patterns": ["[a"]}, "has a '[' that is not closed"),
        ({"timeout_seconds": 0.5}, "a timeout of 0.5 seconds is not possible. Use 1 to 300."),
        ({"timeout_seconds": 301}, "a timeout of 301 seconds"),
        ({"on_hook_error": "ignore"}, "on_hook_error='ignore' is none"),
        ({"event": "post_tool_use", "on_hook_error": "block"}, "only for pre hooks"),
    ],
)
def test_what_cannot_be_meant_is_an_error_that_says_which_hook_and_where(wrong: dict[str, Any], said: str) -> None:
    given = {"event": "pre_tool_use", "name": "check", "command": "true", "source": "toolhaft.toml:3", **wrong}

    with pytest.raises(ValueError, match="cannot be: ") as caught:
        Hook(**given)

    assert str(caught.value).startswith("toolhaft.toml:3: the hook 'check' cannot be: ")
    assert said in str(caught.value)


def test_post_edit_of_old_configurations_stands_for_every_tool_that_edits() -> None:
    hook = Hook("post_tool_use", "lint", command="true", matcher=POST_EDIT_MATCHER)

    assert all(hook.is_for(tool) for tool in ("edit_file", "update_file", "write_file", "apply_patch"))
    assert not hook.is_for("read_file")
