"""The searching tools of other packages, timed in an interpreter of their own: `python peers_at_work.py FOLDER`.

Each line of standard input is JSON, `[package, tool, arguments]`; each is answered by a line, the seconds that the call
took and what a model would read. Imports nothing of ours.
"""

import asyncio
import json
import sys
import time
from typing import Any

from pydantic_ai import RunContext
from pydantic_ai.models.test import TestModel
from pydantic_ai.usage import RunUsage
from pydantic_ai.workspaces import LocalWorkspaceBackend, Workspace
from pydantic_ai_backends import ConsoleCapability
from pydantic_ai_harness.filesystem import FileSystem


async def main(folder: str) -> None:
    workspace = Workspace(LocalWorkspaceBackend(folder))
    context: Any = RunContext(deps=None, model=TestModel(), usage=RunUsage(), workspace=workspace)
    harness: Any = FileSystem().get_toolset()
    backend: Any = ConsoleCapability().get_toolset()
    backend_tools = await backend.get_tools(context)

    async def call(package: str, tool: str, arguments: dict[str, Any]) -> str:
        if package == "harness":  # these are its tools, as it offers them outside of a run
            return str(await getattr(harness, tool)(**arguments, workspace=workspace))
        return str(await backend.call_tool(tool, arguments, context, backend_tools[tool]))

    print("ready", flush=True)
    for line in iter(sys.stdin.readline, ""):
        started = time.perf_counter()
        try:
            answer = await call(*json.loads(line))
        except Exception as error:  # noqa: BLE001  # whatever it says is what there is to report
            answer = f"{type(error).__name__}: {error}"
        print(json.dumps([time.perf_counter() - started, answer]), flush=True)


asyncio.run(main(sys.argv[1]))
