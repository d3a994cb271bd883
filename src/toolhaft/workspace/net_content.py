"""What an answer holds: text, something that a model can take as it is, or bytes that can only be described."""

import codecs

import httpx2
from pydantic_ai import BinaryContent

from .magic import IMAGES, kind_of
from .pages import MAX_IMAGE_BYTES
from .text import SAMPLE_BYTES, detect

_MODELS_TAKE = ("audio/", "video/", "application/pdf")


def media_type(response: httpx2.Response) -> str:
    """The media type that an answer claims, "" where it claims none."""
    return response.headers.get("content-type", "").partition(";")[0].strip().lower()


def medium_of(response: httpx2.Response) -> BinaryContent | None:
    """An answer that is an image, sound, film or PDF that a model can take; None for any other."""
    data, claimed = response.content, media_type(response)
    kind = kind_of(data)
    if kind in IMAGES:
        return BinaryContent(data=data, media_type=kind) if len(data) <= MAX_IMAGE_BYTES else None
    return BinaryContent(data=data, media_type=claimed) if claimed.startswith(_MODELS_TAKE) and data else None


def text_of(response: httpx2.Response) -> str | None:
    """An answer that is text; None for any other. Work for a thread: it takes milliseconds a megabyte.

    It is decoded as its charset says, else as it is found to be. Bytes that do not fit become U+FFFD.
    """
    body, named = response.content, response.charset_encoding
    if named and _is_text_codec(named) and b"\0" not in body[:SAMPLE_BYTES]:
        return body.decode(named, "replace").removeprefix("\ufeff")
    encoding = detect(body[:SAMPLE_BYTES], complete=len(body) <= SAMPLE_BYTES)
    return None if encoding is None else body[len(encoding.bom) :].decode(encoding.codec, "replace")


def described(response: httpx2.Response) -> str:
    """An answer in words: its kind and its size."""
    kind = kind_of(response.content) or media_type(response) or "binary data of no known kind"
    return f"{kind}, {len(response.content):,} bytes"


def _is_text_codec(name: str) -> bool:
    try:
        return codecs.lookup(name)._is_text_encoding  # pyright: ignore[reportPrivateUsage] - Python's own test for it
    except (LookupError, ValueError):
        return False
