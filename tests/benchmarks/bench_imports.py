"""What toolhaft adds to `import pydantic_ai`, in fresh processes."""

import asyncio
import sys
from collections.abc import AsyncIterator

from tests.benchmarks.measure import Figure, ratio

ALL = "import pydantic_ai; from toolhaft import Toolkit; from toolhaft.tools import *"


async def figures() -> AsyncIterator[Figure]:
    yield await ratio(
        "everything an agent needs / import pydantic_ai",
        lambda: _python(ALL),
        lambda: _python("import pydantic_ai"),
        goal=1.04,
        rounds=9,
    )


async def _python(code: str) -> None:
    process = await asyncio.create_subprocess_exec(sys.executable, "-c", code)
    assert await process.wait() == 0
