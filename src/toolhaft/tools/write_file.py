"""Write a whole file: a new one, a new version of an old one, or more text at its end."""

import os
from typing import Literal

from pydantic_ai import ModelRetry

from toolhaft.decorators import file_tool
from toolhaft.spec import ToolText
from toolhaft.tools._changing import Staged, change_files, content_diff, counted
from toolhaft.workspace import Files, workspace
from toolhaft.workspace.changes import ChangeSet
from toolhaft.workspace.text import encode, encode_more

Mode = Literal["create", "overwrite", "append"]

# A larger file is appended to piece by piece, without holding it whole: then there is no diff and no way back.
_MAX_BYTES_HELD = 100_000_000


async def _preview(filepath: str, content: str, mode: Mode = "create", expected_hash: str | None = None) -> ToolText:
    return await _write(filepath, content, mode, expected_hash, preview=True)


@file_tool(writes=True, preview=_preview)
async def write_file(
    filepath: str,
    content: str,
    mode: Literal["create", "overwrite", "append"] = "create",
    expected_hash: str | None = None,
) -> str:
    """Write `content` to a file: all of it or, when anything fails, nothing; answer the diff.

    `create` makes a new file, with its missing folders, and refuses an existing one; `overwrite` replaces the
    file whole or makes it; `append` adds to its end, in the file's own encoding and line ends, or makes it.

    Raises `ModelRetry` when `create` meets a file that is there already.
    """
    if mode == "append" and await workspace().in_thread(lambda files: _size(files, filepath)) > _MAX_BYTES_HELD:
        return await _append_in_pieces(filepath, content)
    return await _write(filepath, content, mode, expected_hash, preview=False)


async def _write(filepath: str, content: str, mode: Mode, expected_hash: str | None, *, preview: bool) -> ToolText:
    def stage(change: ChangeSet) -> Staged:
        old = _content(change, filepath)
        if old is not None and mode == "create":
            raise FileExistsError(filepath)
        new = old + encode_more(content, after=old) if old is not None and mode == "append" else encode(content)
        change.write(filepath, new)
        name = change.name(filepath)
        diff = content_diff(name, old, new)
        verb = "Created" if old is None else {"overwrite": "Replaced", "append": "Appended to"}[mode]
        sentence = f"{verb} {name} ({len(new):,} bytes), {counted([diff])}."
        return Staged(sentence=sentence, diffs={name: diff}, facts={"created": old is None, "size": len(new)})

    try:
        return await change_files("write_file", stage, filepath=filepath, expected_hash=expected_hash, preview=preview)
    except FileExistsError as error:
        raise ModelRetry(
            f"{filepath!r} exists already, and mode='create' never replaces a file. To replace all of it pass "
            "mode='overwrite', to add to its end mode='append'; to change a part of it use edit_file."
        ) from error


def _content(change: ChangeSet, filepath: str) -> bytes | None:
    try:
        return change.read(filepath)
    except FileNotFoundError:
        return None


def _size(files: Files, filepath: str) -> int:
    """The size of a file, 0 where there is none or it is elsewhere."""
    try:
        with files.open_file(filepath) as file:
            return file.seek(0, os.SEEK_END)
    except FileNotFoundError:
        return 0


async def _append_in_pieces(filepath: str, content: str) -> ToolText:
    written = await workspace().write_file(filepath, content, mode="append")
    text = f"Appended to {written.path} ({written.size:,} bytes)."
    note = f"The file is large, so there is no diff to show. {written.note}".strip()
    return ToolText(f"{text}\n\n[{note}]", created=False, size=written.size, truncated=True)
