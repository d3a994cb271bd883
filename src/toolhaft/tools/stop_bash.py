"""End a background job."""

from toolhaft.decorators import base_tool
from toolhaft.spec import ToolKind
from toolhaft.tools._commands import found_job, told_job


@base_tool(kind=ToolKind.SHELL, sensitive=False, idempotent=True)
async def stop_bash(job_id: str) -> str:
    """End a job and all of its processes (SIGTERM, then SIGKILL); answer its last output and how it ended.

    Raises `ModelRetry` for an unknown id, naming the jobs there are.
    """
    job = found_job(job_id)
    return told_job(job, await job.stop())
