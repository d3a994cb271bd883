"""The level of whole commands: the shared cases, and our own rows by kind."""

import json
import re
from pathlib import Path

import pytest

from toolhaft.shell import Level, classify

from . import rows

CASES = [
    json.loads(line)
    for line in (Path(__file__).parent.parent / "cases" / "commands.jsonl").read_text(encoding="utf-8").splitlines()
]


def each(table: dict[str, list[str]]) -> list[object]:
    return [
        pytest.param(command, id=f"{kind}: {command!r}"[:90])
        for kind, commands in table.items()
        for command in commands
    ]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["id"])
def test_the_verdict_of_a_case_is_an_accepted_one_and_never_too_trusting(case: dict[str, object]) -> None:
    verdict = classify(str(case["command"]))

    assert verdict.level.rank >= case["rank_floor"], verdict.reason
    assert verdict.level.value in case["accept"], verdict.reason  # type: ignore[operator]


def test_nearly_every_case_gets_its_strict_answer() -> None:
    exact = [case for case in CASES if classify(case["command"]).level.value == case["expected"]]

    assert len(exact) >= 0.95 * len(CASES)


@pytest.mark.parametrize("command", each(rows.SAFE))
def test_a_reader_is_safe(command: str) -> None:
    verdict = classify(command)

    assert verdict.level is Level.SAFE, verdict.reason


@pytest.mark.parametrize("command", each(rows.DEV))
def test_a_development_tool_is_dev(command: str) -> None:
    verdict = classify(command)

    assert verdict.level is Level.DEV, verdict.reason


@pytest.mark.parametrize("command", each(rows.DANGEROUS))
def test_what_writes_runs_or_is_not_understood_is_dangerous(command: str) -> None:
    verdict = classify(command)

    assert verdict.level is Level.DANGEROUS, verdict.reason


def test_a_case_inside_a_substitution_is_not_read_and_so_dangerous() -> None:
    verdict = classify("echo $(case a in a) ls;; esac)")

    assert verdict.level is Level.DANGEROUS
    assert "case inside $(...)" in verdict.reason


@pytest.mark.parametrize("command", each(rows.BLOCKED))
def test_what_destroys_is_blocked_however_it_is_spelled(command: str) -> None:
    verdict = classify(command)

    assert verdict.level is Level.BLOCKED, verdict.reason


@pytest.mark.parametrize("command", rows.NOT_BLOCKED)
def test_what_only_looks_like_it_is_not_blocked(command: str) -> None:
    verdict = classify(command)

    assert verdict.level is not Level.BLOCKED, verdict.reason


def test_levels_compare_by_rank() -> None:
    assert Level.SAFE < Level.DEV < Level.DANGEROUS < Level.BLOCKED
    assert Level.BLOCKED > Level.DANGEROUS >= Level.DANGEROUS
    assert Level.SAFE <= Level.SAFE
    assert max([Level.DEV, Level.BLOCKED, Level.SAFE], key=lambda level: level.rank) is Level.BLOCKED
    assert f"{Level.DEV}" == "dev"


def test_the_reason_names_the_worst_part() -> None:
    assert classify("git status && touch a").reason == "touch: not a known reader or development tool"
    assert classify("ls; rm -rf ~").reason == "rm of '~'"
    assert "option --output" in classify("sort --output=a b").reason
    assert "not understood" in classify("ls 'a").reason


def test_a_verdict_lists_the_simple_commands_it_found() -> None:
    verdict = classify("a=1 l's' -l | wc $(cat f) # done")

    assert verdict.commands == ("ls -l", "cat f", "wc $(...)")


def test_configuration_adds_safe_commands_by_whole_words() -> None:
    safe = ["terraform plan", "mytool"]

    assert classify("terraform plan -out x", safe_commands=safe).level is Level.SAFE
    assert classify("cd a && mytool", safe_commands=safe).level is Level.SAFE
    assert classify("terraform planx", safe_commands=safe).level is Level.DANGEROUS
    assert classify("terraform apply", safe_commands=safe).level is Level.DANGEROUS
    assert classify("mytool; touch a", safe_commands=safe).level is Level.DANGEROUS
    assert classify("mytool > a", safe_commands=safe).level is Level.DANGEROUS
    assert classify("LD_PRELOAD=x mytool", safe_commands=safe).level is Level.DANGEROUS
    assert classify("mytool $(touch a)", safe_commands=safe).level is Level.DANGEROUS
    assert classify("sudo ls", safe_commands=["sudo"]).level is Level.BLOCKED
    assert classify("rm a", safe_commands=["", " "]).level is Level.DANGEROUS
    assert classify("env rm -rf build", safe_commands=["env"]).level is Level.SAFE
    assert classify("env rm -rf /", safe_commands=["env"]).level is Level.BLOCKED
    assert classify("git -c alias.x='!rm -rf /' x", safe_commands=["git"]).level is Level.BLOCKED


def test_configuration_adds_blocked_patterns_that_see_through_quotes() -> None:
    blocked = [r"^git push\b.*--force", r"npm publish", r"cat .* \| nc "]

    assert classify("g'it' push  origin --force", blocked_patterns=blocked).level is Level.BLOCKED
    assert classify("bash -c 'npm publish'", blocked_patterns=blocked).level is Level.BLOCKED
    assert classify("cat a | nc h 1", blocked_patterns=blocked).level is Level.BLOCKED
    assert classify("npm publish 'x", blocked_patterns=blocked).level is Level.BLOCKED
    assert classify("git push", blocked_patterns=blocked).level is Level.DANGEROUS
    with pytest.raises(re.error):
        classify("ls", blocked_patterns=["("])
