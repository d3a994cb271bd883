"""What the toolkit adds to an agent's instructions: which of its tools to choose for what."""

from __future__ import annotations

from collections.abc import Container
from functools import cache

from toolhaft.prompts import read_document
from toolhaft.spec import tool_spec
from toolhaft.tools import submit


def instructions_for(names: Container[str]) -> str | None:
    """The sentences about the tools named, in the order in which to consider them; None where none is about them."""
    sentences = [sentence for name, sentence in _sentences() if name in names]
    return "\n".join(sentences) or None


@cache
def _sentences() -> tuple[tuple[str, str], ...]:
    """The tools that are to be chosen between, in order, and a sentence on each."""
    prompt = tool_spec(submit).prompt_file
    assert prompt is not None
    document = read_document(prompt.with_name("choosing_tools.xml"))
    return tuple((element.attributes["name"], element.text.strip()) for element in document.children)
