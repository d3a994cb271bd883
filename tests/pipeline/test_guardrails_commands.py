"""Commands that guardrails block, whatever the mode: by the classifier, and by patterns of a configuration."""

import time
from pathlib import Path

import pytest

from tests.pipeline.calls import call_of
from toolhaft.pipeline.call import Call, Refused
from toolhaft.pipeline.guardrails import Guardrails
from toolhaft.pipeline.preview import Preview
from toolhaft.spec import ToolKind
from toolhaft.tools import bash
from toolhaft.workspace import use_workspace


@pytest.mark.parametrize("command", ["sudo ls", "rm -rf /", "echo $(sudo ls)", "sudo ls # " + "x" * 10_000])
async def test_what_the_classifier_blocks_is_refused_without_any_configuration(tmp_path: Path, command: str) -> None:
    call = call_of(bash, {"command": command})

    with use_workspace(tmp_path), pytest.raises(Refused, match="^Guardrail: the command is blocked") as raised:
        await Guardrails().admit(call, preview=Preview(call))

    assert (raised.value.rule, raised.value.source) == ("blocked_commands", "always refused")


async def test_a_command_of_somebody_elses_tool_is_blocked_too(tmp_path: Path) -> None:
    args = {"steps": [{"cmd": ["sudo", "ls"]}]}
    call = Call(name="mcp_x", args=args, kind=ToolKind.MCP, sensitive=True, call_id="c1", conversation_id="talk")

    with use_workspace(tmp_path), pytest.raises(Refused, match="sudo"):
        await Guardrails().admit(call, preview=Preview(call))


@pytest.mark.parametrize(
    ("pattern", "command", "is_blocked"),
    [
        ("terraform apply", "terraform apply", True),
        ("terraform apply", "cd infra && terraform   'apply' -auto-approve", True),
        ("^terraform apply", "env TF_LOG=1 terraform apply", True),
        ("^terraform apply", "bash -c 'cd infra; terraform apply'", True),
        ("^terraform apply", "echo terraform apply", False),
        ("^terraform apply", "echo $(terraform apply)", True),
        ("^git push$", "git \\\n  push", True),
        (r"curl.*\|\s*jq", "curl https://x | jq .", True),
        (r">\s*/dev/ttyS", "echo x > /dev/ttyS0", True),
        (r"(?i)drop\s+table", "psql -c 'DROP  TABLE x'", True),
        ("rm .*cache", "rm a\nls cache", False),
        ("git push", "git push 'not closed", True),
        ("git push", "echo '\ud800'; git push", True),
    ],
)
def test_a_pattern_is_searched_in_what_bash_would_run(
    tmp_path: Path, pattern: str, command: str, is_blocked: bool
) -> None:
    rails = Guardrails(blocked_commands=[pattern], sources={"blocked_commands": "toolhaft.toml:4"})

    with use_workspace(tmp_path):
        refusal = rails.check_command(command)

    assert (refusal is not None) is is_blocked
    if refusal is not None:
        assert (refusal.rule, refusal.source) == ("blocked_commands", "toolhaft.toml:4")


def test_commands_are_not_unwrapped_for_ever(tmp_path: Path) -> None:
    rails = Guardrails(blocked_commands=["^no such command"])

    with use_workspace(tmp_path):
        assert rails.check_command("env " * 50 + "ls") is None


def test_a_pattern_that_backtracks_elsewhere_takes_no_time_here(tmp_path: Path) -> None:
    rails = Guardrails(blocked_commands=["(a+)+$"])
    started = time.monotonic()

    with use_workspace(tmp_path):
        assert rails.check_command(f"echo {'a' * 20_000}!") is None

    assert time.monotonic() - started < 20  # backtracking would take longer than the universe


@pytest.mark.parametrize("pattern", ["(", "a(?!b)", ""])
def test_a_pattern_that_cannot_be_is_an_error_that_names_rule_and_source(pattern: str) -> None:
    with pytest.raises(ValueError, match=r"^toolhaft.toml:5: blocked_commands\[1\] cannot be: The pattern"):
        Guardrails(blocked_commands=["ok", pattern], sources={"blocked_commands[1]": "toolhaft.toml:5"})
