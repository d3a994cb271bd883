"""What the tests of the workspace share."""

import ctypes
import errno
import os
import sys
from functools import cache

import pytest

from toolhaft.workspace import beneath, kernel


@pytest.fixture(params=["openat2", "walk"])
def resolver(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Run a test twice: with the kernel's own resolution, and as on a kernel that has none."""
    if request.param == "walk":

        def missing(path: str, flags: int, *, dir_fd: int) -> int:
            raise OSError(errno.ENOSYS, os.strerror(errno.ENOSYS))

        monkeypatch.setattr(beneath, "open_beneath", missing)
    return str(request.param)


@pytest.fixture
def no_kernel_calls(monkeypatch: pytest.MonkeyPatch) -> None:
    """Run a test as on a system that has neither of the calls."""
    monkeypatch.setattr(sys, "platform", "another")
    monkeypatch.setattr(ctypes, "CDLL", lambda name, use_errno: object())
    monkeypatch.setattr(kernel, "_calls", cache(kernel._calls.__wrapped__))
