"""Tools known by name and loaded on demand, and what is told of one that does not load."""

from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any

from toolhaft.discovery.lazy import imported
from toolhaft.spec import ToolFunction, is_tool, tool_spec


class ToolLoadError(ImportError):
    """A tool that cannot be loaded: `name` is the tool or file, `__cause__` the reason where there is one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LazyTool:
    """A tool known by name, not yet imported."""

    name: str
    where: str
    """The module or file it comes from, for people."""
    load: Callable[[], ToolFunction]
    """Import the tool; raises `ToolLoadError`. A second call costs a look into `sys.modules`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolSource:
    """Tools found in one place, and what is wrong there."""

    tools: Mapping[str, LazyTool]
    failures: tuple[ToolLoadError, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the tools, sorted; nothing is imported."""
        return tuple(sorted(self.tools))

    def load(self, name: str) -> ToolFunction:
        """Import one tool. Raises `ToolLoadError`, also when there is none of this name."""
        if name not in self.tools:
            raise ToolLoadError(f"no tool {name!r} was found here. Found were: {', '.join(self.names)}.", name=name)
        return self.tools[name].load()

    def load_all(self) -> tuple[dict[str, ToolFunction], tuple[ToolLoadError, ...]]:
        """Import every tool: those that load, by name, and all failures."""
        loaded: dict[str, ToolFunction] = {}
        failures = list(self.failures)
        for name in self.names:
            try:
                loaded[name] = self.load(name)
            except ToolLoadError as error:
                failures.append(error)
        return loaded, tuple(failures)


def lazy_tool(name: str, module: str, attribute: str) -> LazyTool:
    return LazyTool(name=name, where=module, load=partial(_load, name, module, attribute))


def _load(name: str, module: str, attribute: str) -> ToolFunction:
    with told(name, module):
        return _checked(imported(module, attribute), name)


def _checked(value: Any, name: str) -> ToolFunction:
    if not is_tool(value):
        raise TypeError(f"{value!r} is not decorated. Put @base_tool or @file_tool on it.")
    if tool_spec(value).name != name:
        raise TypeError(f"the tool's own name is {tool_spec(value).name!r}. Let both be the same.")
    return value


@contextmanager
def told(name: str, where: str) -> Generator[None]:
    """Turn whatever a file does when it is run, `sys.exit()` included, into a `ToolLoadError` that says who and why."""
    try:
        yield
    except (Exception, SystemExit) as error:
        cause = f"{type(error).__name__}: {error}"
        raise ToolLoadError(f"{name!r} cannot be loaded from {where}: {cause}", name=name) from error
