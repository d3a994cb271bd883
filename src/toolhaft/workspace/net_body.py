"""The body of an answer, read whole and never past its limits, however it is compressed."""

import asyncio
import zlib
from collections.abc import AsyncIterator, Iterator
from typing import Protocol

import httpx2

from .net_errors import FetchError
from .net_limits import HttpLimits

ACCEPT_ENCODING = "gzip, deflate"
"""What can be decompressed in steps of a bounded size. Brotli and Zstandard cannot with what Python has."""

# At most so much comes out of one step: a few milliseconds of the event loop's time.
_STEP_BYTES = 524_288


class _Decoder(Protocol):
    def decode(self, data: bytes) -> Iterator[bytes]: ...
    def finish(self) -> None: ...


async def read_body(response: httpx2.Response, limits: HttpLimits) -> bytes:
    """The body of a streamed response, decompressed.

    Raises `FetchError` for one that is too large, is cut, or is compressed in a way that cannot be bounded. An answer
    that is a failure (400 and up) does not count towards the total.
    """
    decoder = _decoder(response)
    announced = response.headers.get("content-length", "")
    if announced.isdecimal() and response.request.method != "HEAD":
        limits.check(int(announced))
    body = bytearray()
    with limits.reading(counts=not response.is_error) as count:
        async for part in _decoded(response, decoder, limits):
            count(len(part))
            body += part
    return bytes(body)


async def _decoded(response: httpx2.Response, decoder: _Decoder, limits: HttpLimits) -> AsyncIterator[bytes]:
    received = 0
    async for raw in response.aiter_raw():
        received += len(raw)
        limits.check(received)
        for part in decoder.decode(raw):
            yield part
            if len(part) == _STEP_BYTES:
                await asyncio.sleep(0)
    if received:
        decoder.finish()


def _decoder(response: httpx2.Response) -> _Decoder:
    named = [coding.strip().lower() for coding in response.headers.get("content-encoding", "").split(",")]
    codings = [coding for coding in named if coding not in ("", "identity")]
    if not codings:
        return _Plain()
    if len(codings) == 1 and codings[0] in ("gzip", "x-gzip", "deflate"):
        return _Inflating(is_gzip=codings[0] != "deflate")
    raise FetchError(
        f"the answer is compressed as {', '.join(codings)!r}, although only {ACCEPT_ENCODING} was accepted: others "
        "cannot be bounded while they are read."
    )


class _Plain:
    def decode(self, data: bytes) -> Iterator[bytes]:
        yield data

    def finish(self) -> None:
        pass


class _Inflating:
    """gzip (any number of members), or deflate in both of the forms that servers send."""

    def __init__(self, *, is_gzip: bool) -> None:
        self._is_gzip = is_gzip
        self._inflate = zlib.decompressobj(zlib.MAX_WBITS | 16) if is_gzip else None
        self._head = b""

    def decode(self, data: bytes) -> Iterator[bytes]:
        try:
            yield from self._steps(data)
        except zlib.error as error:
            raise FetchError(f"the answer's compressed body is damaged ({error}). Try again.") from error

    def finish(self) -> None:
        if self._inflate is None or not self._inflate.eof:
            raise FetchError("the answer's compressed body was cut before its end. Try again.")

    def _steps(self, data: bytes) -> Iterator[bytes]:
        if self._inflate is None:
            self._head += data
            if len(self._head) < 2:
                return
            data, self._inflate = self._head, zlib.decompressobj(_window_bits(self._head))
        while True:
            if self._inflate.eof:
                data = data.lstrip(b"\0")  # padding between members
                if not data or not self._is_gzip:
                    return
                self._inflate = zlib.decompressobj(zlib.MAX_WBITS | 16)
            part = self._inflate.decompress(data, _STEP_BYTES)
            data = self._inflate.unconsumed_tail or self._inflate.unused_data
            if part:
                yield part
            if not data and len(part) < _STEP_BYTES:
                return


def _window_bits(head: bytes) -> int:
    """How the deflated data that begins so is wrapped: in zlib's header (RFC 1950), or in nothing at all."""
    is_zlib = head[0] & 0x0F == 8 and int.from_bytes(head[:2]) % 31 == 0
    return zlib.MAX_WBITS if is_zlib else -zlib.MAX_WBITS
