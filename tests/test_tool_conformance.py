"""All built-in tools keep the rules of a tool; so may yours, with the same three lines."""

from toolhaft.testing import ToolConformance


class TestBuiltInTools(ToolConformance):
    """The conformance suite over `toolhaft.tools`."""

    package = "toolhaft.tools"
