"""Commands as hooks: real processes, from exit code to answer."""

import asyncio
import json
import os
import shlex
from pathlib import Path
from typing import Any

import pytest

from tests.pipeline.hook_calls import call_of
from tests.workspace.processes import with_argument
from tests.workspace.test_process import mark as mark
from toolhaft.pipeline.call import Refused
from toolhaft.pipeline.hooks import Hook, Hooks
from toolhaft.workspace import use_workspace


def hooks_of(event: str, command: str, **settings: Any) -> Hooks:
    """One hook that is a command."""
    return Hooks([Hook(event, "check", command=command, **settings)])


def before(command: str, **settings: Any) -> Hooks:
    """One pre hook that is a command."""
    return hooks_of("pre_tool_use", command, **settings)


async def refusal(hooks: Hooks, **args: Any) -> str:
    """Why the call is refused."""
    with pytest.raises(Refused) as caught:
        await hooks.before_call(call_of(**args))
    assert caught.value.stage == "hooks"
    return caught.value.message


async def test_stdin_is_one_json_object(project: Path) -> None:
    with use_workspace(project):
        await before("cat >told").before_call(call_of(path="a.txt", content="é\0\ud800"))
        told = json.loads((project / "told").read_text())
        await hooks_of("post_tool_use", "cat >told").after_call(call_of(path="a.txt"), succeeded=True, output="done")
        told_after = json.loads((project / "told").read_text())

    assert told == {
        "event": "pre_tool_use",
        "tool_name": "write_file",
        "tool_input": {"path": "a.txt", "content": "é\0\ud800"},
    }
    assert told_after == {
        "event": "post_tool_use",
        "tool_name": "write_file",
        "tool_input": {"path": "a.txt"},
        "tool_output": "done",
    }


async def test_the_variables_tell_of_the_call(project: Path) -> None:
    with use_workspace(project):
        hooks = hooks_of("post_tool_use", "env >told")
        await hooks.after_call(call_of("bash", path="src/add.py", command="make"), succeeded=False, output="")

    told = dict(line.split("=", 1) for line in (project / "told").read_text().splitlines() if "TOOLHAFT_" in line)
    assert told == {
        "TOOLHAFT_EVENT": "post_tool_use",
        "TOOLHAFT_WORKSPACE": str(project),
        "TOOLHAFT_TOOL_NAME": "bash",
        "TOOLHAFT_FILE_PATH": "src/add.py",
        "TOOLHAFT_COMMAND": "make",
        "TOOLHAFT_TOOL_SUCCESS": "false",
    }


async def test_a_hook_has_the_environment_of_its_user(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_TOKEN", "t0ken")
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)

    with use_workspace(project):
        await before('echo "$MY_TOKEN $HOME $XDG_CACHE_HOME" >told').before_call(call_of())

    home = os.path.expanduser("~")
    assert (project / "told").read_text() == f"t0ken {home} {home}/.cache\n"


async def test_text_on_stdout_is_no_answer() -> None:
    result = await before("echo '5'; echo '[INFO] fine'").before_call(call_of())

    assert (result.args, result.context) == (None, [])


async def test_json_on_stdout_adds_context_and_changes_arguments() -> None:
    answer = {"additionalContext": "Mind the tabs.", "updatedInput": {"path": "b.txt"}, "other": 1}

    result = await before(f"echo {shlex.quote(json.dumps(answer))}").before_call(call_of(path="a.txt", content="x"))

    assert result.args == {"path": "b.txt", "content": "x"}
    assert result.context == ["Mind the tabs."]


async def test_the_new_text_of_a_large_file_fits_into_an_answer() -> None:
    rewrite = """python3 -c 'import json, sys
told = json.load(sys.stdin)["tool_input"]
print(json.dumps({"updatedInput": {"content": told["content"] + "end"}}))'"""
    content = "line\n" * 100_000

    result = await before(rewrite).before_call(call_of(path="a.txt", content=content))

    assert result.args == {"path": "a.txt", "content": content + "end"}


async def test_exit_2_blocks_with_stderr_as_the_reason() -> None:
    message = await refusal(before("echo ignored; echo 'no secrets here' >&2; exit 2", on_hook_error="allow"))

    assert message == "Blocked by hook check: no secrets here"


async def test_exit_2_without_a_word_blocks_and_says_so() -> None:
    assert await refusal(before("exit 2")) == "Blocked by hook check: it gave no reason"


@pytest.mark.parametrize(
    ("command", "said"),
    [
        ("echo 'a traceback' >&2; exit 1", "exit 1: a traceback"),
        ("kill -SEGV $$", "exit 139"),
        ("no-such-program-here", "exit 127: "),
        ("./README.md", "exit 126: "),
        ("echo '{\"updatedInput\": '", "printed what begins like JSON and is none"),
        ("echo '{\"updatedInput\": 5}'", "answered with updatedInput that is int"),
        ("echo '{\"additionalContext\": [5]}'", "answered with additionalContext that is list"),
        ("printf '\\0\\0\\0'", "printed NULs"),
        ("printf '{%.0s' $(seq 1 100)", "printed what begins like JSON"),
        ("printf '{\"a\":%.0s' $(seq 1 20000)", "printed what begins like JSON"),
        ("yes | head -c 4000000", "bytes too many"),
        ("sleep 60", "no answer in 1 seconds"),
        ("trap '' TERM; while :; do sleep 1; done", "no answer in 1 seconds"),
    ],
)
async def test_a_broken_pre_hook_refuses_and_says_how_it_is_broken(project: Path, command: str, said: str) -> None:
    hooks = before(command, timeout_seconds=1)

    with use_workspace(project):
        message = await refusal(hooks)

    assert message.startswith("Blocked by hook check: the hook itself failed, so nothing passes it: ")
    assert said in message


async def test_a_broken_pre_hook_lets_pass_where_it_is_made_so() -> None:
    result = await before("exit 1", on_hook_error="allow").before_call(call_of())

    assert (result.args, result.context) == (None, [])


async def test_a_folder_that_is_gone_refuses(tmp_path: Path) -> None:
    with use_workspace(tmp_path / "gone"):
        assert "the hook itself failed" in await refusal(before("true"))


async def test_values_too_large_or_too_strange_for_a_variable_are_cut_and_whole_on_stdin(project: Path) -> None:
    command = "echo \0" + "x" * 300_000

    with use_workspace(project):
        hooks = before('printf %s "$TOOLHAFT_COMMAND" | wc -m >short; cat >told', file_patterns="*")
        await hooks.before_call(call_of("bash", command=command, path="a\0\ud800"))

    assert int((project / "short").read_text()) == 8_000
    assert json.loads((project / "told").read_text())["tool_input"]["command"] == command


@pytest.mark.parametrize("place", ["{file}", "'{file}'", '"{file}"'])
@pytest.mark.parametrize(
    "name", ["a b.py", "$(touch broken).py", "`touch broken`", "'; touch broken; '", 'a";touch broken;"', "new\nline"]
)
async def test_the_name_of_a_file_is_never_code(project: Path, place: str, name: str) -> None:
    with use_workspace(project):
        await before(f"printf %s {place} >told").before_call(call_of(path=name))

    assert (project / "told").read_text() == name
    assert not (project / "broken").exists()


async def test_a_shell_in_single_quotes_gets_the_name_too(project: Path) -> None:
    with use_workspace(project):
        await before("sh -c 'printf %s {file} >told'").before_call(call_of(path="$(touch broken) b.py"))

    assert (project / "told").read_text() == "$(touch broken) b.py"


async def test_a_name_that_begins_with_a_dash_is_no_option(project: Path) -> None:
    with use_workspace(project):
        await before("printf %s {file} >told").before_call(call_of(path="-rf"))

    assert (project / "told").read_text() == "./-rf"


async def test_a_failing_post_hook_is_told_with_both_streams_of_its_output() -> None:
    hooks = hooks_of("post_tool_use", "echo 'a.py:1: unused'; echo warned >&2; exit 2")

    remarks = await hooks.after_call(call_of(path="a.py"), succeeded=True, output="done")

    assert len(remarks) == 1
    assert remarks[0].splitlines()[0] == "[Hook check: FAILED (exit 2)]"
    assert sorted(remarks[0].splitlines()[1:]) == ["a.py:1: unused", "warned"]


async def test_long_output_is_shown_with_its_middle_left_out() -> None:
    hooks = hooks_of("post_tool_use", "seq 1 100000; exit 1")

    [remark] = await hooks.after_call(call_of(), succeeded=True, output="done")

    assert remark.startswith("[Hook check: FAILED (exit 1)]\n1\n2\n")
    assert "characters left out ...]" in remark
    assert remark.endswith("99999\n100000")
    assert len(remark) < 11_000


async def test_nothing_of_a_hook_is_left_when_it_has_answered(mark: str) -> None:
    await before(f"setsid sleep {mark} & sleep {mark} & exit 0").before_call(call_of())

    assert not with_argument(mark)


async def test_nothing_of_a_hook_is_left_when_its_call_is_cancelled(project: Path, mark: str) -> None:
    with use_workspace(project):
        call = asyncio.create_task(before(f"touch begun; setsid sleep {mark} & sleep {mark}").before_call(call_of()))
        while not (project / "begun").exists():
            await asyncio.sleep(0.01)
        call.cancel()

        with pytest.raises(asyncio.CancelledError):
            await call

    assert not with_argument(mark)
