"""`write_file` as the profile `architect` has it: an existing file is replaced unless the call says otherwise."""

from typing import Literal

from toolhaft.decorators import file_tool
from toolhaft.spec import ToolText, tool_spec
from toolhaft.tools.write_file import write_file as careful

_SPEC = tool_spec(careful)
assert _SPEC.preview is not None
assert _SPEC.prompt_file is not None
_careful_preview = _SPEC.preview

Mode = Literal["create", "overwrite", "append"]


async def _preview(filepath: str, content: str, mode: Mode = "overwrite", expected_hash: str | None = None) -> ToolText:
    return await _careful_preview(filepath, content, mode, expected_hash)


@file_tool(writes=True, preview=_preview, prompt=_SPEC.prompt_file.with_name("write_file_overwriting_prompt.xml"))
async def write_file(
    filepath: str,
    content: str,
    mode: Literal["create", "overwrite", "append"] = "overwrite",
    expected_hash: str | None = None,
) -> str:
    """Write `content` to a file, replacing what is there; otherwise as `toolhaft.tools.write_file`."""
    return await careful(filepath, content, mode, expected_hash)
