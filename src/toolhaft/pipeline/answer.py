"""What a tool answered, as text for the model and facts for the program; and what a stage adds to it."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any, cast

from pydantic_ai import ModelRetry, ToolReturn
from pydantic_ai.exceptions import ToolFailed
from pydantic_ai.messages import is_multi_modal_content
from pydantic_core import to_json

from toolhaft.exceptions import ToolExecutionError
from toolhaft.spec import ToolText

Failure = ModelRetry | ToolFailed


def parted(name: str, answer: object) -> ToolReturn[Any]:
    """What the tool `name` answered, as text for the model and facts as metadata.

    Raises `ToolExecutionError` for an answer that nobody could write down: the run would end over it later.
    """
    if isinstance(answer, ToolReturn):
        return cast("ToolReturn[Any]", answer)
    if isinstance(answer, list):
        items = cast("list[object]", answer)
        facts = next((item.facts for item in items if isinstance(item, ToolText)), None)
        return ToolReturn(return_value=[_exact(name, item) for item in items], metadata=facts)
    return ToolReturn(
        return_value=_exact(name, answer), metadata=answer.facts if isinstance(answer, ToolText) else None
    )


def with_notes(answer: ToolReturn[Any], notes: Sequence[str]) -> ToolReturn[Any]:
    """The answer with notes below it. A value that is no text keeps its form; the notes then stand beside it."""
    if not notes:
        return answer
    added = copy.copy(answer)
    value = answer.return_value
    if isinstance(value, str):
        added.return_value = "\n\n".join(part for part in (value, *notes) if part)
    elif isinstance(value, list):
        added.return_value = [*cast("list[object]", value), *notes]
    else:
        added.content = [*([answer.content] if isinstance(answer.content, str) else answer.content or ()), *notes]
    return added


def failure_with_notes(error: Failure, notes: Sequence[str]) -> Failure:
    """The same failure with notes below its text."""
    told = copy.copy(error)
    told.message = "\n\n".join((error.message, *notes))
    return told.with_traceback(error.__traceback__)


def text_of(answer: ToolReturn[Any]) -> str:
    """The text in an answer."""
    value = answer.return_value
    if isinstance(value, str):
        return value
    if isinstance(value, list):
        return "\n".join(item for item in cast("list[object]", value) if isinstance(item, str))
    return to_json(value).decode()


def _exact(name: str, value: object) -> object:
    """Text as an exact `str` that is valid Unicode; other values as they are, if they can be written as JSON."""
    if isinstance(value, str):
        return str.__str__(value).encode(errors="backslashreplace").decode()
    if is_multi_modal_content(value):
        return value
    try:
        to_json(value)
    except ValueError as error:
        raise ToolExecutionError(
            name, f"it answered a {type(value).__name__} that cannot be written as JSON ({error})", error
        ) from error
    return value
