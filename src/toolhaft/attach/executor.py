"""Calls without a model: a name and arguments in, a `ToolResult` out.

The executor drives the leaf toolset through pydantic-ai's own `ToolManager`, so a call from a program, a command line
or another protocol meets exactly what a call from an agent meets.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Iterable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any, cast
from uuid import uuid4

from pydantic import ValidationError
from pydantic_ai import ApprovalRequired, BinaryContent, CallDeferred, ModelRetry, RunContext, ToolReturn
from pydantic_ai.exceptions import ToolFailed
from pydantic_ai.messages import ToolCallPart, is_multi_modal_content
from pydantic_ai.models.test import TestModel
from pydantic_ai.tool_manager import ToolManager
from pydantic_ai.usage import RunUsage
from pydantic_ai.workspaces import WorkspaceBackend
from pydantic_core import to_json

from toolhaft.approvals.filing import StoreFiling
from toolhaft.approvals.store import ApprovalStore
from toolhaft.attach.model_calls import ModelCall, ModelCalls
from toolhaft.attach.toolset import GovernedToolset, governed_place
from toolhaft.pipeline.answer import parted
from toolhaft.pipeline.call import Refused
from toolhaft.pipeline.pipeline import Pipeline
from toolhaft.registry import Registry
from toolhaft.spec import FileDiff, ToolResult, ToolSpec, tool_spec
from toolhaft.workspace import use_workspace


class Executor:
    """Runs the tools of a registry by name, through a pipeline. One executor may serve many calls at once.

    Without a pipeline, sensitive calls are refused: there is nobody to ask. `Pipeline(mode="yolo")` asks nobody.

    ```python
    executor = Executor(Registry().register_all(), workspace="./repo")
    result = await executor.execute("read_file", {"filepath": "a.py"})
    ```
    """

    def __init__(
        self,
        registry: Registry,
        pipeline: Pipeline | None = None,
        *,
        workspace: str | Path | WorkspaceBackend | None = None,
        approvals: ApprovalStore | None = None,
    ) -> None:
        self.registry = registry
        self.pipeline = pipeline or Pipeline()
        if approvals is not None:
            self.pipeline = replace(self.pipeline, filing=StoreFiling(approvals))
        self._place = None if workspace is None else governed_place(self.pipeline, workspace)
        # To the limits, and to what somebody has allowed, all calls of an executor are one conversation.
        self._conversation_id = str(uuid4())
        self._toolsets: dict[Callable[..., Any], GovernedToolset] = {}

    async def execute(
        self,
        name: str,
        args: Mapping[str, Any] | str,
        *,
        workspace: str | Path | WorkspaceBackend | None = None,
        cwd: str | None = None,
        call_id: str | None = None,
        conversation_id: str | None = None,
        approved: bool = False,
        timeout_seconds: float | None = None,
    ) -> ToolResult:
        """What the tool `name` answers to `args` (a mapping, or JSON text), also when it fails.

        `workspace` is where this call acts; the executor's own if left out. `cwd` is the folder in it where a command
        starts that names none. `approved` says that somebody has approved exactly this call: with `approvals`, there,
        under the ids of conversation and call.

        Raises `ToolNotFoundError` for an unknown name, and `AbortedError` where whoever was asked ended everything;
        never raises for what a tool does.
        """
        tool = self.registry.get(name)
        if cwd is not None and "cwd" in tool_spec(tool).schema.get("properties", {}):
            args = _with_default(args, "cwd", cwd)
        limit = asyncio.timeout(timeout_seconds)
        try:
            async with limit:
                with self._bound(workspace):
                    context = RunContext[Any](
                        deps=None,
                        model=TestModel(),
                        usage=RunUsage(),
                        conversation_id=conversation_id or self._conversation_id,
                    )
                    return await self._result(tool, name, args, context, call_id=call_id, approved=approved)
        except TimeoutError:
            if not limit.expired():
                raise
            return _failure(
                name, f"It took longer than the {timeout_seconds:g} seconds it may take, and was stopped.", timeout=True
            )

    async def execute_many(self, calls: Iterable[ModelCall]) -> list[ToolResult]:
        """The results of many calls, in their order: what only reads runs side by side, everything else alone.

        Every call has one, that of an unknown tool too. Use `ModelCalls` where the results so far are needed although
        this was cancelled.
        """
        return await ModelCalls(calls).execute(self)

    async def preview(
        self,
        name: str,
        args: Mapping[str, Any] | str,
        *,
        workspace: str | Path | WorkspaceBackend | None = None,
    ) -> ToolResult:
        """What the tool `name` would do with `args`, with nothing done; a failed result where it cannot tell."""
        spec = tool_spec(self.registry.get(name))
        if spec.preview is None:
            return _failure(name, f"{name!r} has no preview: what it would do is known only once it is done.")
        with self._bound(workspace):
            return await _answer(name, _previewed(spec, spec.preview, args))

    def _bound(self, workspace: str | Path | WorkspaceBackend | None) -> AbstractContextManager[object]:
        place = self._place if workspace is None else governed_place(self.pipeline, workspace)
        return use_workspace(place) if place is not None else nullcontext()

    async def _result(
        self,
        tool: Callable[..., Any],
        name: str,
        args: Mapping[str, Any] | str,
        context: RunContext[Any],
        *,
        call_id: str | None,
        approved: bool,
    ) -> ToolResult:
        if tool not in self._toolsets:
            self._toolsets[tool] = GovernedToolset([tool], pipeline=self.pipeline)
        call = ToolCallPart(name, args if isinstance(args, str) else dict(args))
        if call_id is not None:
            call.tool_call_id = call_id
        manager = await ToolManager[Any](self._toolsets[tool]).for_run_step(context)
        pending = manager.handle_call(call, approved=approved, wrap_validation_errors=False)
        return await _answer(name, pending, call.tool_call_id)


def _with_default(args: Mapping[str, Any] | str, name: str, value: Any) -> Mapping[str, Any] | str:
    """The arguments, with one more where it is not among them; text that is no JSON object stays as it is."""
    try:
        given: object = json.loads(args or "{}") if isinstance(args, str) else args
    except ValueError:
        return args
    return {name: value, **cast("Mapping[str, Any]", given)} if isinstance(given, Mapping) else args


async def _previewed(
    spec: ToolSpec, preview: Callable[..., Awaitable[Any]], args: Mapping[str, Any] | str
) -> ToolReturn[Any]:
    return parted(spec.name, await preview(**spec.validate(args)))


async def _answer(name: str, pending: Awaitable[Any], call_id: str | None = None) -> ToolResult:
    """The result of what is awaited, whatever a tool may raise."""
    try:
        answer = await pending
    except ValidationError as error:
        return _failure(name, f"Invalid arguments: {_mistakes(error)}", retry=True)
    except ModelRetry as error:
        return _failure(name, error.message, retry=True)
    except Refused as refusal:
        facts = {"stage": refusal.stage, "rule": refusal.rule, "source": refusal.source}
        return _failure(name, refusal.message, **{key: fact for key, fact in facts.items() if fact is not None})
    except ToolFailed as error:
        # A failure may have facts as an answer has: what a command had done when its time was over.
        return _failure(name, error.message, **dict(getattr(error, "facts", {})))
    except (ApprovalRequired, CallDeferred) as pause:
        reason = "needs approval" if isinstance(pause, ApprovalRequired) else "is answered later, outside"
        return _failure(
            name, f"The call {reason}; nothing has run.", **{"pending": call_id, **dict(pause.metadata or {})}
        )
    return _success(name, cast("ToolReturn[Any]", answer))  # what our leaf answers; nobody here to deny a call


def _success(name: str, answer: ToolReturn[Any]) -> ToolResult:
    facts: dict[str, Any] = dict(answer.metadata or {})
    return ToolResult(
        tool_name=name,
        success=True,
        output=as_text(answer.return_value),
        parts=_parts(answer.return_value),
        truncated=bool(facts.pop("truncated", False)),
        diff=None if (diffs := facts.pop("diff", None)) is None else [FileDiff(**diff) for diff in diffs],
        exit_code=facts.pop("exit_code", None),
        metadata=facts,
    )


def _parts(value: Any) -> list[Any] | None:
    parts = cast("list[Any]", value) if isinstance(value, list) else [value]
    return parts if any(is_multi_modal_content(part) for part in parts) else None


def _failure(name: str, message: str, /, **metadata: Any) -> ToolResult:
    return ToolResult(tool_name=name, success=False, error=message, metadata=metadata)


def as_text(value: Any) -> str:
    """The answer in text; parts that are not text are named, not dumped."""
    if isinstance(value, str):
        return value
    if isinstance(value, BinaryContent):
        return f"[{value.media_type}, {len(value.data):,} bytes]"
    if isinstance(value, list):
        return "\n".join(as_text(part) for part in value)  # pyright: ignore[reportUnknownVariableType]
    return to_json(value).decode()


def _mistakes(error: ValidationError) -> str:
    """Each wrong argument with what is wrong, as a model can mend it."""
    found = error.errors(include_url=False, include_context=False)
    return "; ".join(
        f"{'.'.join(map(str, mistake['loc'])) or 'arguments'}: {mistake['msg']} (got {str(mistake['input'])[:80]!r})"
        for mistake in found
    )
