"""Names to tools, for programs with many threads.

A registry is a value that a program makes and hands on; there is no global one. Its state is one dictionary that is
never changed: who registers puts a new one in its place, under a lock. So readers take no lock, always see a whole
state, and no tool is imported while a lock is held.
"""

from __future__ import annotations

import difflib
import threading
from collections.abc import Iterable, Mapping
from copy import deepcopy
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal

from toolhaft.discovery import BUILT_IN, LazyTool, ToolSource, discover_package
from toolhaft.spec import ToolFunction, ToolSpec, tool_spec

if TYPE_CHECKING:
    from pydantic_ai import Tool

ALL = "all"

GROUPS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "files": (
            "read_file",
            "write_file",
            "edit_file",
            "update_file",
            "apply_patch",
            "delete_file",
            "undo_change",
            "list_dir",
            "list_files",
        ),
        "search": ("grep", "search_code", "glob", "find_files"),
        "commands": ("bash", "bash_output", "stop_bash", "run_command"),
    }
)
"""Group names and the tools they mean, as far as a registry has them; `all` means everything in it."""

Missing = Literal["error", "ignore"]


class DuplicateToolError(ValueError):
    """A name is registered already, and `replace=True` was not said."""


class ToolNotFoundError(KeyError):
    """No tool has the name asked for."""

    def __str__(self) -> str:
        return str(self.args[0])  # a KeyError shows its text in quotes


class Registry:
    """Tools by name, safe to use from many threads.

    ```python
    registry = Registry().register_all()
    agent = Agent(model, tools=registry.tools(["files", "grep"]))
    ```
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._tools: Mapping[str, LazyTool] = {}

    def register(self, tool: ToolFunction, *, replace: bool = False) -> None:
        """Add one decorated function. Raises `DuplicateToolError` when its name is taken and `replace` is false."""
        self._add([LazyTool(name=tool_spec(tool).name, where=tool.__module__, load=lambda: tool)], replace)

    def register_source(self, source: ToolSource, *, replace: bool = False) -> Registry:
        """Add every tool of a source, or none; each is imported when it is first asked for."""
        self._add(source.tools.values(), replace)
        return self

    def register_all(self) -> Registry:
        """Add all built-in tools."""
        return self.register_source(discover_package(BUILT_IN))

    def _add(self, tools: Iterable[LazyTool], replace: bool) -> None:
        added = {tool.name: tool for tool in tools}
        with self._lock:
            taken = [] if replace else sorted(added.keys() & self._tools.keys())
            if taken:
                old, new = self._tools[taken[0]], added[taken[0]]
                raise DuplicateToolError(
                    f"a tool named {old.name!r} is registered already, from {old.where}; the new one is from "
                    f"{new.where}. Give one of them another name, or pass replace=True."
                )
            self._tools = {**self._tools, **added}

    def clear(self) -> None:
        """Remove every tool."""
        with self._lock:
            self._tools = {}

    def names(self) -> list[str]:
        """The names of all tools, sorted; none is imported."""
        return sorted(self._tools)

    def has(self, name: str) -> bool:
        """Whether a tool has this name; `name in registry` is the same."""
        return name in self._tools

    def count(self) -> int:
        """How many tools there are; `len(registry)` is the same."""
        return len(self._tools)

    __contains__ = has
    __len__ = count

    def get(self, name: str) -> ToolFunction:
        """The tool of this name. Raises `ToolNotFoundError`, or `ToolLoadError` when its module does not import."""
        tools = self._tools
        if name not in tools:
            raise _not_found([name], tools)
        return tools[name].load()

    def names_of(self, names: Iterable[str], *, missing: Missing = "error") -> list[str]:
        """The names of tools that names and groups mean, in the order given, each once; none is imported.

        A group means what the registry has of it. A tool that is named like a group wins over the group.
        """
        return list(_resolved(names, self._tools, missing))

    def select(self, names: Iterable[str], *, missing: Missing = "error") -> list[ToolFunction]:
        """The tools that names and groups (`files`, `search`, `commands`, `all`) mean; `[]` means none.

        Raises `ToolNotFoundError` for unknown names, with the near ones, unless `missing="ignore"` leaves them out.
        """
        tools = self._tools
        return [tools[name].load() for name in _resolved(names, tools, missing)]

    def schemas(self, names: Iterable[str] | None = None, *, missing: Missing = "error") -> list[dict[str, Any]]:
        """The selected tools, or all, as function schemas in the form of OpenAI; yours to change."""
        return [_openai_function(spec) for spec in self._specs(names, missing)]

    def tools(self, names: Iterable[str] | None = None, *, missing: Missing = "error") -> list[Tool[Any]]:
        """The selected tools, or all, as pydantic-ai tools for `Agent(tools=...)` and toolsets; yours to change."""
        return [spec.pydantic_tool() for spec in self._specs(names, missing)]

    def _specs(self, names: Iterable[str] | None, missing: Missing) -> list[ToolSpec]:
        return [tool_spec(tool) for tool in self.select([ALL] if names is None else names, missing=missing)]


def _openai_function(spec: ToolSpec) -> dict[str, Any]:
    function = {"name": spec.name, "description": spec.description, "parameters": deepcopy(spec.schema)}
    return {"type": "function", "function": function}


def _resolved(names: Iterable[str], tools: Mapping[str, LazyTool], missing: Missing) -> dict[str, None]:
    if isinstance(names, str):
        raise TypeError(f"names={names!r} is one string, and a list is wanted. Pass [{names!r}].")
    meant: dict[str, None] = {}
    unknown: list[str] = []
    for name in names:
        if name in tools:
            meant[name] = None
        elif name == ALL:
            meant.update(dict.fromkeys(sorted(tools)))
        elif name in GROUPS:
            meant.update(dict.fromkeys(tool for tool in GROUPS[name] if tool in tools))
        else:
            unknown.append(name)
    if unknown and missing == "error":
        raise _not_found(unknown, tools)
    return meant


def _not_found(unknown: list[str], tools: Mapping[str, LazyTool]) -> ToolNotFoundError:
    known = sorted({*tools, *GROUPS, ALL})
    sentences: list[str] = []
    for name in unknown:
        near = difflib.get_close_matches(name, known, n=3)
        sentences.append(f"no tool is named {name!r}" + (f" (near: {', '.join(map(repr, near))})" if near else ""))
    return ToolNotFoundError(f"{'; '.join(sentences)}. There are: {', '.join(sorted(tools)) or 'none, yet'}.")
