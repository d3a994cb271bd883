"""What a hook is told: on stdin or as a function's argument, and in variables."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic_core import to_jsonable_python

from toolhaft.pipeline.call import Call
from toolhaft.pipeline.hook import HookEvent
from toolhaft.pipeline.hook_answer import HookError
from toolhaft.workspace import workspace


@dataclass(frozen=True, slots=True, kw_only=True)
class Occasion:
    """Something that happens, as hooks are told of it."""

    event: HookEvent
    facts: Mapping[str, Any]
    tool_name: str = ""
    paths: Sequence[str] = ()
    command: str = ""
    succeeded: bool | None = None

    def told(self) -> dict[str, Any]:
        """Everything there is to know, as JSON and each time a copy. Raises `HookError` where JSON cannot carry it."""
        try:
            return to_jsonable_python(
                {"event": str(self.event), **self.facts},
                bytes_mode="base64",
                inf_nan_mode="null",
                serialize_unknown=True,
            )
        except (ValueError, RecursionError) as error:
            raise HookError("could not be told of it", f"it cannot be written as JSON: {error}") from error

    def variables(self, path: str) -> dict[str, str]:
        """What a command that is about `path` finds in its environment."""
        success = {} if self.succeeded is None else {"TOOLHAFT_TOOL_SUCCESS": str(self.succeeded).lower()}
        return {
            "TOOLHAFT_EVENT": str(self.event),
            "TOOLHAFT_TOOL_NAME": self.tool_name,
            "TOOLHAFT_FILE_PATH": f"./{path}" if path.startswith("-") else path,  # no option of the command
            "TOOLHAFT_COMMAND": self.command,
            **success,
        }


def occasion_of(
    call: Call, *, paths: Sequence[str], succeeded: bool | None = None, output: str | None = None
) -> Occasion:
    """A call: before it runs, or after it with what it answered."""
    facts: dict[str, Any] = {"tool_name": call.name, "tool_input": call.args}
    command = call.args.get("command")
    return Occasion(
        event=HookEvent.PRE_TOOL_USE if output is None else HookEvent.POST_TOOL_USE,
        facts=facts if output is None else {**facts, "tool_output": output},
        tool_name=call.name,
        paths=paths,
        command=command if isinstance(command, str) else "",
        succeeded=succeeded,
    )


def host_folder() -> str:
    """The folder of the workspace; the current one where the workspace is not on this machine."""
    ref = workspace().ref
    return ref.id if ref is not None and ref.provider == "local" else os.getcwd()
