"""Which tools an agent gets: profiles, groups, names, functions, packages."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fnmatch import fnmatchcase
from types import MappingProxyType, ModuleType
from typing import Any

from toolhaft.discovery import BUILT_IN, discover_package
from toolhaft.registry import DuplicateToolError, Registry
from toolhaft.spec import ToolKind, tool_spec
from toolhaft.tools._overwriting import write_file as overwriting

READ_ONLY = "read-only"

PROFILES: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "coding": (
            "read_file",
            "list_dir",
            "grep",
            "glob",
            "edit_file",
            "apply_patch",
            "write_file",
            "bash",
            "bash_output",
            "stop_bash",
            "todo",
        ),
        "tunacode": ("bash", "glob", "grep", "list_dir", "read_file", "write_file", "update_file", "todo", "submit"),
        "architect": (
            "read_file",
            "write_file",
            "delete_file",
            "list_files",
            "edit_file",
            "apply_patch",
            "search_code",
            "grep",
            "find_files",
            "run_command",
        ),
    }
)
"""Sets of tools as the systems they are named after have them; `read-only` is every tool of kind read."""

COMMANDS = frozenset(("bash", "bash_output", "stop_bash", "run_command"))

Chosen = str | ModuleType | Callable[..., Any]


def chosen_tools(
    chosen: Chosen | Sequence[Chosen], *, allowed: Sequence[str] | None = None, commands: bool = True
) -> list[Callable[..., Any]]:
    """The tools meant, each once, in the order given.

    A text is a profile, a group, or a tool's name; a package stands for all of its tools. `allowed` keeps those whose
    names match one of its patterns (`[]` keeps none), `commands=False` leaves out what runs commands. `submit` is left
    out: `Toolkit.output_type` offers it. Raises `ToolNotFoundError` for a name that nothing has, `DuplicateToolError`
    for one that two programs' tools have.
    """
    each = [chosen] if isinstance(chosen, str | ModuleType) or callable(chosen) else chosen
    found: dict[str, Callable[..., Any]] = {}
    for one in each:
        for function in _meant(one):
            spec = tool_spec(function)
            if found.setdefault(spec.name, function) is not function and spec.kind is ToolKind.MCP:
                raise DuplicateToolError(
                    f"two tools are named {spec.name!r}, and what is behind the second is another program. Give one of "
                    "the servers another name."
                )
    return [
        function
        for name, function in found.items()
        if name != "submit" and (commands or name not in COMMANDS) and is_allowed(name, allowed)
    ]


def is_allowed(name: str, allowed: Sequence[str] | None) -> bool:
    """Whether a tool is among those allowed; None allows all.

    A tool of an MCP server (`mcp_...`) joins by itself, unless some pattern is about such tools.
    """
    if allowed is None:
        return True
    if name.startswith("mcp_") and allowed and not any(pattern.startswith("mcp_") for pattern in allowed):
        return True
    return any(fnmatchcase(name, pattern) for pattern in allowed)


def _meant(one: Chosen) -> Sequence[Callable[..., Any]]:
    if isinstance(one, ModuleType):
        return [tool.load() for tool in discover_package(one.__name__).tools.values()]
    if not isinstance(one, str):
        return [one]
    built_in = Registry().register_all()
    if one == READ_ONLY:
        tools = [tool.load() for tool in discover_package(BUILT_IN).tools.values()]
        return [tool for tool in tools if tool_spec(tool).kind is ToolKind.READ]
    if one == "architect":
        built_in.register(overwriting, replace=True)
    return built_in.select(PROFILES.get(one, (one,)))
