"""`LocalWorkspace` keeps every rule of pydantic-ai's own suite, as root and as an ordinary user."""

import json
import os
import subprocess
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest
from pydantic_ai.workspaces import WorkspaceBackend, WorkspaceRef
from pydantic_ai.workspaces.conformance import WorkspaceBackendSuite

from tests.workspace.suite_as_user import attach, destroy, destructible
from toolhaft.workspace import LocalWorkspace

NOBODY = "65534"
# A local folder is there before its first use, so nothing is created then that two callers could create twice.
NOT_APPLICABLE = {"test_concurrent_first_use_shares_one_environment"}
# Root may read and write what has mode 000; the run as an ordinary user has this rule.
NOT_FOR_ROOT = {"test_permission_denied_uses_builtin_error"}


class TestLocalWorkspace(WorkspaceBackendSuite):
    """Run by pytest-asyncio, whose auto mode takes every coroutine test, the suite's anyio mark or not."""

    @pytest.fixture
    def anyio_backend(self) -> str:
        return "asyncio"

    @pytest.fixture
    def backend(self, tmp_path: Path) -> WorkspaceBackend:
        return LocalWorkspace(tmp_path)

    @pytest.fixture
    def destructive_backend(self, tmp_path: Path) -> Callable[[], WorkspaceBackend]:
        return destructible(tmp_path)

    @pytest.fixture
    def attach_backend(self) -> Callable[[WorkspaceRef], WorkspaceBackend]:
        return attach

    @pytest.fixture
    def destroy_environment(self) -> Callable[[WorkspaceBackend], Awaitable[None]]:
        return destroy


def outcomes_as(*user: str) -> dict[str, str]:
    command = [sys.executable, "-m", "tests.workspace.suite_as_user", *user]
    child = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True, cwd=Path(__file__).parents[2])
    return dict(json.loads(child.stdout))


def not_passed(outcomes: dict[str, str]) -> dict[str, str]:
    return {name: outcome for name, outcome in outcomes.items() if outcome != "passed"}


def test_no_rule_is_skipped_but_those_that_cannot_apply() -> None:
    """Above all no rule about symbolic links, which the suite skips where absolute inner links do not work."""
    expected = NOT_APPLICABLE | (NOT_FOR_ROOT if os.geteuid() == 0 else set())

    outcomes = outcomes_as()

    assert not_passed(outcomes) == dict.fromkeys(expected & outcomes.keys(), "skipped")


@pytest.mark.skipif(os.geteuid() != 0, reason="this is an ordinary user already")
def test_an_ordinary_user_passes_the_permission_rules_too() -> None:
    outcomes = outcomes_as(NOBODY)

    assert not_passed(outcomes) == dict.fromkeys(NOT_APPLICABLE & outcomes.keys(), "skipped")
