"""Tools made from something else than a decorated function."""

from toolhaft.makers.function import tool_from_function as tool_from_function
