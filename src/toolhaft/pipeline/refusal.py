"""A guardrail's no, and where its rule is written."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from toolhaft.pipeline.call import Refused

T = TypeVar("T")

_IN_CODE = "set in code"


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why something is refused: the rule's name, the reason, and where the rule is written (`toolhaft.toml:12`)."""

    rule: str
    reason: str
    source: str

    def __str__(self) -> str:
        return f"Guardrail: {self.reason} [{self.rule}, {self.source}]"

    def as_error(self) -> Refused:
        """What a pipeline raises."""
        return Refused(str(self), stage="guardrails", rule=self.rule, source=self.source)


class Sources:
    """Where rules are written: by a rule's name, or its place in a list (`code_rules[2]`)."""

    def __init__(self, written: Mapping[str, str]) -> None:
        self._written = dict(written)

    def of(self, rule: str, place: int | None = None) -> str:
        """Where a rule is written; `place` is its place in the list of that name."""
        return self._written.get(f"{rule}[{place}]") or self._written.get(rule) or _IN_CODE

    def refusal(self, rule: str, reason: str, place: int | None = None) -> Refusal:
        """A refusal that says where its rule is written."""
        return Refusal(rule, reason, self.of(rule, place))

    def each(self, rule: str, given: Sequence[Any], make: Callable[[Any], T]) -> list[T]:
        """What is made of each entry of a list. Raises `ValueError` that names rule and source."""
        if isinstance(given, str):
            raise TypeError(f"{rule}={given!r} is one text. Give a list: [{given!r}].")
        made: list[T] = []
        for place, entry in enumerate(given):
            try:
                made.append(make(entry))
            except (ValueError, TypeError) as error:
                raise ValueError(f"{self.of(rule, place)}: {rule}[{place}] cannot be: {error}") from error
        return made
