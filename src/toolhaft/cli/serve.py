"""Tools for clients of another kind, from the command line."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path

from toolhaft.attach.executor import Executor
from toolhaft.attach.mcp_server import mcp_server, serve_http, serve_stdio
from toolhaft.cli.approvals import opened_store
from toolhaft.cli.settings import Settings
from toolhaft.discovery import ToolLoadError, discover_package
from toolhaft.registry import DuplicateToolError, Registry


async def serve_mcp(settings: Settings, *, packages: Sequence[str], store: str | None, port: int | None) -> int:
    """Serve until the client goes, or on a port until the process is told to end; 2 where it cannot begin.

    Nothing but the protocol reaches standard output, and nobody is asked on the terminal: it is the client's.
    """
    problem = _problem(settings)
    if problem:
        print(problem, file=sys.stderr)
        return 2
    try:
        registry = _registry(settings, packages)
    except (ToolLoadError, DuplicateToolError) as error:
        print(error, file=sys.stderr)
        return 2
    async with (
        nullcontext() if store is None else opened_store(store) as approvals,
        settings.open(settings.folder) as place,
    ):
        pipeline = replace(settings.pipeline(), answerer=None)
        server = mcp_server(Executor(registry, pipeline, workspace=place, approvals=approvals))
        if port is None:
            await serve_stdio(server)
        else:
            print(f"Serving at http://127.0.0.1:{port}/mcp", file=sys.stderr)
            await serve_http(server, port=port)
    return 0


def _problem(settings: Settings) -> str | None:
    if find_spec("mcp") is None:
        return "MCP needs the library mcp, which is not installed. Run: pip install 'toolhaft[mcp]'"
    if not Path(settings.folder).is_dir():
        return f"The workspace {settings.folder!r} is not a folder. Give the path of an existing one."
    return None


def _registry(settings: Settings, packages: Sequence[str]) -> Registry:
    if not packages:
        return settings.registry()
    sys.path.insert(0, "")  # as `python -m` has it: the package may be code of the folder one stands in
    registry = Registry()
    for package in packages:
        registry.register_source(discover_package(package))
    return registry
