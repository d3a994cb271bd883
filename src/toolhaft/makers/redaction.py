"""Fields by whose name nobody is to read their value: at any depth of JSON, and in text that is none."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import cached_property
from typing import Any, cast

from toolhaft.makers.json_text import json_text, parse_json

REDACTED = "[redacted]"


class Redaction:
    """Names of fields, whatever their case, and what hides their values. Without names it changes nothing."""

    def __init__(self, names: Iterable[str]) -> None:
        self._names = frozenset(name.casefold() for name in names)

    def __bool__(self) -> bool:
        return bool(self._names)

    def text(self, text: str) -> str:
        """The text of an answer without the values. JSON is written anew, its numbers as they were."""
        if not self._names:
            return text
        try:
            value = parse_json(text)
            hidden = self.value(value)
            return text if hidden == value else json_text(hidden)
        except (ValueError, RecursionError):
            return self._running(text)

    def value(self, value: Any) -> Any:
        """A value of JSON without the values; texts in it too, as these may be JSON in turn."""
        if not self._names:
            return value
        if isinstance(value, Mapping):
            items = cast("Mapping[Any, Any]", value).items()
            return {key: REDACTED if self.hides(key) else self.value(one) for key, one in items}
        if isinstance(value, list | tuple):
            return [self.value(one) for one in cast("list[Any]", value)]
        return self._running(value) if isinstance(value, str) else value

    def hides(self, name: object) -> bool:
        """Whether a field of this name is hidden."""
        return isinstance(name, str) and name.casefold() in self._names

    def _running(self, text: str) -> str:
        text = self._elements.sub(rf"<\g<tag>>{REDACTED}</\g<tag>>", text)
        return self._pairs.sub(rf"\g<name>{REDACTED}", text)

    @cached_property
    def _pairs(self) -> re.Pattern[str]:
        """`name: value`, `name=value`, `"name": "value"`: JSON, forms and headers, or what is left of them when cut."""
        quote = r"\\*[\"']"
        return re.compile(
            rf"""
            (?P<name> (?<![\w-])(?:{self._alternatives})(?![\w-]) (?:{quote})? \s*[:=]\s* )
            (?: \\*"(?:[^"\\]|\\.)*"? | \\*'(?:[^'\\]|\\.)*'? | [\[{{].* | [^\s,;&}}\]<>"']+ )
            """,
            re.VERBOSE | re.IGNORECASE | re.DOTALL,
        )

    @cached_property
    def _elements(self) -> re.Pattern[str]:
        """`<name>value</name>`, to the end of the text where the closing tag is missing."""
        return re.compile(
            rf"<(?P<tag>(?:[\w-]+:)?(?:{self._alternatives}))(?:\s[^<>]*)?(?<!/)>.*?(?:</(?P=tag)\s*>|\Z)",
            re.IGNORECASE | re.DOTALL,
        )

    @property
    def _alternatives(self) -> str:
        return "|".join(sorted(map(re.escape, self._names)))
