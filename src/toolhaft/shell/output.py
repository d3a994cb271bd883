"""Output of a command as a model should read it: progress bars as they end, long text by its head and tail."""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import groupby
from typing import NamedTuple

# Not `splitlines`, to which a form feed ends a line too.
_LINE = re.compile(r"[^\n]*\n|[^\n]+")


class Gap(NamedTuple):
    """What was left out at this place; `lines` is None where they were not counted."""

    size: int
    lines: int | None
    stream: str = ""

    def __str__(self) -> str:
        lines = "" if self.lines is None else f"{self.lines:,} line{'s' * (self.lines != 1)}, "
        return f"[... {lines}{self.size:,} bytes{f' of {self.stream}' * bool(self.stream)} left out ...]"


class Shown(NamedTuple):
    """The text, and how many bytes of the output are not in it."""

    text: str
    dropped_bytes: int


def shown_output(parts: Iterable[str | Gap], *, max_lines: int | None = None) -> Shown:
    r"""The parts of an output as one text of at most `max_lines` lines: half from the head, half from the tail.

    >>> shown_output(["10%\r55%\r100%\n"]).text
    '100%\n'
    """
    lines = list(_lines(parts))
    if max_lines is not None and len(lines) > max_lines:
        head = max_lines - max_lines // 2
        middle = lines[head : len(lines) - max_lines // 2]
        lines[head : head + len(middle)] = [_gap(middle)]
    return Shown("".join(_joined(lines)), sum(line.size for line in lines if isinstance(line, Gap)))


def fold_progress(line: str) -> str:
    r"""What is left on a terminal of a line that was written over itself by carriage returns.

    >>> fold_progress("10%\r100%\r\n")
    '100%\n'
    """
    if "\r" not in line:
        return line
    end = "\n" if line.endswith("\n") else ""
    layers = [layer for layer in line.removesuffix("\n").split("\r") if layer]
    return (layers[-1] if layers else "") + end


def _joined(lines: list[str | Gap]) -> Iterable[str]:
    """The text; a gap stands on a line of its own, also where it begins in the middle of one."""
    before = "\n"
    for line in lines:
        if not isinstance(line, Gap):
            yield line
        elif before.endswith("\n"):
            yield f"{line}\n"
        else:
            yield f"\n{line}\n"
        before = "\n" if isinstance(line, Gap) else line


def _lines(parts: Iterable[str | Gap]) -> Iterable[str | Gap]:
    """The lines with their ends, and the gaps between; a line may be in many parts."""
    for is_gap, group in groupby(parts, key=lambda part: isinstance(part, Gap)):
        if is_gap:
            yield from group
            continue
        text = "".join(map(str, group))
        lines = _LINE.findall(text)
        yield from map(fold_progress, lines) if "\r" in text else lines


def _gap(lines: list[str | Gap]) -> Gap:
    counts = [line.lines if isinstance(line, Gap) else 1 for line in lines]
    text = "".join(line for line in lines if not isinstance(line, Gap))
    size = len(text.encode("utf-8", "surrogatepass")) + sum(line.size for line in lines if isinstance(line, Gap))
    return Gap(size, None if None in counts else sum(count for count in counts if count is not None))
