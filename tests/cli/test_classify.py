"""`toolhaft classify`, as another program meets it."""

import json
import subprocess
import sys
from pathlib import Path

from toolhaft.shell import classify

from .test_cli import toolhaft

CASES = [
    json.loads(line)
    for line in (Path(__file__).parent.parent / "cases" / "commands.jsonl").read_text(encoding="utf-8").splitlines()
]


def answers(lines: list[str]) -> list[dict[str, object]]:
    done = toolhaft("classify", "--stdin", stdin="".join(line + "\n" for line in lines))

    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def test_one_command_is_answered_by_one_line() -> None:
    done = toolhaft("classify", "cat .env > 'my copy'")

    assert done.returncode == 0
    assert done.stdout.count("\n") == 1
    assert json.loads(done.stdout) == {
        "command": "cat .env > 'my copy'",
        "verdict": "dangerous",
        "reason": "> my copy: a redirection writes a file",
        "paths": [
            {"path": "my copy", "access": "write", "exact": True, "folder": ""},
            {"path": ".env", "access": "read", "exact": True, "folder": ""},
        ],
    }


def test_every_case_gets_an_accepted_verdict_in_order() -> None:
    found = answers([json.dumps(case["command"]) for case in CASES])

    assert [answer["command"] for answer in found] == [case["command"] for case in CASES]
    for case, answer in zip(CASES, found, strict=True):
        assert answer["verdict"] in case["accept"], answer
        assert list(answer) == ["command", "verdict", "reason", "paths"]


def test_a_line_that_is_no_json_string_is_answered_too_and_the_rest_goes_on() -> None:
    found = answers(['"ls"', "ls -l", "7", '{"command": "ls"}', "", "[" * 100_000, '"pwd"'])

    assert [answer["verdict"] for answer in found] == ["safe", *["dangerous"] * 5, "safe"]
    for answer in found[1:6]:
        assert answer["command"] is None
        assert "JSON" in str(answer["reason"])


def test_bytes_that_are_no_utf8_are_answered_too() -> None:
    done = toolhaft("classify", "--stdin", stdin=b'"\xff"\n"ls"\n')

    first, second = (json.loads(line) for line in done.stdout.splitlines())
    assert first["verdict"] == "dangerous"
    assert second["verdict"] == "safe"


def test_any_character_of_a_command_comes_back() -> None:
    commands = ["echo 'é\u2028\x00\x1b'", "echo \ud800", "echo a\nrm -rf /", ""]

    found = answers([json.dumps(command) for command in commands])

    assert [answer["command"] for answer in found] == commands
    assert [answer["verdict"] for answer in found] == [str(classify(command).level) for command in commands]


def test_nothing_to_classify_is_a_mistake() -> None:
    done = toolhaft("classify")

    assert done.returncode == 2
    assert "--stdin" in done.stderr


def test_it_loads_neither_pydantic_ai_nor_lxml() -> None:
    code = (
        "import sys\n"
        "from toolhaft.cli import main\n"
        "sys.argv[1:] = ['classify', 'ls']\n"
        "try:\n    main()\nexcept SystemExit as end:\n    assert not end.code\n"
        "heavy = {'pydantic_ai', 'lxml', 'anyio'} & set(sys.modules)\n"
        "assert not heavy, heavy\n"
    )

    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False)

    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["verdict"] == "safe"
