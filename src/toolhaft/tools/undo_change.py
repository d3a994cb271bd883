"""Take back a change."""

from pydantic_ai import ModelRetry

from toolhaft.decorators import base_tool
from toolhaft.exceptions import ToolExecutionError
from toolhaft.spec import ToolKind
from toolhaft.tools._changing import Staged, told
from toolhaft.workspace import Files, workspace
from toolhaft.workspace.changes import Applied, UndoRefusedError
from toolhaft.workspace.journal import UnknownChangeError


@base_tool(kind=ToolKind.WRITE)
async def undo_change(change_id: str) -> str:
    """Take back what a tool of this package changed: bytes, modes, and whether files exist. It can be undone itself.

    What commands changed is in no change set and cannot be taken back. Fails where a file has changed since; then
    nothing is changed. Raises `ModelRetry` for a change that is not known, or no longer.
    """

    def undo(files: Files) -> Applied:
        return files.undo(change_id)

    try:
        applied = await workspace().in_thread(undo)
    except UnknownChangeError as error:
        raise ModelRetry(str(error)) from error
    except UndoRefusedError as error:
        raise ToolExecutionError("undo_change", str(error), error) from error
    paths = ", ".join(file.path for file in applied.files)
    return told(Staged(sentence=f"Took back {change_id}: {paths}.", diffs={}, facts={}), applied)
