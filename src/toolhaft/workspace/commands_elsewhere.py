"""Commands of a workspace that is no folder of ours, or before which a policy wrapper stands: by its own `run`.

It confines them as it does, ends what they leave as it does, and hands over all of the output, which is cut here. There
are no background jobs. The rules for commands hold as everywhere; paths are judged by their text and the workspace's
`realpath`.
"""

import asyncio
import posixpath
import shlex
import time
from collections.abc import Iterable, Mapping

from pydantic_ai.workspaces import Workspace, WorkspaceOutputLimitError, WorkspaceTimeoutError

from toolhaft.shell import PathUse

from .access import Access
from .beneath import PathTraversalError
from .command_paths import check_path, check_path_texts
from .commands import check_command_text, check_timeout
from .environment import check_env
from .hidden import is_below
from .outcome import CommandOutcome, Confinement, Limits, Piece, pieces_of
from .supervisor.capture import HeadAndTail

_OWN = Confinement(by="workspace", reason="commands run as this workspace runs them", network=True)
_NOTE = "this workspace runs commands in its own way: what they left running was not looked for"


async def run_elsewhere(
    place: Workspace, command: str, *, cwd: str, timeout_seconds: float, env: Mapping[str, str] | None
) -> CommandOutcome:
    """Run a command to its end; arguments and errors are those of `Commands.run`, as far as the workspace can tell."""
    check_timeout(timeout_seconds)
    check_command_text(command)
    check_env(env or {})
    script = await _in_folder(place, command, cwd)
    exit_code, killed_by = None, None
    started = time.monotonic()
    try:
        done = await place.run(script, shell=True, env=env, timeout=timeout_seconds)
        exit_code, stdout, stderr = done.exit_code, done.stdout, done.stderr
    except WorkspaceTimeoutError as error:
        killed_by, stdout, stderr = "timeout", error.stdout, error.stderr
    except WorkspaceOutputLimitError as error:
        killed_by, stdout, stderr = "output", error.stdout, error.stderr
    return CommandOutcome(
        exit_code=exit_code,
        pieces=await asyncio.to_thread(_bounded, stdout, stderr),
        seconds=time.monotonic() - started,
        killed_by=killed_by,
        left_running=(),
        confinement=_OWN,
        notes=(_NOTE,),
    )


async def check_paths_elsewhere(place: Workspace, paths: Iterable[PathUse], access: Access, *, cwd: str) -> None:
    """Raise `PermissionError` for a path that these rules do not let be read or written."""
    check_path_texts(paths, access, cwd=cwd)
    for use in paths:
        if use.exact and use.access != "unknown" and not use.path.startswith("~"):
            real = await _realpath(place, posixpath.join(cwd, use.folder or "", use.path))
            check_path(use, real.lstrip("/"), access)


async def _realpath(place: Workspace, path: str) -> str:
    try:
        return await place.realpath(path)
    except OSError:  # it leads nowhere, or out, where only the workspace can stop it
        return path


async def _in_folder(place: Workspace, command: str, cwd: str) -> str:
    if posixpath.normpath(cwd) == ".":
        return command
    root = await place.working_dir()
    folder = posixpath.normpath(posixpath.join(root, cwd))
    if not is_below(folder, root):
        raise PathTraversalError(f"{cwd!r} leads out of the workspace. Use a folder in it.", path=cwd)
    return f"cd -- {shlex.quote(folder)} || exit\n{command}"


def _bounded(stdout: str, stderr: str) -> tuple[Piece, ...]:
    limits = Limits()
    output = HeadAndTail(head_bytes=limits.head_bytes, tail_bytes=limits.tail_bytes)
    for name, text in (("stdout", stdout), ("stderr", stderr)):
        output.feed(name, memoryview(text.encode("utf-8", "replace")))
    return pieces_of(output.pieces())
