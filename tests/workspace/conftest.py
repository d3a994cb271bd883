"""What the tests of the workspace share."""

import errno
import os

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
