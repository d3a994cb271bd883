"""What the tests of the workspace share."""

import errno
import os
from pathlib import Path

import pytest

from toolhaft.workspace import beneath


@pytest.fixture(params=["openat2", "walk"])
def resolver(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Run a test twice: with the kernel's own resolution, and as on a kernel that has none."""
    if request.param == "walk":

        def missing(path: str, flags: int, *, dir_fd: int) -> int:
            raise OSError(errno.ENOSYS, os.strerror(errno.ENOSYS))

        monkeypatch.setattr(beneath, "open_beneath", missing)
    return str(request.param)


@pytest.fixture(autouse=True)
def state_home(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The journals of a test's workspaces lie in a folder of its own, also for the processes it starts."""
    home = tmp_path_factory.mktemp("state")
    monkeypatch.setenv("XDG_STATE_HOME", str(home))
    return home
