"""The span of a call stands in the trace of its run, whichever way the agent is instrumented."""

import json
import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import structlog
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import StatusCode
from pydantic_ai import Agent
from pydantic_ai.capabilities import Instrumentation
from pydantic_ai.models.instrumented import InstrumentationSettings
from pydantic_ai.toolsets import FunctionToolset

from tests.attach.agents import calling
from toolhaft import Toolkit
from toolhaft.pipeline.guardrails import Guardrails

CALLS = [
    ("read_file", {"filepath": "README.md"}),
    ("write_file", {"filepath": "uv.lock", "content": "api_key=sk-0123456789abcdef0123"}),
    ("deploy", {"where": "moon"}),
]


def deploy(where: str) -> str:
    return f"deployed to {where}"


@pytest.fixture
def traced() -> Iterator[tuple[InstrumentationSettings, InMemorySpanExporter]]:
    exporter, provider = InMemorySpanExporter(), TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    yield InstrumentationSettings(tracer_provider=provider), exporter
    provider.shutdown()


@pytest.mark.parametrize("way", ["capability", "agent"])
async def test_each_call_is_a_child_of_pydantic_ais_own_span_of_it(traced: Any, way: str, project: Path) -> None:
    settings, exporter = traced
    kit = Toolkit(project, mode="yolo", guardrails=Guardrails(protected_files=["uv.lock"]))
    agent = Agent(
        calling(CALLS),
        toolsets=[FunctionToolset([deploy])],
        capabilities=[kit, Instrumentation(settings=settings)] if way == "capability" else [kit],
    )
    if way == "agent":
        agent.instrument = settings

    await agent.run("Go.")

    spans: tuple[ReadableSpan, ...] = exporter.get_finished_spans()
    ours = {str(span.attributes["toolhaft.tool"]): span for span in spans if span.name == "toolhaft.call"}  # type: ignore[index]
    assert set(ours) == {"read_file", "write_file", "deploy"}
    parents = {span.context.span_id: span for span in spans}
    for name, span in ours.items():
        assert span.parent is not None
        parent = parents[span.parent.span_id]
        assert parent.attributes["gen_ai.tool.name"] == name  # type: ignore[index]
        assert span.context.trace_id == parent.context.trace_id
    assert {name: span.attributes["toolhaft.outcome"] for name, span in ours.items()} == {  # type: ignore[index]
        "read_file": "ok",
        "write_file": "refused",
        "deploy": "admitted",
    }
    refused = ours["write_file"]
    assert refused.attributes["toolhaft.rule"] == "protected_files"  # type: ignore[index]
    assert refused.status.status_code is StatusCode.ERROR
    assert "sk-0123456789abcdef0123" not in str(refused.attributes)


async def test_without_instrumentation_there_is_no_span(traced: Any, project: Path) -> None:
    _, exporter = traced

    await Agent(calling(CALLS[:1]), capabilities=[Toolkit(project)]).run("Go.")

    assert exporter.get_finished_spans() == ()


async def test_structlog_takes_the_record_of_a_call(project: Path, caplog: pytest.LogCaptureFixture) -> None:
    formatter = structlog.stdlib.ProcessorFormatter(
        foreign_pre_chain=[structlog.stdlib.add_log_level, structlog.stdlib.ExtraAdder()],
        processors=[
            structlog.stdlib.ProcessorFormatter.remove_processors_meta,
            structlog.processors.JSONRenderer(default=str),
        ],
    )
    caplog.set_level(logging.INFO, "toolhaft.calls")

    await Agent(calling(CALLS[:1]), capabilities=[Toolkit(project)]).run("Go.")

    [record] = [record for record in caplog.records if record.name == "toolhaft.calls"]
    written = json.loads(formatter.format(record))
    assert (written["tool"], written["outcome"], written["level"]) == ("read_file", "ok", "info")
    assert written["conversation_id"]
