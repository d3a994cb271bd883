"""Tells what is wrong in a configuration file: the line, the key, and what was probably meant."""

from __future__ import annotations

import difflib
from collections.abc import Iterator
from typing import Any, get_args

from pydantic import BaseModel, ValidationError

from toolhaft.attach.configuration_keys import Keys
from toolhaft.attach.configuration_lines import Key, Lines

_WORDS = {
    "tuple_type": "a list is wanted",
    "model_type": "a table of keys is wanted",
    "missing": "it is missing",
}
_SHOWN_CHARACTERS = 80


def mistakes(error: ValidationError, lines: Lines, name: str) -> str:
    """One line for each mistake, in the order of the file."""
    found = [(line_of(lines, mistake["loc"]), _mistake(dict(mistake))) for mistake in error.errors(include_url=False)]
    # A value that may be of two types is wrong once for each.
    return "\n".join(dict.fromkeys(f"{name}:{line}: {text}" for line, text in sorted(found)))


def line_of(lines: Lines, key: Key) -> int:
    """The line of a key, or of the nearest that it is part of."""
    while key and key not in lines:
        key = key[:-1]
    return lines.get(key, 1)


def _mistake(mistake: dict[str, Any]) -> str:
    *above, last = (part for part in mistake["loc"] if not _is_branch(part))
    if mistake["type"] == "extra_forbidden":
        return f"unknown key {str(last)!r}{_in(above)}. {_meant(tuple(above), str(last))}"
    said = _WORDS.get(mistake["type"]) or str(mistake["msg"]).removeprefix("Value error, ").replace(
        "Input should", "it should"
    )
    shown = "" if mistake["type"] == "missing" else f" (got {repr(mistake['input'])[:_SHOWN_CHARACTERS]})"
    return f"{_written((*above, last))}: {said}{shown}."


def _meant(above: Key, wrong: str) -> str:
    table = next((model for path, model in _tables(Keys) if path == _names(above)), Keys)
    known = [field.alias or name for name, field in table.model_fields.items()]
    near = difflib.get_close_matches(wrong, known, n=1, cutoff=0.6)
    if near:
        return f"Did you mean {near[0]!r}?"
    elsewhere = [".".join((*path, wrong)) for path, model in _tables(Keys) if wrong in model.model_fields]
    if elsewhere:
        return f"Did you mean {elsewhere[0]!r}?"
    return f"There are: {', '.join(known)}."


def _tables(model: type[BaseModel], path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], type[BaseModel]]]:
    """Every table of keys with the names that lead to it."""
    yield path, model
    for name, field in model.model_fields.items():
        for inner in _models(field.annotation):
            yield from _tables(inner, (*path, name))


def _models(annotation: Any) -> Iterator[type[BaseModel]]:
    # `tuple[X, ...]` says that it is a class, too
    if isinstance(annotation, type) and not get_args(annotation) and issubclass(annotation, BaseModel):
        yield annotation
    for part in get_args(annotation):
        yield from _models(part)


def _names(key: Key) -> tuple[str, ...]:
    return tuple(part for part in key if isinstance(part, str))


def _is_branch(part: str | int) -> bool:
    """Whether a part of a location is pydantic's name for one of several types, and no key."""
    return isinstance(part, str) and ("[" in part or part in ("str",))


def _in(above: list[str | int]) -> str:
    return f" in [{_written(tuple(above))}]" if above else ""


def _written(key: Key) -> str:
    """A path as people write it: `guardrails.code_rules[2].pattern`."""
    return "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in key).removeprefix(".")
