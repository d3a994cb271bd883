"""Start a program in a session of its own, with end-of-file on stdin and with nothing of ours open."""

import os
import pickle
import signal
from collections.abc import Mapping
from typing import NoReturn

from .landlock import Rules, restrict

# Signals that Python ignores or that we block would be so for every program too.
_DEFAULT_SIGNALS = (signal.SIGPIPE, signal.SIGXFSZ, signal.SIGINT, signal.SIGCHLD)


def start(argv: list[str], env: Mapping[str, str], ends: Mapping[int, int]) -> int:
    """Start a program whose descriptors are the `ends`, by number; return its pid or raise `OSError`."""
    return os.posix_spawn(
        argv[0],
        argv,
        env,
        file_actions=[
            (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
            *((os.POSIX_SPAWN_DUP2, end, number) for number, end in ends.items()),
        ],
        setsid=True,
        setsigmask=(),
        setsigdef=_DEFAULT_SIGNALS,
    )


def start_restricted(argv: list[str], env: Mapping[str, str], ends: Mapping[int, int], *, rules: Rules) -> int:
    """Do what `start` does, under Landlock.

    By a fork, because the supervisor itself stays outside: nothing under Landlock can signal or trace what is
    outside, and what confines a process can never be taken off again.
    """
    failure, failure_end = os.pipe2(os.O_CLOEXEC)
    pid = os.fork()
    if pid == 0:
        _become(argv, env, ends, rules=rules, failure=failure_end)
    os.close(failure_end)
    with open(failure, "rb") as said:
        error = said.read()
    if error:
        os.waitpid(pid, 0)
        raise OSError(*pickle.loads(error))
    return pid


def _become(
    argv: list[str], env: Mapping[str, str], ends: Mapping[int, int], *, rules: Rules, failure: int
) -> NoReturn:
    try:
        os.setsid()
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        for number, end in ends.items():
            os.dup2(end, number)
        for number in _DEFAULT_SIGNALS:
            signal.signal(number, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_SETMASK, ())
        restrict(rules)
        os.execve(argv[0], argv, env)
    except OSError as error:
        os.write(failure, pickle.dumps((error.errno, error.strerror, error.filename)))
    finally:
        os._exit(127)
