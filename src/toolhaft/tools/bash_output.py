"""What a background job has written since it was last asked."""

from toolhaft.decorators import base_tool
from toolhaft.spec import ToolKind
from toolhaft.tools._commands import found_job, told_job


@base_tool(kind=ToolKind.READ)
async def bash_output(job_id: str) -> str:
    """Answer the new output of a background job, at once, and whether it still runs.

    Raises `ModelRetry` for an unknown id, naming the jobs there are.
    """
    job = found_job(job_id)
    return told_job(job, await job.read())
