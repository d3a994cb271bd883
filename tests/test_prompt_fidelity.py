"""What the XML says is what the model reads: any text, by every way there is to an agent."""

import os
import re
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pydantic_ai import FunctionToolset, Tool

from tests.one_call import prompt_file, shown_to_model
from toolhaft.attach.toolset import GovernedToolset
from toolhaft.decorators import base_tool
from toolhaft.spec import tool_spec

STRESS = 10 if os.environ.get("TOOLHAFT_STRESS") else 1

# Lines that griffe, in any of its three styles, may take for more than text.
HOSTILE_LINES = [
    "Examples:", "Example: one", "Note:", "Note: this", "Returns:", "Returns:\n    str: what", "Yields:", "Raises:",
    "Raises:\n    ValueError: if", "Args:", "Args:\n    path: leaks", "    path: indented", "Keyword Args:\n    path: x",  # noqa: E501
    "Other Parameters", "Parameters\n----------\npath : str\n    leaks", "Returns\n-------\nstr", "-------", "---",
    ":param path: leaks", ":param x:", " :param x: y", ":returns: x", ":rtype: str", ":raises ValueError: no", ":type:",
    ":type path: str", ":Param x: y", ":meta private:", "::", ":", "x:", "x: y", "- item: x", "Deprecated:", "1.0: x",
    "Attributes:", "Functions:", "Warns:", "Receives:", "!!! note", ">>> 1 + 1", "```python", "Summary", "", "  ", "\t",
    "É: x", "e-f: g", "\u2028Args:\n  path: x", "\x85Args:", "<b>Returns:</b>", "&amp;", "]]>", "tab\tinside",
]  # fmt: skip

CHARACTERS = st.characters(
    exclude_categories=["Cs", "Cc"], include_characters="\n\t\x85", exclude_characters="\ufffe\uffff"
)
SEPARATORS = st.sampled_from(["\n", "\n\n", "\n    ", "\n  ", " "])
PIECES = st.one_of(st.sampled_from(HOSTILE_LINES), st.text(CHARACTERS, max_size=12))


@st.composite
def texts(draw: st.DrawFn) -> str:
    pieces = draw(st.lists(PIECES, min_size=1, max_size=8))
    return "".join(piece + draw(SEPARATORS) for piece in pieces).strip()


any_text = texts().filter(bool)
many = settings(max_examples=600 * STRESS, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
some = settings(many, max_examples=100 * STRESS)


def tool_saying(text: str, folder: Path) -> Any:
    async def tool(path: str, x: int = 1) -> str:
        """Replaced."""
        return path

    return base_tool(prompt=prompt_file(folder, description=escape(text)))(tool)


LOOKS_LIKE_A_SECTION = re.compile(r"^[ \t]*:\w|^\s*\w[\s\w-]*:(\s|$)|^[ \t]*-{3,}\s*$", re.MULTILINE)


@many
@given(text=any_text)
def test_any_text_is_to_the_letter_in_the_card_and_whole_where_only_the_docstring_is_read(tmp_path: Path, text: str):
    """And the docstring is the text itself, wherever no line looks like the beginning of a section."""
    tool = tool_saying(text, tmp_path)
    bare = Tool(tool)

    assert tool_spec(tool).description == text
    assert tool_spec(tool).pydantic_tool().tool_def.description == text
    assert (bare.description or "").split() == text.split()
    assert "description" not in str(bare.function_schema.json_schema)
    assert tool.__doc__ == text or LOOKS_LIKE_A_SECTION.search(text)


@pytest.mark.parametrize("line", HOSTILE_LINES)
async def test_a_hostile_line_reaches_the_model_by_every_way(tmp_path: Path, line: str):
    text = f"Do it.\n\n{line}\n    more of it\n\nAnd the end."
    tool = tool_saying(text, tmp_path)

    by_toolset = await shown_to_model(toolsets=[FunctionToolset([tool_spec(tool).pydantic_tool()])])
    by_our_toolset = await shown_to_model(toolsets=[GovernedToolset([tool])])
    bare = await shown_to_model(tools=[tool])

    assert by_toolset.description == text
    assert by_our_toolset.description == text
    assert (bare.description or "").split() == text.split()


@some
@given(text=any_text)
def test_a_text_on_lines_of_its_own_loses_only_the_indentation_of_the_file(tmp_path: Path, text: str):
    lines = [line.rstrip() for line in text.split("\n")]
    block = "\n" + "\n".join(f"        {line}" if line else "" for line in lines) + "\n    "

    tool = tool_saying(block, tmp_path)

    assert tool_spec(tool).description.split("\n") == "\n".join(lines).strip().split("\n")


@some
@given(about=any_text)
def test_any_description_of_a_parameter_is_whole_in_the_schema(tmp_path: Path, about: str):
    async def tool(path: str) -> str:
        """Replaced."""
        return path

    parameter = f'<parameter name="path"><description>{escape(about)}</description></parameter>'
    made = base_tool(prompt=prompt_file(tmp_path, parameter))(tool)

    assert tool_spec(made).schema["properties"]["path"]["description"] == about
    assert Tool(made).function_schema.json_schema["properties"]["path"]["description"] == about
