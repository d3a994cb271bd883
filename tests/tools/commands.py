"""What tests of the tools that run commands share: a workspace under each means of confinement."""

from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any, cast

import pytest

from tests.workspace.processes import CHOICES, skip_without
from tests.workspace.test_process import mark as mark
from toolhaft import ToolText, use_workspace
from toolhaft.workspace import CommandRules, LocalWorkspace
from toolhaft.workspace.current import judged


@pytest.fixture(params=CHOICES)
async def place(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[LocalWorkspace]:
    """A workspace under each means of confinement, in which the tools act."""
    skip_without(request.param)
    root = tmp_path / "repo"
    root.mkdir()
    async with LocalWorkspace(root, commands=CommandRules(confinement=request.param)) as place:
        with use_workspace(place):
            yield place


@pytest.fixture
async def root(tmp_path: Path) -> AsyncIterator[Path]:
    """A workspace in which the tools act where the confinement does not matter: with none, the quickest."""
    root = tmp_path / "repo"
    (root / "sub").mkdir(parents=True)
    async with LocalWorkspace(root, commands=CommandRules(confinement="none")) as place:
        with use_workspace(place):
            yield root


@pytest.fixture
def approved() -> Iterator[None]:
    """Somebody has judged what the test does, and let it pass."""
    with judged():
        yield


def facts(answer: str) -> dict[str, Any]:
    return cast("ToolText", answer).facts
