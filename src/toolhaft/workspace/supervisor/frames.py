"""Messages between host and supervisor: JSON with its length in four bytes before it."""

import json
from typing import Any

Message = dict[str, Any]


def pack(message: Message) -> bytes:
    """Return a message as bytes; names with undecodable bytes survive, as surrogates do in ASCII JSON."""
    data = json.dumps(message).encode("ascii")
    return len(data).to_bytes(4, "big") + data


class Frames:
    """Puts the messages of a byte stream together, however it was cut."""

    def __init__(self) -> None:
        self._data = bytearray()

    def feed(self, data: bytes) -> None:
        """Add what has arrived."""
        self._data += data

    def next(self) -> Message | None:
        """Return the next complete message, or None where more must arrive first."""
        size = int.from_bytes(self._data[:4], "big")
        if len(self._data) < max(4, 4 + size):
            return None
        message: Message = json.loads(self._data[4 : 4 + size])
        del self._data[: 4 + size]
        return message
