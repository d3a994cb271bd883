"""Commands that a configuration blocks: regular expressions, searched in what bash would run.

Each simple command is searched with its quotes removed and single blanks, also the one inside `env`, `sh -c` or
`xargs`, and each pipeline; and the text as it is written, line by line, for what is in no command (`> /dev/sda`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from toolhaft.pipeline.refusal import Refusal, Sources
from toolhaft.searching.dialect import Pattern
from toolhaft.shell import Command, Level, Verdict, parse
from toolhaft.shell.unwrap import unwrap

_MAX_UNWRAPPED = 8


class BlockedCommands:
    """The blocked patterns of a configuration; each is searched in time linear in the command.

    Raises `ValueError` for a pattern that is no regular expression of the dialect.
    """

    def __init__(self, patterns: Sequence[str], sources: Sources) -> None:
        self._sources = sources
        self._patterns = list(patterns)
        self._compiled = sources.each("blocked_commands", patterns, _compiled)

    def __bool__(self) -> bool:
        return bool(self._patterns)

    def refusal(self, command: str, verdict: Verdict) -> Refusal | None:
        """Why a command is blocked, by these patterns or by what the classifier says of it."""
        if verdict.level is Level.BLOCKED:
            return Refusal("blocked_commands", f"the command is blocked: {verdict.reason}.", "always refused")
        texts = _searched(command) if self._patterns else ""
        for place, pattern in enumerate(self._compiled):
            if pattern.matches(texts):
                reason = f"the command matches the blocked pattern {self._patterns[place]!r}."
                return self._sources.refusal("blocked_commands", reason, place)
        return None


def _compiled(pattern: str) -> Pattern:
    return Pattern(pattern, use_regex=True, case_sensitive=True)


def _searched(command: str) -> str:
    return "\n".join(dict.fromkeys(_texts(command))).encode(errors="replace").decode()


def _texts(command: str) -> Iterator[str]:
    yield command
    for simple in parse(command).commands:
        for found in _with_wrapped(simple):
            text = " ".join(found.text.split())
            yield text
            if found.upstream:
                yield " | ".join([*(" ".join(before.text.split()) for before in found.upstream), text])


def _with_wrapped(command: Command, depth: int = 0) -> Iterator[Command]:
    yield command
    wrapped = unwrap(command, command.words[0].text.rpartition("/")[2]) if command.words else None
    for inner in wrapped.commands if wrapped is not None and depth < _MAX_UNWRAPPED else ():
        yield from _with_wrapped(inner, depth + 1)
