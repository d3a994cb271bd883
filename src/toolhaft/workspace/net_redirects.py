"""Where a server sends a request on, and what of the request may go there."""

import httpx2

from .net_errors import RedirectError

# What says nothing about who asks. Any other header may hold a credential, and goes to the first origin only.
_HARMLESS_HEADERS = frozenset({"accept", "accept-language", "accept-encoding", "user-agent"})
_HEADERS_OF_BODY = ("content-length", "content-type", "content-encoding", "transfer-encoding")


def redirected(request: httpx2.Request, response: httpx2.Response) -> httpx2.Request | None:
    """The request that a redirect asks for; None for an answer that is no redirect.

    Across origins it has no credentials. Raises `RedirectError` where it would go on unencrypted, or take a body to
    another origin.
    """
    if not response.has_redirect_location:
        return None
    url = _target(request, response)
    if request.url.scheme == "https" and url.scheme == "http":
        raise RedirectError(
            f"{request.url.host!r} sent the request on from https to http, where anybody could read and change it. "
            "Use another URL."
        )
    method = _method(request.method, response.status_code)
    keeps_body = method == request.method and method not in ("GET", "HEAD")
    is_same = same_origin(request.url, url)
    if keeps_body and not is_same:
        raise RedirectError(
            f"{request.url.host!r} sent a {method} on to {url.host!r}, another origin, which is to get nothing of it. "
            "Use the URL of that origin, if it is meant."
        )
    headers = request.headers.copy()
    for name in list(headers):
        if (not is_same and name not in _HARMLESS_HEADERS) or (not keeps_body and name in _HEADERS_OF_BODY):
            del headers[name]
    headers.pop("host", None)
    return httpx2.Request(method, url, headers=headers, content=request.content if keeps_body else None)


def same_origin(one: httpx2.URL, other: httpx2.URL) -> bool:
    """Whether two URLs have scheme, host and port in common, or differ by going from http to https as is usual."""
    ports = {"http": 80, "https": 443}
    (host, port), (other_host, other_port) = ((url.raw_host, url.port or ports.get(url.scheme)) for url in (one, other))
    is_upgrade = (one.scheme, port, other.scheme, other_port) == ("http", 80, "https", 443)
    return host == other_host and (is_upgrade or (one.scheme, port) == (other.scheme, other_port))


def _target(request: httpx2.Request, response: httpx2.Response) -> httpx2.URL:
    location = response.headers["location"]
    try:
        return request.url.join(location)
    except httpx2.InvalidURL as error:
        raise RedirectError(f"{request.url.host!r} sent the request on to no URL: {location[:200]!r}.") from error


def _method(method: str, status: int) -> str:
    """As browsers do it (Fetch standard, "HTTP-redirect fetch"): what was answered with 303 is fetched with GET."""
    if (status == 303 and method != "HEAD") or (status in (301, 302) and method == "POST"):
        return "GET"
    return method
