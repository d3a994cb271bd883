"""Quality gates: commands that must end with 0 before an agent's answer counts."""

from __future__ import annotations

from dataclasses import dataclass

from toolhaft.exceptions import describe
from toolhaft.workspace import workspace

MIN_TIMEOUT_SECONDS, MAX_TIMEOUT_SECONDS = 1, 600
# The end of the output is where build and test tools say what is wrong.
_SHOWN_CHARACTERS = 4_000


@dataclass(frozen=True, slots=True, kw_only=True)
class QualityGate:
    """A command of the workspace's owner. One that is not `required` only warns, in the log.

    Raises `ValueError` for a timeout outside of 1 to 600 seconds.
    """

    name: str
    command: str
    required: bool = True
    timeout_seconds: float = 60

    def __post_init__(self) -> None:
        if not MIN_TIMEOUT_SECONDS <= self.timeout_seconds <= MAX_TIMEOUT_SECONDS:
            raise ValueError(
                f"a timeout of {self.timeout_seconds!r} seconds is not possible. "
                f"Use {MIN_TIMEOUT_SECONDS} to {MAX_TIMEOUT_SECONDS}."
            )

    async def failure(self) -> str | None:
        """Run the command in the workspace; why the gate is not passed, or None. What cannot be run is not passed."""
        place = workspace()
        try:
            outcome = await place.run_command(
                self.command, timeout_seconds=self.timeout_seconds, network=place.command_rules.network
            )
        except Exception as error:  # noqa: BLE001 - whatever kept the command from running, the gate is not passed
            return f"the quality gate {self.name!r} could not run {self.command!r}: {describe(error)}"
        if outcome.exit_code == 0:
            return None
        ended = f"exit {outcome.exit_code}" if outcome.exit_code is not None else f"ended by {outcome.killed_by}"
        return f"the quality gate {self.name!r} failed: {self.command!r} ({ended}).\n{_end(outcome.output)}".rstrip()


def _end(output: str) -> str:
    if len(output) <= _SHOWN_CHARACTERS:
        return output
    return (
        f"[... {len(output) - _SHOWN_CHARACTERS:,} characters before this left out ...]\n{output[-_SHOWN_CHARACTERS:]}"
    )
