"""Words are what bash itself would pass: shown against bash and a recording program, not against our own code."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from toolhaft.shell import parse

STRESS = 10 if os.environ.get("TOOLHAFT_STRESS") else 1
RECORDER = "import json, sys; print(json.dumps(sys.argv[1:]))"


def passed_by_bash(words: str, folder: Path) -> list[str] | None:
    """What bash passes for these words; None when it does not read them."""
    command = f"{sys.executable} -I -S -c '{RECORDER}' {words}\n"
    done = subprocess.run(
        ["bash", "-c", command], cwd=folder, capture_output=True, env={"HOME": "/h", "LC_ALL": "C.UTF-8"}, timeout=20
    )
    return None if done.returncode or done.stderr else json.loads(done.stdout)


WORDS = [
    "a b  c",
    "'a b' c",
    '"a b" c',
    "a\\ b",
    "a'b'\"c\"d",
    "''",
    '""',
    "a''b",
    "$'a\\tb'",
    "$'\\x41\\u00e9\\101'",
    "$'a\\'b'",
    '"a\\"b"',
    '"\\$x \\` \\\\ \\a"',
    "'\\n'",
    "a\\\nb",
    '"a\\\nb"',
    "{a,b}c",
    "x{1..4}",
    "{01..03}",
    "{a..e..2}",
    "{a,b}{1,2}",
    "{a,{b,c}}d",
    "{a,'b c'}",
    "{}",
    "{a}",
    "{a,b",
    "a}b",
    "\\{a,b}",
    "'{a,b}'",
    "a{,b}",
    "{a,}",
    "{3..1}",
    "a#b",
    "'#' x",
    "-- -x",
    "a=b",
    "~a\\~",
    '"~"',
    "a\\'b",
    '$"x"',
    "é ü",
    "a\u00a0b",
    "a\u2028b",
    "a;b" if False else "a\\;b",
    "{a..c}{d,e}",
    "$'\\e[0m'",
    "$'a\\0b'",
    "$'\\cA'",
    "a'\n'b",
    "$'\\q'",
    "x\\\n\\\ny",
    "{-1..1}",
    '"{a,b}"',
    "a,b",
    "{a,b}'x'\"y\"",
    "\\a\\b",
    "'a'$'b'\"c\"",
]


@pytest.mark.parametrize("words", WORDS)
def test_words_are_what_bash_passes(words: str, tmp_path: Path) -> None:
    expected = passed_by_bash(words, tmp_path)

    script = parse(f"stub {words}")

    assert not script.problems
    assert [word.text for word in script.commands[0].words[1:]] == expected


PIECES = st.sampled_from(
    [
        "a",
        "b c",
        "'",
        '"',
        "\\",
        "'x y'",
        '"x y"',
        "$'\\x41'",
        "{",
        "}",
        ",",
        "..",
        "1",
        "\\\n",
        "\\ ",
        " ",
        "\t",
        "''",
        "#",
        "~",
        "=",
        "-",
        "é",
        "\\'",
        '\\"',
        "$'",
        '$"z"',
        "{a,b}",
        "{1..3}",
        "!",
        "]",
        "%",
        "\\n",
    ]
)


@settings(max_examples=60 * STRESS, deadline=None)
@given(st.lists(PIECES, min_size=1, max_size=9).map("".join))
def test_what_is_understood_is_read_as_bash_reads_it(tmp_path_factory: pytest.TempPathFactory, words: str) -> None:
    """Any text: where we claim to know every word, bash passes exactly those."""
    script = parse(f"stub {words}")
    if (
        script.problems
        or len(script.commands) != 1
        or any(not word.known or word.globs for word in script.commands[0].words)
    ):
        return

    expected = passed_by_bash(words, tmp_path_factory.getbasetemp())

    assert expected is not None
    assert [word.text for word in script.commands[0].words[1:]] == expected
