"""Arguments to a request: what goes into the URL, the query, the headers, the body."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from typing import Any, cast

import httpx2

from toolhaft.exceptions import ModelRetry, ToolExecutionError
from toolhaft.makers.http_config import WITH_BODY, HttpToolConfig
from toolhaft.makers.http_url import UrlTemplate
from toolhaft.makers.json_text import json_text, scalar_text

_REFERENCE = re.compile(r"\$\{(\w+)\}")
_USER_AGENT = "toolhaft"


def request_of(config: HttpToolConfig, arguments: Mapping[str, Any]) -> httpx2.Request:
    """The request of a call.

    What the URL has a place for goes there, what the configuration places goes where it says, and the rest into the
    JSON body of a POST, PUT or PATCH, or into the query. What the configuration fixes, no argument changes.

    Raises `ModelRetry` for a value that cannot be sent, `ToolExecutionError` where a secret is missing.
    """
    template = UrlTemplate(config.url)
    mappings = (config.query_arguments, config.header_arguments, config.body_arguments)
    elsewhere = {*template.places}.union(*mappings)
    rest = {name: value for name, value in arguments.items() if name not in elsewhere}
    has_body = config.method in WITH_BODY
    query = {**({} if has_body else rest), **_placed(config.query_arguments, arguments), **config.static_query}
    body = {**(rest if has_body else {}), **_placed(config.body_arguments, arguments), **config.static_body}
    content = json_text(body).encode(errors="replace") if has_body or body else None
    return httpx2.Request(
        config.method,
        _with_query(template.fill(arguments), query),
        headers=_headers(config, arguments, has_content=content is not None),
        content=content,
    )


def _placed(names: Mapping[str, str], arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Those of the arguments that a mapping names, under their names on the wire."""
    return {names[name]: value for name, value in arguments.items() if name in names}


def _with_query(url: httpx2.URL, query: Mapping[str, Any]) -> httpx2.URL:
    """The URL with more in its query: a list is its items under one name, and what is None is left out."""
    fixed = [(name, value) for name, value in url.params.multi_items() if name not in query]
    added = [(name, scalar_text(one)) for name, value in query.items() for one in _items(value) if one is not None]
    return url.copy_with(params=httpx2.QueryParams([*fixed, *added])) if query else url


def _items(value: Any) -> list[Any]:
    return list(cast("list[Any]", value)) if isinstance(value, list | tuple | set | frozenset) else [value]


def _headers(config: HttpToolConfig, arguments: Mapping[str, Any], *, has_content: bool) -> httpx2.Headers:
    headers = httpx2.Headers({"accept": "*/*", "user-agent": _USER_AGENT})
    if has_content:
        headers["content-type"] = "application/json"
    headers.update(dict(_header_arguments(config, arguments)))
    headers.update(config.headers)
    headers.update({header: _from_env(config.name, header, text) for header, text in config.headers_from_env.items()})
    return headers


def _header_arguments(config: HttpToolConfig, arguments: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for header, value in _placed(config.header_arguments, arguments).items():
        text = "" if value is None else scalar_text(value).strip()
        if not (text.isascii() and text.isprintable()):
            raise ModelRetry(f"{text[:100]!r} cannot stand in the header {header!r}. Use printable ASCII on one line.")
        if text:
            yield header, text


def _from_env(tool: str, header: str, text: str) -> str:
    """A header's value out of the environment. Never without it: the request would go out with nobody's name on it."""

    def value(reference: re.Match[str]) -> str:
        found = os.environ.get(reference[1], "").strip()
        if not (found and found.isascii() and found.isprintable()):
            state = "is not printable ASCII" if found else "is not set"
            raise ToolExecutionError(
                tool,
                f"the environment variable {reference[1]!r}, which the header {header!r} needs, {state}. "
                "Nothing was sent. Whoever runs this must set it.",
            )
        return found

    return _REFERENCE.sub(value, text)
