"""Handing in the job."""

import pytest
from pydantic_ai import ModelRetry

from toolhaft import tool_spec
from toolhaft.tools import submit


async def test_it_answers_its_text() -> None:
    assert await submit("  Done. ") == "Done."


@pytest.mark.parametrize("summary", ["", "  ", "\n"])
async def test_a_blank_summary_is_for_the_model_to_mend(summary: str) -> None:
    with pytest.raises(ModelRetry, match="says nothing"):
        await submit(summary)


def test_it_is_not_sensitive() -> None:
    assert not tool_spec(submit).sensitive
