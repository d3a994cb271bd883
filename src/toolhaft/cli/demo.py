"""The main job, to watch: an agent reads a project through the tools and writes a report on it.

The report's counts are true and can be checked; the demo checks them itself, from the files and not from the tools.
"""

import logging
import os
import re
import shutil
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any, cast

from pydantic_ai import Agent
from pydantic_ai.messages import ModelMessage, ToolReturnPart
from pydantic_ai.models import Model

import toolhaft
from toolhaft.attach.toolkit import Toolkit
from toolhaft.cli import fault
from toolhaft.cli.scripted import scripted_model, survey
from toolhaft.cli.settings import Settings

JOB = """\
Survey the project in your workspace. Look around with list_dir, then read at least five of its Python files with
read_file. Write REPORT.md with a Markdown table that has the columns file, lines, functions: one row for each file
you read, with its number of lines and how many lines of it define a function (`def` or `async def`, indented or
not). At last submit a summary of one or two sentences."""

REPORT = "REPORT.md"
_ROW = re.compile(r"^\| `?([^|`]+?)`? \| (\d+) \| (\d+) \|$", re.MULTILINE)
_DEFINITION = re.compile(r"^\s*(async )?def ", re.MULTILINE)


async def run_demo(project: Path | None, settings: Settings) -> int:
    """Do the job on a copy of `project`: 0 when the report is there, its counts are true, and the fault is repaired."""
    source = project or _own_project()
    if not source.is_dir():
        print(f"{str(source)!r} is not a folder. Give the path of a project.", file=sys.stderr)
        return 2
    with tempfile.TemporaryDirectory(prefix="toolhaft-demo-") as folder, _PrintedCalls():
        copy = Path(folder, source.resolve().name)
        shutil.copytree(source, copy, symlinks=True, ignore=shutil.ignore_patterns(".git", ".venv", "__pycache__"))
        is_broken = fault.plant(copy)
        model = os.environ.get("TOOLHAFT_MODEL") or scripted_model(lambda: survey(repairs=is_broken))
        print(f"An agent works on a copy of {source.resolve().name}/ ({_name(model)})\n", flush=True)
        if is_broken:
            print(f"One function of the copy is broken: {fault.shown(copy)}\n", flush=True)
        kit = _toolkit(copy, settings)
        agent = Agent(model, capabilities=[kit], output_type=kit.output_type)
        result = await agent.run(f"{JOB}\n\n{fault.FAILURE}" if is_broken else JOB)
        print(f"\nSubmitted: {result.output}\n")
        status = _show_and_check(copy)
        return max(status, _show_repair(copy, result.all_messages())) if is_broken else status


def _toolkit(folder: Path, settings: Settings) -> Toolkit:
    pipeline = settings.pipeline()
    return Toolkit(
        settings.open(str(folder)),
        tools="files",
        mode=pipeline.mode,
        answerer=pipeline.answerer,
        guardrails=pipeline.guardrails,
        hooks=pipeline.hooks,
        dry_run=pipeline.dry_run,
    )


def _show_repair(project: Path, messages: Sequence[ModelMessage]) -> int:
    """Print the diffs of what was changed in place, and whether the function is whole again."""
    for message in messages:
        for part in message.parts:
            facts = cast("dict[str, Any]", part.metadata or {}) if isinstance(part, ToolReturnPart) else {}
            for diff in facts.get("diff", ()):
                if not diff["is_new_file"]:
                    print(diff["unified"])
    print(f"The function now: {fault.shown(project)}")
    return 0 if fault.is_repaired(project) else 1


def _own_project() -> Path:
    """The checkout that toolhaft runs from, else its installed package."""
    package = Path(toolhaft.__file__).parent
    checkout = package.parents[1]
    return checkout if (checkout / "pyproject.toml").exists() else package


def _name(model: Model | str) -> str:
    return model if isinstance(model, str) else "a scripted model; set TOOLHAFT_MODEL=provider:name for a real one"


def _show_and_check(project: Path) -> int:
    """Print the report, then count again from the files."""
    report = project / REPORT
    if not report.exists():
        print(f"The agent wrote no {REPORT}.")
        return 1
    text = report.read_text()
    print(text)
    rows = _ROW.findall(text)
    wrong = [row for row in rows if row != _counted(project, row[0])]
    for file, lines, functions in wrong:
        print(f"WRONG: {file} has not {lines} lines and {functions} functions, but {_counted(project, file)[1:]}")
    if rows and not wrong:
        print(f"Checked: the counts of all {len(rows)} files are true.")
    return 0 if rows and not wrong else 1


def _counted(project: Path, file: str) -> tuple[str, str, str]:
    path = project / file
    if not path.is_file():
        return file, "no such file", ""
    text = path.read_text()
    lines = text.count("\n") + (not text.endswith("\n") and text != "")
    return file, str(lines), str(len(_DEFINITION.findall(text)))


class _PrintedCalls(logging.Handler):
    """Print each call with its arguments, outcome and time, as the tools log it."""

    def __enter__(self) -> None:
        logger = logging.getLogger("toolhaft.tools")
        self._level = logger.level
        logger.setLevel(logging.INFO)
        logger.addHandler(self)

    def __exit__(self, *_: object) -> None:
        logger = logging.getLogger("toolhaft.tools")
        logger.removeHandler(self)
        logger.setLevel(self._level)

    def emit(self, record: logging.LogRecord) -> None:
        print(f"  {record.getMessage()}", flush=True)
