"""Say that the job is done."""

from pydantic_ai import ModelRetry

from toolhaft.decorators import base_tool
from toolhaft.spec import ToolKind


@base_tool(kind=ToolKind.READ)
async def submit(summary: str) -> str:
    """Answer the summary of the finished job.

    A tool cannot end a run by itself: `Toolkit.output_type` offers this one as an output tool, which does.

    Raises `ModelRetry` when the summary is blank.
    """
    if not summary.strip():
        raise ModelRetry(f"summary={summary!r} says nothing. Tell in a few sentences what was done and what was found.")
    return summary.strip()
