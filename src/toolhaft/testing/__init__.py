"""For authors: the rules that every tool keeps and every store of approvals, as pytest classes; stand-ins for tools."""

from typing import TYPE_CHECKING

from toolhaft.testing.conformance import Problem, ToolConformance, not_applied, package_problems, problems
from toolhaft.testing.mock import MockTool, mock_tool

if TYPE_CHECKING:
    from toolhaft.testing.approvals import ApprovalStoreSuite as ApprovalStoreSuite

__all__ = [
    "ApprovalStoreSuite",
    "MockTool",
    "Problem",
    "ToolConformance",
    "mock_tool",
    "not_applied",
    "package_problems",
    "problems",
]


def __getattr__(name: str) -> object:
    """The suite for stores loads pytest, which the others need not."""
    if name != "ApprovalStoreSuite":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from toolhaft.testing.approvals import ApprovalStoreSuite

    return ApprovalStoreSuite
