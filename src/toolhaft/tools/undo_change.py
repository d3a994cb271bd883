"""Take back a change."""

from pydantic_ai import ModelRetry

from toolhaft.decorators import base_tool
from toolhaft.exceptions import ToolExecutionError
from toolhaft.spec import ToolKind, ToolText
from toolhaft.tools._changing import Staged, content_diff, counted, told
from toolhaft.workspace import Files, workspace
from toolhaft.workspace.changes import UndoRefusedError
from toolhaft.workspace.journal import UnknownChangeError


@base_tool(kind=ToolKind.WRITE)
async def undo_change(change_id: str) -> str:
    """Take back what a tool of this package changed: bytes, modes, and whether files exist. It can be undone itself.

    What commands changed is in no change set and cannot be taken back. Fails where a file has changed since; then
    nothing is changed. Raises `ModelRetry` for a change that is not known, or no longer.
    """

    def undo(files: Files) -> ToolText:
        paths = files.paths_of(change_id)
        before = [_content(files, path) for path in paths]
        applied = files.undo(change_id)
        after = [_content(files, path) for path in paths]
        diffs = {
            path: content_diff(path, old, new)
            for path, old, new in zip(paths, before, after, strict=True)
            if old is not None or new is not None
        }
        sentence = f"Took back {change_id}: {', '.join(paths)}, {counted(list(diffs.values()))}."
        return told(Staged(sentence=sentence, diffs=diffs, facts={}), applied)

    try:
        return await workspace().in_thread(undo)
    except UnknownChangeError as error:
        raise ModelRetry(str(error)) from error
    except UndoRefusedError as error:
        raise ToolExecutionError("undo_change", str(error), error) from error


def _content(files: Files, path: str) -> bytes | None:
    """What a file holds, for the diff; None where there is none, or a link to none."""
    try:
        with files.open_file(path) as file:
            return file.read()
    except OSError:
        return None
