"""When exit status 0 of a command proves that tests have run and passed."""

import pytest

from toolhaft.pipeline.runs_tests import runs_tests


@pytest.mark.parametrize(
    "command",
    [
        "pytest",
        "pytest -n 4 -k 'a|b' tests",
        "cd app && pytest -q",
        "set -e\npytest",
        "pytest && echo ok && true",
        "uv run pytest -x",
        "timeout 60 python -m pytest",
        "python3 -m unittest discover",
        "coverage run -m pytest",
        "env X=1 pytest",
        ".venv/bin/pytest",
        "npm test",
        "npm run test:unit",
        "npx jest",
        "cargo test",
        "go test ./...",
        "make -C sub test",
        "./gradlew check",
        "tox -e py311",
    ],
)
def test_the_last_command_of_a_plain_sequence_is_a_test(command: str) -> None:
    assert runs_tests(command)


@pytest.mark.parametrize(
    "command",
    [
        "",
        "ls",
        "echo pytest",
        "$RUNNER",
        "pytest | tail -5",
        "pytest || true",
        "pytest; true",
        "pytest && rm x",
        "! pytest",
        "pytest &",
        "if pytest; then echo; fi",
        "pytest() { :; }; pytest",
        "bash -c 'pytest || true'",
        "find . -exec pytest ;",
        "PATH=. pytest",
        "/tmp/pytest",
        "pytest --version",
        "pytest --collect-only",
        "make -n test",
        "make",
        "npm run build",
        "npm run",
        "python -m pip",
        "echo 'not closed",
        "X=1",
        "pytest " + "x" * 10_000,
    ],
)
def test_everything_else_proves_nothing(command: str) -> None:
    assert not runs_tests(command)
