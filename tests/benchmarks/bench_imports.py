"""What toolhaft adds to `import pydantic_ai`: processor time of fresh processes, which other programs do not change."""

import asyncio
import os
import sys
from collections.abc import AsyncIterator
from statistics import median

from tests.benchmarks.measure import Figure

ALONE = "import pydantic_ai"
# What `tests/test_import_weight.py` calls so.
NEEDED = (
    f"{ALONE}; from toolhaft import Toolkit, base_tool, file_tool; "
    "from toolhaft.tools import list_dir, read_file, submit, write_file"
)
EVERY_TOOL = f"{ALONE}; from toolhaft import Toolkit; from toolhaft.tools import *"
ROUNDS = 15


async def figures() -> AsyncIterator[Figure]:
    for name, code in {"everything an agent needs": NEEDED, "every built-in tool": EVERY_TOOL}.items():
        yield await asyncio.to_thread(_ratio, f"{name} / import pydantic_ai", code)


def _ratio(name: str, code: str) -> Figure:
    ours, alone = [], []
    for _ in range(ROUNDS + 1):  # the first writes the bytecode
        ours.append(_processor_seconds(code))
        alone.append(_processor_seconds(ALONE))
    a, b = median(ours[1:]), median(alone[1:])
    return Figure(name=name, measured=a / b, goal=1.04, unit="x", detail=f"({a * 1e3:.0f} ms against {b * 1e3:.0f} ms)")


def _processor_seconds(code: str) -> float:
    # Without bytecode it would be the compiler that is measured.
    env = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    pid = os.posix_spawn(sys.executable, [sys.executable, "-c", code], env)
    _, status, used = os.wait4(pid, 0)
    assert status == 0
    return used.ru_utime + used.ru_stime
