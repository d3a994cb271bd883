"""Replace a piece of a file's text that is not at hand to the letter."""

from toolhaft.decorators import file_tool
from toolhaft.editing import edits_diff, replace_tolerant
from toolhaft.spec import ToolText
from toolhaft.tools._changing import Staged, change_files, counted, decode_loosely, encode_loosely
from toolhaft.workspace.changes import ChangeSet
from toolhaft.workspace.text import encode


async def _preview(
    filepath: str, old_text: str, new_text: str, replace_all: bool = False, expected_hash: str | None = None
) -> ToolText:
    return await _update(filepath, old_text, new_text, replace_all, expected_hash, preview=True)


@file_tool(writes=True, preview=_preview)
async def update_file(
    filepath: str, old_text: str, new_text: str, replace_all: bool = False, expected_hash: str | None = None
) -> str:
    """Replace `old_text` by `new_text` where it stands exactly, else at the one place that can be meant.

    That is a place which differs by trailing blanks, by a block's indentation (the new text is indented alike), by
    typographic quotes, dashes and blanks, or which is very similar as a whole; the answer names which.

    Raises `ModelRetry` where no place or several may be meant (with the nearest one shown), where the change is there
    already, and where `new_text` leaves text out by a placeholder.
    """
    return await _update(filepath, old_text, new_text, replace_all, expected_hash, preview=False)


async def _update(
    filepath: str, old_text: str, new_text: str, replace_all: bool, expected_hash: str | None, *, preview: bool
) -> ToolText:
    def stage(change: ChangeSet) -> Staged:
        for given in (old_text, new_text):
            encode(given)  # what cannot be written at all is refused before anything else
        text, encoding = decode_loosely(change.read(filepath))
        done = replace_tolerant(text, old_text, new_text, replace_all=replace_all)
        change.write(filepath, encode_loosely(done.text, encoding))
        diff = edits_diff(text, done.edits, path=filepath)
        how = "" if done.rung == "exact" else f" The old text was not found exactly; matched by {done.rung}."
        places = "1 place" if done.count == 1 else f"{done.count} places"
        sentence = f"Updated {filepath}: {places}, {counted([diff])}.{how}"
        return Staged(sentence=sentence, diffs={filepath: diff}, facts={"replacements": done.count, "rung": done.rung})

    return await change_files("update_file", stage, filepath=filepath, expected_hash=expected_hash, preview=preview)
