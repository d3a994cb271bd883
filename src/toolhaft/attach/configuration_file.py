"""Reads a configuration file in TOML, YAML or JSON: its settings, and the line of each key."""

from __future__ import annotations

import importlib
import json
import tomllib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, cast

from toolhaft.attach.configuration_lines import Key, Lines, Scanner, add_line


class ConfigurationError(ValueError):
    """A configuration file that cannot be meant; the text names the file, the line, the key and what may be there."""


def read_file(path: Path) -> tuple[Mapping[str, Any], Lines]:
    """The settings in a file, and the line of each key. Raises `ConfigurationError`."""
    read = _READERS.get(path.suffix.lower())
    if read is None:
        raise ConfigurationError(f"{path.name!r} is no configuration file. Its name ends with {', '.join(_READERS)}.")
    try:
        data, lines = read(path.read_text(encoding="utf-8-sig"))
    except OSError as error:
        raise ConfigurationError(f"the configuration {str(path)!r} cannot be read: {error.strerror}.") from error
    except (ValueError, RecursionError) as error:
        raise ConfigurationError(f"{path.name}: {error}") from error
    if not isinstance(data, dict):
        raise ConfigurationError(f"{path.name}: it holds a {type(data).__name__}, and a table of keys is wanted.")
    return cast("dict[str, Any]", data), lines


def _toml(text: str) -> tuple[object, Lines]:
    return tomllib.loads(text), Scanner(text).statements()


def _json(text: str) -> tuple[object, Lines]:
    data = json.loads(text)
    return data, Scanner(text).document()


def _yaml(text: str) -> tuple[object, Lines]:
    try:
        yaml = importlib.import_module("yaml")  # an extra: only who writes YAML needs it
    except ImportError as error:
        raise ValueError("to read YAML, PyYAML is needed: pip install 'toolhaft[yaml]'. Or write TOML.") from error
    try:
        data, root = yaml.safe_load(text), yaml.compose(text, Loader=yaml.SafeLoader)
    except yaml.YAMLError as error:
        raise ValueError(f"it is not YAML: {error}") from error
    lines: Lines = {}
    if root is not None:
        _of_node(root, (), lines, set())
    return {} if data is None else data, lines


def _of_node(node: Any, path: Key, lines: Lines, seen: set[int]) -> None:
    """The lines of what stands below a YAML node; what an alias repeats has the lines of the first place only."""
    if isinstance(node.value, str) or id(node) in seen:
        return
    seen.add(id(node))
    is_mapping = node.id == "mapping"
    for place, entry in enumerate(node.value):
        key, value = entry if is_mapping else (entry, entry)
        below = (*path, str(key.value) if is_mapping else place)
        add_line(lines, below, key.start_mark.line + 1)
        _of_node(value, below, lines, seen)


_READERS: dict[str, Callable[[str], tuple[object, Lines]]] = {
    ".toml": _toml,
    ".yaml": _yaml,
    ".yml": _yaml,
    ".json": _json,
}
