"""Replace a piece of a file's text that is not at hand to the letter."""

from toolhaft.decorators import file_tool
from toolhaft.editing.diff import UnifiedDiff, edits_diff
from toolhaft.editing.placeholders import refuse_placeholder
from toolhaft.editing.refusal import EditError, Reason
from toolhaft.editing.tolerant import replace_tolerant
from toolhaft.spec import ToolText
from toolhaft.tools._changing import (
    Staged,
    byte_codec,
    change_files,
    counted,
    decode_loosely,
    encode_loosely,
    replaced_exactly,
)
from toolhaft.workspace.changes import ChangeSet
from toolhaft.workspace.text import UTF_8, encode


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
        refuse_placeholder(old_text, new_text)
        data, name = change.read(filepath), change.name(filepath)
        exact = _exactly(name, data, old_text, new_text, replace_all=replace_all)
        new, diff, count, rung = exact or _nearly(name, data, old_text, new_text, replace_all=replace_all)
        change.write(filepath, new)
        how = "" if rung == "exact" else f" The old text was not found exactly; matched by {rung}."
        places = "1 place" if count == 1 else f"{count} places"
        sentence = f"Updated {name}: {places}, {counted([diff])}.{how}"
        return Staged(sentence=sentence, diffs={name: diff}, facts={"replacements": count, "rung": rung})

    return await change_files("update_file", stage, filepath=filepath, expected_hash=expected_hash, preview=preview)


_Updated = tuple[bytes, UnifiedDiff, int, str]
"""The new content, its diff, in how many places it differs, and how they were found."""


def _exactly(path: str, data: bytes, old: str, new: str, *, replace_all: bool) -> _Updated | None:
    """The update where the old text stands to the letter, found among the bytes: so the file is never held as text."""
    if byte_codec(data) != UTF_8.codec:
        return None
    try:
        return (*replaced_exactly(path, data, old, new, replace_all=replace_all), "exact")
    except EditError as refused:
        if refused.reason is not Reason.NOT_FOUND:
            raise
        return None


def _nearly(path: str, data: bytes, old: str, new: str, *, replace_all: bool) -> _Updated:
    text, encoding = decode_loosely(data)
    done = replace_tolerant(text, old, new, replace_all=replace_all)
    return encode_loosely(done.text, encoding), edits_diff(text, done.edits, path=path), done.count, done.rung
