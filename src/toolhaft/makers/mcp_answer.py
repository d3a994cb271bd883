"""What an MCP server answered, as a tool of ours answers: text and media for the model, facts for the program."""

from __future__ import annotations

import base64
import binascii
from typing import TYPE_CHECKING, Any

from pydantic_ai import BinaryContent
from pydantic_core import to_json, to_jsonable_python

from toolhaft.spec import ToolText

if TYPE_CHECKING:
    from mcp.types import CallToolResult, ContentBlock

MOST_CHARACTERS = 100_000
"""How much of an answer's text a model is given."""

_SHOWN = ("image/", "audio/", "video/")
_ALSO_SHOWN = ("application/pdf",)
"""Media that models take. Others are named: a model's provider would refuse the whole conversation over them."""


def answer_of(result: CallToolResult) -> str | list[str | BinaryContent]:
    """The answer of a call that succeeded. Its facts: `structured`, and `resources` as the server sent them."""
    parts: list[str | BinaryContent] = [_part(block) for block in result.content]
    facts: dict[str, Any] = {}
    if result.structured_content is not None:
        facts["structured"] = to_jsonable_python(result.structured_content)
        if not parts:
            parts = [to_json(result.structured_content).decode()]
    resources = [block for block in result.content if block.type in ("resource", "resource_link")]
    if resources:
        facts["resources"] = [block.model_dump(mode="json", by_alias=True, exclude_none=True) for block in resources]
    text = "\n".join(part for part in parts if isinstance(part, str))
    media = [part for part in parts if not isinstance(part, str)]
    if len(text) > MOST_CHARACTERS:
        facts["truncated"] = True
        text = f"{text[:MOST_CHARACTERS]}\n[{MOST_CHARACTERS:,} of {len(text):,} characters are shown. Ask for less.]"
        parts = [text, *media]
    if not media:
        return ToolText(text, **facts)
    if facts:  # they ride on the first text
        first = parts[0]
        rest = parts[1:] if isinstance(first, str) else parts
        return [ToolText(first if isinstance(first, str) else "[no text]", **facts), *rest]
    return parts


def text_of(result: CallToolResult) -> str:
    """The text of a call that failed."""
    parts = [part for block in result.content if isinstance(part := _part(block), str)]
    if not parts and result.structured_content is not None:
        parts = [to_json(result.structured_content).decode()]
    return "\n".join(parts)[:MOST_CHARACTERS].strip() or "the server said that it failed, and not why"


def _part(block: ContentBlock) -> str | BinaryContent:
    from mcp.types import TextResourceContents

    if block.type == "text":
        return block.text
    if block.type == "image" or block.type == "audio":
        return _media(block.data, block.mime_type, block.type)
    if block.type == "resource_link":
        about = "".join(f", {said}" for said in (block.mime_type, block.description) if said)
        return f"[resource {block.name!r}: {block.uri}{about}]"
    resource = block.resource
    if isinstance(resource, TextResourceContents):
        return f"[resource {resource.uri}]\n{resource.text}"
    return _media(resource.blob, resource.mime_type or "application/octet-stream", f"resource {resource.uri}")


def _media(data: str, media_type: str, what: str) -> str | BinaryContent:
    try:
        content = base64.b64decode(data, validate=True)
    except (binascii.Error, ValueError):
        return f"[{what}: {media_type}, left out: it is not valid base64]"
    if media_type.startswith(_SHOWN) or media_type in _ALSO_SHOWN:
        return BinaryContent(content, media_type=media_type)
    return f"[{what}: {media_type}, {len(content):,} bytes, not shown]"
