"""Who is asked before a call runs, and what they may answer.

No rule means ask, and nobody to ask means refuse. Only an answer, the mode `yolo` and an approval that came back with
the call are consent.
"""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

from pydantic_ai import ApprovalRequired, ToolReturn
from pydantic_core import to_jsonable_python

from toolhaft.call_log import shown_arguments
from toolhaft.exceptions import describe
from toolhaft.pipeline.call import Call, Refused
from toolhaft.pipeline.consents import Consents
from toolhaft.spec import NeedsApproval, ToolText

Mode = Literal["yolo", "confirm-sensitive", "confirm-all"]
MODES: tuple[Mode, ...] = ("yolo", "confirm-sensitive", "confirm-all")


@dataclass(frozen=True, slots=True)
class Allow:
    """Run it; `always` means: and whatever is like it, in this conversation."""

    always: bool = False


@dataclass(frozen=True, slots=True)
class Deny:
    """Do not run it; the model reads why and goes on."""

    reason: str = ""


@dataclass(frozen=True, slots=True)
class Edit:
    """Run it with these arguments instead. They are validated and judged as if the model had given them."""

    args: Mapping[str, Any] = field(default_factory=dict[str, Any])


@dataclass(frozen=True, slots=True)
class Abort:
    """Do not run it, and end the whole run."""


Answer = Allow | Deny | Edit | Abort | bool


class Answerer(Protocol):
    """Whoever answers, sync or async, given the tool's name, its arguments, and a text on what the call would do.

    The text's facts are `reason` (a code), `message`, and those of the tool's preview, such as its `diff`. It is asked
    only about a call that needs somebody; what it raises is a refusal.
    """

    def __call__(self, tool: str, arguments: Mapping[str, Any], preview: ToolText, /) -> Answer | Awaitable[Answer]: ...


class Execution(Protocol):
    """One run of an approved call. Whoever runs the tool sets `answer`; one that is set already is what it answered."""

    answer: ToolReturn[Any] | None
    notes: Sequence[str]
    """What the model is to know about the approval."""


class Filing(Protocol):
    """Where calls that wait for somebody are written down. With one, only what is decided there counts."""

    async def file(self, call: Call, question: ToolText) -> None:
        """Write down a call whose run cannot wait. Raises what keeps it from being written."""
        ...

    def execution(self, call: Call, *, plan_id: str | None) -> AbstractAsyncContextManager[Execution]:
        """Take an approved call to run it once; how the block ends is written down.

        Raises `Refused` where exactly this call was not approved, or somebody has taken it.
        """
        ...


class AbortedError(Exception):
    """The answerer ended everything: the tool was not awaited, and no other call is to run."""


class NoTerminalError(RuntimeError):
    """There is no terminal on which a person could be asked."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Confirmation:
    """The stage: whether somebody is asked about a call, and what becomes of it then."""

    mode: Mode
    answerer: Answerer | None
    consents: Consents
    filing: Filing | None = None

    async def needed(self, call: Call) -> NeedsApproval | None:
        """Why a call needs somebody's approval, whether or not it has it; None where it may run."""
        if self.mode == "yolo":
            return None
        need = await _need(call)
        if self.mode == "confirm-all":
            return need or NeedsApproval("confirm_all", f"every call is confirmed, {call.name!r} too")
        return None if need is None or self.consents.cover(call) else need

    async def ask(self, call: Call, need: NeedsApproval, preview: ToolReturn[Any] | None) -> Mapping[str, Any] | None:
        """The arguments to run with instead, None for those of the call; raises where it is not to run.

        Raises `ApprovalRequired` where nobody is here to answer and the run can wait, else `Refused`; `AbortedError`
        where the answer ends everything.
        """
        question = question_of(call, need, preview)
        if self.answerer is None:
            if call.can_pause:
                raise ApprovalRequired(question.facts)
            if self.filing is not None and not call.in_agent:
                await self._file(call, question)
                raise ApprovalRequired(question.facts)
            raise _denied(f"{call.name!r} needs approval ({need.message or need.reason}) and there is nobody to ask.")
        answer = await _answered(self.answerer, call, question)
        if isinstance(answer, Abort):
            raise AbortedError(f"Cancelled by user: {call.name!r} did not run.")
        if isinstance(answer, Deny):
            raise _denied("Cancelled by user" + (f": {answer.reason}" if answer.reason else "."))
        if isinstance(answer, Edit):
            return dict(answer.args)
        if answer.always:
            self.consents.add(call)
        return None

    async def _file(self, call: Call, question: ToolText) -> None:
        assert self.filing is not None
        try:
            await self.filing.file(call, question)
        except Exception as error:
            raise _denied(
                f"{call.name!r} could not be filed for approval: {describe(error)}.", rule="filing"
            ) from error


def question_of(call: Call, need: NeedsApproval, preview: ToolReturn[Any] | None) -> ToolText:
    """What somebody who is to decide reads: why it is asked, and what the call would do, or that nobody can tell."""
    shown = str(preview.return_value) if preview else "There is no preview: what it would do is known once it is done."
    text = "\n\n".join(part for part in (need.message, shown) if part)
    facts: dict[str, Any] = dict(preview.metadata or {}) if preview else {}
    asked = {"reason": need.reason, "message": need.message, "preview": shown, "arguments": _as_json(call.args)}
    return ToolText(text, **{**facts, **asked})


def _as_json(args: Mapping[str, Any]) -> Any:
    return to_jsonable_python(dict(args), bytes_mode="base64", serialize_unknown=True)


async def _need(call: Call) -> NeedsApproval | None:
    """What the tool's author says about this call: by asking the tool, else by its card."""
    spec = call.spec
    if spec is None or spec.approval is None:
        return NeedsApproval("sensitive", f"{call.name!r} is a {call.kind} tool") if call.sensitive else None
    try:
        answer = spec.approval(**call.args)
        if inspect.isawaitable(answer):
            answer = await answer
    except Exception as error:  # noqa: BLE001 - a stranger's function; what it cannot say is asked
        return NeedsApproval("approval_failed", f"whether it needs approval could not be told: {describe(error)}")
    if answer is None or answer is False:
        return None
    if isinstance(answer, NeedsApproval):
        return answer
    return NeedsApproval("asked_by_tool", f"{call.name!r} asks for approval")


async def _answered(answerer: Answerer, call: Call, question: ToolText) -> Allow | Deny | Edit | Abort:
    try:
        answer = answerer(call.name, dict(call.args), question)
        if inspect.isawaitable(answer):
            answer = await answer
    except NoTerminalError as error:
        raise _denied(f"No terminal to confirm: {error}", rule="no_terminal") from error
    except AbortedError:
        raise
    except Exception as error:
        raise _denied(f"nobody could answer for {call.name!r}: {describe(error)}", rule="answerer_failed") from error
    if isinstance(answer, bool):
        return Allow() if answer else Deny()
    if isinstance(answer, Allow | Deny | Edit | Abort):  # pyright: ignore[reportUnnecessaryIsInstance]
        return answer
    raise _denied(f"the answer for {call.name!r} was {answer!r}, which is none.", rule="answerer_failed")


def _denied(message: str, *, rule: str = "confirmation") -> Refused:
    return Refused(f"{message} Nothing has run.", stage="confirmation", rule=rule)


def shown_call(call: Call) -> str:
    """`name(arg=value, ...)`, shortened, secrets redacted."""
    return f"{call.name}({shown_arguments(call.args)})"
