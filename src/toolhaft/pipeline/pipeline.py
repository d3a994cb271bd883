"""The law: what happens to every call, wherever it comes from and whatever the tool is made of.

    validate ─► guardrails ─► pre hooks ─► confirmation ─► run ─► post hooks ─► record
                    ▲              │             │      └► dry-run: tell, and run nothing
                    └── validate ◄─┴── changed ◄─┘

1. The arguments arrive validated. **Guardrails** judge what would really run, on resolved paths.
2. **Pre hooks** may block, or change the arguments; then these are validated and judged again.
3. **Confirmation** asks somebody, where the mode says so. An edit is validated and judged again; a pause comes back
   here with `call.approved`, and hooks may then block but no longer change.
4. A **dry run** stops here and tells what would be done.
5. The tool is awaited: here, and nowhere else.
6. **Post hooks** see the outcome and may add to it, never take from it.
7. One **record** is written, with the rule that decided.

A stage says no by raising `Refused`; whatever else goes wrong in one is a refusal too. What the tool raises passes
through, with the notes of the stages below it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from opentelemetry.trace import Tracer
from pydantic import ValidationError
from pydantic_ai import ApprovalRequired, CallDeferred, ModelRetry, ToolReturn
from pydantic_ai.exceptions import ToolFailed

from toolhaft.exceptions import describe
from toolhaft.pipeline.answer import failure_with_notes, text_of, with_notes
from toolhaft.pipeline.call import Call, Refused, RunTool, Stage
from toolhaft.pipeline.confirmation import MODES, AbortedError, Answerer, Confirmation, Filing, Mode, shown_call
from toolhaft.pipeline.consents import Consents
from toolhaft.pipeline.guardrails import Admission, Guardrails
from toolhaft.pipeline.hooks import HookEvent, Hooks
from toolhaft.pipeline.preview import Preview
from toolhaft.pipeline.record import Record, recorded
from toolhaft.workspace.current import judged

Validate = Callable[[Mapping[str, Any]], dict[str, Any]]
"""Checks and converts arguments as pydantic-ai does before a call; raises `ValidationError`."""


@dataclass(frozen=True, kw_only=True)
class Pipeline:
    """The rules of an agent's calls. One pipeline serves any number of calls at once, of any number of agents.

    ```python
    Pipeline(mode="yolo", guardrails=Guardrails(protected_files=["*.lock"]))
    ```
    """

    mode: Mode = "confirm-sensitive"
    guardrails: Guardrails = field(default_factory=Guardrails)
    hooks: Hooks = field(default_factory=Hooks)
    answerer: Answerer | None = None
    """Who answers when somebody is to be asked. None: the run pauses where it can, else the call is refused."""

    filing: Filing | None = None
    """Where calls that wait are written down, and who may run them then."""

    dry_run: bool = False
    consents: Consents = field(default_factory=Consents)

    def __post_init__(self) -> None:
        if self.mode not in MODES:
            raise ValueError(f"mode={self.mode!r} is none. Use one of {', '.join(MODES)}.")

    async def run(
        self, call: Call, *, validate: Validate, tool: RunTool, tracer: Tracer | None = None
    ) -> ToolReturn[Any]:
        """The tool's answer to `call`, if the stages let it run.

        Raises `Refused`, `ApprovalRequired` where the run can wait for somebody, `AbortedError` where somebody ended
        it, and what the tool raises.
        """
        with recorded(call, tracer) as record:
            way = _Way(call, record, validate)
            try:
                told = await self._admitted(way)
                return await self._run(way, tool) if told is None else told
            finally:
                way.settle()

    async def admit(
        self, call: Call, *, validate: Validate, tracer: Tracer | None = None
    ) -> Mapping[str, Any] | ToolReturn[Any]:
        """The arguments with which a tool that is not awaited here may run, or in a dry run what it would do.

        For tools that reach an agent by another way than ours. Raises what `run` raises before the tool.
        """
        with recorded(call, tracer) as record:
            way = _Way(call, record, validate)
            record.outcome = "admitted"
            told = await self._admitted(way)
            way.succeeded = told is None
            way.settle()
            return way.call.args if told is None else told

    async def _admitted(self, way: _Way) -> ToolReturn[Any] | None:
        """Take a call through the stages before the tool; in a dry run, the answer."""
        try:
            await self._judge(way)
            await self._call_hooks(way)
            if self.dry_run:
                return await self._told(way)
            await self._confirm(way)
        except _MEANT:
            raise
        except Exception as error:
            raise _broken(way, error) from error
        return None

    @property
    def _confirmation(self) -> Confirmation:
        return Confirmation(mode=self.mode, answerer=self.answerer, consents=self.consents, filing=self.filing)

    async def _judge(self, way: _Way) -> None:
        way.settle()
        way.stage = "guardrails"
        way.admission = await self.guardrails.admit(way.call, preview=way.preview)

    async def _call_hooks(self, way: _Way) -> None:
        if not self.hooks.has(HookEvent.PRE_TOOL_USE):
            return
        way.stage = "hooks"
        before = await self.hooks.before_call(way.call)
        way.notes += before.context
        if before.args is not None:  # never those of an approved call
            way.take(before.args, by="hooks")
            await self._judge(way)

    async def _confirm(self, way: _Way) -> None:
        way.stage = "confirmation"
        confirmation = self._confirmation
        need = await confirmation.needed(way.call)
        if need is None:
            return
        if way.call.approved:
            way.is_filed = self.filing is not None
            return
        edited = await confirmation.ask(way.call, need, await way.preview())
        if edited is not None:
            way.take(edited, by="confirmation", approved=True)
            await self._judge(way)
            await self._call_hooks(way)
            way.notes.append(f"Approved with edited arguments: {shown_call(way.call)}")

    async def _told(self, way: _Way) -> ToolReturn[Any]:
        way.stage = "confirmation"
        need = await self._confirmation.needed(way.call)
        preview = await way.preview()
        told = [f"[DRY-RUN] Would run: {shown_call(way.call)}"]
        if need is not None:
            told.append(f"It would need approval: {need.message or need.reason}.")
        told.append(str(preview.return_value) if preview else "There is no preview of what it would do.")
        way.record.outcome = "dry_run"
        facts: dict[str, Any] = dict(preview.metadata or {}) if preview else {}
        answer = ToolReturn(return_value="\n\n".join(told), metadata={**facts, "dry_run": True})
        return with_notes(answer, way.remarks)

    async def _run(self, way: _Way, tool: RunTool) -> ToolReturn[Any]:
        try:
            with judged():
                answer = await self._awaited(way, tool)
        except (ModelRetry, ToolFailed) as error:
            if refusal := self.guardrails.refused(error):
                raise refusal from error
            if notes := await self._notes(way, succeeded=False, output=error.message):
                raise failure_with_notes(error, notes) from error
            raise
        way.succeeded, way.facts = True, answer.metadata or {}
        return with_notes(answer, await self._notes(way, succeeded=True, output=text_of(answer)))

    async def _awaited(self, way: _Way, tool: RunTool) -> ToolReturn[Any]:
        if not way.is_filed or self.filing is None:
            return await tool(dict(way.call.args))
        preview = await way.preview()
        facts: Mapping[str, Any] = (preview.metadata or {}) if preview else {}
        async with self.filing.execution(way.call, plan_id=facts.get("plan_id")) as execution:
            way.notes += execution.notes
            if execution.answer is None:  # else it ran before, and what it answered did not reach the model
                execution.answer = await tool(dict(way.call.args))
            return execution.answer

    async def _notes(self, way: _Way, *, succeeded: bool, output: str) -> list[str]:
        has_listener = self.hooks.has(HookEvent.POST_TOOL_USE) or (not succeeded and self.hooks.has(HookEvent.ON_ERROR))
        if not has_listener:
            return way.remarks
        return [*way.remarks, *await self.hooks.after_call(way.call, succeeded=succeeded, output=output)]


# What a stage, or the preview that it asks, raises to say something. Anything else says that it is broken.
_MEANT = (ToolFailed, ModelRetry, ApprovalRequired, CallDeferred, AbortedError)


def _broken(way: _Way, error: Exception) -> Refused:
    return Refused(
        f"the {way.stage} stage failed on {way.call.name!r} ({describe(error)}), so nothing has run.",
        stage=way.stage,
        rule="stage_failed",
    )


class _Way:
    """One call on its way: what the stages have made of it so far."""

    def __init__(self, call: Call, record: Record, validate: Validate) -> None:
        self.call = call
        self.record = record
        self.validate = validate
        self.stage: Stage = "guardrails"
        """The stage that is at work, to be named where it fails."""
        self.preview = Preview(call)
        self.admission: Admission | None = None
        self.notes: list[str] = []
        self.is_filed = False
        """Whether the approval stands in a store, which says who runs the call."""

        self.succeeded = False
        self.facts: Mapping[str, Any] = {}

    def take(self, args: Mapping[str, Any], *, by: Stage, approved: bool = False) -> None:
        """Go on with other arguments, if the tool takes them."""
        try:
            valid = self.validate(args)
        except ValidationError as error:  # not the model's mistake, so it must not read it as one
            raise Refused(
                f"the arguments that the {by} stage gave for {self.call.name!r} do not fit it: {error}",
                stage=by,
                rule="invalid_arguments",
            ) from error
        self.call = self.record.call = replace(self.call, args=valid, approved=approved)
        self.preview = Preview(self.call)

    @property
    def remarks(self) -> list[str]:
        """What the stages before the tool have to say to the model."""
        return [*(self.admission.warnings if self.admission else ()), *self.notes]

    def settle(self) -> None:
        """Let the limits count what was done, and give back what was not."""
        if self.admission is not None:
            self.admission.settle(self.succeeded, self.facts)
            self.admission = None
