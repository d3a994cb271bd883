"""The steps of a longer job, and how far each one is."""

import hashlib
import re
from collections.abc import Sequence
from typing import Annotated, Any, Literal

from pydantic import BaseModel, StringConstraints, TypeAdapter, ValidationError
from pydantic_ai import ModelRetry

from toolhaft.decorators import base_tool
from toolhaft.spec import ToolKind, ToolText
from toolhaft.tools._kept import Kept
from toolhaft.workspace.conversation import conversation_id

MAX_ITEMS = 100

_MARKS = {"pending": "[ ]", "in_progress": "[>]", "completed": "[x]"}
_SAFE_NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,63}")


class TodoItem(BaseModel):
    """One step of the job."""

    content: Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=500)]
    status: Literal["pending", "in_progress", "completed"]


_ITEMS = TypeAdapter(list[TodoItem])


@base_tool(kind=ToolKind.MEMORY, sensitive=False, idempotent=True)
async def todo(action: Literal["read", "write", "clear"], items: list[TodoItem] | None = None) -> str:
    """Answer this conversation's list as a checklist, after `write` has replaced it or `clear` has emptied it.

    It is kept in `.toolhaft/todo`. Plain dictionaries will do for `items`. Raises `ModelRetry` for items that are
    none, and for more than one in progress.
    """
    kept = Kept(tool="todo", folder="todo", file=_file_of(conversation_id()), shape=_ITEMS, empty=list[TodoItem])
    if action == "write":
        return await _replaced(kept, _checked(items))
    if items:
        raise ModelRetry(f"items go with action='write', and this is action={action!r}. Leave them out, or write them.")
    return await _replaced(kept, []) if action == "clear" else _told(await kept.read())


async def _replaced(kept: Kept[list[TodoItem]], items: list[TodoItem]) -> ToolText:
    def replace(there: list[TodoItem]) -> None:
        there[:] = items

    await kept.change(replace)
    return _told(items)


def _checked(items: Sequence[TodoItem] | None) -> list[TodoItem]:
    if items is None:
        raise ModelRetry("action='write' needs items: the whole list, each with content and status.")
    try:
        checked = _ITEMS.validate_python(items)
    except ValidationError as error:
        raise ModelRetry(f"The list was not written. {_mistakes(error)}") from error
    if len(checked) > MAX_ITEMS:
        raise ModelRetry(f"The list has {len(checked)} items, and {MAX_ITEMS} are allowed. Put small steps together.")
    active = [number for number, item in enumerate(checked, 1) if item.status == "in_progress"]
    if len(active) > 1:
        raise ModelRetry(
            f"Items {', '.join(map(str, active))} are all in_progress, and one may be. Mark the one you are working on "
            "now; the others are pending or completed."
        )
    return checked


def _mistakes(error: ValidationError) -> str:
    return "; ".join(
        f"items[{']['.join(map(repr, mistake['loc']))}]: {mistake['msg']}"
        for mistake in error.errors(include_url=False, include_context=False)
    )


def _told(items: Sequence[TodoItem]) -> ToolText:
    counts: dict[str, Any] = {status: sum(item.status == status for item in items) for status in _MARKS}
    if not items:
        return ToolText("The todo list is empty.", items=[], **counts)
    lines = [
        f"{number}. {_MARKS[item.status]} {' '.join(item.content.split())}" for number, item in enumerate(items, 1)
    ]
    text = "\n".join([f"{counts['completed']} of {len(items)} done.", *lines])
    return ToolText(text, items=[item.model_dump() for item in items], **counts)


def _file_of(conversation: str) -> str:
    """A file name for a conversation: its id where that can be one, else what there is of it and its hash.

    Two ids never share a file: names with a hash have a dot before it, and no other has.
    """
    if _SAFE_NAME.fullmatch(conversation):
        return f"{conversation}.json"
    rest = re.sub(r"[^a-z0-9_-]+", "-", conversation.lower())[:40].strip("-") or "conversation"
    return f"{rest}.{hashlib.sha256(conversation.encode(errors='surrogatepass')).hexdigest()[:16]}.json"
