"""Servers that mean ill and addresses that lead inside, through the tools: the network rows of the fault list."""

import asyncio
import gzip
import os
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.http_servers import Answer, Asked, Names, moved, reply, serving
from tests.workspace.processes import open_descriptors, resident_bytes
from toolhaft import LocalWorkspace, ToolExecutionError, use_workspace
from toolhaft.makers import http_tool
from toolhaft.tools import web_fetch
from toolhaft.workspace import NetworkRules

STRESS = 10 if os.environ.get("TOOLHAFT_STRESS") else 1
MB = 1_000_000
SECONDS = 1.0


def tool(url: str) -> Callable[[], Awaitable[Any]]:
    return http_tool("ask", url, "GET", description="Ask the endpoint.", timeout_seconds=SECONDS, retries=0)


def drip(head: bytes, piece: bytes = b"x", *, pause: float = 0.05) -> Answer:
    async def answer(asked: Asked, writer: asyncio.StreamWriter) -> None:
        writer.write(head)
        while True:
            writer.write(piece)
            await writer.drain()
            await asyncio.sleep(pause)

    return answer


async def silent(asked: Asked, writer: asyncio.StreamWriter) -> None:
    await asyncio.sleep(3_600)


async def bomb(asked: Asked, writer: asyncio.StreamWriter) -> None:
    """Ten gigabytes of zeros, a thousand gzip members of ten megabytes."""
    writer.write(b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n\r\n")
    member = gzip.compress(b"\0" * (10 * MB))
    for _ in range(1_000):
        writer.write(member)
        await writer.drain()


HOSTILE: dict[str, tuple[Answer | bytes, str]] = {
    "1 byte at a time": (drip(b"HTTP/1.1 200 OK\r\n\r\n"), "seconds"),
    "1 byte at a time in a chunk": (drip(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nFFFF\r\n"), "seconds"),
    "no headers": (silent, "seconds"),
    "headers that never end": (drip(b"HTTP/1.1 200 OK\r\n", b"X-A: b\r\n"), "seconds"),
    "a flood of headers": (
        drip(b"HTTP/1.1 200 OK\r\n", b"X-A: " + b"b" * 60_000 + b"\r\n", pause=0),
        "no whole answer",
    ),
    "informational answers without end": (drip(b"", b"HTTP/1.1 100 Continue\r\n\r\n"), "seconds"),
    "a body without end": (drip(b"HTTP/1.1 200 OK\r\n\r\n", b"x" * 100_000, pause=0), "max_response_bytes|seconds"),
    "redirects without end": (moved("/again"), "more than 10 times"),
    "a gzip bomb": (bomb, "max_response_bytes"),
    "a length that is too large": (reply("x", length=10**15), "max_response_bytes"),
    "a length that is a lie": (reply("short", length=5_000), "no whole answer"),
    "a chunk that is cut": (
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhel",
        "no whole answer|seconds",
    ),
}


@pytest.fixture
def loopback(tmp_path: Path) -> Iterator[LocalWorkspace]:
    place = LocalWorkspace(tmp_path, network=NetworkRules(allowed_hosts=("127.0.0.1",)))
    with use_workspace(place):
        yield place


@pytest.mark.usefixtures("loopback")
@pytest.mark.parametrize("name", HOSTILE)
async def test_time_and_bytes_are_bounded_and_the_error_says_why(name: str) -> None:
    answer, told = HOSTILE[name]
    async with serving(answer) as server:
        with pytest.raises(ToolExecutionError):  # what is loaded once is loaded now
            await tool(server.url)()
        before = resident_bytes()
        for _ in range(STRESS):
            with pytest.raises(ToolExecutionError, match=told):
                await asyncio.wait_for(tool(server.url)(), 30)
        grown = resident_bytes() - before

    assert grown < 150 * MB  # the server sits in this process, and buffers too


@pytest.mark.usefixtures("loopback")
async def test_nothing_stays_open() -> None:
    async with serving(silent) as server:
        before = open_descriptors()
        for _ in range(2 * STRESS):
            with pytest.raises(ToolExecutionError):
                await http_tool("ask", server.url, "GET", description="Ask it.", timeout_seconds=0.2)()
        del server
    assert open_descriptors() <= before


INSIDE = [
    "http://169.254.169.254/latest/meta-data/",
    "http://127.0.0.1:1/",
    "http://[::1]/",
    "http://0x7f000001/",
    "http://2130706433/",
    "http://0177.1/",
    "http://[::ffff:127.0.0.1]/",
    "http://[::ffff:a9fe:a9fe]/",
    "http://[64:ff9b::7f00:1]/",
    "http://localhost./",
    "http://100.64.0.1/",
    "http://0.0.0.0/",
    "file:///etc/passwd",
    "gopher://127.0.0.1/",
]


@pytest.mark.parametrize("url", INSIDE)
async def test_an_address_inside_is_refused_at_once_and_after_a_redirect(url: str, tmp_path: Path) -> None:
    async with serving(moved(url)) as server:
        rules = NetworkRules(allowed_hosts=(f"127.0.0.1:{server.port}",))
        with use_workspace(LocalWorkspace(tmp_path, network=rules)):
            for _ in range(STRESS):
                with pytest.raises(ToolExecutionError):
                    await web_fetch(url)
                with pytest.raises(ToolExecutionError, match="public addresses only|not http or https"):
                    await tool(server.url)()
                assert "Nothing was asked there" in await _told(server.url)


async def _told(url: str) -> str:
    """What `web_fetch` says of a redirect; an address inside is not asked by it either."""
    try:
        return str(await web_fetch(url))
    except ToolExecutionError as error:
        return f"Nothing was asked there: {error}"


async def test_a_name_that_changes_its_address_reaches_nothing_inside(tmp_path: Path) -> None:
    """The address that was judged is the one that is asked, and each further request is judged anew."""
    async with serving(reply("secret")) as inside:
        for _ in range(STRESS):
            names = Names(rebind_test=[["127.0.0.1"], ["127.0.0.2"]], late_test=[["192.0.2.1"], ["127.0.0.1"]])
            rules = NetworkRules(allowed_hosts=(f"rebind.test:{inside.port}",), resolve=names)
            with use_workspace(LocalWorkspace(tmp_path, network=rules)):
                assert await web_fetch(f"http://rebind.test:{inside.port}/") == "secret"
                assert names.asked == ["rebind.test"]
                for _ in range(2):
                    with pytest.raises(ToolExecutionError, match="public addresses only"):
                        await web_fetch(f"http://late.test:{inside.port}/")
    assert len(inside.asked) == STRESS
