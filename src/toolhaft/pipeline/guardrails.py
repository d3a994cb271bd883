"""Guardrails: rules that hold for every call, asked before anybody else and whatever the mode.

They judge what would really be done: paths where they lead, commands as bash would run them, and the lines that a file
would get. Nothing that a model says turns them off. Each check can be asked alone, without a pipeline or an agent.
"""

from __future__ import annotations

import asyncio
import logging
import posixpath
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, TypeVar

from pydantic_ai import ToolReturn
from pydantic_ai.workspaces import WorkspaceBackend

from toolhaft.pipeline.blocked_commands import BlockedCommands
from toolhaft.pipeline.call import Call, Refused
from toolhaft.pipeline.code_rules import Addition, CodeRule, CodeRules
from toolhaft.pipeline.file_rules import FileRules
from toolhaft.pipeline.gates import QualityGate
from toolhaft.pipeline.intent import Intent, intent_by_arguments, intent_by_facts, use_in
from toolhaft.pipeline.limits import Excess, Limits, Reservation, Use
from toolhaft.pipeline.refusal import Refusal, Sources
from toolhaft.pipeline.runs_tests import runs_tests
from toolhaft.pipeline.touched import Touched, is_foreign, read_paths, touched_by
from toolhaft.registry import Registry
from toolhaft.shell import PathUse, Verdict
from toolhaft.spec import ToolKind, tool_spec
from toolhaft.workspace import workspace

__all__ = ["Admission", "CodeRule", "Guardrails", "QualityGate", "Refusal"]

Preview = Callable[[], Awaitable[ToolReturn[Any] | None]]
T = TypeVar("T")

# Judging a longer text takes longer than the event loop may wait for.
_LONG = 8_000
_log = logging.getLogger("toolhaft.guardrails")


@dataclass(frozen=True, slots=True)
class Admission:
    """A call that the guardrails let pass. `warnings` belong to its answer; settle it once, when the call is over."""

    warnings: list[str] = field(default_factory=list[str])
    settled: Callable[[bool, Mapping[str, Any]], None] | None = None

    def settle(self, succeeded: bool, facts: Mapping[str, Any]) -> None:
        """Count what the call did, as its facts tell, and give back what was reserved for it."""
        if self.settled is not None:
            self.settled(succeeded, facts)


class Guardrails:
    """Deterministic rules for calls. One object serves any number of conversations at once; counts are kept in memory.

    ```python
    rails = Guardrails(protected_files=["*.lock"], max_files_modified=10)
    rails.check_file_access("uv.lock", "edit_file")
    ```

    Args:
        protected_files: Globs of files that are not changed, as in `workspace/sensitive.py`.
        sensitive_files: Globs of files that are neither read nor changed.
        blocked_commands: Regular expressions (ripgrep's); a command in which one is found is refused.
        max_files_modified: How many files a conversation may change.
        max_lines_changed: How many lines it may add and remove.
        max_commands_executed: How many commands it may run.
        require_test_after_edit: Refuse to end before a test tool has run after the last edit and ended with 0.
        quality_gates: Commands that must end with 0 at the end.
        code_rules: What no added line may match.
        sources: Where each rule is written, by its name or its place in a list (`code_rules[2]`).
    """

    def __init__(
        self,
        *,
        protected_files: Sequence[str] = (),
        sensitive_files: Sequence[str] = (),
        blocked_commands: Sequence[str] = (),
        max_files_modified: int | None = None,
        max_lines_changed: int | None = None,
        max_commands_executed: int | None = None,
        require_test_after_edit: bool = False,
        quality_gates: Sequence[QualityGate | Mapping[str, Any]] = (),
        code_rules: Sequence[CodeRule | Mapping[str, Any]] = (),
        sources: Mapping[str, str] | None = None,
    ) -> None:
        self._sources = Sources(sources or {})
        self._files = FileRules(sensitive_files=sensitive_files, protected_files=protected_files, sources=self._sources)
        self._blocked = BlockedCommands(blocked_commands, self._sources)
        self._code_rules = CodeRules(code_rules, self._sources)
        self._quality_gates = self._sources.each("quality_gates", quality_gates, _quality_gate)
        self._require_test = require_test_after_edit
        self._limits = Limits(
            max_files_modified=max_files_modified,
            max_lines_changed=max_lines_changed,
            max_commands_executed=max_commands_executed,
        )
        self._counts_changes = require_test_after_edit or (max_files_modified, max_lines_changed) != (None, None)
        self._counts = self._counts_changes or max_commands_executed is not None
        self._is_plain = not (self._counts or self._files or self._blocked or self._code_rules)

    def check_file_access(self, path: str, tool: str) -> Refusal | None:
        """Why the tool of this name may not touch a path of the current workspace; a tool not known here may write."""
        return self._files.broken_now([PathUse(path, "read" if _only_reads(tool) else "write")])

    def check_command(self, command: str) -> Refusal | None:
        """Why a command may not run: it is blocked, or names a file that it may not read or change."""
        verdict, refusal = self._judge_command(command)
        return refusal or self._files.broken_now(verdict.paths)

    def check_edit_limits(self, path: str, added: int, removed: int, *, conversation_id: str = "") -> Refusal | None:
        """Why a conversation may not change so many lines of this file; nothing is counted by asking."""
        use = Use(files=frozenset({workspace().shown(path)}), lines=added + removed)
        excess = self._limits.check(conversation_id, use)
        return None if excess is None else self._sources.refusal(excess.rule, excess.reason)

    def check_code_rules(self, path: str, text: str) -> Refusal | None:
        """The rule of severity `block` that this text, added to a file, would break."""
        return self._code_rules.judge([Addition(paths=(path,), text=text)])[0]

    async def run_quality_gates(self) -> list[Refusal]:
        """The required quality gates that the current workspace does not pass now; none of them is a pass."""
        failures: list[Refusal] = []
        for place, gate in enumerate(self._quality_gates):
            failure = await gate.failure()
            if failure is not None and gate.required:
                failures.append(self._sources.refusal("quality_gates", failure, place))
            elif failure is not None:
                _log.warning("%s", failure)
        return failures

    def over(self, place: WorkspaceBackend) -> WorkspaceBackend:
        """The same folder, with the rules on files in everything that is read, searched, written and run there.

        The same folder gives the same answer. Another workspace than a `LocalWorkspace`, and one behind a policy
        wrapper, comes back as it is: there, what a call names is all that is judged.
        """
        return self._files.over(place)

    async def admit(self, call: Call, *, preview: Preview) -> Admission:
        """Let a call pass, or raise `Refused`. `preview` is asked only where a rule must know what would change.

        Raises what the preview raises, which is what the tool would raise.
        """
        foreign = is_foreign(call)
        if self._is_plain and not foreign and call.kind is not ToolKind.SHELL:
            return Admission()
        only_reads = call.kind is ToolKind.READ and not foreign
        if only_reads and _is_built_in(call) and self._files.hold_here():
            _raise(self._files.broken_by_text(read_paths(call)))
            return Admission()
        touched = touched_by(call)
        await self._admit_paths(touched.paths + touched.suspects, and_workspace=foreign)
        if only_reads:
            return Admission()
        written = [use.path for use in touched.paths if use.access == "write"]
        for command in touched.commands:
            written += await self._admit_command(command, touched.cwd, and_workspace=foreign)
        intent = await self._intent(call, touched, written, preview)
        await self._admit_paths(intent.paths)
        warnings = await self._admit_text(intent.additions)
        return self._admission(call, touched, intent.use, warnings)

    def refused(self, error: BaseException) -> Refused | None:
        """What a pipeline raises instead of a tool's error, where the workspace refused a file in our name."""
        refusal = self._files.in_our_name(error)
        return None if refusal is None else refusal.as_error()

    async def gates(self, conversation_id: str) -> list[str]:
        """What keeps a run from ending, for the model to read: untested edits, quality gates that are not passed."""
        failures: list[Refusal] = []
        if self._require_test and (untested := self._limits.untested_edits(conversation_id)):
            reason = (
                f"{untested} edit{'s' if untested > 1 else ''} since the last test run that passed. Run the project's "
                "tests in the foreground, with nothing behind them (no pipe, no '|| true'), until they end with 0."
            )
            failures.append(self._sources.refusal("require_test_after_edit", reason))
        return [str(failure) for failure in [*failures, *await self.run_quality_gates()]]

    async def _admit_paths(self, paths: Sequence[PathUse], *, cwd: str = ".", and_workspace: bool = False) -> None:
        _raise(await self._files.broken_by(paths, cwd=cwd, and_workspace=and_workspace))

    async def _admit_command(self, command: str, cwd: str, *, and_workspace: bool) -> list[str]:
        """Judge a command; the paths that it says it writes."""
        verdict, refusal = await _off_loop(len(command), partial(self._judge_command, command))
        _raise(refusal)
        await self._admit_paths(verdict.paths, cwd=cwd, and_workspace=and_workspace)
        written = [use for use in verdict.paths if use.access == "write" and use.exact]
        return [posixpath.join(cwd, use.folder or "", use.path) for use in written]

    def _judge_command(self, command: str) -> tuple[Verdict, Refusal | None]:
        verdict = workspace().command_rules.classify(command)
        return verdict, self._blocked.refusal(command, verdict)

    async def _intent(self, call: Call, touched: Touched, written: Sequence[str], preview: Preview) -> Intent:
        names_no_file = bool(self._files) and not touched.paths
        needs_preview = self._counts_changes or bool(self._code_rules) or names_no_file
        told = None
        if needs_preview and call.kind is ToolKind.WRITE and not is_foreign(call):
            try:
                told = await preview()
            except Exception as error:
                if (refused := self.refused(error)) is not None:
                    raise refused from error
                raise
        return intent_by_arguments(call, touched, written) if told is None else intent_by_facts(told, touched)

    async def _admit_text(self, additions: Sequence[Addition]) -> list[str]:
        if not self._code_rules or not additions:
            return []
        size = sum(len(addition.text) for addition in additions)
        refusal, warnings = await _off_loop(size, partial(self._code_rules.judge, additions))
        _raise(refusal)
        return warnings

    def _admission(self, call: Call, touched: Touched, use: Use, warnings: list[str]) -> Admission:
        if not self._counts or use == Use():
            return Admission(warnings)
        reservation = self._limits.reserve(call.conversation_id, use)
        if isinstance(reservation, Excess):
            raise self._sources.refusal(reservation.rule, reservation.reason).as_error()
        tests = self._require_test and not is_foreign(call) and any(map(runs_tests, touched.commands))
        return Admission(warnings, partial(self._settle, reservation, use, tests))

    def _settle(
        self, reservation: Reservation, use: Use, tests: bool, succeeded: bool, facts: Mapping[str, Any]
    ) -> None:
        done = use_in(facts) if "files" in facts else use
        tested = succeeded and tests and facts.get("exit_code") == 0
        self._limits.settle(reservation, done if succeeded else None, tested=tested)


def _raise(refusal: Refusal | None) -> None:
    if refusal is not None:
        raise refusal.as_error()


async def _off_loop(size: int, work: Callable[[], T]) -> T:
    """The result of `work`, done in a thread where it is long."""
    return await asyncio.to_thread(work) if size > _LONG else work()


def _quality_gate(given: QualityGate | Mapping[str, Any]) -> QualityGate:
    return given if isinstance(given, QualityGate) else QualityGate(**given)


def _is_built_in(call: Call) -> bool:
    """Whether a tool is one of ours, which open files through the workspace and nowhere else."""
    return call.spec is not None and call.spec.function.__module__.startswith("toolhaft.tools.")


def _only_reads(tool: str) -> bool:
    known = Registry().register_all()
    return known.has(tool) and tool_spec(known.get(tool)).kind is ToolKind.READ
