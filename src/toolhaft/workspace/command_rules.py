"""What the owner of a workspace says about commands: which may run, for how long, how much of them is shown."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from toolhaft.shell import Level, Verdict, classify

from .commands import check_timeout
from .confine import ConfinementChoice

_VARIABLE = re.compile(r"[A-Za-z_]\w*", re.A)


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandRules:
    """Rules for the commands of one workspace. A call can tighten none and loosen none but the timeout.

    Args:
        safe_commands: Beginnings of commands, whole words (`"terraform plan"`), that are safe besides ours.
        blocked_patterns: Regular expressions; a command in which one is found is refused in every mode.
        allowed_only: Refuse what is classified dangerous, whoever has allowed it.
        default_timeout_seconds: For a call that names no timeout; 1 to 600.
        max_output_lines: How many lines of output an answer shows at most, besides its limit in bytes.
        pass_env: Names of environment variables of ours that commands get too.
        network: Whether any command may use the network. What is safe never does.
        confinement: "auto" takes the strongest means that works here; a named one must work; "none" confines nothing.
    """

    safe_commands: tuple[str, ...] = ()
    blocked_patterns: tuple[str, ...] = ()
    allowed_only: bool = False
    default_timeout_seconds: int = 30
    max_output_lines: int | None = 1_000
    pass_env: tuple[str, ...] = ()
    network: bool = True
    confinement: ConfinementChoice = "auto"

    def __post_init__(self) -> None:
        for name in ("safe_commands", "blocked_patterns", "pass_env"):
            if isinstance(getattr(self, name), str):
                raise TypeError(f"{name}={getattr(self, name)!r} is one text. Give a tuple of texts.")
            object.__setattr__(self, name, tuple(getattr(self, name)))
        check_timeout(self.default_timeout_seconds)
        if self.max_output_lines is not None and self.max_output_lines < 2:
            raise ValueError(
                f"max_output_lines={self.max_output_lines} leaves no head and tail. Use 2 or more, or None."
            )
        if not all(text.split() for text in self.safe_commands):
            raise ValueError("an empty text in safe_commands would make every command safe. Write the command's words.")
        for name in self.pass_env:
            if not _VARIABLE.fullmatch(name):
                raise ValueError(f"{name!r} in pass_env is no variable's name. Write each name in full, without '*'.")
        for pattern in self.blocked_patterns:
            try:
                re.compile(pattern)
            except re.error as error:
                raise ValueError(f"the blocked pattern {pattern!r} is no regular expression: {error}.") from error

    def classify(self, command: str) -> Verdict:
        """How far a command may be trusted under these rules; nothing is run."""
        return _classified(command, self.safe_commands, self.blocked_patterns)

    def network_for(self, level: Level) -> bool:
        """Whether a command of this level gets the network: what only reads the workspace needs none."""
        return self.network and level is not Level.SAFE


@lru_cache(maxsize=32)
def _classified(command: str, safe_commands: tuple[str, ...], blocked_patterns: tuple[str, ...]) -> Verdict:
    """A verdict, remembered for a while: several stages ask about the same command."""
    return classify(command, safe_commands=safe_commands, blocked_patterns=blocked_patterns)


class CommandRefusedError(PermissionError):
    """A command may not run here; the text says why and what would allow it."""


def check_verdict(verdict: Verdict, rules: CommandRules, *, judged: bool, read_only: bool) -> None:
    """Raise `CommandRefusedError` for a command that these rules let nobody, or not this caller, run.

    `judged` says that a pipeline has let the call pass; without it only safe and development commands run.
    """
    for why in _refusals(verdict.level, rules, judged=judged, read_only=read_only):
        raise CommandRefusedError(f"the command was not run: it is {verdict.level} ({verdict.reason}), and {why}")


def _refusals(level: Level, rules: CommandRules, *, judged: bool, read_only: bool) -> Iterator[str]:
    add = "CommandRules(safe_commands=...)"
    if level is Level.BLOCKED:
        yield "such commands are always refused, whoever asks. Reach the aim in another way."
    if read_only and level is not Level.SAFE:
        yield "in a read-only workspace only commands that only read may run. Report what should be done instead."
    if rules.allowed_only and level is Level.DANGEROUS:
        yield (
            "allowed_only=True refuses what is not known to be safe or a development tool. Use another command, or let "
            f"whoever set up the workspace add this one to {add}."
        )
    if level is Level.DANGEROUS and not judged:
        yield (
            "where nobody can be asked only safe and development commands run. Use another command or a file tool. To "
            f"allow more: attach the tools through something that asks a person, or add the command to {add}."
        )
