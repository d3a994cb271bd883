"""The commands of a `LocalWorkspace`: its rules, who may run what, when they are made, when they end."""

import gc
import os
from pathlib import Path

import pytest
from pydantic_ai.workspaces import Workspace, WrapperWorkspace

from toolhaft import LocalWorkspace, use_workspace, workspace
from toolhaft.shell import Level, PathUse, classify
from toolhaft.workspace import CommandRules
from toolhaft.workspace.access import FileRuleError
from toolhaft.workspace.command_rules import CommandRefusedError, check_verdict
from toolhaft.workspace.commands import JobNotFoundError
from toolhaft.workspace.current import ToolWorkspace, is_judged, judged

from .processes import mine, with_argument
from .test_process import mark as mark

QUICK = CommandRules(confinement="none")


@pytest.mark.parametrize(
    ("wrong", "error", "says"),
    [
        ({"safe_commands": "ls"}, TypeError, "Give a tuple"),
        ({"blocked_patterns": ("(",)}, ValueError, "no regular expression"),
        ({"default_timeout_seconds": 0}, ValueError, "use 1 to 600"),
        ({"safe_commands": ("ls", " ")}, ValueError, "would make every command safe"),
        ({"pass_env": ("AWS_*",)}, ValueError, "no variable's name"),
        ({"max_output_lines": 1}, ValueError, "Use 2 or more"),
    ],
)
def test_a_rule_that_cannot_be_is_refused_at_once(wrong: dict[str, object], error: type[Exception], says: str) -> None:
    with pytest.raises(error, match=says):
        CommandRules(**wrong)  # type: ignore[arg-type]


def test_rules_take_lists_and_are_hashable() -> None:
    rules = CommandRules(safe_commands=["terraform plan"], pass_env=["A"])  # type: ignore[arg-type]

    assert rules.safe_commands == ("terraform plan",)
    assert hash(rules) == hash(CommandRules(safe_commands=("terraform plan",), pass_env=("A",)))
    assert rules.classify("terraform plan -out x").level is Level.SAFE


def test_only_what_is_safe_has_no_network_unless_the_rules_say_so() -> None:
    assert [CommandRules().network_for(level) for level in Level] == [False, True, True, True]
    assert not any(CommandRules(network=False).network_for(level) for level in Level)


@pytest.mark.parametrize(
    ("command", "rules", "judged", "read_only", "runs"),
    [
        ("ls", CommandRules(), False, True, True),
        ("make", CommandRules(), False, False, True),
        ("make", CommandRules(), True, True, False),
        ("touch a", CommandRules(), False, False, False),
        ("touch a", CommandRules(), True, False, True),
        ("touch a", CommandRules(allowed_only=True), True, False, False),
        ("sudo ls", CommandRules(), True, False, False),
        ("sudo ls", CommandRules(safe_commands=("sudo",)), True, False, False),
    ],
)
def test_who_may_run_what(command: str, rules: CommandRules, judged: bool, read_only: bool, runs: bool) -> None:
    verdict = rules.classify(command)

    if runs:
        check_verdict(verdict, rules, judged=judged, read_only=read_only)
        return
    with pytest.raises(CommandRefusedError, match=f"it is {verdict.level} "):
        check_verdict(verdict, rules, judged=judged, read_only=read_only)


def test_judged_holds_in_its_block_only() -> None:
    with judged():
        with judged():
            pass
        assert is_judged()
    assert not is_judged()


async def test_nothing_is_started_before_the_first_command(tmp_path: Path, mark: str) -> None:
    before = mine()
    place = LocalWorkspace(tmp_path, commands=QUICK)
    assert place.commands.made is None
    await place.aclose()

    async with place:
        with use_workspace(place) as tools:
            await tools.run_command("true", timeout_seconds=5)
            assert mine() > before
            job = await tools.start_job(f"sleep {mark}")
            assert tools.job(job.job_id) is job

    assert mine() == before
    assert not with_argument(mark)


async def test_a_workspace_that_is_forgotten_ends_its_commands(tmp_path: Path, mark: str) -> None:
    place = ToolWorkspace(LocalWorkspace(tmp_path, commands=QUICK))
    await place.start_job(f"sleep {mark}")

    del place
    gc.collect()

    assert not with_argument(mark)


async def test_a_view_of_the_same_workspace_has_the_same_jobs(tmp_path: Path, mark: str) -> None:
    async with LocalWorkspace(tmp_path, commands=QUICK) as place:
        job = await ToolWorkspace(place).start_job(f"sleep {mark}")

        assert ToolWorkspace(Workspace(place)).job(job.job_id) is job
        with pytest.raises(JobNotFoundError):
            ToolWorkspace(place).job("job-2")


async def test_a_folder_that_does_not_exist_is_said_and_may_come_later(tmp_path: Path) -> None:
    async with LocalWorkspace(tmp_path / "later", commands=QUICK) as place:
        tools = ToolWorkspace(place)
        with pytest.raises(RuntimeError, match="does not exist"):
            await tools.run_command("true", timeout_seconds=5)
        (tmp_path / "later").mkdir()

        assert (await tools.run_command("true", timeout_seconds=5)).exit_code == 0


@pytest.mark.parametrize(
    ("use", "refused"),
    [
        (PathUse(".env", "read"), True),
        (PathUse(".env", "unknown"), True),
        (PathUse("gone/.env", "unknown"), False),
        (PathUse("gone/.env", "read"), True),
        (PathUse("link", "unknown"), True),
        (PathUse(".e?v", "read", False), True),
        (PathUse(".[^a]nv", "unknown", False), True),
        (PathUse("*", "read", False), True),  # for the link
        (PathUse("a*", "read", False), False),
        (PathUse("*.pem", "read", False), False),
        (PathUse("$X/.env", "read", False), True),
        (PathUse(".env", "read", True, None), True),
        (PathUse("../.env", "read", True, "sub"), True),
        (PathUse("a.txt", "write"), False),
        (PathUse(".git/config", "read"), False),
        (PathUse(".git/config", "write"), True),
        (PathUse(".git/config", "unknown"), True),
        (PathUse("/etc/hostname", "read"), False),
    ],
)
async def test_a_path_is_judged_by_its_text_and_by_where_it_leads(tmp_path: Path, use: PathUse, refused: bool) -> None:
    for name in (".env", "a.txt", ".git/config"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()
    (tmp_path / "sub").mkdir()
    (tmp_path / "link").symlink_to(".env")
    verdict = classify("true")

    async def check() -> None:
        await workspace().check_command_paths(verdict.__class__(verdict.level, "", (), (use,)))

    with use_workspace(tmp_path):
        if refused:
            with pytest.raises(FileRuleError):
                await check()
        else:
            await check()


async def test_elsewhere_a_link_is_followed_by_the_workspace_itself(tmp_path: Path) -> None:
    (tmp_path / ".env").touch()
    (tmp_path / "link").symlink_to(".env")
    (tmp_path / "out").symlink_to("/etc")
    place = ToolWorkspace(WrapperWorkspace(Workspace(LocalWorkspace(tmp_path))))

    for command in ("cat link", "cat .env", "cat ~/.ssh/x"):
        with pytest.raises(FileRuleError):
            await place.check_command_paths(classify(command))
    for command in ("cat out/hostname", "cat gone", "mytool .env", "cat *"):
        await place.check_command_paths(classify(command))


async def test_a_long_command_is_judged_in_a_thread(tmp_path: Path) -> None:
    verdict = await ToolWorkspace(LocalWorkspace(tmp_path)).judge_command("ls # " + "." * 20_000)

    assert verdict.level is Level.SAFE
    assert os.path.isdir(tmp_path)
