"""Tools made from something else than a decorated function."""

from toolhaft.makers.function import tool_from_function as tool_from_function
from toolhaft.makers.http import http_tool as http_tool
from toolhaft.makers.http import http_tool_of as http_tool_of
from toolhaft.makers.http_config import HttpToolConfig as HttpToolConfig
