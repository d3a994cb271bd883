"""What is written down about every call: one log record and one span, whatever became of it.

The record goes to the logger `toolhaft.calls` at level INFO. Its parts are attributes: `tool`, `tool_arguments`
(shortened, secrets redacted), `call_id`, `conversation_id`, `outcome`, `stage`, `rule`, `source`, `duration_ms`. The
span `toolhaft.call` has the same, in pydantic-ai's own trace.

| outcome | |
|---|---|
| ok, retry, failed, cancelled | how the tool ended |
| dry_run | it was told what would be done |
| refused | a stage said no: `stage`, `rule`, `source` say which |
| paused | it waits for somebody |
| aborted | somebody ended the whole run |
"""

from __future__ import annotations

import logging
import time
from collections.abc import Generator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass

from opentelemetry.trace import NoOpTracer, StatusCode, Tracer
from pydantic_ai import ApprovalRequired, CallDeferred, ModelRetry
from pydantic_ai.exceptions import ToolFailed

from toolhaft.call_log import shown_arguments
from toolhaft.pipeline.call import Call, Refused
from toolhaft.pipeline.confirmation import AbortedError

LOGGER = logging.getLogger("toolhaft.calls")


@dataclass(slots=True)
class Record:
    """What is known about a call so far; the stages write on it."""

    call: Call
    outcome: str = "ok"
    stage: str = "run"
    rule: str | None = None
    source: str | None = None


def recorded(call: Call, tracer: Tracer | None = None) -> AbstractContextManager[Record]:
    """A record of the call, written when the block ends, however it ends."""
    record = Record(call)
    if tracer is not None and not isinstance(tracer, NoOpTracer):
        return _traced(record, tracer)
    return _logged(record) if LOGGER.isEnabledFor(logging.INFO) else nullcontext(record)


@contextmanager
def _traced(record: Record, tracer: Tracer) -> Generator[Record]:
    with tracer.start_as_current_span("toolhaft.call", set_status_on_exception=False, record_exception=False) as span:
        try:
            with _logged(record):
                yield record
        finally:
            span.set_attributes({f"toolhaft.{name}": fact for name, fact in _facts(record).items() if fact is not None})
            if record.outcome in ("refused", "failed", "aborted"):
                span.set_status(StatusCode.ERROR)


@contextmanager
def _logged(record: Record) -> Generator[Record]:
    started = time.perf_counter()
    try:
        yield record
    except BaseException as error:
        _note_end(record, error)
        raise
    finally:
        duration_ms = (time.perf_counter() - started) * 1_000
        facts = {**_facts(record), "duration_ms": duration_ms}
        by = f" by {record.stage} ({record.rule})" if record.rule else ""
        LOGGER.info("%s %s%s in %.1f ms", record.call.name, record.outcome, by, duration_ms, extra=facts)


def _note_end(record: Record, error: BaseException) -> None:
    if isinstance(error, Refused):
        record.outcome, record.stage = "refused", error.stage
        record.rule, record.source = error.rule, error.source
    elif isinstance(error, ApprovalRequired | CallDeferred):
        record.outcome = "paused"
    elif isinstance(error, AbortedError):
        record.outcome, record.stage, record.rule = "aborted", "confirmation", "answer"
    elif isinstance(error, ModelRetry):
        record.outcome = "retry"
    else:
        record.outcome = "failed" if isinstance(error, ToolFailed | Exception) else "cancelled"


def _facts(record: Record) -> dict[str, str | None]:
    call = record.call
    return {
        "tool": call.name,
        "tool_arguments": shown_arguments(call.args),
        "call_id": call.call_id,
        "conversation_id": call.conversation_id,
        "outcome": record.outcome,
        "stage": record.stage,
        "rule": record.rule,
        "source": record.source,
    }
