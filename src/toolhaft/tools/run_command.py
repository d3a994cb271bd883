"""Run a command to its end: `bash` without background jobs."""

from toolhaft.decorators import base_tool
from toolhaft.spec import ToolKind, ToolText
from toolhaft.tools._commands import needs_approval, previewed, run_judged


async def _preview(
    command: str, cwd: str | None = None, timeout: int | None = None, env: dict[str, str] | None = None
) -> ToolText:
    return await previewed(command, cwd=cwd, timeout=timeout)


@base_tool(kind=ToolKind.SHELL, approval=needs_approval, preview=_preview)
async def run_command(
    command: str, cwd: str | None = None, timeout: int | None = None, env: dict[str, str] | None = None
) -> str:
    """Run a command, judged before and confined while it runs; answer its output and how it ended.

    Arguments and errors are those of `bash`, without `background`.
    """
    return await run_judged("run_command", command, cwd=cwd, timeout=timeout, env=env)
