"""The card of a tool: what a decorator knows about a function, stamped on it as `__tool_spec__`.

Everybody who deals with tools reads this card and nothing else: registry, pipeline, executor, conformance suite. Its
schema and its validation are those of the one `pydantic_ai.Tool` that it builds when first asked, so every door takes
and refuses the same arguments. Importing this module loads the standard library only.
"""

from __future__ import annotations

import copy
import json
import math
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeGuard, cast

if TYPE_CHECKING:
    from pydantic_ai import Tool

MARK = "__tool_spec__"

ToolFunction = Callable[..., Awaitable[Any]]


class ToolKind(StrEnum):
    """What a tool may do to the world. All but `read` are sensitive, unless the tool says otherwise."""

    READ = "read"
    WRITE = "write"
    SHELL = "shell"
    NETWORK = "network"
    MEMORY = "memory"
    MCP = "mcp"


@dataclass(frozen=True, slots=True)
class NeedsApproval:
    """What a tool answers when it is asked whether a call needs a person: `reason` is a code, `message` for people."""

    reason: str
    message: str = ""


@dataclass(frozen=True, kw_only=True)
class ToolSpec:
    """What is known about one tool. Never changed after decoration; pickles as a reference to its function."""

    function: ToolFunction = field(repr=False)
    """The decorated function itself."""

    name: str
    description: str
    """What the model reads about the tool, to the letter: the prompt's text, else the docstring."""

    kind: ToolKind
    sensitive: bool
    """Whether a person should be asked before it runs."""

    build_arguments: Callable[[], type[Any]] = field(repr=False)
    """Makes `arguments` when they are first asked for."""

    prompt_file: Path | None = None
    timeout_seconds: float | None = None
    approval: Callable[..., Any] | None = None
    """Asked with the arguments, before a call: None lets it run, `NeedsApproval` or True asks a person."""

    preview: Callable[..., Awaitable[ToolText]] | None = None
    """Tells with the arguments what a call would do, changing nothing."""

    idempotent: bool = False
    """Whether running the same call twice does what running it once does."""

    made_from: str | None = None
    """What the tool was made from, such as `an MCP server`; None for a function that an author decorated."""

    @property
    def schema(self) -> dict[str, Any]:
        """The JSON schema of the parameters, as pydantic-ai shows it to a model. Copy it before you change it."""
        return self._tool.function_schema.json_schema

    @cached_property
    def arguments(self) -> type[Any]:
        """A pydantic model of the arguments: the tool's own, where it takes a single model, dataclass or TypedDict."""
        return self.build_arguments()

    def validate(self, args: Mapping[str, Any] | str | bytes) -> dict[str, Any]:
        """The arguments (a mapping, or JSON text), checked and converted as pydantic-ai does before a call.

        They are ready to be passed by keyword. Raises pydantic's `ValidationError`.
        """
        validator = self._tool.function_schema.validator
        if isinstance(args, str | bytes):
            return validator.validate_json(args or "{}")
        return validator.validate_python(dict(args))

    def pydantic_tool(self) -> Tool[Any]:
        """A new pydantic-ai `Tool`, yours to change, with `card()` in its metadata under `toolhaft`."""
        tool = copy.copy(self._tool)
        tool.metadata = {"toolhaft": self.card()}
        return tool

    def card(self) -> dict[str, Any]:
        """What the pipeline must know about the tool, as JSON: it travels in metadata through durable engines."""
        return {
            "kind": str(self.kind),
            "sensitive": self.sensitive,
            "idempotent": self.idempotent,
            "timeout_seconds": self.timeout_seconds,
        }

    @cached_property
    def _tool(self) -> Tool[Any]:
        # Here, and not at the top: importing pydantic-ai takes a second, and listing names must not pay it.
        from pydantic_ai import Tool

        return Tool[Any](self.function, name=self.name, description=self.description or None)

    def __reduce__(self) -> tuple[Any, ...]:
        return tool_spec, (self.function,)


def tool_spec(function: Callable[..., Any]) -> ToolSpec:
    """The card of a decorated function. Raises `TypeError` for anything else."""
    spec = getattr(function, MARK, None)
    if not isinstance(spec, ToolSpec):
        raise TypeError(f"{function!r} is not a tool. Decorate the async function with @base_tool or @file_tool.")
    if spec.function is not function:
        raise TypeError(f"{function!r} wraps the tool {spec.name!r}. Let @base_tool or @file_tool be the outermost.")
    return spec


def is_tool(function: object) -> TypeGuard[ToolFunction]:
    """Whether this is a function that `@base_tool` or `@file_tool` made."""
    spec = getattr(function, MARK, None)
    return isinstance(spec, ToolSpec) and spec.function is function


class ToolText(str):
    """A tool's answer: text for the model, and `facts` (JSON) for the program beside it.

    Make it last: `+`, `strip` and f-strings give plain text without the facts. Pickles and copies keep them. Raises
    `TypeError` for a fact that JSON cannot carry.

    ```python
    return ToolText(page, truncated=True, shown=200, total=1_000)
    ```
    """

    facts: dict[str, Any]

    def __new__(cls, text: str, /, **facts: Any) -> ToolText:
        for name, fact in facts.items():
            _refuse_unless_json(fact, name)
        made = super().__new__(cls, text)
        made.facts = facts
        return made

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: Callable[[Any], Any]) -> Any:
        """To pydantic it is text: so a tool may name it as its result."""
        return handler(str)

    def __reduce__(self) -> tuple[Any, ...]:
        return _tool_text, (type(self), str.__str__(self), self.facts)


def _tool_text(kind: type[ToolText], text: str, facts: dict[str, Any]) -> ToolText:
    return kind(text, **facts)


def _refuse_unless_json(value: object, name: str) -> None:
    fault = _json_fault(value)
    if fault is not None:
        path, message = fault
        raise TypeError(message(f"the fact {name + path!r}"))


def _json_fault(value: object) -> tuple[str, Callable[[str], str]] | None:
    """What JSON cannot carry: where it is, put together on the way back only, and a sentence that wants to know it."""
    if value is None or isinstance(value, str | bool | int):
        return None
    if isinstance(value, float):
        if math.isfinite(value):
            return None
        return "", lambda fact: f"{fact} is {value}, which JSON cannot carry. Use None, or say it in words."
    if isinstance(value, dict):
        for key, item in cast("dict[object, object]", value).items():
            if not isinstance(key, str):
                return "", partial("the key {!r} of {} is no string. Use strings, as JSON does.".format, key)
            if (fault := _json_fault(item)) is not None:
                return f".{key}{fault[0]}", fault[1]
    elif isinstance(value, list | tuple):
        for index, item in enumerate(cast("list[object]", value)):
            if (fault := _json_fault(item)) is not None:
                return f"[{index}]{fault[0]}", fault[1]
    else:
        kind = type(value).__name__
        return "", lambda fact: f"{fact} is a {kind}, which JSON cannot carry. Use text, numbers, lists, dicts."
    return None


@dataclass(frozen=True, slots=True, kw_only=True)
class FileDiff:
    """What a change does to one file, as a unified diff."""

    path: str
    unified: str
    is_new_file: bool = False
    is_deletion: bool = False
    truncated: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolResult:
    """How one call ended, for programs: `output` on success, `error` on failure, and the facts."""

    tool_name: str
    success: bool
    output: str = ""
    error: str | None = None
    metadata: dict[str, Any] = field(default_factory=dict[str, Any])
    truncated: bool = False
    diff: list[FileDiff] | None = None
    exit_code: int | None = None
    parts: list[Any] | None = field(default=None, repr=False)
    """The answer as the tool gave it, text and `BinaryContent`, where `output` is not all of it. JSON leaves it out."""

    def to_dict(self) -> dict[str, Any]:
        """The fields in their order, ready for JSON."""
        names = ("tool_name", "success", "output", "error", "metadata", "truncated", "diff", "exit_code")
        return {name: _plain(getattr(self, name)) for name in names}

    def to_json(self) -> str:
        """One JSON object on one line, the fields in their order."""
        return json.dumps(self.to_dict(), ensure_ascii=False)


def _plain(value: Any) -> Any:
    if isinstance(value, FileDiff):
        return {name: getattr(value, name) for name in FileDiff.__slots__}
    if isinstance(value, list):
        return [_plain(item) for item in cast("list[object]", value)]
    return value
