"""An answer from the network as the answer of a tool: shown, cut where it is long, and without what is secret."""

from __future__ import annotations

from typing import Any

import httpx2
from pydantic_ai import BinaryContent
from pydantic_ai.messages import is_multi_modal_content

from toolhaft.exceptions import ToolExecutionError
from toolhaft.makers.http_config import HttpToolConfig
from toolhaft.makers.json_text import json_text
from toolhaft.makers.redaction import Redaction
from toolhaft.spec import ToolText
from toolhaft.workspace.net_content import described, media_type, medium_of, text_of

Answer = str | list[str | BinaryContent]

_MAX_FAILURE_CHARACTERS = 2_000


def answer_of(config: HttpToolConfig, response: httpx2.Response) -> Answer:
    """What a tool answers: text and JSON as they came, media as media, of anything else what it is. For a thread."""
    facts: dict[str, Any] = {
        "status": response.status_code,
        "media_type": media_type(response),
        "size": len(response.content),
    }
    if response.request.method == "HEAD":
        return _shown(config, _head(config, response), facts)
    if not response.content:
        return ToolText(f"[{_status(response)}, no content]", **facts, truncated=False)
    medium = medium_of(response)
    if medium is not None:
        return [ToolText(f"[{described(response)}]", **facts, truncated=False), medium]
    text = text_of(response)
    if text is None:
        return ToolText(f"[not text: {described(response)}. Its content is not shown.]", **facts, truncated=True)
    return _shown(config, Redaction(config.redact).text(text), facts)


def processed(config: HttpToolConfig, value: Any) -> Any:
    """What the author's `post_process` made of an answer, as the answer of a tool. For a thread."""
    redaction = Redaction(config.redact)
    if is_multi_modal_content(value):
        return [value]
    if isinstance(value, list) and any(map(is_multi_modal_content, value)):  # pyright: ignore[reportUnknownArgumentType]
        return [one if is_multi_modal_content(one) else processed(config, one) for one in value]  # pyright: ignore[reportUnknownVariableType]
    if isinstance(value, str):
        facts: dict[str, Any] = redaction.value(value.facts) if isinstance(value, ToolText) else {}
        return _shown(config, redaction.text(value), facts)
    return _shown(config, json_text(redaction.value(value)), {})


def raise_failure(config: HttpToolConfig, response: httpx2.Response) -> None:
    """Raise `ToolExecutionError` for an answer that says that the request failed. For a thread.

    The URL is told as it was written: filled in, it may hold what is secret.
    """
    if not response.is_error:
        return
    text = text_of(response) if response.content else ""
    body = f"[{described(response)}]" if text is None else Redaction(config.redact).text(text).strip()
    if len(body) > _MAX_FAILURE_CHARACTERS:
        body = f"{body[:_MAX_FAILURE_CHARACTERS]}\n[The first {_MAX_FAILURE_CHARACTERS:,} of {len(body):,} characters.]"
    wait = response.headers.get("retry-after")
    told = [f"{config.method} {config.url} answered {_status(response)}."]
    told += [f"Retry-After: {wait[:100]}."] if wait else []
    raise ToolExecutionError(config.name, " ".join(told) + (f"\n\n{body}" if body else ""))


def _shown(config: HttpToolConfig, text: str, facts: dict[str, Any]) -> ToolText:
    """A text that is redacted, up to what a model is shown, and how much that is."""
    shown, total = text[: config.max_characters], len(text)
    is_cut = total > len(shown)
    if is_cut:
        shown += f"\n\n[{len(shown):,} of {total:,} characters are shown. Ask for less, or for a part of it.]"
    counts = {"shown": min(total, config.max_characters), "total": total}
    return ToolText(shown, **{**facts, **counts, "truncated": is_cut or bool(facts.get("truncated"))})


def _head(config: HttpToolConfig, response: httpx2.Response) -> str:
    redaction = Redaction(config.redact)
    headers = [
        f"{name}: {'[redacted]' if redaction.hides(name) else redaction.text(value)}"
        for name, value in response.headers.multi_items()
    ]
    return "\n".join([_status(response), *headers])


def _status(response: httpx2.Response) -> str:
    return f"{response.status_code} {response.reason_phrase}".strip()
