"""Run a command with bash, to its end or in the background."""

from toolhaft.decorators import base_tool
from toolhaft.spec import ToolKind, ToolText
from toolhaft.tools._commands import needs_approval, previewed, run_judged, start_judged


async def _preview(
    command: str,
    cwd: str | None = None,
    timeout: int | None = None,
    env: dict[str, str] | None = None,
    background: bool = False,
) -> ToolText:
    return await previewed(command, cwd=cwd, timeout=timeout)


@base_tool(kind=ToolKind.SHELL, approval=needs_approval, preview=_preview)
async def bash(
    command: str,
    cwd: str | None = None,
    timeout: int | None = None,
    env: dict[str, str] | None = None,
    background: bool = False,
) -> str:
    """Run a command, judged before and confined while it runs; answer its output and how it ended.

    `cwd` is a folder of the workspace, its root if left out. After `timeout` seconds, 1 to 600 and 30 unless the
    workspace's `CommandRules` say otherwise, everything of it is ended. `env` adds to a scrubbed environment. In the
    `background` it has no timeout, and the answer is the id of a job. A non-zero exit code is an answer, no error.

    Raises `ModelRetry` for arguments that cannot be, `ToolExecutionError` where the command may not run or was ended.
    """
    if background:
        return await start_judged(command, cwd=cwd, timeout=timeout, env=env)
    return await run_judged("bash", command, cwd=cwd, timeout=timeout, env=env)
