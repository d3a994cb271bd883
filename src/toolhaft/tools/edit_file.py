"""Replace an exact piece of a file's text."""

from toolhaft.decorators import file_tool
from toolhaft.editing.nearest import shown_nearest
from toolhaft.editing.refusal import EditError, Reason
from toolhaft.spec import ToolText
from toolhaft.tools._changing import Staged, change_files, counted, decode_loosely, replaced_exactly
from toolhaft.workspace.changes import ChangeSet
from toolhaft.workspace.text import split_lines

# In a larger file the nearest place is not looked for: the model has the line numbers of what it read.
_MAX_BYTES_COMPARED = 2_000_000


async def _preview(
    filepath: str, old_str: str, new_str: str, replace_all: bool = False, expected_hash: str | None = None
) -> ToolText:
    return await _edit(filepath, old_str, new_str, replace_all, expected_hash, preview=True)


@file_tool(writes=True, preview=_preview)
async def edit_file(
    filepath: str, old_str: str, new_str: str, replace_all: bool = False, expected_hash: str | None = None
) -> str:
    """Replace the one place where `old_str` stands by `new_str`, or with `replace_all` every place; answer the diff.

    Exact, blanks included; only a line end in `old_str` also matches CR LF, and what comes in ends its lines as the
    file does. Encoding, byte order mark, mode and every other byte of the file stay.

    Raises `ModelRetry` where `old_str` is empty, the same as `new_str`, in no place, or in several (with their lines).
    """
    return await _edit(filepath, old_str, new_str, replace_all, expected_hash, preview=False)


async def _edit(
    filepath: str, old_str: str, new_str: str, replace_all: bool, expected_hash: str | None, *, preview: bool
) -> ToolText:
    def stage(change: ChangeSet) -> Staged:
        data, name = change.read(filepath), change.name(filepath)
        try:
            new, diff, count = replaced_exactly(name, data, old_str, new_str, replace_all=replace_all)
        except EditError as error:
            if error.reason is Reason.NOT_FOUND and len(data) <= _MAX_BYTES_COMPARED:
                raise EditError(error.reason, f"{error} {_nearest(data, old_str)}") from error
            raise
        change.write(filepath, new)
        places = "1 place" if count == 1 else f"{count} places"
        sentence = f"Edited {name}: {places}, {counted([diff])}."
        return Staged(sentence=sentence, diffs={name: diff}, facts={"replacements": count})

    return await change_files("edit_file", stage, filepath=filepath, expected_hash=expected_hash, preview=preview)


def _nearest(data: bytes, old: str) -> str:
    text, _ = decode_loosely(data)
    return shown_nearest(split_lines(text), split_lines(old))[0]
