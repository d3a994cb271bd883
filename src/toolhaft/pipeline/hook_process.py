"""Commands as hooks: the protocol of exit codes, stdin and variables.

The command is the user's own: it runs on this machine, in the workspace's folder, with the user's environment and
confined by nothing; but it cannot gain privileges (`sudo`), is bounded in time and output, and nothing of it is left
when it has answered.
"""

from __future__ import annotations

import json
import os
import shlex
import tempfile
from asyncio import to_thread
from collections.abc import Mapping
from functools import cached_property
from typing import Any

from toolhaft.pipeline.hook import Block, Hook
from toolhaft.pipeline.hook_answer import Answer, HookError, bounded, printed_answer, timeout
from toolhaft.pipeline.hook_occasion import host_folder
from toolhaft.workspace.commands import Commands
from toolhaft.workspace.outcome import CommandOutcome, Limits

# An answer may hold the whole new text of a file. stderr and the end of a flood are only for people.
_LIMITS = Limits(head_bytes=1 << 20, tail_bytes=16_000, spill_bytes=0)
# The kernel takes 128 KiB a variable; who needs more reads stdin.
_VARIABLE_CHARACTERS = 8_000
_BLOCKED = 2


class HookCommands:
    """Runs the commands of hooks."""

    @cached_property
    def _commands(self) -> Commands:
        home = os.path.expanduser("~")
        places = {"TMPDIR": tempfile.gettempdir(), "HOME": home}
        places |= {"XDG_CACHE_HOME": f"{home}/.cache", "PIP_CACHE_DIR": f"{home}/.cache/pip"}
        missing = {name: place for name, place in places.items() if name not in os.environ}
        return Commands("/", confinement="none", env=missing, pass_env=tuple(os.environ), limits=_LIMITS)

    async def ask(self, hook: Hook, told: dict[str, Any], variables: Mapping[str, str]) -> Answer:
        """What the hook's command answers that reads `told` on stdin.

        Raises `Block` where it blocks what can be blocked, and `HookError` for every other way not to end well.
        """
        try:
            outcome = await self._run(hook, json.dumps(told).encode("ascii"), variables)
        except (OSError, ValueError, RuntimeError) as error:
            raise HookError("could not be run", str(error)) from error
        if outcome.exit_code == _BLOCKED and hook.can_block:
            raise Block(bounded(outcome.stderr.strip()))
        if outcome.timed_out:
            raise timeout(hook)
        if failure := _failure(outcome):
            raise HookError(failure, outcome.output)
        return printed_answer(outcome.stdout)

    async def aclose(self) -> None:
        """End what still runs; a hook that is asked later finds the environment as it is then."""
        if "_commands" in vars(self):
            await self._commands.aclose()
            del self._commands

    async def _run(self, hook: Hook, told: bytes, variables: Mapping[str, str]) -> CommandOutcome:
        folder = host_folder()
        with tempfile.NamedTemporaryFile(prefix="toolhaft-hook-", buffering=0) as stdin:
            await to_thread(stdin.write, told)
            return await self._commands.run(
                f"exec <{shlex.quote(stdin.name)}\n{hook.script}",
                cwd=folder,
                timeout_seconds=hook.timeout_seconds,
                env={name: _fitting(value) for name, value in {**variables, "TOOLHAFT_WORKSPACE": folder}.items()},
            )


def _failure(outcome: CommandOutcome) -> str | None:
    if outcome.exit_code != 0:
        return f"exit {outcome.exit_code}" if outcome.exit_code else f"ended by {outcome.killed_by}"
    return f"printed {outcome.dropped_bytes} bytes too many" if outcome.dropped_bytes else None


def _fitting(value: str) -> str:
    """A value that the kernel takes: no NUL, not too long, valid Unicode."""
    return value[:_VARIABLE_CHARACTERS].replace("\0", "\ufffd").encode(errors="backslashreplace").decode()
