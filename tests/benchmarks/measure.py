"""How a benchmark is measured: ours and its reference in turn, the medians, their ratio beside the goal."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from statistics import median

Timed = Callable[[], Awaitable[object]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """One line of the table: what was measured, against what, and the goal."""

    name: str
    measured: float
    goal: float
    unit: str
    detail: str

    @property
    def is_met(self) -> bool:
        return self.measured <= self.goal

    def __str__(self) -> str:
        verdict = "ok  " if self.is_met else "MISS"
        figures = f"{self.measured:8.2f}{self.unit:<3} goal {self.goal:6.2f}{self.unit:<3}"
        return f"{verdict} {self.name:<56} {figures} {self.detail}"


async def ratio(name: str, ours: Timed, reference: Timed, *, goal: float, rounds: int = 25) -> Figure:
    """Ours against a reference, in turn, so that a machine that slows down slows both."""
    mine, theirs = [], []
    for _ in range(rounds + 1):
        mine.append(await _seconds(ours))
        theirs.append(await _seconds(reference))
    a, b = median(mine[1:]), median(theirs[1:])
    return Figure(name=name, measured=a / b, goal=goal, unit="x", detail=f"({a * 1e3:.3f} ms against {b * 1e3:.3f} ms)")


async def milliseconds(name: str, ours: Timed, *, goal: float, rounds: int = 25) -> Figure:
    """The median time of ours alone, for goals that are stated in milliseconds."""
    times = [await _seconds(ours) for _ in range(rounds + 1)][1:]
    return Figure(
        name=name, measured=median(times) * 1e3, goal=goal, unit="ms", detail=f"(worst {max(times) * 1e3:.2f})"
    )


async def longest_stall(name: str, ours: Timed, *, goal: float) -> Figure:
    """The longest time in which the event loop could not run another task while ours was at work."""
    gaps: list[float] = []

    async def heartbeat() -> None:
        last = time.perf_counter()
        while True:
            await asyncio.sleep(0.001)
            now = time.perf_counter()
            gaps.append(now - last - 0.001)
            last = now

    beat = asyncio.create_task(heartbeat())
    await asyncio.sleep(0.01)
    gaps.clear()
    await ours()
    await asyncio.sleep(0.002)
    beat.cancel()
    return Figure(name=name, measured=max(gaps) * 1e3, goal=goal, unit="ms", detail=f"({len(gaps)} heartbeats)")


async def _seconds(timed: Timed) -> float:
    started = time.perf_counter()
    await timed()
    return time.perf_counter() - started
