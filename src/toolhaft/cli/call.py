"""Calls from the command line: one, or one a line from standard input."""

import json
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any, TextIO, cast

from toolhaft.attach.executor import Executor
from toolhaft.discovery import ToolLoadError
from toolhaft.registry import Registry, ToolNotFoundError
from toolhaft.spec import ToolResult


async def call_once(name: str, args: str, workspace: Path, *, as_json: bool) -> int:
    """Call a tool and print its answer: 0 it succeeded, 1 it failed, 2 it could not be run."""
    executor = Executor(Registry().register_all())
    result, status = await _answer(executor, {"tool": name, "args": args}, workspace)
    if as_json:
        print(result.to_json())
    elif result.success:
        print(result.output)
    else:
        print(result.error, file=sys.stderr)
    return status


async def call_lines(lines: Iterable[bytes], out: TextIO, workspace: Path) -> int:
    """Answer one JSON object for each line, in order; 0 when every line was answered."""
    executor = Executor(Registry().register_all())
    for line in lines:
        if line.strip():
            result, _ = await _answer(executor, _request(line), workspace)
            out.write(result.to_json() + "\n")
            out.flush()
    return 0


def _request(line: bytes) -> dict[str, Any] | str:
    """The request in a line, or what is wrong with it."""
    try:
        request = json.loads(line)
    except (ValueError, RecursionError) as error:
        return f"The line is not JSON: {error}"
    if not isinstance(request, dict) or not isinstance(cast("dict[str, Any]", request).get("tool"), str):
        return 'The line is no call. Write {"tool": "read_file", "args": {"filepath": "a.txt"}, "workspace": "."}'
    return cast("dict[str, Any]", request)


async def _answer(executor: Executor, request: dict[str, Any] | str, workspace: Path) -> tuple[ToolResult, int]:
    if isinstance(request, str):
        return ToolResult(tool_name="", success=False, error=request), 2
    name, args, place = request["tool"], request.get("args", {}), request.get("workspace", str(workspace))
    problem = _problem(args, place)
    if problem:
        return ToolResult(tool_name=name, success=False, error=problem), 2
    try:
        result = await executor.execute(name, args, workspace=place)
    except (ToolNotFoundError, ToolLoadError) as error:
        return ToolResult(tool_name=name, success=False, error=str(error)), 2
    return result, 0 if result.success else 1


def _problem(args: Any, place: Any) -> str | None:
    """Why the call cannot be run, if it cannot."""
    if not isinstance(args, dict | str):
        return f"Invalid arguments: {args!r} is no JSON object. Write them as {{'name': value}}."
    if not isinstance(place, str) or "\0" in place or not Path(place).is_dir():
        return f"The workspace {place!r} is not a folder. Give the path of an existing one."
    return None
