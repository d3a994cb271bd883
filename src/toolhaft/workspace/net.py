"""The only door to the network: one request, guarded and bounded, and its whole answer.

    URL ─► host ─► addresses, asked once ─► each public, or its host allowed by name ─► connect to that very address
     ▲                                                                                            │
     └──────────── redirect: judged anew, credentials stay with their origin ◄────────────────────┤
                                                                                                  ▼
                                                            body, within its limits while it is read and inflated

One clock runs over all of it. No proxy, cookie or password file of the environment has a part in it.
"""

import asyncio
import ssl
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from functools import cache

import httpx2

from toolhaft.exceptions import describe

from .net_addresses import Address
from .net_body import ACCEPT_ENCODING, read_body
from .net_errors import FetchTimeoutError, NoAnswerError, RedirectError
from .net_limits import HttpLimits
from .net_redirects import redirected, same_origin
from .net_rules import NetworkRules

MAX_REDIRECTS = 10
TIMEOUT_SECONDS = 30.0
# An address that does not answer is left for the next one.
_CONNECT_SECONDS = 10.0
# They tell of the body as it was sent, and the answer to HEAD has nothing else to tell.
_GONE_WHEN_READ = ("content-encoding", "content-length", "transfer-encoding")

Send = Callable[[httpx2.Request, bool], Awaitable[httpx2.Response]]
"""Sends a request, with or without the credentials of a client."""


async def fetch(
    request: httpx2.Request,
    *,
    rules: NetworkRules,
    limits: HttpLimits | None = None,
    timeout_seconds: float = TIMEOUT_SECONDS,
    client: httpx2.AsyncClient | None = None,
    follow: Callable[[httpx2.URL], bool] = lambda url: True,
) -> httpx2.Response:
    """The answer to a request, whatever its status, with its whole body, decompressed.

    A redirect that `follow` says no to is the answer itself. `client` gives its headers, cookies, authentication and
    TLS settings to the first origin; it is never closed, stores no cookies by name, and should speak HTTP/1.1.

    Raises `FetchError`: `AddressRefusedError`, `RedirectError`, `FetchTimeoutError`, `ResponseTooLargeError`,
    `AggregateResponseSizeExceeded`, `NoAnswerError`, or itself for a host that is not there and a body that is damaged.

    ```python
    response = await fetch(httpx2.Request("GET", "https://example.com"), rules=NetworkRules())
    ```
    """
    try:
        async with asyncio.timeout(timeout_seconds), _sender(client) as send:
            await request.aread()
            if client is not None:
                request = client.build_request(
                    request.method, request.url, headers=request.headers, content=request.content
                )
            return await _followed(request, send, rules=rules, limits=limits or HttpLimits(), follow=follow)
    except TimeoutError as error:
        raise FetchTimeoutError(
            f"{request.url.host!r} did not answer whole within {timeout_seconds:g} seconds. Ask for less, or later."
        ) from error
    except (httpx2.HTTPError, httpx2.InvalidURL) as error:
        raise NoAnswerError(f"no whole answer came from {request.url.host!r}: {describe(error)}.") from error


async def _followed(
    request: httpx2.Request,
    send: Send,
    *,
    rules: NetworkRules,
    limits: HttpLimits,
    follow: Callable[[httpx2.URL], bool],
) -> httpx2.Response:
    first = request.url
    for _ in range(MAX_REDIRECTS + 1):
        response = await _sent(request, send, rules, with_credentials=same_origin(first, request.url))
        try:
            onward = redirected(request, response)
            if onward is None or not follow(onward.url):
                return _whole(request, response, await read_body(response, limits))
        finally:
            await response.aclose()
        request = onward
    raise RedirectError(f"{first.host!r} sent the request on more than {MAX_REDIRECTS} times. Use another URL.")


async def _sent(request: httpx2.Request, send: Send, rules: NetworkRules, *, with_credentials: bool) -> httpx2.Response:
    """The beginning of the answer, from the first of the host's addresses that can be reached."""
    *others, last = await rules.addresses(request.url)
    for address in others:
        try:
            return await send(_pinned(request, address), with_credentials)
        except (httpx2.ConnectError, httpx2.ConnectTimeout):
            continue  # nothing of it was sent
    return await send(_pinned(request, last), with_credentials)


def _pinned(request: httpx2.Request, address: Address) -> httpx2.Request:
    """The request to one address of its host, by whose name it is still asked, and its certificate checked."""
    headers = request.headers.copy()
    headers["host"] = request.url.netloc.decode()
    headers["accept-encoding"] = ACCEPT_ENCODING
    # Another host may have the same address: it must not get this connection, whose certificate is not its own.
    headers["connection"] = "close"
    timeouts = httpx2.Timeout(None, connect=_CONNECT_SECONDS).as_dict()
    return httpx2.Request(
        request.method,
        request.url.copy_with(host=str(address)),
        headers=headers,
        content=request.content,
        extensions={"timeout": timeouts, "sni_hostname": request.url.raw_host.decode().rstrip(".")},
    )


def _whole(request: httpx2.Request, response: httpx2.Response, body: bytes) -> httpx2.Response:
    gone = () if request.method == "HEAD" else _GONE_WHEN_READ
    headers = [(name, value) for name, value in response.headers.multi_items() if name not in gone]
    return httpx2.Response(response.status_code, headers=headers, content=body, request=request)


@asynccontextmanager
async def _sender(client: httpx2.AsyncClient | None) -> AsyncGenerator[Send]:
    if client is not None:

        async def send_by_client(request: httpx2.Request, with_credentials: bool) -> httpx2.Response:
            auth = httpx2.USE_CLIENT_DEFAULT if with_credentials else None
            return await client.send(request, auth=auth, stream=True, follow_redirects=False)

        yield send_by_client
        return
    # No client: it would log each URL, with the keys that may stand in its query.
    transport = httpx2.AsyncHTTPTransport(verify=await asyncio.to_thread(_tls), trust_env=False)
    async with transport:

        async def send(request: httpx2.Request, with_credentials: bool) -> httpx2.Response:
            response = await transport.handle_async_request(request)
            response.request = request
            return response

        yield send


@cache
def _tls() -> ssl.SSLContext:
    """Made once, and in a thread: it reads a hundred certificates."""
    return httpx2.create_ssl_context()
