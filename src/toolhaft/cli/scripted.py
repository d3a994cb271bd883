"""A model that follows a script, so that the demo runs without a key.

A script is a generator: it yields the next tool calls and receives what the tools answered, so its next step depends
on what they returned, as a model's does.
"""

import re
from collections.abc import Callable, Generator
from typing import Any

from pydantic_ai.messages import ModelMessage, ModelResponse, ToolCallPart, ToolReturnPart
from pydantic_ai.models.function import AgentInfo, FunctionModel

from toolhaft.cli import fault

Script = Generator[list[ToolCallPart], list[str], None]


def scripted_model(script: Callable[[], Script]) -> FunctionModel:
    """A model whose steps are those of `script`."""
    steps = script()

    def respond(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        answers = [part.model_response_str() for part in messages[-1].parts if isinstance(part, ToolReturnPart)]
        return ModelResponse(parts=steps.send(answers) if answers else next(steps))

    return FunctionModel(respond, model_name="scripted")


def survey(*, repairs: bool) -> Script:
    """Look around, read the Python files that are found first, report what they hold, and repair the planted fault."""
    [tree] = yield [_call("list_dir", max_files=400)]
    files = [path for path in _paths(tree) if path.endswith(".py")][:8]
    pages = yield [_call("read_file", filepath=file) for file in files]
    rows = [_row(file, page) for file, page in zip(files, pages, strict=True)]
    report = "# What the project holds\n\n| file | lines | functions |\n|---|---|---|\n" + "\n".join(rows) + "\n"
    yield [_call("write_file", filepath="REPORT.md", content=report)]
    if repairs:
        yield from _repair()
    yield [_call("submit", summary=f"Read {len(rows)} Python files and counted their lines and functions.")]


def _repair() -> Script:
    """Read the function that fails, and put back what it lacks."""
    [page] = yield [_call("read_file", filepath=fault.FILE)]
    lines = re.findall(r"^ *\d+\t(.*)$", page, re.MULTILINE)
    start = next(number for number, line in enumerate(lines) if line.startswith("def count_lines"))
    broken = next(line for line in lines[start:] if fault.BROKEN in line)
    yield [_call("edit_file", filepath=fault.FILE, old_str=broken, new_str=broken.replace(fault.BROKEN, fault.WHOLE))]


def _paths(tree: str) -> list[str]:
    """The paths of the files in a tree, each indented by two blanks more than its folder."""
    paths: list[str] = []
    folders: list[str] = []
    for indent, name in re.findall(r"^((?:  )+)([^\s].*?)(?:  .*)?$", tree, re.MULTILINE):
        del folders[len(indent) // 2 - 1 :]
        if name.endswith("/"):
            folders.append(name)
        else:
            paths.append("".join(folders) + name)
    return paths


def _row(file: str, page: str) -> str:
    lines = re.findall(r"^ *(\d+)\t(.*)$", page, re.MULTILINE)
    functions = sum(bool(re.match(r"\s*(async )?def ", line)) for _, line in lines)
    return f"| {file} | {lines[-1][0] if lines else 0} | {functions} |"


def _call(name: str, **args: Any) -> ToolCallPart:
    return ToolCallPart(name, args)
