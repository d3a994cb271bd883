"""An atomic write against a plain one, the waiting for the disk apart."""

import asyncio
import os
import tempfile
from collections.abc import AsyncIterator
from pathlib import Path
from unittest import mock

from tests.benchmarks.measure import Figure, ratio
from toolhaft import use_workspace
from toolhaft.tools import write_file

TEXT = "a line of thirty-one characters\n" * 128


async def figures() -> AsyncIterator[Figure]:
    with tempfile.TemporaryDirectory() as folder, use_workspace(folder):
        plain, ours = Path(folder, "plain.txt"), Path(folder, "ours.txt")
        plain.write_text(TEXT)
        ours.write_text(TEXT)
        with mock.patch.object(os, "fsync", return_value=None):
            yield await ratio(
                "write_file of 4 KB / plain write in a thread, no fsync",
                lambda: write_file("ours.txt", TEXT, "overwrite"),
                lambda: asyncio.to_thread(plain.write_text, TEXT),
                goal=2.5,
                rounds=300,
            )
