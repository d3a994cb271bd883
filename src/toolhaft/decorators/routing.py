"""The law: what becomes of an exception that a tool raises.

A plain exception would end the whole run of an agent and cancel the other calls of the same response. So none leaves a
tool: each becomes an answer that the model can use.

| raised in the tool | `@base_tool` | `@file_tool`, before that |
|---|---|---|
| `ModelRetry`, `ToolFailed`, and so `ToolExecutionError`, `FileOperationError` | unchanged | unchanged |
| control flow of pydantic-ai (`UNCHANGED`) | unchanged | unchanged |
| `FileNotFoundError` | `ToolExecutionError` | `ModelRetry`, naming the path that was missing |
| `PathTraversalError` | `FileOperationError("access", ...)` | the same |
| `PermissionError` | `ToolExecutionError` | `FileOperationError("access", ...)` |
| `UnicodeDecodeError` | `ToolExecutionError` | `FileOperationError("decode", ...)` |
| `TimeoutError`, `ConnectionError`, other `OSError`s that are about no file | `ToolExecutionError` | the same |
| other `OSError` | `ToolExecutionError` | `FileOperationError("read", ...)`, or `"write"` where the tool writes |
| anything else | `ToolExecutionError` | the same |

`ModelRetry` is only for what the model can mend by other arguments: by default the second one in a row ends the run.
`CancelledError` and whatever else is no `Exception` passes untouched. pydantic-ai's `WorkspaceError`s need no row: the
one for a read-only workspace is a `PermissionError`, the one for a command's time is a `TimeoutError`, and the others
are "anything else".

Messages name paths as the caller did or relative to the workspace. Of any other path they show the last part only.
"""

from __future__ import annotations

import errno
import os
import socket
import ssl

from pydantic import ValidationError
from pydantic_ai.exceptions import (
    AgentRunError,
    ApprovalRequired,
    CallDeferred,
    ModelRetry,
    SkipToolExecution,
    SkipToolValidation,
    ToolFailed,
    ToolFailedError,
    ToolRetryError,
)
from pydantic_ai.workspaces import WorkspaceError

from toolhaft.exceptions import FileOperationError, ToolExecutionError, describe
from toolhaft.workspace import PathTraversalError, workspace

UNCHANGED = (
    ModelRetry,
    ToolFailed,
    ApprovalRequired,
    CallDeferred,
    SkipToolExecution,
    SkipToolValidation,
    ToolRetryError,
    ToolFailedError,
    AgentRunError,
)

_ABOUT_NO_FILE = (
    TimeoutError,
    ConnectionError,
    ChildProcessError,
    ProcessLookupError,
    socket.gaierror,
    socket.herror,
    ssl.SSLError,
)
_NETWORK_ERRNOS = frozenset(
    {errno.ENETDOWN, errno.ENETUNREACH, errno.EHOSTDOWN, errno.EHOSTUNREACH, errno.EADDRINUSE, errno.EADDRNOTAVAIL}
)


def route_base(tool: str, error: Exception) -> Exception:
    """What `@base_tool` raises in place of an error that is not `UNCHANGED`."""
    if isinstance(error, PathTraversalError):
        return FileOperationError("access", error.path, str(error), error)
    return ToolExecutionError(tool, _reason(error, ""), error)


def route_file(tool: str, error: Exception, *, filepath: str, writes: bool) -> Exception:
    """What `@file_tool` raises in its place, for a call about `filepath`."""
    if isinstance(error, UnicodeDecodeError):
        return FileOperationError("decode", filepath, describe(error), error)
    if not isinstance(error, OSError) or isinstance(error, _ABOUT_NO_FILE) or error.errno in _NETWORK_ERRNOS:
        return ToolExecutionError(tool, _reason(error, filepath), error)
    path = _shown(error.filename, filepath) or filepath
    if isinstance(error, FileNotFoundError):
        said = "" if error.strerror or not str(error) else f" ({describe(error)})"
        return ModelRetry(f"File not found: {path!r}{said}. Check the path.")
    operation = "access" if isinstance(error, PermissionError) else "write" if writes else "read"
    return FileOperationError(operation, path, error.strerror or describe(error), error)


def _reason(error: Exception, filepath: str) -> str:
    """What the error says, without paths from outside and without the values that were wrong."""
    if isinstance(error, ValidationError):
        mistakes = error.errors(include_url=False, include_context=False, include_input=False)
        told = "; ".join(f"{'.'.join(map(str, one['loc'])) or error.title}: {one['msg']}" for one in mistakes)
        return f"{error.title} is not valid: {told}"
    if isinstance(error, OSError) and error.strerror:
        paths = [repr(path) for name in (error.filename, error.filename2) if (path := _shown(name, filepath))]
        return ": ".join([error.strerror, *([" -> ".join(paths)] if paths else [])])
    return describe(error)


def _shown(name: object, filepath: str) -> str:
    """A path out of an exception as the model may see it; "" where there is none, as with a file descriptor."""
    if not isinstance(name, str | bytes):
        return ""
    path = os.fsdecode(name)
    if path != filepath and os.path.isabs(path):
        path = _inside(path, filepath)
    return path.encode(errors="backslashreplace").decode()


def _inside(path: str, filepath: str) -> str:
    """An absolute path by the part that the caller knows."""
    if filepath and path.endswith("/" + filepath.removeprefix("./")):
        return filepath
    folder = os.path.dirname(filepath)
    if os.path.isabs(folder) and os.path.normpath(path).startswith(folder.rstrip("/") + "/"):
        return path
    try:
        shown = workspace().shown(path)
    except (OSError, WorkspaceError):
        shown = path
    return os.path.basename(path) if os.path.isabs(shown) else shown
