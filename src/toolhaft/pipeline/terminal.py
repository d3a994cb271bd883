"""The built-in answerer: it asks on the terminal, one question at a time.

`y` runs the call, `n` (and a reason, if one is typed behind it) refuses it, `e` edits its arguments, `s` allows the
like for the rest of the conversation, `a` ends everything, and so does the end of the input.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import Mapping
from typing import Any, TextIO, cast

from toolhaft.call_log import shown_arguments
from toolhaft.pipeline.confirmation import Abort, Allow, Answer, Deny, Edit, NoTerminalError
from toolhaft.spec import ToolText

_HELP = "y run it, n do not (n REASON tells the model why), e edit, s always in this conversation, a abort everything"


class Terminal:
    """Asks on a terminal, standard input unless another is given; raises `NoTerminalError` where it is none.

    ```python
    Pipeline(answerer=Terminal())
    ```
    """

    def __init__(self, *, reads: TextIO | None = None, writes: TextIO | None = None) -> None:
        self._reads = reads
        self._writes = writes
        self._typed = b""
        self._turn = asyncio.Lock()

    async def __call__(self, tool: str, arguments: Mapping[str, Any], preview: ToolText) -> Answer:
        reads = self._reads or sys.stdin
        if not reads.isatty():
            raise NoTerminalError("standard input is no terminal; use --mode yolo or --dry-run.")
        async with self._turn:
            self._say(f"\n{preview}\n\n")
            while True:
                self._say(f"Run {tool!r} with args={shown_arguments(arguments)}? [y/n/e/s/a] ")
                line = await self._line(reads.fileno())
                if line is None:
                    return Abort()
                word, _, rest = line.partition(" ")
                if word == "e":
                    self._say(f"Arguments as JSON, now {json.dumps(dict(arguments), default=str)}\n> ")
                    answer = self._edit(await self._line(reads.fileno()), arguments)
                else:
                    answer = _meant(word, rest.strip())
                if answer is not None:
                    return answer
                self._say(f"{_HELP}\n")

    def _edit(self, line: str | None, arguments: Mapping[str, Any]) -> Answer | None:
        if line is None:
            return Abort()
        try:
            edited = json.loads(line)
        except ValueError as error:
            self._say(f"That is no JSON: {error}\n")
            return None
        return Edit({**arguments, **cast("dict[str, Any]", edited)}) if isinstance(edited, dict) else None

    async def _line(self, terminal: int) -> str | None:
        """The next line that is typed, None at the end of the input. No thread waits for it, so Ctrl-C ends it too."""
        while b"\n" not in self._typed:
            await _readable(terminal)
            try:
                typed = os.read(terminal, 4096)
            except OSError:  # the terminal is gone
                typed = b""
            if not typed:
                return None
            self._typed += typed
        line, _, self._typed = self._typed.partition(b"\n")
        return line.decode(errors="replace").strip()

    def _say(self, text: str) -> None:
        writes = self._writes or sys.stderr
        writes.write(text)
        writes.flush()


def _meant(word: str, rest: str) -> Answer | None:
    match word.lower():
        case "y" | "yes":
            return Allow()
        case "n" | "no":
            return Deny(rest)
        case "s":
            return Allow(always=True)
        case "a":
            return Abort()
        case _:
            return None


async def _readable(descriptor: int) -> None:
    loop = asyncio.get_running_loop()
    ready = loop.create_future()
    loop.add_reader(descriptor, lambda: ready.done() or ready.set_result(None))
    try:
        await ready
    finally:
        loop.remove_reader(descriptor)
