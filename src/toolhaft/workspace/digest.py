"""SHA-256 of contents, computed beside other work where a content is large.

Hashing 20 MB takes as long as writing them. `hashlib` works without the interpreter's lock, so a thread does it
while the new content is written and synced; who asks for the digest waits for what is left.
"""

import hashlib
import os
import threading
from functools import cached_property

# Below this, starting a thread costs more than hashing.
_LARGE_BYTES = 128 << 10


class Digest:
    """The SHA-256 of some bytes, as `hex`."""

    def __init__(self, data: bytes) -> None:
        self._data: bytes | None = data
        self._result = ""
        self._thread: threading.Thread | None = None
        if len(data) >= _LARGE_BYTES:
            self._thread = threading.Thread(target=self._compute, daemon=True)
            self._thread.start()

    @cached_property
    def hex(self) -> str:
        """The digest in hexadecimal digits."""
        if self._thread is None:
            self._compute()
        else:
            self._thread.join()
        return self._result

    def _compute(self) -> None:
        assert self._data is not None
        self._result = hashlib.sha256(self._data).hexdigest()
        self._data = None  # the caller may have let go of it, and it may be large


def digest_of_file(name: str, *, folder: int | None = None) -> str:
    """Return the SHA-256 of a regular file's content, read piece by piece; a link is never followed."""
    fd = os.open(name, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=folder)
    with open(fd, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
