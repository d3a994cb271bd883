"""The conformance suite: every rule, over every tool of a package; ours, and those of other packages.

`problems` and `package_problems` answer a list, for programs; `ToolConformance` is the same as a pytest class.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from importlib import import_module
from types import ModuleType
from typing import Any, ClassVar

from toolhaft.discovery import discover_package
from toolhaft.spec import is_tool
from toolhaft.testing.rules import Problem, Rule, cause, not_applied, problems

__all__ = ["Problem", "ToolConformance", "not_applied", "package_problems", "problems"]


def package_problems(package: str) -> list[Problem]:
    """What is wrong with the tools of a package; every public module of it is imported.

    Besides the problems of each tool: modules that do not import or hold no tool, and undecorated async functions.
    Raises `ToolLoadError` when there is no such package.
    """
    return [problem for name in discover_package(package).names for problem in _module_problems(package, name)]


def _module_problems(package: str, name: str) -> Iterator[Problem]:
    try:
        module = import_module(f"{package}.{name}")
    except (Exception, SystemExit) as error:  # noqa: BLE001 - whatever it is, it is this module's problem
        yield Problem(tool=name, rule="loads", message=f"its file cannot be imported: {cause(error)}. Repair the file.")
        return
    found = [value for value in dict.fromkeys(_functions(module)) if _ought_to_be_a_tool(value, name)]
    for function in found:
        yield from problems(function)
    if not found:
        yield Problem(
            tool=name,
            rule="module",
            message=f"its file defines no tool, and every public file of {package!r} is taken for one. Define "
            f"`async def {name}` in it, not inside a factory, or begin the file's name with '_'.",
        )


def _functions(module: ModuleType) -> Iterator[Callable[..., Any]]:
    for value in vars(module).values():
        if inspect.isfunction(value) and value.__module__ == module.__name__:
            yield value


def _ought_to_be_a_tool(function: Callable[..., Any], module_name: str) -> bool:
    name = function.__name__
    public_async = inspect.iscoroutinefunction(function) and not name.startswith("_")
    return is_tool(function) or public_async or name == module_name


class ToolConformance:
    """The rules as a pytest class: subclass it, name your package, and every tool of it is tested.

    ```python
    class TestOurTools(ToolConformance):
        package = "acme_tools"
    ```

    Rules are not edited: a subclass that overrides or removes a test cannot be made, unless the new one is marked
    `@pytest.mark.xfail(reason=...)`.
    """

    package: ClassVar[str]
    """The dotted name of the package whose public modules are the tools."""

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        for name, test in vars(ToolConformance).items():
            if name.startswith("test_") and getattr(cls, name) is not test and not _is_excused(getattr(cls, name)):
                raise TypeError(
                    f"{cls.__name__} changes {name}, and a rule that can be edited says nothing. Remove the change, "
                    "or mark it @pytest.mark.xfail(reason=...) with the reason."
                )

    def test_the_package_has_tools(self) -> None:
        """If this fails, `package` names the wrong package: its public modules, one a tool, were not found."""
        assert discover_package(self.package).names, f"{self.package!r} has no public module. Name the tools' package."

    def test_every_module_loads(self) -> None:
        """If this fails, a file does not import, often because its tool was refused by the decorator: do as it says."""
        self._none("loads")

    def test_every_module_has_its_tool(self) -> None:
        """If this fails, define the tool at the top of its file, or begin the name of a helper file with '_'."""
        self._none("module")

    def test_every_tool_is_async(self) -> None:
        """If this fails, write `async def`; what blocks goes into `asyncio.to_thread`."""
        self._none("async")

    def test_every_tool_is_decorated(self) -> None:
        """If this fails, put `@base_tool` or `@file_tool` on it, outermost; a helper's name begins with '_'."""
        self._none("decorated")

    def test_file_function_and_prompt_have_one_name(self) -> None:
        """If this fails, rename: `tools/x.py` defines `x`, and its prompt is `prompts/x_prompt.xml`."""
        self._none("named")

    def test_every_tool_has_a_prompt_that_agrees(self) -> None:
        """If this fails, write the prompt, or let its parameters be those of the function."""
        self._none("prompt")

    def test_every_tool_is_described(self) -> None:
        """If this fails, say in the prompt's `<description>` what the tool does and when to use it."""
        self._none("described")

    def test_every_schema_builds(self) -> None:
        """If this fails, annotate the parameters with types that JSON has: text, numbers, lists, models."""
        self._none("schema")

    def test_every_parameter_is_described(self) -> None:
        """If this fails, give each `<parameter>` a `<description>`."""
        self._none("parameters")

    def test_filepath_comes_first_and_is_text(self) -> None:
        """If this fails, write `filepath: str` as the first parameter, after a `RunContext` if there is one."""
        self._none("filepath")

    def test_every_result_is_text(self) -> None:
        """If this fails, annotate the result: `str`, `ToolText`, or a list of `str` and `BinaryContent`."""
        self._none("returns")

    def _none(self, rule: Rule) -> None:
        found = [str(problem) for problem in package_problems(self.package) if problem.rule == rule]
        assert not found, "\n" + "\n".join(found)


def _is_excused(test: Any) -> bool:
    marks = getattr(test, "pytestmark", ())
    return any(mark.name == "xfail" and mark.kwargs.get("reason") for mark in marks)
