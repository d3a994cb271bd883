"""How many bytes answers may have: each of them, and all together."""

from collections.abc import Callable, Generator
from contextlib import contextmanager

from .net_errors import AggregateResponseSizeExceeded, ResponseTooLargeError

MIB = 1_048_576
MAX_RESPONSE_BYTES = 10 * MIB
MAX_TOTAL_BYTES = 50 * MIB


class HttpLimits:
    """Limits on answers, in bytes after decompression; one may be shared by any number of tools and calls.

    Only answers that arrived whole, and were no failures, count towards the total. `reset()` begins again.

    ```python
    limits = HttpLimits(max_response_bytes=1_000_000, max_total_bytes=20_000_000)
    ```
    """

    def __init__(self, *, max_response_bytes: int = MAX_RESPONSE_BYTES, max_total_bytes: int = MAX_TOTAL_BYTES) -> None:
        for name, value in (("max_response_bytes", max_response_bytes), ("max_total_bytes", max_total_bytes)):
            if value < 1:
                raise ValueError(f"{name}={value!r} lets no answer through. Use 1 or more.")
        self.max_response_bytes = max_response_bytes
        self.max_total_bytes = max_total_bytes
        self._total = 0

    @property
    def total_bytes(self) -> int:
        """The bytes of all answers so far, and of those that are being read."""
        return self._total

    def reset(self) -> None:
        """Forget the answers so far."""
        self._total = 0

    def check(self, size: int) -> None:
        """Raise where one answer of so many bytes, compressed or not, is too large."""
        if size > self.max_response_bytes:
            raise ResponseTooLargeError(
                f"the answer has {size:,} bytes or more, and max_response_bytes is {self.max_response_bytes:,}. "
                "Ask for less, or for a part of it."
            )

    @contextmanager
    def reading(self, *, counts: bool = True) -> Generator[Callable[[int], None]]:
        """Count the bytes of one answer while it is read; later too, if it `counts` and the block does not fail.

        The block calls what it gets with each number of bytes that came. Raises `ResponseTooLargeError` and
        `AggregateResponseSizeExceeded`.
        """
        size = 0

        def count(more: int) -> None:
            nonlocal size
            size += more
            self._total += more
            self.check(size)
            if self._total > self.max_total_bytes:
                raise AggregateResponseSizeExceeded(
                    f"this answer would bring all answers to {self._total:,} bytes or more, and max_total_bytes is "
                    f"{self.max_total_bytes:,}. Ask for less; whoever runs this can call reset() on the limits."
                )

        try:
            yield count
        except BaseException:
            counts = False
            raise
        finally:
            if not counts:
                self._total = max(0, self._total - size)  # it may have been reset meanwhile
