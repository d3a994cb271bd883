"""A real HTTP server on loopback for tests, whose answers a test writes byte by byte."""

import asyncio
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from toolhaft.workspace.net_rules import NetworkRules

LOOPBACK = NetworkRules(allowed_hosts=("127.0.0.1",))


@dataclass
class Asked:
    """One request as it came over the wire."""

    method: str
    target: str
    headers: dict[str, str]
    body: bytes


@dataclass
class Server:
    """Where it listens, and what it was asked."""

    port: int
    scheme: str = "http"
    asked: list[Asked] = field(default_factory=list)

    @property
    def url(self) -> str:
        return f"{self.scheme}://127.0.0.1:{self.port}"


Answer = Callable[[Asked, asyncio.StreamWriter], Awaitable[bytes | None]]


def reply(body: bytes | str = b"", *, status: str = "200 OK", length: int | None = None, **headers: str) -> bytes:
    """The bytes of an answer; `content_type="..."` is a header, and `length` what Content-Length claims."""
    content = body.encode() if isinstance(body, str) else body
    lines = [f"HTTP/1.1 {status}", f"Content-Length: {len(content) if length is None else length}"]
    lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
    return "\r\n".join([*lines, "", ""]).encode() + content


def moved(location: str, status: str = "302 Found") -> bytes:
    return reply(status=status, location=location)


def always(*answers: bytes) -> Answer:
    """Answer with these in turn, and with the last one ever after."""
    left = list(answers)

    async def answer(asked: Asked, writer: asyncio.StreamWriter) -> bytes:
        return left.pop(0) if len(left) > 1 else left[0]

    return answer


@asynccontextmanager
async def serving(answer: Answer | bytes, *, tls: ssl.SSLContext | None = None) -> AsyncIterator[Server]:
    """A server that answers each connection once; what a hostile answer still does is ended with the block."""
    given = always(answer) if isinstance(answer, bytes) else answer
    server = Server(0, "https" if tls else "http")
    running: set[asyncio.Task[None]] = set()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        running.add(task)
        try:
            asked = await _request(reader)
            server.asked.append(asked)
            content = await given(asked, writer)
            if content is not None:
                writer.write(content)
                await writer.drain()
        except (ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass  # the client went away, or the test is over
        finally:
            running.discard(task)
            writer.close()

    listening = await asyncio.start_server(serve, "127.0.0.1", 0, ssl=tls)
    server.port = listening.sockets[0].getsockname()[1]
    try:
        yield server
    finally:
        listening.close()
        left = list(running)
        for task in left:
            task.cancel()
        await asyncio.gather(*left, return_exceptions=True)


async def _request(reader: asyncio.StreamReader) -> Asked:
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
    method, target, _ = head[0].split(" ", 2)
    headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in head[1:] if line)}
    return Asked(method, target, headers, await reader.readexactly(int(headers.get("content-length", 0))))


class Names:
    """A resolver that a test is: each host has its list of answers, given in turn; the last one stays."""

    def __init__(self, **answers: Sequence[Sequence[str]]) -> None:
        self._left = {host.replace("_", "."): list(each) for host, each in answers.items()}
        self.asked: list[str] = []

    async def __call__(self, host: str) -> Sequence[str]:
        self.asked.append(host)
        if host not in self._left:
            raise OSError("Name or service not known")
        left = self._left[host]
        return left.pop(0) if len(left) > 1 else left[0]
