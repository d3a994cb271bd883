"""A URL with places for arguments: each value fills its place and nothing more."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

import httpx2

from toolhaft.exceptions import ModelRetry
from toolhaft.makers.json_text import scalar_text
from toolhaft.workspace.net_errors import AddressRefusedError
from toolhaft.workspace.net_rules import check_url

_PLACE = re.compile(r"\{([A-Za-z_]\w*)\}")
_PORT = re.compile(r"(?<=:)\d*\{[A-Za-z_]\w*\}")
_HOST = re.compile(r"https?://[^/?#]*", re.IGNORECASE)


class UrlTemplate:
    """A URL with `{argument}` in it. Raises `ValueError` where it cannot become one."""

    def __init__(self, template: str) -> None:
        self.template = template
        self.places = tuple(dict.fromkeys(_PLACE.findall(template)))
        filled = _PLACE.sub("x", _PORT.sub("1", template))
        if set(filled) & set("{}"):
            raise ValueError(f"the URL {template!r} has a brace that is no place. Write {{argument}}.")
        try:
            check_url(httpx2.URL(filled))
        except (httpx2.InvalidURL, AddressRefusedError) as error:
            raise ValueError(f"the URL {template!r} is none ({error}).") from error
        if _has_dots(filled):
            raise ValueError(f"the URL {template!r} has '.' or '..' in its path. Write where that leads.")

    @property
    def has_fixed_host(self) -> bool:
        """Whether its author named the host, and no argument has a part in that."""
        host = _HOST.match(self.template)
        return host is not None and not _PLACE.search(host[0])

    def fill(self, arguments: Mapping[str, Any]) -> httpx2.URL:
        """The URL with the arguments in their places. Raises `ModelRetry` for values that lead elsewhere."""
        path, mark, query = self.template.partition("?")
        filled = _PLACE.sub(lambda place: _escaped(place[1], arguments, may_be_empty=False), path)
        if _has_dots(filled):
            raise ModelRetry(f"the arguments {', '.join(self.places)} make a path with '.' or '..'. Use other values.")
        filled += mark + _PLACE.sub(lambda place: _escaped(place[1], arguments, may_be_empty=True), query)
        try:
            return httpx2.URL(filled)
        except httpx2.InvalidURL as error:
            raise ModelRetry(f"the arguments {', '.join(self.places)} make no URL ({error}). Use others.") from error


def _escaped(name: str, arguments: Mapping[str, Any], *, may_be_empty: bool) -> str:
    value = arguments.get(name)
    text = "" if value is None else scalar_text(value)
    if not text and not may_be_empty:
        raise ModelRetry(f"{name!r} is needed: it is a part of the URL. Give it a value that is not empty.")
    return quote(text, safe="", errors="replace")


def _has_dots(url: str) -> bool:
    path = re.split(r"[?#]", url, maxsplit=1)[0].partition("://")[2].partition("/")[2]
    return not {".", ".."}.isdisjoint(path.split("/"))
