"""Run a command in the workspace, with the contract of pydantic-ai's own local backend.

The command gets an end-of-file on stdin, its own session and a reduced environment; its output is returned whole up to
10 MiB; a process that it detached into a session of its own lives on. It is confined by nothing.
"""

from collections.abc import Mapping

from pydantic_ai.workspaces import CommandResult, LocalWorkspaceBackend, WorkspaceCommand


async def run_command(
    command: WorkspaceCommand,
    *,
    folder: str,
    shell: bool = False,
    env: Mapping[str, str] | None = None,
    timeout: float | None = None,
) -> CommandResult:
    """Return exit code, stdout and stderr of a command that starts in `folder`.

    `timeout` is in seconds. Raises `WorkspaceTimeoutError`, `WorkspaceOutputLimitError`, and
    `WorkspaceUnavailableError` where the folder is gone before or after the command.
    """
    return await LocalWorkspaceBackend(folder, env=env).run(command, shell=shell, timeout=timeout)
