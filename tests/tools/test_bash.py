"""`bash`: what it answers, what it refuses, and that it leaves nothing."""

import os
import pickle
import re
import socket
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pydantic_ai import Agent, ModelRetry
from pydantic_ai.workspaces import LocalWorkspaceBackend, ReadOnlyWorkspace, Workspace

from tests.attach.agents import answers, calling
from tests.one_call import call_by_agent
from tests.workspace.processes import with_argument
from toolhaft import (
    Executor,
    FileOperationError,
    GovernedToolset,
    LocalWorkspace,
    Registry,
    ToolExecutionError,
    use_workspace,
)
from toolhaft.tools import bash, read_file, run_command
from toolhaft.workspace import CommandRules
from toolhaft.workspace.current import is_judged, judged

from .commands import approved as approved
from .commands import facts
from .commands import mark as mark
from .commands import place as place
from .commands import root as root

# --- the answer


async def test_the_answer_is_the_output_then_one_line_on_its_end(place: LocalWorkspace) -> None:
    with judged():
        answer = await bash("echo out; echo err >&2; exit 3")

    means = place.commands.rules.confinement
    text, _, line = answer.rpartition("\n")
    assert sorted(text.split()) == ["err", "out"]
    assert line.startswith("[exit code 3; 0.")
    assert f"confinement: {means}, network " in line
    assert facts(answer)["exit_code"] == 3
    assert facts(answer)["confinement"]["by"] == means
    assert facts(answer)["confinement"]["reason"]


async def test_no_output_is_said(root: Path) -> None:
    assert (await bash("true")).startswith("[no output; exit code 0; ")


async def test_facts_are_complete(root: Path) -> None:
    answer = await bash("echo a")

    assert {**facts(answer), "seconds": 0} == {
        "exit_code": 0,
        "killed_by": None,
        "timed_out": False,
        "truncated": False,
        "dropped_bytes": 0,
        "left_running": [],
        "spill": None,
        "seconds": 0,
        "confinement": {"by": "none", "reason": "it was switched off", "network": True},
        "verdict": {"level": "safe", "reason": "only reads"},
        "notes": ["the command was not confined: it could write and connect wherever this user can"],
    }


async def test_a_signal_is_named(root: Path) -> None:
    with judged():
        answer = await bash("kill -SEGV $$")

    assert answer.startswith("[no output; exit code 139 (SIGSEGV); ")
    assert (facts(answer)["exit_code"], facts(answer)["killed_by"]) == (139, "SIGSEGV")


@pytest.mark.usefixtures("approved")
async def test_what_still_ran_is_ended_and_said(place: LocalWorkspace, mark: str) -> None:
    answer = await bash(f"sleep {mark} & echo hi")

    assert answer.startswith("hi\n[exit code 0; ")
    assert f"still ran, and was ended: sleep {mark}" in answer
    assert facts(answer)["left_running"] == [f"sleep {mark}"]
    assert not with_argument(mark)


async def test_progress_bars_are_folded_and_bytes_that_are_no_text_replaced(root: Path) -> None:
    answer = await bash(r"printf '10%%\r50%%\r100%%\r\n\xff\n'")

    assert answer.startswith("100%\n\ufffd\n[exit code 0")


async def test_the_whole_of_a_long_output_is_in_a_file_that_read_file_reads(place: LocalWorkspace) -> None:
    answer = await bash("seq 1 100000")

    path = facts(answer)["spill"]
    head, _, rest = answer.partition("[... ")
    assert facts(answer)["truncated"]
    assert head.startswith("1\n2\n")
    assert "\n99999\n100000\n[exit code 0" in rest
    assert facts(answer)["dropped_bytes"] == sum(len(f"{n}\n") for n in range(501, 99_501))
    assert f"the whole output: read_file({path!r})" in answer
    assert "50000\t50000\n" in str(await read_file(path, offset=50_000, limit=1))
    assert str(await read_file(path, offset=-1)).startswith("100000\t100000")


async def test_a_limit_of_lines_is_kept_and_what_is_left_out_is_in_the_file(tmp_path: Path) -> None:
    async with LocalWorkspace(tmp_path, commands=CommandRules(confinement="none", max_output_lines=4)) as place:
        with use_workspace(place):
            short, long = await bash("seq 4"), await bash("seq 5; printf 6")

    assert not facts(short)["truncated"]
    assert facts(short)["spill"] is None
    assert long.startswith("1\n2\n[... 2 lines, 4 bytes left out ...]\n5\n6\n[exit code 0")
    assert (tmp_path / facts(long)["spill"]).read_text() == "1\n2\n3\n4\n5\n6"


async def test_where_the_whole_output_cannot_be_kept_it_is_said(root: Path, tmp_path: Path) -> None:
    (root / ".toolhaft").symlink_to(tmp_path)

    answer = await bash("seq 1 100000")

    assert facts(answer)["spill"] is None
    assert "the whole output could not be kept: Not a directory" in answer
    assert sorted(path.name for path in tmp_path.iterdir()) == ["repo"]


# --- arguments


async def test_it_starts_where_it_is_told(place: LocalWorkspace, tmp_path: Path) -> None:
    (tmp_path / "repo" / "sub").mkdir()

    assert (await bash("basename $PWD", cwd="sub")).startswith("sub\n")
    assert (await bash("basename $PWD", cwd=str(tmp_path / "repo" / "sub"))).startswith("sub\n")
    assert (await bash("basename $PWD")).startswith("repo\n")


@pytest.mark.parametrize("cwd", ["..", "/", "out", "sub/../.."])
async def test_a_folder_outside_is_refused(root: Path, cwd: str) -> None:
    (root / "out").symlink_to("/")

    with pytest.raises(FileOperationError, match="leads out of the workspace") as caught:
        await bash("ls", cwd=cwd)

    assert caught.value.path == cwd


@pytest.mark.parametrize("cwd", ["nope", "file", "a\0b", "\ud800"])
async def test_what_is_no_folder_is_to_be_mended(root: Path, cwd: str) -> None:
    (root / "file").touch()

    for background in (False, True):
        with pytest.raises(ModelRetry, match=re.escape(f"cwd={cwd!r} is no folder of the workspace")):
            await bash("ls", cwd=cwd, background=background)


@pytest.mark.parametrize("value", ["a\0b", "\ud800"])
async def test_a_value_that_no_process_can_be_given_is_to_be_mended(root: Path, value: str) -> None:
    with pytest.raises(ModelRetry, match="'A' cannot be set in the environment"):
        await bash("ls", env={"A": value})


@pytest.mark.parametrize("timeout", [0, 0.5, 601, -1, True, "30"])
async def test_a_timeout_that_is_not_1_to_600_whole_seconds_is_refused(root: Path, timeout: Any) -> None:
    for tool in (bash, run_command):
        with pytest.raises(ModelRetry, match="in whole seconds, 1 to 600"):
            await tool("true", timeout=timeout)


@pytest.mark.parametrize("command", ["", "  \n", "ls\0", "ls \ud800", "#" * (1 << 17)])
async def test_what_is_no_command_is_to_be_mended(root: Path, command: str) -> None:
    with pytest.raises(ModelRetry, match="is no command|the kernel takes"):
        await bash(command)


async def test_env_adds_to_a_scrubbed_environment(place: LocalWorkspace, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "hunter2")

    answer = await bash("env", env={"CI": "1"})

    assert "\nCI=1\n" in f"\n{answer}"
    assert "hunter2" not in answer
    with pytest.raises(ModelRetry, match="'LD_PRELOAD' is refused"):
        await bash("env", env={"LD_PRELOAD": "x.so"})


async def test_configuration_lets_a_variable_pass(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DEPLOY_REGION", "eu")
    rules = CommandRules(confinement="none", pass_env=("DEPLOY_REGION",))

    async with LocalWorkspace(tmp_path, commands=rules, env={"FIXED": "yes"}) as place:
        with use_workspace(place):
            answer = await bash("echo $DEPLOY_REGION $FIXED")

    assert answer.startswith("eu yes\n")


# --- the end


@pytest.mark.usefixtures("approved")
async def test_a_timeout_is_a_failure_that_says_what_was_written_and_what_was_ended(
    place: LocalWorkspace, mark: str
) -> None:
    with pytest.raises(ToolExecutionError, match="timeout of 1 s was over") as caught:
        await bash(f"echo begun; (trap '' TERM; sleep {mark}) & sleep {mark}", timeout=1)

    assert "begun\n[ended by timeout; 1." in caught.value.message
    assert caught.value.facts["timed_out"]  # type: ignore[attr-defined]
    assert caught.value.facts["exit_code"] is None  # type: ignore[attr-defined]
    assert pickle.loads(pickle.dumps(caught.value)).facts == caught.value.facts  # type: ignore[attr-defined]
    assert not with_argument(mark)


@pytest.mark.usefixtures("approved")
async def test_the_rules_give_the_timeout_and_an_explicit_one_wins(tmp_path: Path, mark: str) -> None:
    rules = CommandRules(confinement="none", default_timeout_seconds=1)
    async with LocalWorkspace(tmp_path, commands=rules) as place:
        with use_workspace(place):
            with pytest.raises(ToolExecutionError, match="timeout of 1 s"):
                await bash(f"sleep {mark}")
            assert (await bash("sleep 1.2; echo done", timeout=30)).startswith("done\n")


async def test_the_executor_calls_a_non_zero_exit_success_and_a_timeout_failure(root: Path) -> None:
    executor = Executor(Registry().register_all())

    failed = await executor.execute("bash", {"command": "false"})
    late = await executor.execute("run_command", {"command": "echo a; sleep 5", "timeout": 1})
    refused = await executor.execute("bash", {"command": "sudo ls"})
    half = await executor.execute("bash", {"command": "ls", "timeout": 0.5})

    assert (failed.success, failed.exit_code) == (True, 1)
    assert (late.success, late.exit_code, late.metadata["timed_out"]) == (False, None, True)
    assert not refused.success
    assert "always refused" in str(refused.error)
    assert not half.success
    assert "timeout" in str(half.error)


# --- who may run what


async def test_a_bare_call_runs_what_is_safe_or_development_and_says_how_to_allow_more(root: Path) -> None:
    (root / "Makefile").write_text("all:\n\techo built\n")

    assert "built" in await bash("make")
    with pytest.raises(ToolExecutionError, match="it is dangerous") as caught:
        await bash("touch made")

    assert "CommandRules(safe_commands=...)" in caught.value.message
    assert not (root / "made").exists()


async def test_a_judged_call_runs_what_is_dangerous_but_never_what_is_blocked(root: Path) -> None:
    with judged():
        assert is_judged()
        await bash("touch made")
        with pytest.raises(ToolExecutionError, match="always refused"):
            await bash("rm -rf /")
    assert not is_judged()
    assert (root / "made").exists()


async def test_configuration_adds_safe_commands_and_blocked_patterns(tmp_path: Path) -> None:
    rules = CommandRules(safe_commands=("touch made",), blocked_patterns=("^make deploy",), confinement="none")
    async with LocalWorkspace(tmp_path, commands=rules) as place:
        with use_workspace(place), judged():
            assert facts(await bash("touch made"))["verdict"]["level"] == "safe"
            with pytest.raises(ToolExecutionError, match="always refused"):
                await bash("make deploy")


async def test_allowed_only_refuses_what_is_dangerous_also_when_judged(tmp_path: Path) -> None:
    async with LocalWorkspace(tmp_path, commands=CommandRules(allowed_only=True, confinement="none")) as place:
        with use_workspace(place), judged():
            assert facts(await bash("ls"))["exit_code"] == 0
            with pytest.raises(ToolExecutionError, match="allowed_only=True"):
                await bash("npm install --global malicious-pkg")


async def test_a_read_only_workspace_runs_only_what_reads(tmp_path: Path) -> None:
    (tmp_path / "Makefile").write_text("all:\n\ttouch made\n")
    async with LocalWorkspace(tmp_path, read_only=True, commands=CommandRules(confinement="none")) as place:
        with use_workspace(place), judged():
            assert (await bash("ls")).startswith("Makefile\n")
            assert "could not be kept" not in await bash("seq 1 100000")
            with pytest.raises(ToolExecutionError, match="read-only workspace"):
                await bash("make")

    assert [path.name for path in tmp_path.iterdir()] == ["Makefile"]


async def test_a_preview_runs_nothing_and_refuses_what_would_be(root: Path) -> None:
    executor = Executor(Registry().register_all())

    with judged():
        seen = await executor.preview("bash", {"command": "touch made"})
        refused = await executor.preview("run_command", {"command": "sudo touch made"})

    assert "Would run: touch made\n\n[dangerous: touch: " in seen.output
    assert not refused.success
    assert list(root.iterdir()) == [root / "sub"]


# --- files


@pytest.mark.parametrize(
    ("command", "cwd"),
    [
        ("cat .env", None),
        ("cat < .env", None),
        ("cat link", None),
        ("cat sub/way/.env", None),
        ("cat ../.env", "sub"),
        ("cd sub && cat ../.env", None),
        ("cat .e*", None),
        ("cat .[e]nv", None),
        ("c'a't ./sub/../.e\"n\"v", None),
        ("grep K .env", None),
        ("python -c 'print(open(\".env\").read())' .env", None),
        ("make -f link", None),
        ("echo x > .env", None),
        ("cp .env copy", None),
        ("cat $HOME/.ssh/id_rsa", None),
        ("cat ~/.aws/credentials", None),
        ("cat /proc/self/cwd/.env", None),
        ("echo x > .git/config", None),
        ("rm -r .git", None),
        ("rm way/config", None),
        ("tee .git/hooks/pre-commit", None),
    ],
)
async def test_what_a_file_tool_would_not_touch_a_command_does_not_either(
    root: Path, command: str, cwd: str | None
) -> None:
    (root / ".git" / "hooks").mkdir(parents=True)
    (root / ".git" / "config").write_text("[core]")
    (root / ".env").write_text("K=1")
    (root / "link").symlink_to(".env")
    (root / "sub" / "way").symlink_to("..")
    (root / "way").symlink_to(".git")

    with judged(), pytest.raises(ToolExecutionError, match="is a sensitive file|is protected against changes"):
        await bash(command, cwd=cwd)

    assert (root / ".env").read_text() == "K=1"
    assert (root / ".git" / "config").read_text() == "[core]"


async def test_the_refusal_is_that_of_the_file_tool(root: Path) -> None:
    (root / ".env").write_text("K=1")

    with pytest.raises(ToolExecutionError) as by_command:
        await bash("cat .env")
    with pytest.raises(FileOperationError) as by_tool:
        await read_file(".env")

    assert by_command.value.reason == by_tool.value.reason


async def test_what_only_looks_like_such_a_file_runs(root: Path) -> None:
    (root / "a.env.py").write_text("1")
    (root / ".env.example").write_text("K=")

    for command in ("cat a.env.py", "cat .env.example", "ls *", "echo .env", "cat nothing*"):
        await bash(command)


# --- out of the workspace, under each means of confinement


@pytest.fixture
def server() -> Iterator[int]:
    """A port of this machine on which somebody listens."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        thread = threading.Thread(target=_accept, args=[listening], daemon=True)
        thread.start()
        yield listening.getsockname()[1]


def _accept(listening: socket.socket) -> None:
    while True:
        try:
            listening.accept()[0].close()
        except OSError:
            return


ESCAPES = {
    "a write outside": ("echo x > {outside}/made", r"Read-only file system|Permission denied"),
    "a write through a link": ("echo x > way/made", r"Read-only file system|Permission denied"),
    "a write through /proc/self/root": (
        "echo x > /proc/self/root{outside}/made",
        r"Read-only file system|Permission denied",
    ),
    "a link of a file outside": ("ln {outside}/file hard", r"Invalid cross-device link|Operation not permitted|denied"),
    "a removal outside": ("rm -f {outside}/file", r"Read-only file system|Permission denied"),
    "a denied key": ("cat $(printf %s/.ss%s_%s {home} h/id ed25519)", r"Permission denied|No such file"),
    "the parent killed": ("kill -9 $PPID; echo still here", r"still here"),
    "the host killed": ("kill -9 {host}", r"No such process|Operation not permitted"),
}


@pytest.mark.parametrize("escape", ESCAPES)
async def test_an_escape_fails_with_the_kernels_error(
    place: LocalWorkspace, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch, escape: str
) -> None:
    if place.commands.rules.confinement == "none":
        pytest.skip("confinement: none, as the answer says")
    # Not below /tmp, of which a command has one of its own.
    with tempfile.TemporaryDirectory(dir="/var/tmp") as folder:
        outside = Path(folder)
        (outside / ".ssh").mkdir()
        (outside / ".ssh" / "id_ed25519").write_text("hunter2")
        (outside / "file").write_text("theirs")
        (Path(place.ref.id) / "way").symlink_to(outside)
        monkeypatch.setenv("HOME", folder)
        command, error = ESCAPES[escape]

        with judged():
            answer = await bash(command.format(outside=outside, home=outside, host=os.getpid()))

        assert "hunter2" not in answer
        assert re.search(error, answer), answer
        assert sorted(path.name for path in outside.iterdir()) == [".ssh", "file"]
        assert (outside / "file").read_text() == "theirs"


async def test_the_network_is_off_for_safe_commands_and_on_for_others_and_the_answer_says_it(
    place: LocalWorkspace, server: int
) -> None:
    if place.commands.rules.confinement == "none":
        pytest.skip("confinement: none cuts nothing off, as the answer says")
    connect = f"exec 3<>/dev/tcp/127.0.0.1/{server}; echo $?"
    with judged():
        on = await bash(connect)
        off = await bash("true")

    assert "0\n[" in on
    assert "network on" in on
    assert "network off" in off
    assert not facts(off)["confinement"]["network"]


async def test_a_workspace_without_network_has_none_for_approved_commands_either(
    tmp_path: Path, server: int, place: LocalWorkspace
) -> None:
    means = place.commands.rules.confinement
    if means == "none":
        pytest.skip("confinement: none cuts nothing off, as the answer says")
    async with LocalWorkspace(tmp_path, commands=CommandRules(network=False, confinement=means)) as cut:
        with use_workspace(cut), judged():
            answer = await bash(f"exec 3<>/dev/tcp/127.0.0.1/{server}")

    assert "network off" in answer
    assert "Network is unreachable" in answer or "Permission denied" in answer or "Connection refused" in answer


# --- elsewhere


async def test_any_other_workspace_runs_commands_in_its_own_way_under_the_same_rules(root: Path) -> None:
    (root / ".env").write_text("K=1")
    with use_workspace(Workspace(LocalWorkspaceBackend(str(root)))):
        answer = await bash("pwd; exit 4", cwd="sub")
        flood = await bash("seq 1 100000")
        with pytest.raises(ToolExecutionError, match="is a sensitive file"):
            await bash("cat .env")
        with pytest.raises(ToolExecutionError, match="it is dangerous"):
            await bash("touch made")
        with pytest.raises(FileOperationError, match="leads out"):
            await bash("ls", cwd="..")
        with pytest.raises(ToolExecutionError, match="timeout of 1 s"):
            await bash("sleep 20", timeout=1)

    assert answer.startswith(f"{root}/sub\n[exit code 4; ")
    assert "confinement: that workspace's own" in answer
    assert facts(answer)["confinement"]["by"] == "workspace"
    assert facts(flood)["truncated"]
    assert len(flood) < 60_000
    assert facts(flood)["spill"] is None


async def test_a_policy_wrapper_is_never_gone_around(root: Path) -> None:
    with use_workspace(ReadOnlyWorkspace(Workspace(LocalWorkspace(root)))):
        with pytest.raises(ToolExecutionError, match="read-only"):
            await bash("ls")
        with pytest.raises(ToolExecutionError, match="no background jobs"):
            await bash("ls", background=True)


async def test_more_output_than_another_workspace_takes_is_a_failure(root: Path) -> None:
    with use_workspace(Workspace(LocalWorkspaceBackend(str(root)))), pytest.raises(ToolExecutionError) as caught:
        await bash("head -c 20000000 /dev/zero | tr '\\0' x")

    assert "wrote more than this workspace takes" in caught.value.message
    assert len(caught.value.message) < 60_000


# --- through an agent


async def test_a_bare_agent_reads_the_answer(root: Path) -> None:
    part = await call_by_agent(bash, {"command": "echo hi; exit 2"})

    assert part.content.startswith("hi\n[exit code 2; ")  # type: ignore[union-attr]


async def test_a_governed_agent_goes_on_after_a_timeout_and_a_refusal(root: Path) -> None:
    model = calling(
        [("bash", {"command": "sleep 20", "timeout": 1})],
        [("bash", {"command": "rm -rf /"})],
        [("bash", {"command": "ls", "timeout": 601})],
        [("bash", {"command": "pwd"})],
    )

    result = await Agent(model, toolsets=[GovernedToolset([bash])]).run("go")

    told = [str(part.content) for part in answers(result.all_messages())]
    assert "timeout of 1 s was over" in told[0]
    assert "always refused" in told[1]
    assert told[3].startswith(f"{root}\n[exit code 0; ")
