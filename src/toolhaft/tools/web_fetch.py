"""Read a page of the web: HTML as Markdown, other text as it is, an image as an image, of anything else what it is."""

import asyncio
from io import BytesIO
from typing import Any

import httpx2
from pydantic_ai import BinaryContent

from toolhaft.decorators import base_tool
from toolhaft.exceptions import ModelRetry, ToolExecutionError
from toolhaft.spec import NeedsApproval, ToolKind, ToolText
from toolhaft.tools._web_pages import as_markdown, is_html, title_of
from toolhaft.workspace import workspace
from toolhaft.workspace.net import fetch
from toolhaft.workspace.net_content import described, media_type, medium_of, text_of
from toolhaft.workspace.net_errors import AddressRefusedError
from toolhaft.workspace.net_redirects import same_origin
from toolhaft.workspace.pages import MAX_CHARACTERS, Page, PageError, read_page

_HEADERS = {"accept": "text/markdown, text/html;q=0.9, */*;q=0.8", "accept-language": "en", "user-agent": "toolhaft"}
_MAX_FAILURE_CHARACTERS = 1_000


def _asks(url: str, **_: object) -> NeedsApproval | None:
    """A person is asked about every host that the workspace's rules do not name. What cannot be sent, nobody is."""
    try:
        parsed = httpx2.URL(url)
        is_allowed = workspace().network_rules.allows(parsed)
    except (httpx2.InvalidURL, AddressRefusedError):
        return None
    if is_allowed:
        return None
    return NeedsApproval("other_host", f"it asks the host {parsed.host!r}, which sees the whole URL")


@base_tool(kind=ToolKind.NETWORK, approval=_asks, idempotent=True, timeout_seconds=60)
async def web_fetch(url: str, offset: int = 1, limit: int = 500, column: int = 1) -> str | list[str | BinaryContent]:
    """Return the lines of a page from `offset` on, at most `limit` and 60,000 characters.

    A note in brackets at the end says what was left out and how to get it. HTML comes as Markdown. Only GET is sent,
    to public addresses and to hosts that the workspace's `NetworkRules` allow by name; a redirect to another host is
    told, and not followed.

    Raises `ModelRetry` for what is no URL, and where there is no such line (with the true count).
    """
    try:
        request = httpx2.Request("GET", url, headers=_HEADERS)
    except httpx2.InvalidURL as error:
        raise ModelRetry(f"{url[:200]!r} is no URL ({error}). Use https://host/path.") from error
    rules = workspace().network_rules
    response = await fetch(
        request, rules=rules, follow=lambda target: same_origin(request.url, target) or rules.allows(target)
    )
    return await asyncio.to_thread(_answer, response, offset=offset, limit=limit, column=column)


def _answer(response: httpx2.Response, *, offset: int, limit: int, column: int) -> str | list[str | BinaryContent]:
    facts: dict[str, Any] = {
        "url": str(response.url),
        "status": response.status_code,
        "media_type": media_type(response),
        "size": len(response.content),
    }
    if response.is_error:
        raise ToolExecutionError("web_fetch", f"{response.url} answered {_status(response)}.{_failure(response)}")
    if response.has_redirect_location:
        target = response.url.join(response.headers["location"])
        told = f"The page is at {target}, on another host. Nothing was asked there: call web_fetch with that URL."
        return ToolText(f"[{told}]", **facts, moved_to=str(target), truncated=True)
    if not response.content:
        return ToolText(f"[{response.url} answered {_status(response)}, without content.]", **facts, truncated=False)
    medium = medium_of(response)
    if medium is not None:
        return [ToolText(f"[{response.url}: {described(response)}]", **facts, truncated=False), medium]
    text = text_of(response)
    if text is None:
        told = f"{response.url} is not text: {described(response)}. Its content is not shown."
        return ToolText(f"[{told}]", **facts, truncated=True)
    about, left_out = "", list[str]()
    if is_html(response, text):
        title = title_of(text)
        about = f"{response.url}{f', {title!r}' if title else ''}, as Markdown."
        text, left_out = as_markdown(text, str(response.url))
    try:
        page = read_page(BytesIO(text.encode()), offset=offset, limit=limit, column=column, name=str(response.url))
    except PageError as error:
        raise ModelRetry(str(error)) from error
    assert isinstance(page, Page)  # it was encoded a moment ago, so it is text
    return _text(page, facts, about=about, left_out=left_out)


def _text(page: Page, facts: dict[str, Any], *, about: str, left_out: list[str]) -> ToolText:
    if page.truncated:
        left_out = [*left_out, _what_was_left_out(page)]
    notes = " ".join([*([about] if about else []), *left_out])
    parts = ["\n".join(page.lines), f"[{notes}]" if notes else ""]
    return ToolText(
        "\n\n".join(part for part in parts if part),
        **facts,
        first_line=page.first_line,
        last_line=page.last_line,
        total_lines=page.total_lines,
        truncated=bool(left_out),
        next_offset=page.next_offset,
        next_column=page.next_column if page.truncated else None,
    )


def _what_was_left_out(page: Page) -> str:
    there = f"of {page.total_lines}" if page.total_lines is not None else f"of at least {page.at_least_lines}"
    why = f"limit={len(page.lines)}" if page.stopped == "lines" else f"an answer holds {MAX_CHARACTERS} characters"
    shown, column = f"Lines {page.first_line} to {page.last_line} {there}", ""
    if page.next_column > 1:
        last = page.next_column - 1
        shown, column = (
            f"Characters {page.first_column} to {last} of line {page.first_line} {there}",
            f", column={last + 1}",
        )
    return f"{shown} are shown ({why}). To go on: offset={page.next_offset}{column}; the page is fetched again."


def _failure(response: httpx2.Response) -> str:
    """What a server says of a failure, where it says it for programs."""
    text = text_of(response) if response.content else None
    if text is None or is_html(response, text):
        return ""
    return "\n\n" + text[:_MAX_FAILURE_CHARACTERS].strip()


def _status(response: httpx2.Response) -> str:
    return f"{response.status_code} {response.reason_phrase}".strip()
