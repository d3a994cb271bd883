"""Which conversation a tool's call belongs to, for tools that keep something from call to call."""

from collections.abc import Generator
from contextlib import contextmanager
from contextvars import ContextVar

_CONVERSATION: ContextVar[str] = ContextVar("toolhaft_conversation", default="default")


def conversation_id() -> str:
    """Return the id that the toolset or `use_conversation` bound, else `default`."""
    return _CONVERSATION.get()


@contextmanager
def use_conversation(id: str) -> Generator[None]:
    """Let calls belong to this conversation until the block ends."""
    token = _CONVERSATION.set(id)
    try:
        yield
    finally:
        _CONVERSATION.reset(token)
