"""The commands of a `LocalWorkspace`: made when the first one runs, with the workspace's own rules."""

import threading
from collections.abc import Callable, Mapping
from dataclasses import replace

from .access import Access
from .command_rules import CommandRules
from .commands import Commands
from .outcome import Limits


class LocalCommands:
    """Makes the `Commands` of one workspace once, and ends what runs of them."""

    def __init__(
        self, rules: CommandRules, *, access: Access, env: Mapping[str, str], live_root: Callable[[], str]
    ) -> None:
        self.rules = rules
        self._access = access
        self._env = env
        self._live_root = live_root
        self._made: Commands | None = None
        self._lock = threading.Lock()

    @property
    def made(self) -> Commands | None:
        """The commands, once they are made."""
        return self._made

    def make(self) -> Commands:
        """Return the commands. The first time the disk is asked, so call it in a worker thread."""
        with self._lock:
            if self._made is None:
                self._made = Commands(
                    self._live_root(),
                    sensitive_files=self._access.sensitive_files,
                    env=self._env,
                    pass_env=self.rules.pass_env,
                    confinement=self.rules.confinement,
                    network=self.rules.network,
                    limits=self._limits(),
                )
            return self._made

    def _limits(self) -> Limits:
        limits = Limits(lines=self.rules.max_output_lines)
        return replace(limits, spill_bytes=0) if self._access.read_only else limits

    def close(self) -> None:
        """End everything that runs; commands may be run again after."""
        if self._made is not None:
            self._made.close()
