"""`@base_tool` and `@file_tool`: what makes an async function a tool.

A decorated function stays a function you can await. It is logged, its exceptions are routed (`routing`, the law), its
prompt stands in `__doc__` and in its annotations, and it carries a `ToolSpec`. Mistakes of its author fail here, with
a `ToolDefinitionError` that says what to change.
"""

from toolhaft.decorators.decorators import base_tool as base_tool
from toolhaft.decorators.decorators import file_tool as file_tool
from toolhaft.decorators.making import make_tool as make_tool
