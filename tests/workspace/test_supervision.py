"""The process that runs commands may be buried, stopped, broken or impossible: what the host then does."""

import os
import signal
import socket
import sys
from pathlib import Path

import pytest

from toolhaft.workspace import supervision
from toolhaft.workspace.supervision import Line, Supervisor, SupervisorLostError
from toolhaft.workspace.supervisor.frames import pack

from .processes import mine


@pytest.fixture
def running() -> tuple[Supervisor, int]:
    """A supervisor and the pid of its process."""
    before, supervisor = mine(), Supervisor()
    assert Path(supervisor.private).is_dir()
    (pid,) = mine() - before
    return supervisor, pid


def test_one_that_died_and_was_buried_by_somebody_else_is_started_again(running: tuple[Supervisor, int]) -> None:
    supervisor, pid = running
    first = supervisor.private

    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    second = supervisor.private
    supervisor.close()

    assert first != second
    assert not Path(second).exists()


def test_one_that_does_not_end_is_killed(running: tuple[Supervisor, int], monkeypatch: pytest.MonkeyPatch) -> None:
    supervisor, pid = running
    private = supervisor.private
    monkeypatch.setattr(supervision, "_PATIENCE_SECONDS", 0.05)

    os.kill(pid, signal.SIGSTOP)
    supervisor.close()

    assert pid not in mine()
    assert not Path(private).exists()


def test_without_an_interpreter_to_run_it_under_the_error_says_what_to_use(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", "")

    with pytest.raises(NotImplementedError, match="Attach a container"):
        Supervisor().connect()


async def test_a_mistake_of_its_own_is_told_with_its_traceback() -> None:
    ours, theirs = socket.socketpair()
    ours.setblocking(False)
    line = Line(ours)

    with theirs:
        theirs.sendall(pack({"crashed": "Traceback: it divided by zero"}))
        with pytest.raises(SupervisorLostError, match="divided by zero"):
            await line.receive()
    line.close()
