"""For the authors of tools: the rules that every tool keeps, as function and as pytest class; stand-ins for tools."""

from toolhaft.testing.conformance import Problem, ToolConformance, package_problems, problems
from toolhaft.testing.mock import MockTool, mock_tool

__all__ = ["MockTool", "Problem", "ToolConformance", "mock_tool", "package_problems", "problems"]
