"""Where the prompt of a tool is."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import partial
from inspect import unwrap
from pathlib import Path
from typing import Any

from toolhaft.exceptions import ToolDefinitionError

_TOOL_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_PACKAGE = Path(__file__).absolute().parents[1]


def find_prompt(function: Callable[..., Any], name: str) -> Path | None:
    """The prompt file of the tool `name` that `function` implements, or None where there is none.

    It lies in the folder `prompts` beside the file that defines the function. The tools of toolhaft itself, in a
    checkout, have theirs in the `prompts` beside `pyproject.toml`. Raises `ToolDefinitionError` for a name that could
    lead elsewhere, and when both places have the file.
    """
    check_name(name)
    source = defining_file(function)
    if source is None:
        return None
    found = [file for folder in _folders(source) if (file := folder / f"{name}_prompt.xml").is_file()]
    if len(found) > 1:
        raise ToolDefinitionError(f"the tool {name!r} has two prompts, {found[0]} and {found[1]}. Remove one of them.")
    return found[0] if found else None


def check_name(name: str) -> None:
    """Raise `ToolDefinitionError` unless the name is one that every provider and file system takes."""
    if not _TOOL_NAME.fullmatch(name):
        raise ToolDefinitionError(f"{name!r} is no name for a tool. Use letters, digits and _, and no digit first.")


def defining_file(function: Callable[..., Any]) -> Path | None:
    """The file whose code the function is; None at a prompt of the interpreter."""
    while isinstance(function, partial):
        function = function.func
    innermost = unwrap(function)
    file = getattr(getattr(innermost, "__func__", innermost), "__globals__", {}).get("__file__")
    return None if file is None else Path(file).absolute()


def _folders(source: Path) -> Iterator[Path]:
    yield source.parent / "prompts"
    checkout = _PACKAGE.parents[1]
    if source.is_relative_to(_PACKAGE) and (checkout / "pyproject.toml").is_file():
        yield checkout / "prompts"
