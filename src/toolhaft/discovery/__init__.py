"""Find tools by name first, and import them when they are asked for. Nothing but the standard library is needed."""

from toolhaft.discovery.find import BUILT_IN, discover_directory, discover_entry_points, discover_package
from toolhaft.discovery.lazy import LazyPackage, lazy_names, lazy_tools
from toolhaft.discovery.source import LazyTool, ToolLoadError, ToolSource

__all__ = [
    "BUILT_IN",
    "LazyPackage",
    "LazyTool",
    "ToolLoadError",
    "ToolSource",
    "discover_directory",
    "discover_entry_points",
    "discover_package",
    "lazy_names",
    "lazy_tools",
]
