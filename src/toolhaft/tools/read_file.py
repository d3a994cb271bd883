"""Read a page of a file: numbered lines of a text, an image as an image, of anything else what it is."""

import hashlib
from typing import Any

from pydantic_ai import BinaryContent, ModelRetry

from toolhaft.decorators import file_tool
from toolhaft.spec import ToolText
from toolhaft.workspace import Files, workspace
from toolhaft.workspace.pages import MAX_CHARACTERS, Binary, Page, PageError
from toolhaft.workspace.text import UTF_8


@file_tool
async def read_file(
    filepath: str, offset: int = 1, limit: int = 2000, column: int = 1, with_hash: bool = False
) -> str | list[str | BinaryContent]:
    """Return the lines of a text file from `offset` on, each as its number, a tab and the line.

    At most `limit` lines and 60,000 characters; a note in brackets at the end says what was left out and how to get
    it, and what else is odd. A negative `offset` counts from the end. `column` goes on within a line that is longer
    than a page. `with_hash` adds the SHA-256 of the whole file. An image comes back as `[text, image]`; any other
    binary file is described.

    Raises `ModelRetry` where there is no such line (with the true count), and for a folder.
    """
    place = workspace()
    path = place.shown(filepath)
    try:
        page = await place.read_page(filepath, offset=offset, limit=limit, column=column)
    except PageError as error:
        raise ModelRetry(str(error)) from error
    except IsADirectoryError as error:
        raise ModelRetry(f"{path!r} is a folder, not a file. Call list_dir with it to see what is inside.") from error
    digest = await place.in_thread(lambda files: _sha256(files, filepath)) if with_hash else None
    return _binary(path, page, digest) if isinstance(page, Binary) else _text(path, page, digest, offset=offset)


def _sha256(files: Files, filepath: str) -> str:
    with files.open_file(filepath) as file:
        return hashlib.file_digest(file, "sha256").hexdigest()  # pyright: ignore[reportArgumentType]


def _text(path: str, page: Page, digest: str | None, *, offset: int) -> ToolText:
    notes = " ".join([*_notes(path, page, offset=offset), *_told(digest)])
    parts = [page.numbered(), f"[{notes}]" if notes else ""]
    return ToolText(
        "\n\n".join(part for part in parts if part),
        path=path,
        encoding=page.encoding.label,
        size=page.size,
        first_line=page.first_line,
        last_line=page.last_line,
        total_lines=page.total_lines,
        truncated=page.truncated,
        next_offset=page.next_offset,
        next_column=page.next_column if page.truncated else None,
        version=_version(page),
        hash=digest,
    )


def _told(digest: str | None) -> list[str]:
    return [] if digest is None else [f"SHA-256 of the file: {digest}."]


def _notes(path: str, page: Page, *, offset: int) -> list[str]:
    """What the lines alone do not tell, one sentence each; nothing of a page that is the whole of a plain file."""
    notes: list[str] = []
    if not page.lines:
        notes.append(f"{path} is empty ({page.size} bytes).")
    if page.truncated:
        notes.append(_what_was_left_out(page))
    if page.first_line < 0:
        notes.append("Lines are numbered from the end of the file: -1 is the last one.")
    if offset < 0 and page.total_lines and page.total_lines < -offset:
        notes.append(f"The file has only {page.total_lines} lines.")
    if page.encoding != UTF_8:
        notes.append(f"Encoding: {page.encoding.label}.")
    if page.undecoded:
        notes.append(f"Bytes that are not text in {page.encoding.label} are shown as U+FFFD: {page.undecoded} times.")
    if page.changed:
        notes.append("The file changed while it was read; read it again for a consistent view.")
    return notes


def _what_was_left_out(page: Page) -> str:
    known = page.total_lines is not None
    there = f" of {page.total_lines}" if known else f" of at least {page.at_least_lines}" if page.first_line > 0 else ""
    why = f"limit={len(page.lines)}" if page.stopped == "lines" else f"a page holds {MAX_CHARACTERS} characters"
    shown, column = f"Lines {page.first_line} to {page.last_line}{there}", ""
    if page.next_column > 1:
        shown = f"Characters {page.first_column} to {page.next_column - 1} of line {page.first_line}{there}"
        column = f", column={page.next_column}"
    return f"{shown} are shown ({why}). To go on: offset={page.next_offset}{column}."


def _binary(path: str, file: Binary, digest: str | None) -> str | list[str | BinaryContent]:
    facts: dict[str, Any] = {
        "path": path,
        "kind": file.kind,
        "size": file.size,
        "version": _version(file),
        "hash": digest,
    }
    if file.image is not None:
        shown = " ".join([f"{path}: {file.kind}, {file.size} bytes", *_told(digest)])
        return [ToolText(f"[{shown}]", **facts, truncated=False), BinaryContent(data=file.image, media_type=file.kind)]
    described = f"{path} is not text: {file.kind}, {file.size} bytes. Its content is not shown."
    return ToolText(f"[{' '.join([described, *_told(digest)])}]", **facts, truncated=True)


def _version(of: Page | Binary) -> dict[str, int] | None:
    version = of.version
    return version and {"size": version.size, "mtime_ns": version.mtime_ns, "inode": version.inode}
