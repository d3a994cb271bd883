"""Run pydantic-ai's workspace suite on `LocalWorkspace` in this process, then again as another user.

    python -m tests.workspace.suite_as_user [UID]

Not through pytest, because an ordinary user often cannot read the interpreter and the checkout that root uses: the
first run loads every module that the second needs. Prints the second run's outcomes as one JSON object.
"""

import asyncio
import inspect
import json
import os
import shutil
import sys
import tempfile
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from pydantic_ai.workspaces import WorkspaceBackend, WorkspaceRef
from pydantic_ai.workspaces.conformance import WorkspaceBackendSuite

from toolhaft.workspace import LocalWorkspace


async def destroy(backend: WorkspaceBackend) -> None:
    """Remove the folder of a workspace."""
    shutil.rmtree(await backend.working_dir())


def destructible(parent: Path) -> Callable[[], WorkspaceBackend]:
    """Return a maker of workspaces, each on a new folder."""
    return lambda: LocalWorkspace(tempfile.mkdtemp(dir=parent))


def attach(ref: WorkspaceRef) -> WorkspaceBackend:
    """Return a second workspace on the folder that `ref` names."""
    return LocalWorkspace(ref.id)


def outcome(test: Callable[..., Awaitable[None]], folder: Path) -> str:
    """Run one rule of the suite; return passed, skipped or what went wrong."""
    fixtures: dict[str, Any] = {
        "backend": LocalWorkspace(folder),
        "fresh_backend": None,
        "destructive_backend": destructible(folder),
        "attach_backend": attach,
        "destroy_environment": destroy,
    }
    wanted = inspect.signature(test).parameters
    try:
        # The rest of the fixtures ask whether this is the real thing. It is.
        asyncio.run(test(**{name: fixtures.get(name, True) for name in wanted}))  # type: ignore[arg-type]
    except pytest.skip.Exception:
        return "skipped"
    except Exception as error:  # noqa: BLE001 - whatever it is, it is this rule's outcome
        return f"failed: {error!r}"
    return "passed"


def run_suite() -> dict[str, str]:
    """Run every rule, each in a new folder; return outcomes by name."""
    suite = WorkspaceBackendSuite()
    outcomes: dict[str, str] = {}
    for name in dir(suite):
        if name.startswith("test_"):
            with tempfile.TemporaryDirectory() as folder:
                outcomes[name] = outcome(getattr(suite, name), Path(folder).resolve())
    return outcomes


def main() -> None:
    """Run once, become another user if one is given and run again; print the last outcomes."""
    outcomes = run_suite()
    if sys.argv[1:]:
        os.setgroups([])
        os.setgid(int(sys.argv[1]))
        os.setuid(int(sys.argv[1]))
        os.environ["PATH"] = os.defpath  # root's may name folders that this user cannot search: 126 instead of 127
        outcomes = run_suite()
    sys.stdout.write(json.dumps(outcomes))


if __name__ == "__main__":
    main()
