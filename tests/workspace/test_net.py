"""One request and its whole answer, against real servers on loopback."""

import asyncio
import gzip
import logging
import ssl
import subprocess
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx2
import pytest

from tests.http_servers import LOOPBACK, Asked, Names, always, moved, reply, serving
from toolhaft.workspace import HttpLimits, NetworkRules
from toolhaft.workspace.net import fetch
from toolhaft.workspace.net_errors import (
    AddressRefusedError,
    AggregateResponseSizeExceeded,
    FetchError,
    FetchTimeoutError,
    RedirectError,
    ResponseTooLargeError,
)


async def get(url: str, *, method: str = "GET", headers: Any = None, content: Any = None, **options: Any) -> Any:
    request = httpx2.Request(method, url, headers=headers, content=content)
    return await fetch(request, **{"rules": LOOPBACK, **options})


def named(*hosts: str, **names: Any) -> tuple[NetworkRules, Names]:
    """Hosts that are allowed although all of them are on loopback."""
    given = {host.replace(".", "_"): [["127.0.0.1"]] for host in hosts} | names
    resolve = Names(**given)
    return NetworkRules(allowed_hosts=hosts, resolve=resolve), resolve


async def test_an_answer_comes_whole_with_status_and_headers() -> None:
    async with serving(reply("hello", status="404 Not Found", x_more="1")) as server:
        response = await get(server.url + "/a?b=c#part")

    assert (response.status_code, response.text, response.headers["x-more"]) == (404, "hello", "1")
    assert server.asked[0].target == "/a?b=c"
    assert str(response.url).startswith(server.url)


async def test_a_loopback_server_is_never_asked_without_its_name() -> None:
    async with serving(reply("secret")) as server:
        with pytest.raises(AddressRefusedError, match="loopback"):
            await get(server.url, rules=NetworkRules())

    assert server.asked == []


async def test_the_judged_address_is_asked_by_the_name_of_its_host_and_resolved_once() -> None:
    rules, names = named("twice.test", twice_test=[["127.0.0.1"], ["127.0.0.2"]])
    async with serving(reply("ok")) as server:
        response = await get(f"http://twice.test:{server.port}/", rules=rules)

    assert response.text == "ok"
    assert server.asked[0].headers["host"] == f"twice.test:{server.port}"
    assert names.asked == ["twice.test"]


async def test_a_name_that_changes_its_address_is_refused_at_the_next_hop() -> None:
    names = Names(rebinds_test=[["127.0.0.1"], ["127.0.0.1"]])
    async with serving(always(moved("http://rebinds.test/admin"), reply("secret"))) as server:
        rules = NetworkRules(allowed_hosts=(f"rebinds.test:{server.port}",), resolve=names)
        with pytest.raises(AddressRefusedError):
            await get(f"http://rebinds.test:{server.port}/", rules=rules)

    assert (len(server.asked), names.asked) == (1, ["rebinds.test"] * 2)


async def test_the_next_address_is_tried_where_one_cannot_be_reached() -> None:
    rules, _ = named("two.test", two_test=[["127.0.0.2", "127.0.0.1"]])
    async with serving(reply("ok")) as server:
        assert (await get(f"http://two.test:{server.port}/", rules=rules)).text == "ok"


async def test_a_closed_port_is_an_error_that_names_the_host() -> None:
    async with serving(b"") as server:
        pass
    with pytest.raises(FetchError, match=r"no whole answer came from '127.0.0.1'"):
        await get(server.url)


async def test_proxies_of_the_environment_have_no_part(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:1")
    monkeypatch.setenv("ALL_PROXY", "http://127.0.0.1:1")
    async with serving(reply("ok")) as server:
        assert (await get(server.url)).text == "ok"


async def test_no_url_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    async with serving(reply("ok")) as server:
        await get(server.url + "/?key=hidden")

    assert "hidden" not in caplog.text


# Redirects


async def test_a_redirect_keeps_headers_on_its_origin_and_drops_them_on_another() -> None:
    rules, _ = named("a.test", "b.test")
    headers = {"Authorization": "Bearer x", "X-Api-Key": "k", "Cookie": "c=1", "Accept": "text/plain"}
    async with (
        serving(reply("end")) as last,
        serving(moved(f"http://b.test:{last.port}/end")) as middle,
        serving(moved(f"http://a.test:{middle.port}/x")) as first,
    ):
        response = await get(f"http://a.test:{first.port}/", headers=headers, rules=rules)

    assert str(response.url) == f"http://b.test:{last.port}/end"
    assert {"authorization", "x-api-key", "cookie"} <= set(first.asked[0].headers)
    for server in (middle, last):
        assert not {"authorization", "x-api-key", "cookie"} & set(server.asked[0].headers)
        assert server.asked[0].headers["accept"] == "text/plain"


async def test_a_redirect_on_one_origin_keeps_credentials_and_may_be_relative() -> None:
    async with serving(always(moved("/b/../c?d=1"), reply("end"))) as server:
        await get(server.url + "/a", headers={"Authorization": "x"})

    assert [(one.target, one.headers["authorization"]) for one in server.asked] == [("/a", "x"), ("/c?d=1", "x")]


@pytest.mark.parametrize(
    ("status", "method", "becomes"),
    [(301, "POST", "GET"), (302, "POST", "GET"), (303, "PUT", "GET"), (302, "PUT", "PUT"), (307, "POST", "POST"),
     (308, "POST", "POST"), (303, "HEAD", "HEAD"), (302, "GET", "GET")],
)  # fmt: skip
async def test_a_redirect_keeps_or_changes_the_method(status: int, method: str, becomes: str) -> None:
    content = b"body" if method in ("POST", "PUT") else None
    async with serving(always(moved("/next", f"{status} Moved"), reply())) as server:
        await get(server.url, method=method, content=content, headers={"Content-Type": "text/plain"})

    after = server.asked[1]
    assert (after.method, after.body) == (becomes, b"body" if becomes in ("POST", "PUT") else b"")
    assert ("content-type" in after.headers) == bool(after.body)


async def test_a_body_is_not_sent_on_to_another_origin() -> None:
    async with serving(reply()) as other, serving(moved(other.url, "307 Moved")) as server:
        with pytest.raises(RedirectError, match="sent a POST on"):
            await get(server.url, method="POST", content=b"secret")

    assert other.asked == []


@pytest.mark.parametrize(
    "location",
    ["http://169.254.169.254/latest", "http://[::1]/", "http://0x7f000001/", "http://2130706433/", "http://10.0.0.1/",
     "http://[::ffff:127.0.0.1]/", "file:///etc/passwd", "ftp://example.com/", "http://u:p@127.0.0.1/",
     "//100.64.0.1/"],
)  # fmt: skip
async def test_a_redirect_inside_is_refused(location: str) -> None:
    async with serving(moved(location)) as server:
        allowed = NetworkRules(allowed_hosts=(f"127.0.0.1:{server.port}",))
        with pytest.raises(AddressRefusedError):
            await get(server.url, rules=allowed)


async def test_a_redirect_to_no_url_or_without_end_is_refused() -> None:
    async with serving(moved("http://[::1")) as server:
        with pytest.raises(RedirectError, match="to no URL"):
            await get(server.url)
    async with serving(moved("/again")) as server:
        with pytest.raises(RedirectError, match="more than 10 times"):
            await get(server.url)
    assert len(server.asked) == 11


async def test_a_redirect_that_is_not_followed_is_the_answer() -> None:
    async with serving(moved("https://elsewhere.test/")) as server:
        response = await get(server.url, follow=lambda url: False)

    assert (response.status_code, response.headers["location"]) == (302, "https://elsewhere.test/")


async def test_a_redirect_without_a_place_is_the_answer() -> None:
    async with serving(reply(status="304 Not Modified")) as server:
        assert (await get(server.url)).status_code == 304


# Limits


@contextmanager
def refused(error: type[FetchError], match: str) -> Iterator[None]:
    with pytest.raises(error, match=match):
        yield


async def test_a_body_of_the_limit_is_let_through_and_one_byte_more_is_not() -> None:
    limits = HttpLimits(max_response_bytes=1_000)
    async with serving(reply("x" * 1_000)) as server:
        assert len((await get(server.url, limits=limits)).content) == 1_000
    async with serving(reply("x" * 1_001)) as server:
        with refused(ResponseTooLargeError, "max_response_bytes is 1,000"):
            await get(server.url, limits=limits)
    assert limits.total_bytes == 1_000


async def test_a_length_is_believed_where_it_says_too_much() -> None:
    async with serving(reply("x", length=10**12)) as server:
        with refused(ResponseTooLargeError, "1,000,000,000,000"):
            await get(server.url)


async def test_a_head_may_tell_of_a_large_body() -> None:
    async with serving(reply(length=10**12)) as server:
        assert (await get(server.url, method="HEAD")).headers["content-length"] == f"{10**12}"


async def test_an_endless_body_stops_at_the_limit() -> None:
    async def endless(asked: Asked, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\n\r\n")
        while True:
            writer.write(b"x" * 65_536)
            await writer.drain()

    async with serving(endless) as server:
        with refused(ResponseTooLargeError, "bytes or more"):
            await get(server.url, limits=HttpLimits(max_response_bytes=1_000_000))


async def test_all_answers_together_have_a_limit_that_resets() -> None:
    limits = HttpLimits(max_total_bytes=2_500)
    async with serving(reply("x" * 1_000)) as server:
        await get(server.url, limits=limits)
        await get(server.url, limits=limits)
        with refused(AggregateResponseSizeExceeded, "max_total_bytes is 2,500"):
            await get(server.url, limits=limits)
        assert limits.total_bytes == 2_000
        limits.reset()
        await get(server.url, limits=limits)
    assert limits.total_bytes == 1_000


async def test_a_failure_does_not_count() -> None:
    limits = HttpLimits()
    async with serving(reply("x" * 1_000, status="500 Oh")) as server:
        assert len((await get(server.url, limits=limits)).content) == 1_000
    assert limits.total_bytes == 0


@pytest.mark.parametrize("name", ["max_response_bytes", "max_total_bytes"])
def test_a_limit_below_one_is_an_error(name: str) -> None:
    with pytest.raises(ValueError, match="lets no answer through"):
        HttpLimits(**{name: 0})


# Compression


def deflated(data: bytes, bits: int) -> bytes:
    packer = zlib.compressobj(wbits=bits)
    return packer.compress(data) + packer.flush()


DATA = b"some text " * 200_000


@pytest.mark.parametrize(
    ("coding", "content"),
    [
        ("gzip", gzip.compress(DATA)),
        ("x-gzip", gzip.compress(DATA[:70]) + gzip.compress(DATA[70:]) + b"\0\0"),
        ("deflate", deflated(DATA, 15)),
        ("deflate", deflated(DATA, -15)),
        ("identity", DATA),
        ("gzip", gzip.compress(b"")),
    ],
    ids=["gzip", "two members", "deflate", "raw deflate", "identity", "empty"],  # a gzip file holds the time
)
async def test_a_compressed_body_is_inflated(coding: str, content: bytes) -> None:
    async with serving(reply(content, content_encoding=coding)) as server:
        response = await get(server.url)

    assert response.content in (DATA, b"")
    assert server.asked[0].headers["accept-encoding"] == "gzip, deflate"


async def test_two_bytes_that_come_apart_are_deflated_all_the_same() -> None:
    content = deflated(b"text", -15)

    async def slowly(asked: Asked, writer: asyncio.StreamWriter) -> None:
        writer.write(reply(content[:1], length=len(content), content_encoding="deflate"))
        await writer.drain()
        await asyncio.sleep(0.05)
        writer.write(content[1:])

    async with serving(slowly) as server:
        assert (await get(server.url)).content == b"text"


@pytest.mark.parametrize("coding", ["gzip", "deflate"])
async def test_a_bomb_stops_at_the_limit(coding: str) -> None:
    bomb = deflated(b"\0" * 100_000_000, 31 if coding == "gzip" else 15)

    async with serving(reply(bomb, content_encoding=coding)) as server:
        with refused(ResponseTooLargeError, "bytes or more"):
            await get(server.url)


@pytest.mark.parametrize("coding", ["br", "zstd", "gzip, gzip", "compress"])
async def test_what_cannot_be_bounded_is_refused(coding: str) -> None:
    async with serving(reply("x", content_encoding=coding)) as server:
        with refused(FetchError, "although only gzip, deflate was accepted"):
            await get(server.url)


@pytest.mark.parametrize(
    ("coding", "content", "told"),
    [("gzip", b"no gzip", "damaged"), ("gzip", gzip.compress(DATA)[:-9], "cut"), ("deflate", b"x", "cut")],
)
async def test_a_damaged_body_is_an_error(coding: str, content: bytes, told: str) -> None:
    async with serving(reply(content, content_encoding=coding)) as server:
        with refused(FetchError, told):
            await get(server.url)


async def test_an_empty_body_is_no_cut_one() -> None:
    async with serving(reply(status="204 No Content", content_encoding="gzip")) as server:
        assert (await get(server.url)).content == b""


# Time and lies


@pytest.mark.parametrize(
    "head", [b"", b"HTTP/1.1 200 OK\r\nX: ", b"HTTP/1.1 200 OK\r\n\r\n", b"HTTP/1.1 100 C\r\n\r\n"]
)
async def test_a_server_that_drips_is_left_at_the_deadline(head: bytes) -> None:
    async def drip(asked: Asked, writer: asyncio.StreamWriter) -> None:
        writer.write(head)
        while head:
            writer.write(b"x")
            await writer.drain()
            await asyncio.sleep(0.05)
        await asyncio.sleep(60)

    async with serving(drip) as server:
        with refused(FetchTimeoutError, "within 0.5 seconds"):
            await get(server.url, timeout_seconds=0.5)


async def test_a_resolver_that_hangs_is_left_at_the_deadline() -> None:
    async def hang(host: str) -> list[str]:
        await asyncio.sleep(60)
        return []

    with refused(FetchTimeoutError, "'slow.test' did not answer"):
        await get("http://slow.test", rules=NetworkRules(resolve=hang), timeout_seconds=0.2)


@pytest.mark.parametrize(
    "answer",
    [
        reply("short", length=100),
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nZZ\r\nhello\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nhello!",
        b"HTTP/1.1 200 OK\r\nX: " + b"x" * 1_000_000,
        b"nonsense\r\n\r\n",
        b"",
    ],
    ids=["short", "chunk cut", "no chunk", "two lengths", "endless header", "no HTTP", "nothing"],
)
async def test_a_broken_answer_is_an_error(answer: bytes) -> None:
    async with serving(answer) as server:
        with refused(FetchError, "no whole answer came from"):
            await get(server.url)


async def test_what_comes_behind_the_length_is_no_part_of_it() -> None:
    async with serving(reply("hello and more", length=5)) as server:
        assert (await get(server.url)).text == "hello"


async def test_cancellation_passes_through() -> None:
    async def hang(asked: Asked, writer: asyncio.StreamWriter) -> None:
        await asyncio.sleep(60)

    async with serving(hang) as server:
        task = asyncio.create_task(get(server.url))
        while not server.asked:
            await asyncio.sleep(0.01)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task


# A client of the caller's


async def test_a_client_gives_its_headers_and_authentication_and_stays_open() -> None:
    mine = httpx2.AsyncClient(auth=("me", "secret"), headers={"X-Key": "k"}, follow_redirects=True)
    async with mine as client, serving(reply("end")) as other, serving(moved(other.url)) as server:
        response = await get(server.url, client=client)
        assert not client.is_closed

    assert response.text == "end"
    assert server.asked[0].headers["authorization"].startswith("Basic ")
    assert server.asked[0].headers["x-key"] == "k"
    assert not {"authorization", "x-key"} & set(other.asked[0].headers)


async def test_a_client_goes_no_further_than_the_guard() -> None:
    async with httpx2.AsyncClient() as client, serving(reply("secret")) as server:
        with pytest.raises(AddressRefusedError):
            await get(server.url, client=client, rules=NetworkRules())

    assert server.asked == []


# TLS


@pytest.fixture
def certificate(tmp_path: Path) -> tuple[Path, Path]:
    """A certificate of `named.test`, and its key."""
    file, key = tmp_path / "named.crt", tmp_path / "named.key"
    made = [
        "openssl",
        "req",
        "-x509",
        "-newkey",
        "ec",
        "-pkeyopt",
        "ec_paramgen_curve:prime256v1",
        "-nodes",
        "-days",
        "2",
    ]
    names = ["-subj", "/CN=named.test", "-addext", "subjectAltName=DNS:named.test"]
    subprocess.run([*made, "-keyout", key, "-out", file, *names], check=True, capture_output=True)
    return file, key


@pytest.mark.needs("openssl")
async def test_a_certificate_is_checked_against_the_name_and_not_the_address(certificate: tuple[Path, Path]) -> None:
    file, key = certificate
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(file, key)
    names: list[str | None] = []
    tls.sni_callback = lambda connection, name, context: names.append(name)
    rules, _ = named("named.test", "other.test")
    trusting = ssl.create_default_context(cafile=file)

    async with serving(reply("ok"), tls=tls) as server, httpx2.AsyncClient(verify=trusting) as client:
        response = await get(f"https://named.test:{server.port}/", rules=rules, client=client)
        with pytest.raises(FetchError, match="CERTIFICATE_VERIFY_FAILED"):
            await get(f"https://other.test:{server.port}/", rules=rules, client=client)
        with pytest.raises(FetchError, match="CERTIFICATE_VERIFY_FAILED"):
            await get(f"https://named.test:{server.port}/", rules=rules)

    assert (response.text, names[0]) == ("ok", "named.test")


@pytest.mark.needs("openssl")
async def test_a_redirect_to_no_encryption_is_refused(certificate: tuple[Path, Path]) -> None:
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(*certificate)
    rules = replace(named("named.test")[0])
    client = httpx2.AsyncClient(verify=ssl.create_default_context(cafile=certificate[0]))

    async with serving(reply("x")) as plain, serving(moved(plain.url), tls=tls) as server, client:
        with pytest.raises(RedirectError, match="from https to http"):
            await get(f"https://named.test:{server.port}/", rules=rules, client=client)

    assert plain.asked == []
