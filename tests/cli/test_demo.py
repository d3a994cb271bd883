"""The demo believes no model: what a report says is counted again from the files."""

from collections.abc import Generator
from pathlib import Path

import pytest
from pydantic_ai.messages import ToolCallPart

from toolhaft.cli import demo
from toolhaft.cli.settings import Settings

Script = Generator[list[ToolCallPart], list[str], None]


def reporting(report: str | None) -> Script:
    if report is not None:
        yield [ToolCallPart("write_file", {"filepath": "REPORT.md", "content": report})]
    yield [ToolCallPart("submit", {"summary": "Done, says the model."})]


@pytest.mark.parametrize(
    ("report", "says"),
    [
        (None, "The agent wrote no REPORT.md."),
        ("| src/add.py | 9 | 1 |\n", "WRONG: src/add.py has not 9 lines"),
        ("| src/none.py | 1 | 1 |\n", "no such file"),
        ("nothing was counted\n", "nothing was counted"),
    ],
)
async def test_a_report_that_is_missing_or_untrue_fails_the_demo(
    project: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], report: str | None, says: str
) -> None:
    monkeypatch.setattr(demo, "survey", lambda *, repairs: reporting(report))

    status = await demo.run_demo(project, Settings())

    assert status == 1
    assert says in capsys.readouterr().out
