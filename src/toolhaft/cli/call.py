"""Calls from the command line: one, or one a line from standard input."""

import json
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any, TextIO, cast

from toolhaft.attach.executor import Executor
from toolhaft.attach.model_calls import unknown_tool
from toolhaft.cli.settings import Settings
from toolhaft.discovery import ToolLoadError
from toolhaft.pipeline.confirmation import AbortedError
from toolhaft.registry import ToolNotFoundError
from toolhaft.spec import ToolResult
from toolhaft.workspace import LocalWorkspace

ABORTED = 130
"""The exit status when whoever was asked ended everything, as after Ctrl-C."""


async def call_once(name: str, args: str, settings: Settings, *, as_json: bool) -> int:
    """Call a tool and print its answer: 0 it succeeded, 1 it failed, 2 it could not be run, 130 it was aborted."""
    result, status = await _Caller(settings).answer({"tool": name, "args": args})
    if as_json:
        print(result.to_json())
    elif result.success:
        print(result.output)
    else:
        print(result.error, file=sys.stderr)
    return status


async def call_lines(lines: Iterable[bytes], out: TextIO, settings: Settings) -> int:
    """Answer one JSON object for each line, in order; 0 when every line was answered."""
    caller = _Caller(settings)
    for line in lines:
        if line.strip():
            result, status = await caller.answer(_request(line))
            out.write(result.to_json() + "\n")
            out.flush()
            if status == ABORTED:
                return ABORTED
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


class _Caller:
    """Answers requests; a workspace is opened once, however many requests name it."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._executor = Executor(settings.registry(), settings.pipeline())
        self._places: dict[str, LocalWorkspace] = {}

    async def answer(self, request: dict[str, Any] | str) -> tuple[ToolResult, int]:
        if isinstance(request, str):
            return ToolResult(tool_name="", success=False, error=request), 2
        name, args = request["tool"], request.get("args", {})
        folder = request.get("workspace", self._settings.folder)
        problem = _problem(args, folder)
        if problem:
            return ToolResult(tool_name=name, success=False, error=problem), 2
        call = self._executor.preview if self._settings.preview else self._executor.execute
        try:
            result = await call(name, args, workspace=self._place(folder))
        except ToolNotFoundError as error:
            return unknown_tool(name, error), 2
        except ToolLoadError as error:
            return ToolResult(tool_name=name, success=False, error=str(error)), 2
        except AbortedError as error:
            return ToolResult(tool_name=name, success=False, error=str(error)), ABORTED
        return result, 0 if result.success else 1

    def _place(self, folder: str) -> LocalWorkspace:
        if folder not in self._places:
            self._places[folder] = self._settings.open(folder)
        return self._places[folder]


def _problem(args: Any, folder: Any) -> str | None:
    """Why the call cannot be run, if it cannot."""
    if isinstance(args, str):
        try:
            args = json.loads(args)
        except (ValueError, RecursionError) as error:
            return f"Invalid arguments: they are not JSON ({error})."
    if not isinstance(args, dict):
        return f"Invalid arguments: {args!r} is no JSON object. Write them as {{'name': value}}."
    if not isinstance(folder, str) or "\0" in folder or not Path(folder).is_dir():
        return f"The workspace {folder!r} is not a folder. Give the path of an existing one."
    return None
