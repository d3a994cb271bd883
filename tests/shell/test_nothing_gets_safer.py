"""Whatever the text: classifying never fails, never takes long, and no spelling makes a command safer."""

import os
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests import BUSY_TIMES
from toolhaft.shell import Level, classify

from . import rows

STRESS = 10 if os.environ.get("TOOLHAFT_STRESS") else 1


def spelled(word: str, how: int) -> str:
    """Another spelling of a plain word, which bash reads as the same."""
    middle = len(word) // 2
    return [
        word,
        f"'{word}'",
        f'"{word}"',
        f"{word[:middle]}''{word[middle:]}",
        f"{word[:middle]}\\{word[middle:]}" if word[middle : middle + 1].isalnum() else word,
        f"{word[:middle]}\\\n{word[middle:]}",
        "$'" + "".join(f"\\x{ord(letter):02x}" for letter in word) + "'",
        f'{word[:middle]}"{word[middle:]}"',
        f"{word[:middle]}$'{word[middle:]}'",
    ][how]


WRAPS = [
    "{}",
    "ls; {}",
    "ls && {}",
    "ls | {}",
    "({})",
    "{{ {}; }}",
    "! {}",
    "if ls; then {}; fi",
    "for i in 1; do {}; done",
    "while ls; do {}; done",
    "echo $({})",
    "x=$({})",
    "cat <({})",
    "cat <<EOF\n$({})\nEOF",
    "ls # c\n{}",
    "f() {{ {}; }}",
    "{} &",
    "A=1 {}",
    "{} 2>/dev/null",
    "env {}",
    "env A=1 {}",
    "nohup {}",
    "nice -n 5 {}",
    "timeout 5 {}",
    "time {}",
    "command {}",
    "builtin {}",
    "exec {}",
    "stdbuf -oL {}",
    "find . -exec {} \\;",
    "xargs {}",
    "eval {}",
    "busybox {}",
    "case x in x) {};; esac",
    "[[ -n $({}) ]]",
    "until {}; do ls; done",
    'echo "`{}`"',
]
PLAIN = [
    "rm -rf /",
    "rm -r -f /",
    "sudo ls",
    "chmod -R 777 .",
    "mkfs.ext4 /dev/sda",
    "dd if=x of=/dev/sda",
    "killall -9 node",
    "pkill -9 -f x",
    "su root",
]
RISKY = [
    "touch a",
    "rm a",
    "sort -o a b",
    "sed -i p a",
    "find . -delete",
    "git diff --output=a",
    "python evil.py",
    "tee a",
    "git push",
    "uniq a b",
    "rg --pre cmd x",
    "date -s x",
]


@settings(max_examples=400 * STRESS, deadline=None)
@given(
    st.sampled_from(PLAIN),
    st.lists(st.integers(0, 8), min_size=6, max_size=6),
    st.lists(st.sampled_from(WRAPS), max_size=3),
    st.sampled_from([" ", "  ", "\t", " \\\n ", "${IFS}"]),
)
def test_no_spelling_or_wrapping_of_a_blocked_command_gets_through(
    plain: str, how: list[int], wraps: list[str], blank: str
) -> None:
    command = blank.join(spelled(word, how[index]) for index, word in enumerate(plain.split()))
    for wrap in wraps:
        command = wrap.format(command)

    verdict = classify(command)

    # a wrapped keyword (`env ! x`) may not be bash at all, then it is only dangerous
    floor = Level.BLOCKED if len(wraps) <= 1 else Level.DANGEROUS
    assert verdict.level >= floor, (command, verdict.reason)


@settings(max_examples=400 * STRESS, deadline=None)
@given(
    st.sampled_from(RISKY),
    st.lists(st.integers(0, 8), min_size=6, max_size=6),
    st.lists(st.sampled_from(WRAPS), max_size=4),
    st.sampled_from([" ", "  ", "\t", " \\\n ", "${IFS}", "$IFS"]),
)
def test_no_spelling_or_wrapping_of_a_dangerous_command_gets_safer(
    risky: str, how: list[int], wraps: list[str], blank: str
) -> None:
    command = (
        risky.split()[0] + " " + blank.join(spelled(word, how[index]) for index, word in enumerate(risky.split()[1:]))
    )
    for wrap in wraps:
        command = wrap.format(command)

    verdict = classify(command)

    assert verdict.level >= Level.DANGEROUS, (command, verdict.reason)


WORDS = "rm ls $( ${ <<EOF EOF [[ ]] (( )) case esac in do done for if then fi $IFS 2> &> \u2028 é"
SYNTAX = st.sampled_from([*"'\"\\`$(){}[]<>|&;#!~*?=:,/-+.\n\t \r\0abx01", *WORDS.split(" "), "sh -c ", "function "])


@settings(max_examples=600 * STRESS, deadline=None)
@given(st.one_of(st.text(max_size=60), st.lists(SYNTAX, max_size=30).map("".join)))
def test_any_text_has_a_verdict(text: str) -> None:
    verdict = classify(text)

    assert verdict.level in list(Level)
    assert verdict.reason


HUGE = {
    "brackets": "(" * 100_000,
    "closed brackets": "(" * 40_000 + ")" * 40_000,
    "substitutions": "$(" * 50_000,
    "nested quotes": '"$(' * 30_000,
    "braces": "{" * 100_000,
    "alternatives": "{a,b}" * 20_000,
    "nested alternatives": "{a," * 30_000 + "}" * 30_000,
    "expansions": "${x:-" * 20_000,
    "backticks": "`\\" * 50_000,
    "commands": "ls;" * 33_000,
    "pipe": "ls|" * 33_000 + "ls",
    "words": "ls " + "a " * 49_000,
    "one word": "a" * 100_000,
    "one quoted word": "'" + "a" * 99_000 + "'",
    "here-documents": "cat <<A\nA\n" * 10_000,
    "ifs": "if ls; then " * 8_000,
    "groups": "{ " * 50_000,
    "arithmetic": "((" * 50_000,
    "backslashes": "\\" * 100_000,
    "joined lines": "ls \\\n" * 20_000,
    "too long": "ls " * 100_000,
    "sed": "sed '" + "s/a/b/;" * 10_000 + "'",
    "awk": "awk '" + "/a/{print}" * 9_000 + "'",
    "options": "sort " + "-k 2 " * 15_000,
    "find": "find . " + "-name a " * 12_000,
    "wrapped": "env " * 20_000 + "ls",
    "eval": "eval " * 20_000 + "ls",
    "dollar": "$" * 100_000,
    "sed open": "sed '" + "{" * 90_000 + "'",
    "tests": "[[ " * 30_000,
    "test brackets": "[[ " + "( " * 40_000,
    "sed class": "sed 's/" + "[" * 90_000 + "'",
    "spaces": "ls" + " " * 99_000,
    "comments": "#" * 100_000,
    "arith": "echo $((" + "(1)+" * 20_000,
    "xargs": "xargs " * 15_000 + "ls",
}


@pytest.mark.parametrize("text", HUGE.values(), ids=HUGE.keys())
def test_no_text_takes_long(text: str) -> None:
    start = time.process_time()

    classify(text)

    assert time.process_time() - start < 2 * BUSY_TIMES


def test_rows_that_are_dangerous_stay_so_behind_a_reader() -> None:
    for commands in rows.DANGEROUS.values():
        for command in commands:
            if command.strip() and not command.startswith("#"):
                assert classify(f"ls;\n{command}").level >= Level.DANGEROUS, command
