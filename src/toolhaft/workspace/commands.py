"""Run commands of a workspace so that they are bounded, confined, and leave nothing running.

A command is bash text. It reads end-of-file on stdin, has a session and an environment of its own, and when it has
ended, by itself or not, no process of it is left: neither one in the background nor one that called `setsid`.
"""

import asyncio
import errno
import os
import shutil
from collections.abc import Callable, Mapping, Sequence
from functools import cache

from .confine import (
    Area,
    ConfinementChoice,
    Means,
    caveats,
    choose,
    confined,
    private_as_seen,
)
from .dialogue import Start, answer, outcome_of, run_to_end
from .environment import is_text, scrubbed
from .hidden import SensitiveFiles, credentials
from .jobs import Job
from .outcome import CommandOutcome, Confinement, Limits
from .sensitive import DEFAULT_SENSITIVE_FILES
from .supervision import Line, Supervisor
from .supervisor.frames import Message

MIN_TIMEOUT_SECONDS, MAX_TIMEOUT_SECONDS = 1, 600
# include/uapi/linux/binfmts.h, MAX_ARG_STRLEN, less the NUL at its end
_MAX_COMMAND_BYTES = (1 << 17) - 1


class JobNotFoundError(LookupError):
    """There is no background job of that id."""


class Commands:
    """The commands of one workspace: those that run, and the background jobs.

    Args:
        root: The real path of the workspace's folder.
        sensitive_files: Patterns of files that a command must not read.
        env: Environment variables for every command, as trusted as this program.
        pass_env: Names of our own variables that commands get too, and that a call's `env` may set.
        confinement: "auto" takes the strongest means that works here; a named one must work.
        network: Whether commands may use the network at all.
        limits: How much one command may use.
    """

    def __init__(
        self,
        root: str,
        *,
        sensitive_files: Sequence[str] = DEFAULT_SENSITIVE_FILES,
        env: Mapping[str, str] | None = None,
        pass_env: Sequence[str] = (),
        confinement: ConfinementChoice = "auto",
        network: bool = True,
        limits: Limits | None = None,
    ) -> None:
        self._root = root
        self._sensitive = SensitiveFiles(root, sensitive_files)
        self._env = dict(env or {})
        self._pass_env = (*pass_env, *self._env)
        self._choice: ConfinementChoice = confinement
        self._network = network
        self._limits = limits or Limits()
        self._supervisor = Supervisor()
        self._jobs: dict[str, Job] = {}
        self._last_job = 0

    @property
    def jobs(self) -> Mapping[str, Job]:
        """The background jobs by id, also those that have ended."""
        return dict(self._jobs)

    def job(self, job_id: str) -> Job:
        """Return a background job, or raise `JobNotFoundError` naming those there are."""
        if job_id not in self._jobs:
            known = ", ".join(self._jobs) or "none"
            raise JobNotFoundError(f"there is no background job {job_id!r}. The jobs of this workspace: {known}.")
        return self._jobs[job_id]

    async def run(
        self,
        command: str,
        *,
        cwd: str = ".",
        timeout_seconds: float = 30,
        env: Mapping[str, str] | None = None,
        network: bool = True,
        on_start: Callable[[int], None] | None = None,
    ) -> CommandOutcome:
        """Run a command to its end and return how it ended; its exit code is a result, not an error.

        `cwd` is relative to the root, or absolute and inside it. After `timeout_seconds`, 1 to 600, everything of it
        is ended. `network` is on only where the workspace allows it too. `on_start` is told the pid of the shell
        or of what confines it. A caller that is cancelled returns when nothing of the command is left.

        Raises `ValueError` for a command, timeout or environment that cannot be, `PathTraversalError` for a `cwd`
        outside, another `OSError` for one that is no folder, `ConfinementUnavailableError`,
        `SupervisorLostError`.
        """
        check_timeout(timeout_seconds)
        start = await self._prepare(command, cwd=cwd, timeout_seconds=timeout_seconds, env=env, network=network)
        line = Line(self._supervisor.connect())
        try:
            done = await run_to_end(line, start.request, on_start)
        finally:
            line.close()
        return outcome_of(done, start)

    async def start(
        self, command: str, *, cwd: str = ".", env: Mapping[str, str] | None = None, network: bool = True
    ) -> Job:
        """Start a command in the background; arguments and errors are those of `run`.

        It ends with these commands (`aclose`), with the interpreter or when it is stopped.
        Raises `ValueError` where there are as many as `Limits.jobs` running.
        """
        running = [job_id for job_id, job in self._jobs.items() if not job.ended]
        if len(running) >= self._limits.jobs:
            raise ValueError(
                f"{len(running)} background jobs run already ({', '.join(running)}): as many as are allowed. "
                "Stop one, or read one that has ended."
            )
        start = await self._prepare(command, cwd=cwd, timeout_seconds=None, env=env, network=network)
        line = Line(self._supervisor.connect())
        try:
            await line.send({**start.request, "announced": True})
            await answer(line, start.request)
        except BaseException:
            line.close()
            raise
        self._last_job += 1
        job = Job(f"job-{self._last_job}", command, line=line, confinement=start.confinement, notes=start.notes)
        self._jobs[job.job_id] = job
        return job

    async def aclose(self) -> None:
        """End everything that runs, forget the jobs and remove the private folder; commands may be run again after."""
        await asyncio.to_thread(self.close)

    def close(self) -> None:
        """Do what `aclose` does, and wait for it."""
        for job in self._jobs.values():
            job.close()
        self._jobs.clear()
        self._supervisor.close()

    async def _prepare(
        self, command: str, *, cwd: str, timeout_seconds: float | None, env: Mapping[str, str] | None, network: bool
    ) -> Start:
        check_command_text(command)
        check_folder_text(cwd)
        if self._choice == "none":  # nothing to look for on the disk
            return self._plan(command, cwd, timeout_seconds, env or {}, network)
        return await asyncio.to_thread(self._plan, command, cwd, timeout_seconds, env or {}, network)

    def _plan(
        self, command: str, cwd: str, timeout_seconds: float | None, env: Mapping[str, str], network: bool
    ) -> Start:
        means = choose(self._choice)
        area, notes = self._area(means, network=network and self._network)
        seen = private_as_seen(means, root=self._root, private=area.private)
        limits = self._limits
        request: Message = {
            **confined(means, [_bash(), "-c", command], area),
            "env": scrubbed(os.environ, private=seen, env={**self._env, **env}, pass_env=self._pass_env),
            "folder": os.path.join(self._root, cwd),
            "cwd": cwd,
            "root": self._root,
            "home": os.path.join(area.private, "home"),
            "timeout_seconds": timeout_seconds,
            "background": timeout_seconds is None,
            "head_bytes": limits.head_bytes,
            "tail_bytes": limits.tail_bytes,
            "kept_bytes": limits.job_bytes,
            "max_lines": limits.lines,
            "spill_bytes": limits.spill_bytes,
            "file_bytes": limits.file_bytes,
            "memory_bytes": limits.memory_bytes,
            "processes": limits.processes,
        }
        confinement = Confinement(by=means.by, reason=means.reason, network=area.network or means.by == "none")
        return Start(request=request, confinement=confinement, notes=(*caveats(means, area), *notes))

    def _area(self, means: Means, *, network: bool) -> tuple[Area, list[str]]:
        private = self._supervisor.private
        if means.by == "none":
            return Area(root=self._root, private=private, hidden=(), network=network), []
        sensitive, complete = self._sensitive.find()
        hidden = [*credentials(os.path.expanduser("~")), *sensitive]
        notes = [] if complete else ["the workspace has too many folders to look for sensitive files in all of them"]
        return Area(root=self._root, private=private, hidden=hidden, network=network), notes


def check_timeout(timeout_seconds: float) -> None:
    """Raise `ValueError` for a timeout that is not 1 to 600 seconds."""
    if not MIN_TIMEOUT_SECONDS <= timeout_seconds <= MAX_TIMEOUT_SECONDS:
        raise ValueError(
            f"a timeout of {timeout_seconds!r} seconds is not possible: use {MIN_TIMEOUT_SECONDS} to "
            f"{MAX_TIMEOUT_SECONDS}, or run what takes longer in the background."
        )


def check_command_text(command: str) -> None:
    """Raise `ValueError` for what bash cannot be given."""
    if "\0" in command or not command.strip():
        raise ValueError(f"{command!r} is no command: it is empty or holds a NUL character. Give the text for bash.")
    if not is_text(command):
        raise ValueError(f"{command!r} is no command: it holds half of a surrogate pair. Write the whole character.")
    size = len(command.encode())
    if size > _MAX_COMMAND_BYTES:
        raise ValueError(
            f"the command has {size} bytes, and the kernel takes {_MAX_COMMAND_BYTES}. "
            "Write it to a file in the workspace and run that."
        )


def check_folder_text(cwd: str) -> None:
    """Raise `FileNotFoundError` for a text that no path can be."""
    if "\0" in cwd or not is_text(cwd):
        raise FileNotFoundError(errno.ENOENT, "no path holds such a character", cwd)


@cache
def _bash() -> str:
    return shutil.which("bash") or "/bin/sh"
