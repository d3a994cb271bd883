"""A tool that does what a test says, and remembers how it was called."""

from __future__ import annotations

import copy
import inspect
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Protocol, cast

from pydantic import BaseModel

from toolhaft.decorators.making import ToolOptions
from toolhaft.makers.function import as_dictionary, tool_from_function
from toolhaft.spec import NeedsApproval, ToolKind

ANY_PARAMETERS: Mapping[str, Any] = {"type": "object", "properties": {}, "additionalProperties": True}

Run = Callable[[dict[str, Any]], Any]
"""Given the arguments, sync or async; answers or raises in place of the tool."""


Approval = bool | NeedsApproval | Callable[[dict[str, Any]], Any]
"""What a tool says when it is asked whether a call needs a person, or a function of the arguments that says it."""


class MockTool(Protocol):
    """A tool made by `mock_tool`, usable wherever a tool is."""

    calls: list[dict[str, Any]]
    """The arguments of each call that reached the tool, checked, in order."""

    def __call__(self, *args: Any, **kwargs: Any) -> Awaitable[Any]: ...


def mock_tool(
    name: str,
    run: Run | None = None,
    *,
    returns: Any = "mock output",
    raises: BaseException | type[BaseException] | None = None,
    approval: Approval | None = None,
    kind: ToolKind | str = ToolKind.READ,
    parameters: type[BaseModel] | Mapping[str, Any] | None = None,
) -> MockTool:
    """A tool that answers what `run(arguments)` answers, else raises `raises`, else answers `returns`.

    What it raises is routed as with every tool. `parameters` is a pydantic model or a JSON schema; without it any
    arguments will do. `approval` is what the tool says when asked whether a call needs a person, or a function of the
    arguments that says it; None leaves that to the kind. Called directly it takes the arguments as one dictionary.

    ```python
    search = mock_tool("search", returns="nothing found")
    agent = Agent(model, tools=[search])
    assert search.calls == [{"query": "tea"}]
    ```
    """
    calls: list[dict[str, Any]] = []

    async def answer(arguments: dict[str, Any]) -> Any:
        calls.append(copy.deepcopy(arguments))
        if run is None and raises is not None:
            raise raises
        value = returns if run is None else run(arguments)
        return await value if inspect.isawaitable(value) else value

    options: ToolOptions = {"kind": kind}
    if approval is not None:
        options["approval"] = _asked(approval)
    tool = tool_from_function(
        answer,
        name=name,
        description=f"A stand-in for the tool {name!r}.",
        parameters=ANY_PARAMETERS if parameters is None else parameters,
        **options,
    )
    setattr(tool, "calls", calls)  # noqa: B010 - a function has no such attribute, says pyright
    return cast("MockTool", tool)


def _asked(approval: Approval) -> Callable[..., Any]:
    def asked(arguments: BaseModel | dict[str, Any]) -> Any:
        return approval(as_dictionary(arguments)) if callable(approval) else approval

    return asked
