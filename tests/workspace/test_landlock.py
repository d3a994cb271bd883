"""Landlock's rules, tried in a thread: they hold for the thread that takes them on, and end with it."""

import ctypes
import os
import socket
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from toolhaft.workspace.supervisor import landlock

from .processes import skip_without

_PR_GET_NO_NEW_PRIVS = 39


@pytest.fixture
def folder() -> Iterator[Path]:
    """A folder with one that may be written, one that may be read and one that may be neither."""
    skip_without("landlock")
    with tempfile.TemporaryDirectory() as name:
        root = Path(os.path.realpath(name))
        for part in ("writable", "readable", "closed"):
            (root / part).mkdir()
            (root / part / "file").write_text("text")
        yield root


def under(rules: landlock.Rules, work: Callable[[], object]) -> object:
    """What `work` returns, or the class of the `OSError` that it raises, in a thread under these rules."""

    def confined() -> object:
        landlock.restrict(rules)
        try:
            return work()
        except OSError as error:
            return type(error)

    with ThreadPoolExecutor(max_workers=1) as thread:
        return thread.submit(confined).result()


def rules_for(folder: Path, *, reads: bool = False, network: bool = True) -> landlock.Rules:
    """Write to one folder; `reads`: and read nothing else than that one, the readable one and what Python needs."""
    readable = [str(folder / "readable"), str(folder / "readable" / "gone"), *Path("/").glob("[el-z]*")]
    return landlock.Rules(
        writable=[str(folder / "writable")],
        devices=["/dev"],
        readable=[str(path) for path in readable if str(path) != "/tmp"] if reads else None,
        network=network,
    )


def test_only_what_is_writable_is_written(folder: Path) -> None:
    rules = rules_for(folder)

    assert under(rules, lambda: (folder / "writable" / "new").write_text("x")) == 1
    assert under(rules, lambda: (folder / "readable" / "new").write_text("x")) is PermissionError
    assert under(rules, lambda: Path("/dev/null").write_text("x")) == 1
    assert under(rules, lambda: (folder / "closed" / "file").read_text()) == "text"


def test_only_what_is_readable_is_read_where_that_is_said(folder: Path) -> None:
    rules = rules_for(folder, reads=True)

    assert under(rules, lambda: (folder / "writable" / "file").read_text()) == "text"
    assert under(rules, lambda: (folder / "readable" / "file").read_text()) == "text"
    assert under(rules, lambda: (folder / "closed" / "file").read_text()) is PermissionError


def test_the_network_is_reached_only_where_it_is_allowed(folder: Path) -> None:
    if landlock.version() < 4:
        pytest.skip("Landlock before version 4 cannot refuse the network")
    with socket.create_server(("127.0.0.1", 0)) as server:
        address = server.getsockname()

        def connect() -> str:
            socket.create_connection(address).close()
            return "connected"

        assert under(rules_for(folder), connect) == "connected"
        assert under(rules_for(folder, network=False), connect) is PermissionError


def test_whoever_is_confined_can_gain_no_new_privileges(folder: Path) -> None:
    asked = ctypes.CDLL(None).prctl

    assert under(rules_for(folder), lambda: asked(_PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0)) == 1
    assert asked(_PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 0


def test_what_the_kernel_refuses_is_an_error(monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
    monkeypatch.setattr(landlock, "version", lambda: 1_000)
    monkeypatch.setattr(landlock, "_SCOPES", 1 << 63)  # rights that no kernel knows

    with ThreadPoolExecutor(max_workers=1) as thread, pytest.raises(OSError, match="Invalid argument"):
        thread.submit(landlock.restrict, rules_for(folder)).result()


ADOPTS = """
import os
from toolhaft.workspace.supervisor.landlock import become_subreaper

become_subreaper()
read, write = os.pipe()
child = os.fork()
if child == 0:
    if os.fork() == 0:
        os.read(read, 1)  # until its parent is gone
        os._exit(7)
    os._exit(0)
os.waitpid(child, 0)
os.write(write, b"x")
print(os.waitstatus_to_exitcode(os.waitpid(-1, 0)[1]))
"""


def test_a_subreaper_inherits_the_orphans_of_its_children() -> None:
    done = subprocess.run([sys.executable, "-c", ADOPTS], capture_output=True, text=True, timeout=60, check=True)

    assert done.stdout == "7\n"
