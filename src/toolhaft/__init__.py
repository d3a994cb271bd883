"""toolhaft: tools for pydantic-ai agents, as plain async functions.

Everything public is a name of this package and is imported when it is first asked for, so that `import toolhaft`
alone loads nothing but the standard library. `toolhaft.workspace` is the function; what else that package has is
imported by name: `from toolhaft.workspace import X`.
"""

from typing import TYPE_CHECKING

from toolhaft.discovery import lazy_names

if TYPE_CHECKING:
    from toolhaft.attach.executor import Executor as Executor
    from toolhaft.attach.toolkit import Toolkit as Toolkit
    from toolhaft.attach.toolset import GovernedToolset as GovernedToolset
    from toolhaft.decorators import base_tool as base_tool
    from toolhaft.decorators import file_tool as file_tool
    from toolhaft.discovery import discover_directory as discover_directory
    from toolhaft.discovery import discover_entry_points as discover_entry_points
    from toolhaft.discovery import discover_package as discover_package
    from toolhaft.discovery import lazy_tools as lazy_tools
    from toolhaft.exceptions import FileOperationError as FileOperationError
    from toolhaft.exceptions import ModelRetry as ModelRetry
    from toolhaft.exceptions import ToolExecutionError as ToolExecutionError
    from toolhaft.makers.agent import agent_tool as agent_tool
    from toolhaft.makers.function import tool_from_function as tool_from_function
    from toolhaft.makers.http import http_tool as http_tool
    from toolhaft.makers.http_config import HttpToolConfig as HttpToolConfig
    from toolhaft.makers.mcp import mcp_tools as mcp_tools
    from toolhaft.pipeline.confirmation import Abort as Abort
    from toolhaft.pipeline.confirmation import Allow as Allow
    from toolhaft.pipeline.confirmation import Deny as Deny
    from toolhaft.pipeline.confirmation import Edit as Edit
    from toolhaft.pipeline.guardrails import Guardrails as Guardrails
    from toolhaft.pipeline.hooks import Hook as Hook
    from toolhaft.pipeline.hooks import Hooks as Hooks
    from toolhaft.pipeline.pipeline import Pipeline as Pipeline
    from toolhaft.pipeline.terminal import Terminal as Terminal
    from toolhaft.registry import DuplicateToolError as DuplicateToolError
    from toolhaft.registry import Registry as Registry
    from toolhaft.registry import ToolNotFoundError as ToolNotFoundError
    from toolhaft.spec import FileDiff as FileDiff
    from toolhaft.spec import NeedsApproval as NeedsApproval
    from toolhaft.spec import ToolKind as ToolKind
    from toolhaft.spec import ToolResult as ToolResult
    from toolhaft.spec import ToolSpec as ToolSpec
    from toolhaft.spec import ToolText as ToolText
    from toolhaft.spec import tool_spec as tool_spec
    from toolhaft.workspace import CommandRules as CommandRules
    from toolhaft.workspace import HttpLimits as HttpLimits
    from toolhaft.workspace import LocalWorkspace as LocalWorkspace
    from toolhaft.workspace import NetworkRules as NetworkRules
    from toolhaft.workspace import PathTraversalError as PathTraversalError
    from toolhaft.workspace import use_workspace as use_workspace
    from toolhaft.workspace import validate_path as validate_path
    from toolhaft.workspace import workspace as workspace

__version__ = "0.1.0"

_NAMES_BY_HOME = {
    "toolhaft.attach.executor": ("Executor",),
    "toolhaft.attach.toolkit": ("Toolkit",),
    "toolhaft.attach.toolset": ("GovernedToolset",),
    "toolhaft.decorators": ("base_tool", "file_tool"),
    "toolhaft.discovery": ("discover_directory", "discover_entry_points", "discover_package", "lazy_tools"),
    "toolhaft.exceptions": ("FileOperationError", "ModelRetry", "ToolExecutionError"),
    "toolhaft.makers.agent": ("agent_tool",),
    "toolhaft.makers.function": ("tool_from_function",),
    "toolhaft.makers.http": ("http_tool",),
    "toolhaft.makers.http_config": ("HttpToolConfig",),
    "toolhaft.makers.mcp": ("mcp_tools",),
    "toolhaft.pipeline.confirmation": ("Abort", "Allow", "Deny", "Edit"),
    "toolhaft.pipeline.guardrails": ("Guardrails",),
    "toolhaft.pipeline.hooks": ("Hook", "Hooks"),
    "toolhaft.pipeline.pipeline": ("Pipeline",),
    "toolhaft.pipeline.terminal": ("Terminal",),
    "toolhaft.registry": ("DuplicateToolError", "Registry", "ToolNotFoundError"),
    "toolhaft.spec": ("FileDiff", "NeedsApproval", "ToolKind", "ToolResult", "ToolSpec", "ToolText", "tool_spec"),
    "toolhaft.workspace": (
        "CommandRules",
        "HttpLimits",
        "LocalWorkspace",
        "NetworkRules",
        "PathTraversalError",
        "use_workspace",
        "validate_path",
        "workspace",
    ),
}

lazy_names(__name__, {name: home for home, names in _NAMES_BY_HOME.items() for name in names})
