"""What the tools that change files have in common: one thread hop, one change set, one answer.

A tool says what is to become of the files by staging it in a `ChangeSet`; here it is applied, or in a preview only
thought through, and told: the diff for the model, the facts for the program.
"""

import codecs
import os
import posixpath
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from pydantic_ai import ModelRetry

from toolhaft.editing.diff import UnifiedDiff, edits_diff, unified_diff
from toolhaft.editing.exact import Edit, replace_exact
from toolhaft.editing.refusal import EditError
from toolhaft.exceptions import ToolExecutionError
from toolhaft.spec import FileDiff, ToolText
from toolhaft.workspace import Files, workspace
from toolhaft.workspace.changes import Applied, ChangeSet, FileChange
from toolhaft.workspace.text import SAMPLE_BYTES, UTF_8, Encoding, decode, detect, encode

# A hash of one file has 64 hexadecimal digits; what is shorter is the plan id of a preview.
_HASH_DIGITS = 64
_STEP_BYTES = 1 << 18
_EXPECTED = re.compile(r"[0-9a-f]{32}|[0-9a-f]{64}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Staged:
    """What a tool has staged: a sentence on it, the diff of each file by its path, and facts of the tool's own."""

    sentence: str
    diffs: dict[str, UnifiedDiff]
    facts: dict[str, Any]


async def change_files(
    tool: str,
    stage: Callable[[ChangeSet], Staged],
    *,
    filepath: str | None = None,
    expected_hash: str | None = None,
    preview: bool = False,
) -> ToolText:
    """Apply what `stage` stages, all of it or nothing, and answer diff and facts; a preview changes nothing.

    `expected_hash` is the SHA-256 of the file `filepath`, or the plan id of a preview: in both cases the change is
    refused where the files are not those. An `EditError` of `stage` is a `ModelRetry`.
    """
    if expected_hash is not None:
        expected_hash = expected_hash.strip().lower().removeprefix("sha256:")
        if not _EXPECTED.fullmatch(expected_hash):
            raise ModelRetry(
                f"expected_hash={expected_hash!r} is no hash. Give the SHA-256 of the file (64 hexadecimal digits, as "
                "read_file gives it with with_hash=true), or the plan id of a preview (32 digits)."
            )
    is_plan = expected_hash is not None and len(expected_hash) != _HASH_DIGITS
    if expected_hash is not None and not is_plan and filepath is None:
        raise ModelRetry(
            f"expected_hash={expected_hash!r} is the hash of one file, and this change names no file. "
            "Name it, or give the plan id of a preview."
        )

    def work(files: Files) -> ToolText:
        with files.change(tool, preview=preview, expected_plan=expected_hash if is_plan else None) as change:
            if filepath is not None and expected_hash is not None and not is_plan:
                change.expect(filepath, expected_hash)
            staged = stage(change)
        return told(staged, change.applied, preview=preview)

    try:
        return await workspace().in_thread(work)
    except EditError as error:
        raise ModelRetry(_valid(str(error))) from error
    except IsADirectoryError as error:
        raise ModelRetry(
            f"{_path(filepath, error)!r} names a folder, and only files are changed. Name a file in it."
        ) from error
    except NotADirectoryError as error:
        raise ModelRetry(
            f"{_path(filepath, error)!r} goes through a file as if it were a folder. Check the path."
        ) from error
    except MemoryError as error:
        raise ToolExecutionError(
            tool,
            "a file is held in memory while it is changed, and there is not enough of it. Nothing was changed.",
            error,
            suggested_fix="Change a large file by a command that works line by line, such as sed.",
        ) from error


def told(staged: Staged, applied: Applied, *, preview: bool = False) -> ToolText:
    """The answer to a change: what was done, the diff, how to take it back."""
    paired = [(file, _file_diff(file, diff)) for file, diff in _paired(applied.files, staged.diffs)]
    diffs = [diff for _, diff in paired]
    added = sum(diff.added for diff in staged.diffs.values())
    removed = sum(diff.removed for diff in staged.diffs.values())
    parts = [f"Preview, nothing has changed yet. {staged.sentence}" if preview else staged.sentence]
    parts += ["\n".join(diff.unified.rstrip("\n") for file, diff in paired if not _was_sent(file))]
    notes = [note.strip() for note in applied.notes]
    if preview:
        notes.append(f"Plan {applied.plan_id}: give it as expected_hash to make exactly this change.")
    elif applied.change_id is not None:
        notes.append(f"To take it back: undo_change with {applied.change_id!r}.")
    parts += [f"[{' '.join(notes)}]" if notes else ""]
    return ToolText(
        "\n\n".join(part for part in parts if part),
        diff=[asdict(diff) for diff in diffs],
        added=added,
        removed=removed,
        change_id=applied.change_id,
        plan_id=applied.plan_id,
        files=[_facts(file) for file in applied.files],
        truncated=any(diff.truncated for diff in diffs),
        **staged.facts,
    )


def _path(filepath: str | None, error: OSError) -> str:
    return filepath or os.fsdecode(error.filename or "the patch")


def _was_sent(file: FileChange) -> bool:
    """Whether the model has just sent the whole text: of a new file, unless it is a copy."""
    return file.created and file.old_path is None


def _paired(files: Sequence[FileChange], diffs: Mapping[str, UnifiedDiff]) -> Iterator[tuple[FileChange, UnifiedDiff]]:
    """Each file with its diff. A tool names a file as it was given, a change set as a model should see it."""
    by_path = {posixpath.normpath(path): diff for path, diff in diffs.items()}
    for file in files:
        diff = by_path.get(file.path, next(iter(diffs.values())) if len(files) == len(diffs) == 1 else None)
        if diff is not None:
            yield file, diff


def content_diff(
    path: str, old: bytes | None, new: bytes | None, *, old_path: str | None = None, is_copy: bool = False
) -> UnifiedDiff:
    """The diff between two contents of a file, None for no file; of what is no text it only says that it differs."""
    encoding = _encoding(next(data for data in (new, old) if data is not None))
    if encoding is None:
        name = path if old_path is None else f"{old_path} -> {path}"
        return UnifiedDiff(text=f"Binary file {name} differs\n", added=0, removed=0, truncated=True)
    if encoding.unit == 1:
        return unified_diff(old, new, path=path, old_path=old_path, is_copy=is_copy, encoding=encoding.codec)
    texts = [None if data is None else data.decode(encoding.codec, "replace") for data in (old, new)]
    return unified_diff(*texts, path=path, old_path=old_path, is_copy=is_copy)


def byte_codec(data: bytes) -> str | None:
    """The codec of a file whose text can be found as bytes: UTF-8, or one byte a character. None for others."""
    encoding = _encoding(data)
    if encoding is None:
        return None
    is_narrow = encoding.codec == UTF_8.codec or len(codecs.decode(bytes(range(256)), encoding.codec, "replace")) == 256
    return encoding.codec if encoding.unit == 1 and is_narrow else None


def decode_loosely(data: bytes) -> tuple[str, Encoding]:
    """The text of a file and its encoding, such that `encode_loosely` gives back the same bytes.

    Bytes in a UTF-8 file that are none are carried along as they are. Raises `NotTextError` where that cannot be done.
    """
    encoding = _encoding(data)
    if encoding is None or encoding.codec != UTF_8.codec:
        return decode(data)
    if data.isascii():
        return data.decode(encoding.codec), encoding
    decoder = codecs.getincrementaldecoder(encoding.codec)("surrogateescape")
    # In steps: one call for a large file would keep every other thread waiting.
    starts = range(len(encoding.bom), len(data), _STEP_BYTES)
    pieces = [decoder.decode(data[start : start + _STEP_BYTES]) for start in starts]
    return "".join([*pieces, decoder.decode(b"", final=True)]), encoding


def encode_loosely(text: str, encoding: Encoding) -> bytes:
    """The bytes of a text that `decode_loosely` gave, whatever was replaced in it by text that can be encoded."""
    if encoding.codec == UTF_8.codec:
        return encoding.bom + text.encode(encoding.codec, "surrogateescape")
    return encode(text, encoding)


def edits_in_bytes(text: str, edits: Iterable[Edit[str]], encoding: Encoding) -> list[Edit[bytes]]:
    """The edits of a text that `decode_loosely` gave as edits of the bytes of a UTF-8 file that it was made of."""
    made: list[Edit[bytes]] = []
    at, counted_to = len(encoding.bom), 0
    for edit in edits:
        start = at + _size_in_bytes(text, counted_to, edit.start)
        at, counted_to = start + _size_in_bytes(text, edit.start, edit.end), edit.end
        made.append(Edit(start=start, end=at, new=edit.new.encode(UTF_8.codec, "surrogateescape")))
    return made


def _size_in_bytes(text: str, start: int, end: int) -> int:
    if text.isascii():
        return end - start
    steps = (text[at : min(at + _STEP_BYTES, end)] for at in range(start, end, _STEP_BYTES))
    return sum(len(step.encode(UTF_8.codec, "surrogateescape")) for step in steps)


def replaced_exactly(
    path: str, data: bytes, old: str, new: str, *, replace_all: bool
) -> tuple[bytes, UnifiedDiff, int]:
    """The new content of a file, its diff, and in how many places it differs. Raises `EditError`."""
    codec = byte_codec(data)
    if codec is None:
        text, encoding = decode(data)
        done = replace_exact(text, old, new, replace_all=replace_all)
        return encode(done.text, encoding), edits_diff(text, done.edits, path=path), done.count
    narrow = Encoding(codec=codec)
    found = replace_exact(data, encode(old, narrow), encode(new, narrow), replace_all=replace_all)
    return found.text, edits_diff(data, found.edits, path=path, encoding=codec), found.count


def counted(diffs: Sequence[UnifiedDiff]) -> str:
    """How many lines came and went: `+3 -1 lines`."""
    return f"+{sum(diff.added for diff in diffs)} -{sum(diff.removed for diff in diffs)} lines"


def _encoding(data: bytes) -> Encoding | None:
    return detect(data[:SAMPLE_BYTES], complete=len(data) <= SAMPLE_BYTES)


def _valid(text: str) -> str:
    """The text with bytes that are no text shown as U+FFFD: a lone surrogate could not be sent to a model."""
    return text.encode("utf-8", "surrogateescape").decode("utf-8", "replace")


def _file_diff(file: FileChange, diff: UnifiedDiff) -> FileDiff:
    return FileDiff(
        path=_valid(file.path),
        unified=_valid(diff.text),
        is_new_file=file.created,
        is_deletion=file.deleted,
        truncated=diff.truncated,
    )


def _facts(file: FileChange) -> dict[str, Any]:
    return {
        "path": file.path,
        "old_path": file.old_path,
        "hash_before": file.before_hash,
        "hash_after": file.after_hash,
        "size": file.size,
        "mode_before": None if file.mode_before is None else f"{file.mode_before:o}",
        "mode_after": None if file.mode_after is None else f"{file.mode_after:o}",
        "version": None if file.version is None else asdict(file.version),
    }
