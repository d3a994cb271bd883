"""Trees on a real disk, the callables over them, and ripgrep as a process: what a workspace hands in."""

import asyncio
import contextlib
import os
import shutil
import stat
import sysconfig
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from pathlib import Path
from typing import BinaryIO

from toolhaft.searching.drive import Chunk, Exit
from toolhaft.searching.tree import Entry, Kind, Listing, Tree

RG = shutil.which("rg", path=sysconfig.get_path("scripts")) or "rg"


def build(root: Path, files: Mapping[str, str | bytes]) -> Path:
    """Make files below `root`; a value that begins with `->` makes a link, a name that ends with `/` a folder."""
    for name, content in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if name.endswith("/"):
            path.mkdir(exist_ok=True)
        elif isinstance(content, str) and content.startswith("->"):
            path.symlink_to(content[2:])
        else:
            path.write_bytes(content.encode() if isinstance(content, str) else content)
    return root


def tree_of(root: Path, *, withheld: Callable[[str], bool] = lambda path: False) -> Tree:
    real_root = os.path.realpath(root)

    def scan(path: str) -> Listing:
        with os.scandir(root / path) as entries:
            return Listing.of(Entry(entry.name, _entry_kind(entry)) for entry in entries)

    def open_file(path: str) -> BinaryIO:
        if resolve(path) is None:
            raise PermissionError(path)
        return open(root / path, "rb")

    def resolve(path: str) -> tuple[str, Kind] | None:
        real = os.path.realpath(root / path)
        if (real != real_root and not real.startswith(real_root + "/")) or not os.path.exists(real):
            return None
        mode = os.stat(real).st_mode
        kind: Kind = "folder" if stat.S_ISDIR(mode) else "file" if stat.S_ISREG(mode) else "other"
        return os.path.relpath(real, real_root), kind

    return Tree(scan=scan, open=open_file, resolve=resolve, withheld=withheld)


def _entry_kind(entry: "os.DirEntry[str]") -> Kind:
    if entry.is_symlink():
        return "link"
    if entry.is_dir(follow_symlinks=False):
        return "folder"
    return "file" if entry.is_file(follow_symlinks=False) else "other"


class Ripgrep:
    """Runs `rg` at a root, and remembers the arguments and the processes of every run."""

    def __init__(self, root: Path, *, env: Mapping[str, str] | None = None) -> None:
        self.root = root
        self.env = {"PATH": os.environ["PATH"], **(env or {})}
        self.runs: list[Sequence[str]] = []
        self.processes: list[asyncio.subprocess.Process] = []

    async def __call__(self, arguments: Sequence[str]) -> AsyncGenerator[Chunk | Exit, None]:
        self.runs.append(arguments)
        process = await asyncio.create_subprocess_exec(
            RG, *arguments, cwd=self.root, env=self.env, stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
        )  # fmt: skip
        self.processes.append(process)
        pieces: asyncio.Queue[Chunk | None] = asyncio.Queue(maxsize=8)
        pumps = [
            asyncio.create_task(_pump(process.stdout, pieces, is_error=False)),
            asyncio.create_task(_pump(process.stderr, pieces, is_error=True)),
        ]
        try:
            open_pipes = 2
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
            with contextlib.suppress(ProcessLookupError):
                process.kill()
            await process.communicate()  # a pipe that nobody reads would never be closed


async def _pump(stream: asyncio.StreamReader | None, pieces: "asyncio.Queue[Chunk | None]", *, is_error: bool) -> None:
    assert stream is not None
    while data := await stream.read(65536):
        await pieces.put(Chunk(data, is_error))
    await pieces.put(None)
