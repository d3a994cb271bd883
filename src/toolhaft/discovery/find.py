"""Where tools come from: packages, folders, and what installed distributions declare."""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Callable, Iterable
from functools import partial
from importlib import import_module, invalidate_caches
from importlib.util import find_spec, module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

from toolhaft.discovery.lazy import public_modules
from toolhaft.discovery.source import LazyTool, ToolLoadError, ToolSource, lazy_tool, told
from toolhaft.spec import ToolFunction, is_tool, tool_spec

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

BUILT_IN = "toolhaft.tools"


def discover_package(package: str) -> ToolSource:
    """The tools of a package, lazy or not, one for each of its public modules; nothing of it is imported.

    The parents of a dotted name are imported, as Python cannot find it otherwise. Sub-packages are not entered: each
    is a package of its own. Raises `ToolLoadError` when there is no such package.
    """
    with told(package, "the import path"):
        spec = find_spec(package)
    if spec is None or spec.submodule_search_locations is None:
        raise ToolLoadError(
            f"there is no package {package!r} to find tools in"
            + (": it is a single module. Name the package around it." if spec else ". Is it installed?"),
            name=package,
        )
    names = public_modules(spec.submodule_search_locations)
    return ToolSource(tools={name: lazy_tool(name, f"{package}.{name}", name) for name in names})


def discover_directory(path: str | Path, *, trust: bool = False, allow_shadowing: bool = False) -> ToolSource:
    """The tools of a folder that is no package, such as a project's `.toolhaft/tools`, loaded at once.

    Every decorated function that a `*.py` file there defines is a tool; files that begin with an underscore are
    helpers (`from ._shared import x` works). Prompts lie in the folder's `prompts/`. A file is run once in a process.
    A file that fails is one of the `failures`, and the others still load.

    Finding runs the files, so it is refused with `PermissionError` unless `trust=True`. A tool named like a built-in
    one is a failure unless `allow_shadowing=True`.
    """
    folder = Path(path).resolve()
    if not trust:
        raise PermissionError(
            f"finding tools in {str(path)!r} runs the code of its files, and the folder is not trusted. "
            "Read them, then pass trust=True."
        )
    if not folder.is_dir():
        raise NotADirectoryError(f"there is no folder {str(path)!r} to find tools in. Pass the folder of the files.")
    package = _package_of(folder)
    taken = set[str]() if allow_shadowing else set(discover_package(BUILT_IN).names)
    return _collected(partial(_file_tools, file, package, taken) for file in sorted(folder.glob("[!_]*.py")))


def discover_entry_points(group: str = "toolhaft.tools") -> ToolSource:
    """The tools that installed distributions declare; none is imported.

    An entry point names a package of tools, `acme = "acme.tools"`, or one tool by its own name,
    `weather = "acme.weather:weather"`.
    """
    from importlib.metadata import entry_points  # 15 ms, for those who ask only

    points = sorted(entry_points(group=group), key=lambda point: (point.name, point.value))
    return _collected(partial(_entry_point_tools, point) for point in points)


def _collected(places: Iterable[Callable[[], list[LazyTool | ToolLoadError]]]) -> ToolSource:
    """One source out of many places; a place that fails, and a name that came before, become failures."""
    tools: dict[str, LazyTool] = {}
    failures: list[ToolLoadError] = []
    for place in places:
        try:
            found = place()
        except ToolLoadError as error:
            found = [error]
        for one in found:
            if isinstance(one, ToolLoadError):
                failures.append(one)
            elif one.name in tools:
                failures.append(_refused(one, f"{tools[one.name].where} has a tool of this name already"))
            else:
                tools[one.name] = one
    return ToolSource(tools=tools, failures=tuple(failures))


def _refused(tool: LazyTool, why: str) -> ToolLoadError:
    return ToolLoadError(f"{tool.name!r} of {tool.where} is left out: {why}. Give it another name.", name=tool.name)


def _package_of(folder: Path) -> str:
    """A package in `sys.modules` for the files of a folder, under a name that no other folder has.

    So the files are imported by Python's own machinery: relative imports, prompts and pickling work, and a module
    that fails does not stay.
    """
    name = f"toolhaft_folder_{hashlib.sha256(str(folder).encode('utf-8', 'surrogateescape')).hexdigest()[:16]}"
    spec = spec_from_file_location(name, folder / "__init__.py", submodule_search_locations=[str(folder)])
    assert spec is not None
    sys.modules.setdefault(name, module_from_spec(spec))
    invalidate_caches()  # a file written a moment ago is found
    return name


def _file_tools(file: Path, package: str, taken: set[str]) -> list[LazyTool | ToolLoadError]:
    with told(file.name, str(file)):
        module = import_module(f"{package}.{file.stem}")
    found = [
        LazyTool(name=tool_spec(tool).name, where=str(file), load=partial(_itself, tool))
        for tool in dict.fromkeys(value for value in vars(module).values() if _defined_in(module, value))
    ]
    if not found:
        del sys.modules[module.__name__]
        raise ToolLoadError(
            f"{str(file)!r} defines no tool. Decorate its async function with @base_tool or @file_tool, "
            "or begin the file's name with '_' if it is a helper.",
            name=file.name,
        )
    shadows = "a built-in tool has this name, and allow_shadowing=True was not said"
    return [_refused(tool, shadows) if tool.name in taken else tool for tool in found]


def _defined_in(module: ModuleType, value: Any) -> bool:
    return is_tool(value) and getattr(value, "__module__", None) == module.__name__


def _itself(tool: ToolFunction) -> ToolFunction:
    return tool


def _entry_point_tools(point: EntryPoint) -> list[LazyTool | ToolLoadError]:
    with told(point.name, f"the entry point {point.value!r}"):
        if point.attr:
            return [lazy_tool(point.name, point.module, point.attr)]
        return list(discover_package(point.module).tools.values())
