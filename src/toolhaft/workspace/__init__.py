"""Where tools act: files, folders and commands of one workspace, and nothing outside it.

`workspace()` is the only door a tool needs. The names below load their module when they are first used, so that
light parts of this package can be imported without pydantic-ai.
"""

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .beneath import PathTraversalError as PathTraversalError
    from .beneath import validate_path as validate_path
    from .command_rules import CommandRules as CommandRules
    from .current import use_workspace as use_workspace
    from .current import workspace as workspace
    from .direct import Files as Files
    from .local import LocalWorkspace as LocalWorkspace
    from .net_limits import HttpLimits as HttpLimits
    from .net_rules import NetworkRules as NetworkRules
    from .sensitive import DEFAULT_SENSITIVE_FILES as DEFAULT_SENSITIVE_FILES

_HOMES = {
    "CommandRules": "command_rules",
    "DEFAULT_SENSITIVE_FILES": "sensitive",
    "Files": "direct",
    "HttpLimits": "net_limits",
    "LocalWorkspace": "local",
    "NetworkRules": "net_rules",
    "PathTraversalError": "beneath",
    "use_workspace": "current",
    "validate_path": "beneath",
    "workspace": "current",
}

__all__ = [
    "DEFAULT_SENSITIVE_FILES",
    "CommandRules",
    "Files",
    "HttpLimits",
    "LocalWorkspace",
    "NetworkRules",
    "PathTraversalError",
    "use_workspace",
    "validate_path",
    "workspace",
]


def __getattr__(name: str) -> object:
    if name in _HOMES:
        return getattr(importlib.import_module(f"{__name__}.{_HOMES[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
