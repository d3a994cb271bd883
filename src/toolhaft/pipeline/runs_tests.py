"""Whether a command proves something: does its exit status 0 say that a known test tool has run and ended with 0?

Only plain sequences are understood. Behind a pipe, an `||` or in the background the status is another command's.
"""

from __future__ import annotations

from toolhaft.shell import Command, Level, Word, classify
from toolhaft.shell.dev import TOOLS
from toolhaft.shell.expansions import Facts
from toolhaft.shell.lexer import Items, Lexer, Run
from toolhaft.shell.options import names, read_options
from toolhaft.shell.unwrap import unwrap
from toolhaft.shell.words import NotBashError
from toolhaft.shell.wrappers import SHELLS

# Nobody types more to run tests, and to read more takes longer than the event loop may wait for.
_MOST_CHARACTERS = 8_000
_SEQUENCE = frozenset(("&&", ";", "\n"))
_MAY_FOLLOW = names("echo printf true :")
# What wraps a command and does not end as it ends, or may run more than one.
_OPAQUE = SHELLS | names("find eval trap script watch ssh git xargs")
_TEST_TOOLS = names(
    "pytest py.test tox nox ctest rspec phpunit pest jest vitest mocha ava karma gotestsum"
) | frozenset(f"python -m {module}" for module in ("pytest", "unittest", "tox", "nox"))
_ONE_VERB = """
    go dotnet swift mix stack cabal zig flutter dart deno bazel bazelisk nx turbo hatch composer sbt lein meson
    playwright"""
# Tools with a sub-command that runs the tests, by what that is called.
_VERBS: dict[str, frozenset[str]] = {
    **dict.fromkeys(names(_ONE_VERB), names("test")),
    **dict.fromkeys(names("npm pnpm yarn bun"), names("test t tst")),
    **dict.fromkeys(names("make gmake"), names("test tests check")),
    **dict.fromkeys(names("mvn mvnw"), names("test verify")),
    **dict.fromkeys(names("gradle gradlew"), names("test check build")),
    "cargo": names("test t nextest"),
    "dune": names("test runtest"),
    "rake": names("test spec"),
}
_SCRIPT_RUNNERS = names("npm pnpm yarn bun")
# Options with which a test tool ends with 0 and has run no test.
_ONLY_LOOKS = names(
    """
    --version -V --help -h --collect-only --co --list --list-tests --listTests --no-run --dry-run --just-print
    --fixtures --setup-plan --passWithNoTests --if-present --show-only -DskipTests -Dmaven.test.skip=true"""
)
_ONLY_LOOKS_OF = {"make": names("-n"), "gmake": names("-n"), "ctest": names("-N")}


def runs_tests(command: str) -> bool:
    """Whether exit status 0 of `command` says that a known test tool ran in it and ended with 0.

    >>> runs_tests("cd app && pytest -q"), runs_tests("pytest -q | tail -5")
    (True, False)
    """
    if len(command) > _MOST_CHARACTERS:
        return False
    try:
        items = Lexer(command, Facts()).items()
    except (NotBashError, RecursionError):
        return False
    return _ends_with_test(items) and classify(command).level <= Level.DEV


def _ends_with_test(items: Items) -> bool:
    """Whether the last command of a plain sequence is a test, but for an `&& echo done`."""
    if not _SEQUENCE.issuperset(item for item in items if isinstance(item, str)):
        return False
    while len(items) > 2 and items[-2] == "&&" and _only_tells(items[-1]):
        items = items[:-2]
    runs = [item for item in items if isinstance(item, Run)]
    return bool(runs) and _is_test(Command(tuple(runs[-1].words)))


def _only_tells(item: Run | str) -> bool:
    return isinstance(item, Run) and bool(item.words) and item.words[0].text in _MAY_FOLLOW


def _is_test(command: Command) -> bool:
    words = command.words
    if not words or not words[0].known:
        return False
    path = words[0].text
    name = path if path in _TEST_TOOLS else path.rpartition("/")[2]
    if any(word.text in _ONLY_LOOKS or word.text in _ONLY_LOOKS_OF.get(name, ()) for word in words):
        return False
    if name in _TEST_TOOLS or _has_test_verb(name, words[1:]):
        return True
    wrapped = None if name in _OPAQUE else unwrap(command, name)
    return wrapped is not None and len(wrapped.commands) == 1 and _is_test(wrapped.commands[0])


def _has_test_verb(name: str, words: tuple[Word, ...]) -> bool:
    tool = TOOLS.get(name)
    verbs = [word.text for word in read_options(words, tool.values if tool else names("")).operands]
    if name in _SCRIPT_RUNNERS and verbs[:1] == ["run"] and len(verbs) > 1:
        return verbs[1].partition(":")[0] == "test"
    return bool(verbs) and verbs[0] in _VERBS.get(name, ())
