"""A request sent again, where that is safe and may help."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

import httpx2

from toolhaft.workspace.net_errors import NoAnswerError

PASSING = frozenset((429, 502, 503, 504))
"""What servers answer that may do better in a moment."""

LONGEST_WAIT_SECONDS = 30.0
_FIRST_WAIT_SECONDS = 0.5


async def attempted(send: Callable[[], Awaitable[httpx2.Response]], *, retries: int) -> httpx2.Response:
    """The first answer that does not ask to try later, else the last one; raises what the last attempt raises.

    It waits as long as `Retry-After` says, and not at all where that is longer than half a minute.
    """
    for attempt in range(retries):
        wait = _FIRST_WAIT_SECONDS * 2**attempt
        with suppress(NoAnswerError):
            response = await send()
            asked = _asked_wait(response, usual=wait)
            if response.status_code not in PASSING or asked is None:
                return response
            wait = asked
        await asyncio.sleep(wait)
    return await send()


def _asked_wait(response: httpx2.Response, *, usual: float) -> float | None:
    """How long to wait before the next attempt; None where that is too long."""
    asked = response.headers.get("retry-after", "").strip()
    if not asked:
        return usual
    try:
        seconds = float(asked) if asked.isdecimal() else _seconds_until(parsedate_to_datetime(asked))
    except (ValueError, OverflowError):
        return usual
    return max(0.0, seconds) if seconds <= LONGEST_WAIT_SECONDS else None


def _seconds_until(moment: datetime) -> float:
    return (moment.replace(tzinfo=moment.tzinfo or UTC) - datetime.now(UTC)).total_seconds()
