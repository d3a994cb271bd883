"""What a hook says: nothing, text for the model, or other arguments; and how it fails to."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, cast

from toolhaft.pipeline.hook import Hook

MAX_CHARACTERS = 10_000
"""Of one text of a hook: what is more is left out in its middle."""


class HookError(Exception):
    """The hook itself failed: `failure` says how in a few words (`exit 1`), `output` is what it had to say."""

    def __init__(self, failure: str, output: str = "", *, is_timeout: bool = False) -> None:
        super().__init__(failure, output)
        self.is_timeout = is_timeout
        self.failure = failure
        self.output = bounded(output.strip())

    def __str__(self) -> str:
        return f"{self.failure}: {self.output}" if self.output else self.failure


def timeout(hook: Hook) -> HookError:
    """What it is called when a hook does not answer in its time."""
    return HookError(f"no answer in {hook.timeout_seconds:g} seconds", is_timeout=True)


@dataclass(frozen=True, slots=True)
class Answer:
    """What a hook that lets things go on has to add."""

    context: str | None = None
    """Text for the model."""

    updated: Mapping[str, Any] | None = None
    """Arguments of the call to replace; those that are not named stay."""


def printed_answer(stdout: str) -> Answer:
    """The answer in what a command printed: a JSON object, else none. Raises `HookError` for what is neither."""
    if "\0" in stdout:
        raise HookError("printed NULs, which are no text")
    text = stdout.strip()
    if not text.startswith("{"):
        return Answer()
    try:
        said = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise HookError(f"printed what begins like JSON and is none ({error})", text) from error
    return answer_of(said)


def answer_of(said: object) -> Answer:
    """The answer in a JSON object or in what a function returned. Raises `HookError` for values of a wrong type."""
    if said is None:
        return Answer()
    if not isinstance(said, Mapping):
        raise HookError(f"answered with {type(said).__name__} and not with None or a dict of {_KEYS}")
    answer = cast("Mapping[str, Any]", said)
    context, updated = answer.get("additionalContext"), answer.get("updatedInput")
    if not isinstance(context, str | None):
        raise HookError(f"answered with additionalContext that is {type(context).__name__} and not text")
    if not isinstance(updated, Mapping | None):
        raise HookError(f"answered with updatedInput that is {type(updated).__name__} and not an object of arguments")
    return Answer(context=bounded(context) if context else None, updated=cast("Mapping[str, Any] | None", updated))


_KEYS = "additionalContext and updatedInput"


def bounded(text: str) -> str:
    """The text as UTF-8 can have it, or its beginning and end where it is too long to be shown."""
    text = text.encode(errors="replace").decode()
    over = len(text) - MAX_CHARACTERS
    if over <= 0:
        return text
    half = MAX_CHARACTERS // 2
    return f"{text[:half]}\n[... {over} characters left out ...]\n{text[-half:]}"
