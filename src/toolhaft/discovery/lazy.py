"""Packages whose names are imported when they are first asked for.

A package of tools keeps one tool in one file: `pkg/tools/grep.py` holds the function `grep`. So the names are known
from the files alone, and a program that needs three tools of a thousand imports three files.

Python itself stands in the way in one place: whoever first imports `pkg.tools.grep` makes Python store that *module*
on the package as `pkg.tools.grep`, and the function of the same name is hidden. `LazyPackage` refuses to store it,
so that a name means the function in whatever order modules are imported. That is why `import pkg.tools.grep as m`
gives the function too; other names of a tool's file are imported by name: `from pkg.tools.grep import X`.
"""

import pkgutil
import sys
from collections.abc import Iterable, Mapping
from importlib import import_module
from types import ModuleType


class LazyPackage(ModuleType):
    """A package whose public names are imported when they are first asked for, and always mean the same object."""

    def __getattr__(self, name: str) -> object:
        home = self.__dict__["__lazy_names__"].get(name)
        if home is None:
            raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}", name=name, obj=self)
        return imported(home, name)

    def __setattr__(self, name: str, value: object) -> None:
        if not (name in self.__dict__["__lazy_names__"] and isinstance(value, ModuleType)):
            super().__setattr__(name, value)

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *self.__dict__["__lazy_names__"]})


def lazy_tools(package: str) -> tuple[str, ...]:
    """Make a package of tools lazy, and answer the names of its tools: its public modules.

    To be called in the package's `__init__.py`. Modules that begin with an underscore and sub-packages are no tools.
    It sets `__all__`; an import that fails raises its true cause, from `hasattr` too.

    ```python
    from toolhaft.discovery import lazy_tools

    lazy_tools(__name__)
    ```
    """
    module = sys.modules[package]
    if not hasattr(module, "__path__"):
        raise TypeError(
            f"{package!r} is a module, and only a package can be lazy. Call lazy_tools(__name__) in the "
            "__init__.py of the folder that holds the tools."
        )
    names = public_modules(module.__path__)
    lazy_names(package, {name: f"{package}.{name}" for name in names})
    return names


def lazy_names(package: str, homes: Mapping[str, str]) -> None:
    """Make a package lazy whose names live in other modules: `homes` tells for each name the module that has it."""
    module = sys.modules[package]
    contents = vars(module)
    for name in homes:
        if isinstance(contents.get(name), ModuleType):
            del contents[name]
    contents["__lazy_names__"] = dict(homes)
    contents["__all__"] = sorted(homes)
    module.__class__ = LazyPackage


def imported(home: str, name: str) -> object:
    try:
        value: object = getattr(import_module(home), name, None)
    except (AttributeError, SystemExit) as error:
        # An AttributeError would be taken for "no such name" by hasattr and from-imports, which hides the cause.
        raise ImportError(f"importing {home!r} failed: {type(error).__name__}: {error}", name=home) from error
    if value is None or isinstance(value, ModuleType):
        raise ImportError(
            f"module {home!r} defines no {name!r}, or is still being imported (a circular import). Define it there; "
            "a file of a tools package that holds no function of its own name begins with '_'.",
            name=home,
        )
    return value


def public_modules(search_path: Iterable[str]) -> tuple[str, ...]:
    """The public modules of a package, sorted; from a zip file too."""
    found = pkgutil.iter_modules(search_path)
    return tuple(sorted(module.name for module in found if not module.ispkg and not module.name.startswith("_")))
