"""Code rules: regular expressions that no line may match which a call adds to a file.

They are ripgrep's, as everywhere here: the time they take is linear in the text, whatever the pattern.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, cast

from toolhaft.pipeline.refusal import Refusal, Sources
from toolhaft.searching.dialect import NO_TEXT, Pattern
from toolhaft.workspace.sensitive import matches

Severity = Literal["warn", "block"]
_SHOWN_CHARACTERS = 120


@dataclass(frozen=True, slots=True, kw_only=True)
class CodeRule:
    """A pattern that no added line may match: `warn` says so in the answer, `block` refuses the call.

    `file_patterns` are globs as for sensitive files; without them the rule is for every file. Raises `ValueError` for
    a pattern that is no regular expression of the dialect.
    """

    pattern: str
    message: str
    severity: Severity = "warn"
    file_patterns: tuple[str, ...] = ()
    _compiled: Pattern = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if self.severity not in ("warn", "block"):
            raise ValueError(f"severity={self.severity!r} is none. Use 'warn' or 'block'.")
        if isinstance(self.file_patterns, str):
            raise TypeError(f"file_patterns={self.file_patterns!r} is one text. Give a list of globs.")
        object.__setattr__(self, "file_patterns", tuple(self.file_patterns))
        object.__setattr__(self, "_compiled", Pattern(self.pattern, use_regex=True, case_sensitive=True))

    def applies_to(self, paths: Sequence[str]) -> bool:
        """Whether the rule is for one of these files; it is for text that goes nobody knows where."""
        return not paths or not self.file_patterns or any(matches(path, self.file_patterns) for path in paths)

    def found_in(self, text: str) -> str | None:
        """The first line that matches, shortened; None where none does."""
        text = _matchable(text)
        if not self._compiled.matches(text):
            return None
        line = next((line for line in text.split("\n") if self._compiled.matches(line)), "")
        return line.strip()[:_SHOWN_CHARACTERS]


@dataclass(frozen=True, slots=True, kw_only=True)
class Addition:
    """Text that a call adds, line by line, and the files that it may go to."""

    paths: tuple[str, ...]
    text: str


class CodeRules:
    """The code rules of a configuration."""

    def __init__(self, rules: Sequence[CodeRule | Mapping[str, Any]], sources: Sources) -> None:
        self._sources = sources
        self._rules = sources.each("code_rules", rules, _code_rule)

    def __bool__(self) -> bool:
        return bool(self._rules)

    def judge(self, additions: Sequence[Addition]) -> tuple[Refusal | None, list[str]]:
        """The first rule of severity `block` that is broken, and what the broken ones of severity `warn` say."""
        warnings: list[str] = []
        for addition in additions:
            for place, rule in enumerate(self._rules):
                line = rule.found_in(addition.text) if rule.applies_to(addition.paths) else None
                if line is None:
                    continue
                where = f" in {', '.join(addition.paths)}" if addition.paths else ""
                reason = f"{rule.message} (the new line {line!r}{where})"
                refusal = self._sources.refusal("code_rules", reason, place)
                if rule.severity == "block":
                    return refusal, warnings
                warnings.append(f"Warning: {reason} [code_rules, {refusal.source}]")
        return None, warnings


def _code_rule(given: CodeRule | Mapping[str, Any]) -> CodeRule:
    return given if isinstance(given, CodeRule) else CodeRule(**given)


def added_lines(unified: str) -> str:
    r"""The lines that a unified diff of one file adds.

    >>> added_lines("--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n")
    'b'
    """
    _, _, body = unified.partition("\n@@ ")
    return "\n".join(line[1:] for line in body.split("\n") if line.startswith("+"))


def additions_in(facts: Mapping[str, Any]) -> Iterator[Addition]:
    """What a change adds, as its tool's facts tell it; a diff that was cut tells only a part."""
    for diff in cast("list[dict[str, Any]]", facts.get("diff") or []):
        if not diff.get("is_deletion"):
            yield Addition(paths=(str(diff["path"]),), text=added_lines(str(diff["unified"])))


def _matchable(text: str) -> str:
    """The text without what no pattern matches: halves of surrogate pairs, and the dialect's own mark."""
    return re.sub(f"[\ud800-\udfff{NO_TEXT}]", "\ufffd", text)
