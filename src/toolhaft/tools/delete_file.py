"""Remove a file."""

from toolhaft.decorators import file_tool
from toolhaft.spec import ToolText
from toolhaft.tools._changing import Staged, change_files, content_diff
from toolhaft.workspace.changes import ChangeSet


async def _preview(filepath: str, expected_hash: str | None = None) -> ToolText:
    return await _delete(filepath, expected_hash, preview=True)


@file_tool(writes=True, preview=_preview)
async def delete_file(filepath: str, expected_hash: str | None = None) -> str:
    """Remove a file, or a link and not what it leads to; answer what was in it.

    Refused unless the workspace allows deleting. Raises `ModelRetry` for a folder and for a file that is not there.
    """
    return await _delete(filepath, expected_hash, preview=False)


async def _delete(filepath: str, expected_hash: str | None, *, preview: bool) -> ToolText:
    def stage(change: ChangeSet) -> Staged:
        removed, name = change.delete(filepath), change.name(filepath)
        if removed is None:
            return Staged(sentence=f"Removed the link {name}; what it leads to is still there.", diffs={}, facts={})
        diff = content_diff(name, removed, None)
        return Staged(sentence=f"Removed {name} ({len(removed):,} bytes).", diffs={name: diff}, facts={})

    return await change_files("delete_file", stage, filepath=filepath, expected_hash=expected_hash, preview=preview)
