"""No command that bash runs is missing from what we found: shown by running scripts against recording programs."""

import os
import random
import subprocess
from pathlib import Path

import pytest

from toolhaft.shell import Command, parse

STRESS = 10 if os.environ.get("TOOLHAFT_STRESS") else 1
RECORDER = '#!/bin/sh\nprintf "%s\\0" "${0##*/}" "$@" "\\n" > "$LOG/$$"\n'
SOME = (  # fmt: skip
    "aa bb cc aa bb cc ; ; ;; && || | |& & \n \n ( ) { } ! if then else elif fi while until do done for i in case x "
    "esac [[ ]] (( )) [ ] ' \" \\ ` $( $(( )) ${ } $x ${x:- ${x# <( > < << EOF \nEOF\n <<EOF\n <<'EOF'\n <<-EOF\n "
    "<<< 2>&1 &>/dev/null #c $'a' $' \\\n {aa,bb} {1..2} , = a=1 b=(1 -x 0 1 == =~ -eq false true \"$( \"` ~ * ? (1"
)
TOKENS = SOME.split(" ")
PHRASES = [
    "aa 1", "bb 'x y'", 'cc "$(aa 2)"', "`bb 3`", "$(cc 4)", "if aa; then bb; fi", "for i in 1 2; do cc $i; done",
    "case aa in a*) bb;; *) cc;; esac", "while false; do aa; done", "[[ -n x ]] && aa", "(aa; bb)", "{ aa; }",
    "cat <<EOF\n$(aa)\nEOF", "aa <<'EOF'\n$(bb)\nEOF", "aa | bb", "! cc", "aa # bb", "aa \\\n bb", '"$(bb)"',
    "${x:-$(aa)}", "${x:-<(bb)}", "aa <(bb)", "aa > >(cc)", "[[ a =~ (b|c) ]]", "x=$(aa)", "(( 1+1 ))", "&& bb",
    "|| cc", "aa &",
]  # fmt: skip


def scripts(start: int, count: int) -> list[str]:
    """Random texts, most of them nearly bash."""
    choose = random.Random(start)
    made = []
    for _ in range(count):
        blank = choose.choice([" ", "", "\n", ";", " "])
        parts = [choose.choice(PHRASES if choose.random() < 0.5 else TOKENS) for _ in range(choose.randint(1, 8))]
        made.append(blank.join(parts))
    return made


def could_be(command: Command, argv: list[str]) -> bool:
    """Whether a command we found may be the call that was recorded."""
    if any(not word.known or word.globs for word in command.words):
        return not command.words[0].known or command.words[0].text == argv[0]
    return [word.text for word in command.words] == argv


@pytest.mark.parametrize("start", range(2 * STRESS))
def test_every_command_that_bash_runs_was_found(start: int, tmp_path: Path) -> None:
    for name in ("aa", "bb", "cc"):
        (tmp_path / name).write_text(RECORDER)
        (tmp_path / name).chmod(0o755)
    understood = 0
    for number, script in enumerate(scripts(start, 400)):
        found = parse(script)
        if found.problems:
            continue
        understood += 1
        log = tmp_path / f"log{number}"
        (folder := tmp_path / f"in{number}").mkdir()
        log.mkdir()

        subprocess.run(
            ["/bin/bash", "-c", script],
            cwd=folder,
            env={"PATH": str(tmp_path), "LOG": str(log)},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=20,
        )

        for record in log.iterdir():
            argv = record.read_text().split("\0")[:-2]
            if argv:
                assert any(could_be(command, argv) for command in found.commands if command.words), (script, argv)
    assert understood > 20


def lists(start: int, count: int) -> list[str]:
    """Random rows of commands and operators, some of which bash does not know."""
    choose = random.Random(start)
    joints = [";", "&&", "||", "|", "\n", " |\n", "&&\n", ";\n", "\n;", "|&", "&", ";;", "| |", "\n\n"]
    commands = ["aa", "bb x", "cc > f", "a=1", "cd y", "", "$(aa | bb)", "aa 'x;y'"]
    return ["".join(choose.choice(commands) + choose.choice(joints) for _ in range(4)) + "aa" for _ in range(count)]


@pytest.mark.parametrize("start", range(2 * STRESS))
def test_a_row_of_pipelines_is_understood_where_bash_does(start: int) -> None:
    for script in lists(start, 60):
        done = subprocess.run(["/bin/bash", "-n", "-c", script], capture_output=True, check=False, timeout=20)

        understood = not parse(script).problems

        assert understood <= (done.returncode == 0), script
        if set("&").isdisjoint(script.replace("&&", "")):
            assert understood == (done.returncode == 0), script


@pytest.mark.parametrize(
    "row", ["aa; bb", "aa | bb && cc | dd\nee", "cd x && aa | cd y | bb; cc", "aa | $(bb | cc) | dd"]
)
def test_a_row_of_pipelines_is_read_as_the_same_row_in_braces_is(row: str) -> None:
    """In braces the grammar reads it."""

    def told(source: str) -> list[object]:
        return [
            (command.text, [before.text for before in command.upstream], command.concurrent, command.folder)
            for command in parse(source).commands
        ]

    assert told(row) == told(f"{{ {row}\n}}")
