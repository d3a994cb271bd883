"""The law: what happens to a call, stage by stage."""

import asyncio
import logging
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from pydantic_ai import ApprovalRequired, ModelRetry, ToolReturn
from pydantic_ai.exceptions import ToolFailed

from tests.pipeline.calls import call_of, donate, look, pay, ran, through
from toolhaft import ToolText, base_tool, use_workspace
from toolhaft.pipeline.answer import with_notes
from toolhaft.pipeline.call import Refused
from toolhaft.pipeline.confirmation import Abort, AbortedError, Allow, Deny, Edit
from toolhaft.pipeline.guardrails import CodeRule, Guardrails
from toolhaft.pipeline.hooks import Block, Hook, Hooks
from toolhaft.pipeline.pipeline import Pipeline
from toolhaft.spec import tool_spec
from toolhaft.tools import write_file
from toolhaft.workspace.current import is_judged


def answering(answer: Any) -> Any:
    """An answerer that gives this answer, or raises it, and remembers what it was asked."""

    def answerer(tool: str, arguments: Mapping[str, Any], preview: ToolText) -> Any:
        answerer.asked.append((tool, dict(arguments), preview))  # type: ignore[attr-defined]
        if isinstance(answer, BaseException):
            raise answer
        return answer

    answerer.asked = []  # type: ignore[attr-defined]
    return answerer


class TestWhoIsAsked:
    async def test_a_tool_that_reads_runs_without_a_question(self) -> None:
        answer = await through(Pipeline(), look, {"what": "up"})

        assert answer.return_value == "saw up"

    async def test_a_sensitive_call_with_nobody_to_ask_is_refused_and_nothing_runs(self) -> None:
        with pytest.raises(Refused, match="there is nobody to ask. Nothing has run.") as refusal:
            await through(Pipeline(), pay, {"amount": 1})

        assert (refusal.value.stage, refusal.value.rule, ran) == ("confirmation", "confirmation", [])

    async def test_a_sensitive_call_pauses_the_run_where_it_can_be_paused(self) -> None:
        with pytest.raises(ApprovalRequired) as pause:
            await through(Pipeline(), pay, {"amount": 5}, can_pause=True)

        assert pause.value.metadata == {
            "reason": "sensitive",
            "message": "'pay' is a network tool",
            "preview": "would pay 5 to Ann",
            "arguments": {"amount": 5},
            "added": 5,
        }
        assert ran == []

    async def test_yolo_asks_nobody(self) -> None:
        await through(Pipeline(mode="yolo"), pay, {"amount": 1})

        assert ran == [("pay", {"amount": 1, "to": "Ann"})]

    async def test_confirm_all_asks_about_everything(self) -> None:
        with pytest.raises(Refused, match="every call is confirmed, 'look' too"):
            await through(Pipeline(mode="confirm-all"), look, {})

    async def test_an_approved_call_is_not_asked_about_again(self) -> None:
        await through(Pipeline(), pay, {"amount": 1}, approved=True)

        assert len(ran) == 1

    @pytest.mark.parametrize(("amount", "needs"), [(1, None), (101, "101 is a lot"), (7, "asks for"), (13, "I fear")])
    async def test_a_tool_that_is_asked_itself_decides(self, amount: int, needs: str | None) -> None:
        if needs is None:
            await through(Pipeline(), donate, {"amount": amount})
        else:
            with pytest.raises(Refused, match=needs):
                await through(Pipeline(), donate, {"amount": amount})

    async def test_a_tool_without_a_card_is_sensitive_and_has_no_preview(self) -> None:
        answerer = answering(False)

        with pytest.raises(Refused, match="Cancelled by user"):
            await through(Pipeline(answerer=answerer), look, {}, spec=None, sensitive=True)

        assert "There is no preview" in answerer.asked[0][2]

    def test_an_unknown_mode_is_an_error(self) -> None:
        with pytest.raises(ValueError, match="mode='yes' is none. Use one of yolo, confirm-sensitive, confirm-all"):
            Pipeline(mode="yes")  # type: ignore[arg-type]


class TestAnswers:
    @pytest.mark.parametrize("answer", [True, Allow()])
    async def test_allow_runs_the_call(self, answer: Any) -> None:
        answerer = answering(answer)

        done = await through(Pipeline(answerer=answerer), pay, {"amount": 5})

        assert done.return_value == "paid 5 to Ann"
        [(tool, arguments, preview)] = answerer.asked
        assert (tool, arguments, preview.facts["reason"]) == ("pay", {"amount": 5}, "sensitive")
        assert preview == "'pay' is a network tool\n\nwould pay 5 to Ann"

    @pytest.mark.parametrize(("answer", "text"), [(False, "Cancelled by user."), (Deny("too much"), "user: too much")])
    async def test_deny_refuses_the_call_and_gives_the_reason(self, answer: Any, text: str) -> None:
        with pytest.raises(Refused, match=text):
            await through(Pipeline(answerer=answering(answer)), pay, {"amount": 5})

        assert ran == []

    async def test_edit_runs_with_other_arguments_and_tells_the_model(self) -> None:
        answer = await through(Pipeline(answerer=answering(Edit({"amount": "3", "to": "Bob"}))), pay, {"amount": 5})

        assert ran == [("pay", {"amount": 3, "to": "Bob"})]
        assert answer.return_value == "paid 3 to Bob\n\nApproved with edited arguments: pay(amount=3, to='Bob')"

    async def test_an_edit_that_does_not_fit_the_tool_is_a_refusal(self) -> None:
        with pytest.raises(Refused, match="the arguments that the confirmation stage gave for 'pay' do not fit it"):
            await through(Pipeline(answerer=answering(Edit({"amount": "much"}))), pay, {"amount": 5})

        assert ran == []

    async def test_abort_ends_everything(self) -> None:
        with pytest.raises(AbortedError, match="Cancelled by user: 'pay' did not run."):
            await through(Pipeline(answerer=answering(Abort())), pay, {"amount": 5})

        assert ran == []

    @pytest.mark.parametrize("answer", [RuntimeError("gone home"), "yes", None, 1.0])
    async def test_an_answerer_that_raises_or_gives_no_answer_refuses(self, answer: Any) -> None:
        with pytest.raises(Refused) as refusal:
            await through(Pipeline(answerer=answering(answer)), pay, {"amount": 5})

        assert (refusal.value.rule, ran) == ("answerer_failed", [])

    async def test_an_answerer_may_be_async(self) -> None:
        async def answerer(tool: str, arguments: Mapping[str, Any], preview: ToolText) -> bool:
            await asyncio.sleep(0)
            return True

        await through(Pipeline(answerer=answerer), pay, {"amount": 5})

        assert len(ran) == 1

    async def test_always_holds_for_the_tool_in_its_conversation_until_it_is_revoked(self) -> None:
        answerer = answering(Allow(always=True))
        pipeline = Pipeline(answerer=answerer)

        await through(pipeline, pay, {"amount": 1})
        await through(pipeline, pay, {"amount": 2})
        await through(pipeline, pay, {"amount": 3}, conversation_id="other")
        pipeline.consents.revoke("talk")
        await through(pipeline, pay, {"amount": 4})

        assert [arguments["amount"] for _, arguments, _ in answerer.asked] == [1, 3, 4]

    async def test_a_failing_preview_is_the_failure_of_the_call_and_nobody_is_asked(self) -> None:
        async def preview() -> ToolText:
            raise ModelRetry("Name a file.")

        @base_tool(kind="write", preview=preview)
        async def change() -> str:
            """Change something."""
            return "changed"

        answerer = answering(True)
        with pytest.raises(ModelRetry, match="Name a file"):
            await through(Pipeline(answerer=answerer), change, {})

        assert answerer.asked == []


class TestDryRun:
    async def test_it_tells_what_would_be_done_and_asked_and_does_nothing(self) -> None:
        answerer = answering(True)

        answer = await through(Pipeline(dry_run=True, answerer=answerer), pay, {"amount": 5})

        assert answer.return_value == (
            "[DRY-RUN] Would run: pay(amount=5)\n\nIt would need approval: 'pay' is a network tool.\n\n"
            "would pay 5 to Ann"
        )
        assert answer.metadata == {"added": 5, "dry_run": True}
        assert (ran, answerer.asked) == ([], [])

    async def test_of_a_tool_without_preview_it_says_so(self) -> None:
        answer = await through(Pipeline(dry_run=True), look, {})

        assert answer.return_value == "[DRY-RUN] Would run: look()\n\nThere is no preview of what it would do."


class TestTheRun:
    async def test_the_answer_is_text_and_facts(self) -> None:
        answer = await through(Pipeline(mode="yolo"), pay, {"amount": 5})

        assert (type(answer.return_value), answer.metadata) == (str, {"paid": 5})

    @pytest.mark.parametrize(("amount", "error"), [(-1, ModelRetry), (2_000, ToolFailed)])
    async def test_what_the_tool_raises_passes(self, amount: int, error: type[Exception]) -> None:
        with pytest.raises(error):
            await through(Pipeline(mode="yolo"), pay, {"amount": amount})

    async def test_a_tool_knows_that_it_was_judged(self) -> None:
        @base_tool(kind="read")
        async def ask() -> str:
            """Tell whether it was judged."""
            return str(is_judged())

        assert (await through(Pipeline(), ask, {})).return_value == "True"
        assert await ask() == "False"

    async def test_a_tool_that_is_not_awaited_here_is_admitted_with_its_arguments(self) -> None:
        call = call_of(pay, {"amount": 5}, spec=None)
        validate = tool_spec(pay).validate

        assert await Pipeline(mode="yolo").admit(call, validate=validate) == {"amount": 5}
        with pytest.raises(Refused):
            await Pipeline().admit(call, validate=validate)
        told = await Pipeline(dry_run=True).admit(call, validate=validate)
        assert isinstance(told, ToolReturn)
        assert ran == []


class TestNotes:
    def test_they_stand_below_text_and_beside_what_is_no_text(self) -> None:
        text = with_notes(ToolReturn(return_value="text"), ["a", "b"])
        parts = with_notes(ToolReturn(return_value=["text"]), ["a"])
        value = with_notes(ToolReturn(return_value={"x": 1}, content="c"), ["a"])

        assert text.return_value == "text\n\na\n\nb"
        assert parts.return_value == ["text", "a"]
        assert (value.return_value, value.content) == ({"x": 1}, ["c", "a"])


class TestRecord:
    @pytest.mark.parametrize(
        ("pipeline", "args", "outcome", "stage", "rule"),
        [
            (Pipeline(mode="yolo"), {"amount": 1}, "ok", "run", None),
            (Pipeline(mode="yolo"), {"amount": -1}, "retry", "run", None),
            (Pipeline(mode="yolo"), {"amount": 2_000}, "failed", "run", None),
            (Pipeline(), {"amount": 1}, "refused", "confirmation", "confirmation"),
            (Pipeline(answerer=answering(Abort())), {"amount": 1}, "aborted", "confirmation", "answer"),
            (Pipeline(dry_run=True), {"amount": 1}, "dry_run", "run", None),
        ],
    )
    async def test_every_call_is_one_record_with_the_rule_that_decided(
        self, pipeline: Pipeline, args: dict[str, Any], outcome: str, stage: str, rule: str | None, caplog: Any
    ) -> None:
        caplog.set_level(logging.INFO, logger="toolhaft.calls")

        with suppress(AbortedError, ModelRetry, ToolFailed):
            await through(pipeline, pay, args)

        [record] = [record for record in caplog.records if record.name == "toolhaft.calls"]
        assert (record.tool, record.outcome, record.stage, record.rule) == ("pay", outcome, stage, rule)
        assert (record.call_id, record.conversation_id) == ("c1", "talk")
        assert record.tool_arguments == f"amount={args['amount']}"
        assert record.duration_ms >= 0

    async def test_secrets_are_redacted(self, caplog: Any) -> None:
        @base_tool(kind="read")
        async def log_in(password: str) -> str:
            """Log in."""
            return "in"

        caplog.set_level(logging.INFO, logger="toolhaft.calls")
        await through(Pipeline(), log_in, {"password": "hunter2"})

        assert "hunter2" not in str([vars(record) for record in caplog.records])

    async def test_a_pause_and_a_cancellation_are_recorded_as_such(self, caplog: Any) -> None:
        @base_tool(kind="read")
        async def wait() -> str:
            """Wait."""
            raise asyncio.CancelledError

        caplog.set_level(logging.INFO, logger="toolhaft.calls")
        with pytest.raises(ApprovalRequired):
            await through(Pipeline(), pay, {"amount": 1}, can_pause=True)
        with pytest.raises(asyncio.CancelledError):
            await through(Pipeline(), wait, {})

        assert [record.outcome for record in caplog.records] == ["paused", "cancelled"]

    async def test_a_span_in_the_trace_of_the_run_has_the_same_facts(self) -> None:
        exporter = InMemorySpanExporter()
        provider = TracerProvider()
        provider.add_span_processor(SimpleSpanProcessor(exporter))
        call = call_of(pay, {"amount": 1})

        with pytest.raises(Refused):
            await Pipeline().run(
                call,
                validate=tool_spec(pay).validate,
                tool=pay,
                tracer=provider.get_tracer("test"),  # type: ignore[arg-type]
            )

        [span] = exporter.get_finished_spans()
        assert span.name == "toolhaft.call"
        assert span.attributes is not None
        assert (span.attributes["toolhaft.outcome"], span.attributes["toolhaft.rule"]) == ("refused", "confirmation")
        assert not span.status.is_ok


class TestHooks:
    """The pipeline's side of hooks; what a hook can do is in `test_hooks`."""

    async def test_what_a_pre_hook_changes_is_validated_and_judged_again(self) -> None:
        hook = Hook("pre_tool_use", "halve", function=lambda told: {"updatedInput": {"amount": "3"}})
        answerer = answering(True)

        await through(Pipeline(hooks=Hooks([hook]), answerer=answerer), pay, {"amount": 6})

        assert ran == [("pay", {"amount": 3, "to": "Ann"})]
        assert answerer.asked[0][1] == {"amount": 3, "to": "Ann"}

    async def test_what_does_not_fit_the_tool_is_the_hooks_fault(self) -> None:
        hook = Hook("pre_tool_use", "spoil", function=lambda told: {"updatedInput": {"amount": "much"}})

        with pytest.raises(Refused, match="the arguments that the hooks stage gave for 'pay' do not fit it"):
            await through(Pipeline(mode="yolo", hooks=Hooks([hook])), pay, {"amount": 6})

    async def test_of_an_approved_call_hooks_change_nothing_but_may_block_it(self) -> None:
        change = Hook("pre_tool_use", "change", function=lambda told: {"updatedInput": {"amount": 1}})

        await through(Pipeline(hooks=Hooks([change])), pay, {"amount": 6}, approved=True)
        assert ran == [("pay", {"amount": 6, "to": "Ann"})]

        def block(told: Any) -> None:
            raise Block("closed today")

        with pytest.raises(Refused, match="Blocked by hook shut: closed today"):
            await through(
                Pipeline(hooks=Hooks([Hook("pre_tool_use", "shut", function=block)])),
                pay,
                {"amount": 6},
                approved=True,
            )

    async def test_hooks_may_block_what_was_edited(self) -> None:
        def block(told: Any) -> None:
            if told["tool_input"]["amount"] == 7:
                raise Block("unlucky")

        hooks = Hooks([Hook("pre_tool_use", "numbers", function=block)])

        with pytest.raises(Refused, match="unlucky"):
            await through(Pipeline(hooks=hooks, answerer=answering(Edit({"amount": 7}))), pay, {"amount": 6})

    @pytest.mark.parametrize("amount", [5, -1, 2_000])
    async def test_what_post_hooks_say_is_added_to_success_and_failure(self, amount: int) -> None:
        hooks = Hooks([Hook("post_tool_use", "lint", function=lambda told: {"additionalContext": "lint: ok"})])

        try:
            answer = await through(Pipeline(mode="yolo", hooks=hooks), pay, {"amount": amount})
            text = str(answer.return_value)
        except (ModelRetry, ToolFailed) as error:
            text = error.message

        assert text.endswith("\n\nlint: ok")

    async def test_a_failure_of_a_tool_is_told_to_whoever_waits_for_errors(self) -> None:
        heard: list[Any] = []
        hooks = Hooks([Hook("on_error", "spy", function=heard.append)])

        with pytest.raises(ToolFailed):
            await through(Pipeline(mode="yolo", hooks=hooks), pay, {"amount": 2_000})

        assert [told["event"] for told in heard] == ["on_error"]


class TestGuardrails:
    """The pipeline's side of guardrails; their rules are in `test_guardrails`."""

    async def test_they_come_before_hooks_and_before_anybody_is_asked(self, tmp_path: Path) -> None:
        heard: list[Any] = []
        pipeline = Pipeline(
            guardrails=Guardrails(protected_files=["a.txt"]),
            hooks=Hooks([Hook("pre_tool_use", "spy", function=heard.append)]),
            answerer=answering(True),
        )

        with use_workspace(tmp_path), pytest.raises(Refused, match="Guardrail: .*protected_files") as refusal:
            await through(pipeline, write_file, {"filepath": "./a.txt", "content": "x"})

        assert (refusal.value.stage, heard) == ("guardrails", [])

    async def test_what_an_edit_asks_for_is_judged_too(self, tmp_path: Path) -> None:
        edit = answering(Edit({"filepath": "a.txt", "content": "x"}))
        pipeline = Pipeline(guardrails=Guardrails(protected_files=["a.txt"]), answerer=edit)

        with use_workspace(tmp_path), pytest.raises(Refused, match="protected_files"):
            await through(pipeline, write_file, {"filepath": "b.txt", "content": "x"})

        assert list(tmp_path.iterdir()) == []

    async def test_warnings_are_added_to_the_answer(self, tmp_path: Path) -> None:
        rule = CodeRule(pattern="breakpoint", severity="warn", message="take it out")
        pipeline = Pipeline(mode="yolo", guardrails=Guardrails(code_rules=[rule]))

        with use_workspace(tmp_path):
            answer = await through(pipeline, write_file, {"filepath": "a.py", "content": "breakpoint()\n"})

        assert "take it out" in str(answer.return_value)

    async def test_a_limit_counts_what_succeeded(self, tmp_path: Path) -> None:
        pipeline = Pipeline(mode="yolo", guardrails=Guardrails(max_files_modified=1))
        (tmp_path / "there.txt").write_text("")
        new = {"filepath": "a.txt", "content": "x"}

        with use_workspace(tmp_path):
            with pytest.raises(ModelRetry):
                await through(pipeline, write_file, {**new, "filepath": "there.txt"})
            await through(pipeline, write_file, new)
            with pytest.raises(Refused, match="max_files_modified"):
                await through(pipeline, write_file, {**new, "filepath": "b.txt"})
