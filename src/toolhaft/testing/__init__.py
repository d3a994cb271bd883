"""For the authors of tools: the rules that every tool keeps, as a function and as a pytest class."""

from toolhaft.testing.conformance import Problem, ToolConformance, package_problems, problems

__all__ = ["Problem", "ToolConformance", "package_problems", "problems"]
