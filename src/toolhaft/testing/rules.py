"""The rules that every tool keeps, and what is told of one that breaks one.

A rule has a short name that stays, and finds one problem for one fault: what only follows from another fault is not
told.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Literal

from toolhaft.arguments import documented, evaluated_signature, model_parameters, without_annotated
from toolhaft.exceptions import ToolDefinitionError
from toolhaft.prompts import load_prompt
from toolhaft.spec import ToolFunction, is_tool, tool_spec
from toolhaft.testing.annotations import is_text

Rule = Literal[
    "loads",
    "module",
    "async",
    "decorated",
    "named",
    "described",
    "filepath",
    "returns",
    "prompt",
    "parameters",
    "schema",
]

SHORTEST_DESCRIPTION = 11
"""Characters: fewer cannot tell a model what a tool does and when to use it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """One fault of one tool: what, why it matters, what to do."""

    tool: str
    rule: Rule
    message: str

    def __str__(self) -> str:
        return f"{self.tool}: {self.message} [{self.rule}]"


def problems(tool: Callable[..., Any]) -> list[Problem]:
    """What is wrong with one tool; nothing, when it keeps every rule. Its prompt is read anew from its file.

    ```python
    assert problems(read_file) == []
    ```
    """
    if not is_tool(tool):
        return [_no_tool(tool)]
    name = tool_spec(tool).name
    # The other rules read the schema: where none can be made, that is the one problem.
    checks: Mapping[Rule, _Check] = {"schema": _check_schema} if any(_check_schema(tool)) else _CHECKS
    spared = not_applied(tool)
    return [
        Problem(tool=name, rule=rule, message=text)
        for rule, check in checks.items()
        if rule not in spared
        for text in check(tool)
    ]


def not_applied(tool: Callable[..., Any]) -> Mapping[Rule, str]:
    """The rules that do not apply to a tool, each with the reason; none, for a function that an author decorated.

    A tool that was made from something else has no file and no prompt, and its texts are somebody else's.
    """
    made_from = tool_spec(tool).made_from if is_tool(tool) else None
    if made_from is None:
        return {}
    reason = f"it was made from {made_from}"
    return {
        "named": f"{reason}, so no file bears its name",
        "prompt": f"{reason}, whose texts the model reads",
        "parameters": f"{reason}, which describes its parameters or does not",
    }


def cause(error: BaseException) -> str:
    """What was raised, on one line, without a full stop."""
    return " ".join(f"{type(error).__name__}: {error}".split()).rstrip(".")


def _no_tool(function: Callable[..., Any]) -> Problem:
    name = getattr(function, "__name__", repr(function))
    if not inspect.iscoroutinefunction(function):
        text = "it is not async, so it would stop the event loop. Write `async def`, and decorate it with @base_tool."
        return Problem(tool=name, rule="async", message=text)
    text = (
        "it is not decorated, so an exception in it ends the agent's run and nothing is logged. Put @base_tool or "
        "@file_tool on it, outermost; begin its name with '_' if it is a helper."
    )
    return Problem(tool=name, rule="decorated", message=text)


_Check = Callable[[ToolFunction], Iterator[str]]

# Each check yields what is wrong with a decorated tool; the name of its rule stands in `_CHECKS`.


def _check_named(tool: ToolFunction) -> Iterator[str]:
    spec, file = tool_spec(tool), tool.__module__.rpartition(".")[2]
    if not spec.name == tool.__name__ == file:
        yield (
            f"its name {spec.name!r}, its function {tool.__name__!r} and its file {file + '.py'!r} differ, so it "
            f"cannot be found by name. Let all three be {spec.name!r}."
        )
    if spec.prompt_file and spec.prompt_file.name != f"{spec.name}_prompt.xml":
        yield f"its prompt is {spec.prompt_file.name!r}. Name the file {spec.name + '_prompt.xml'!r}."


def _check_prompt(tool: ToolFunction) -> Iterator[str]:
    spec = tool_spec(tool)
    if spec.prompt_file is not None:
        try:  # what the next process would do, with the file as it is now
            documented(spec.name, evaluated_signature(inspect.unwrap(tool), spec.name), load_prompt(spec.prompt_file))
        except ToolDefinitionError as error:
            yield f"its prompt does not fit it (any more): {error}"
    else:
        yield (
            "it has no prompt, so the model reads a docstring that was written for people. "
            f"Write prompts/{spec.name}_prompt.xml in the folder of its package."
        )


def _check_described(tool: ToolFunction) -> Iterator[str]:
    text = tool_spec(tool).description.strip()
    if tool_spec(tool).prompt_file and len(text) < SHORTEST_DESCRIPTION:
        yield f"its description {text!r} is too short for a model. Say what it does and when to use it."


def _check_schema(tool: ToolFunction) -> Iterator[str]:
    try:
        _ = tool_spec(tool).schema
    except Exception as error:  # noqa: BLE001 - a type of the author's may raise anything when its schema is asked for
        yield f"no schema can be made of its parameters: {cause(error)}. Use types that JSON has."


def _check_parameters(tool: ToolFunction) -> Iterator[str]:
    if not tool_spec(tool).prompt_file:
        return  # that is the one problem
    schema = tool_spec(tool).schema
    for name, parameter in schema.get("properties", {}).items():
        reference = str(parameter.get("$ref", "")).rpartition("/")[2]
        if not {**schema.get("$defs", {}).get(reference, {}), **parameter}.get("description"):
            yield f"its parameter {name!r} has no description. Give it one in the prompt."


def _check_filepath(tool: ToolFunction) -> Iterator[str]:
    own = model_parameters(evaluated_signature(tool, tool_spec(tool).name))
    filepath = next((one for one in own if one.name == "filepath" and one.default is one.empty), None)
    if filepath is None:
        return
    if own[0] is not filepath:
        yield "its parameter 'filepath' is not the first. Put it first, after a RunContext if there is one."
    hint = without_annotated(filepath.annotation)
    if hint is not str:
        yield f"its 'filepath' is annotated {hint!r}, and a model sends text. Write `filepath: str`."


def _check_returns(tool: ToolFunction) -> Iterator[str]:
    returned = evaluated_signature(tool, tool_spec(tool).name).return_annotation
    if returned is inspect.Signature.empty:
        yield "its result is not annotated. Write `-> str`, or what else a model can read."
    elif not is_text(returned):
        yield (
            f"it returns {returned!r}, and a model reads text. Return str or ToolText (data rides along as its "
            "facts), or a list of str and BinaryContent where there is an image."
        )


_CHECKS: Mapping[Rule, _Check] = MappingProxyType(
    {
        "named": _check_named,
        "prompt": _check_prompt,
        "described": _check_described,
        "parameters": _check_parameters,
        "filepath": _check_filepath,
        "returns": _check_returns,
    }
)
