"""Notes that outlive a conversation."""

import difflib
from collections.abc import Mapping, Sized
from typing import Literal

from pydantic import TypeAdapter
from pydantic_ai import ModelRetry

from toolhaft.decorators import base_tool
from toolhaft.spec import NeedsApproval, ToolKind, ToolText
from toolhaft.tools._kept import Kept

MAX_NOTES = 500
MAX_KEY_CHARS = 100
MAX_TEXT_CHARS = 20_000
MAX_SHOWN = 100

_LINE_CHARS = 160
_NOTES = Kept(
    tool="memory", folder="memory", file="notes.json", shape=TypeAdapter(dict[str, str]), empty=dict[str, str]
)

Action = Literal["save", "get", "search", "list", "delete"]


async def _preview(action: Action, key: str | None = None, text: str | None = None, query: str | None = None) -> str:
    if action not in ("save", "delete"):
        return ToolText(f"memory {action} changes nothing.")
    name, notes = _key(action, key), await _NOTES.read()
    if action == "delete":
        return ToolText(f"Would delete the note {name!r}, which says:\n{_note(notes, name)}")
    new = _text(text)
    _check_room(notes, name)
    old = f", in place of:\n{notes[name]}" if name in notes else ""
    return ToolText(f"Would save the note {name!r}:\n{new}{old}")


def _approval(action: Action, **others: object) -> NeedsApproval | None:
    return NeedsApproval("memory_changes", f"memory {action} changes notes") if action in ("save", "delete") else None


@base_tool(kind=ToolKind.MEMORY, approval=_approval, preview=_preview)
async def memory(
    action: Literal["save", "get", "search", "list", "delete"],
    key: str | None = None,
    text: str | None = None,
    query: str | None = None,
) -> str:
    """Save, read, find or delete the notes of this workspace, kept in `.toolhaft/memory`.

    Searching is for the text as it stands, in any case, in keys and notes. Raises `ModelRetry` for a key that is none
    or unknown, and for what is too long.
    """
    match action:
        case "save":
            return await _save(_key(action, key), _text(text))
        case "delete":
            return await _delete(_key(action, key))
        case "get":
            name = _key(action, key)
            return _got(name, _note(await _NOTES.read(), name))
        case "search":
            return _found(await _NOTES.read(), query)
        case "list":
            return _listed(await _NOTES.read())


async def _save(key: str, text: str) -> ToolText:
    def save(notes: dict[str, str]) -> str | None:
        _check_room(notes, key)
        old = notes.get(key)
        notes[key] = text
        return old

    old = await _NOTES.change(save)
    replaced = "" if old is None else f", in place of {len(old):,}"
    return ToolText(f"Saved {key!r} ({_count(text, 'character')}{replaced}).", key=key, created=old is None)


async def _delete(key: str) -> ToolText:
    def delete(notes: dict[str, str]) -> str:
        text = _note(notes, key)
        del notes[key]
        return text

    text = await _NOTES.change(delete)
    return ToolText(f"Deleted {key!r} ({_count(text, 'character')}).", key=key)


def _got(key: str, text: str) -> ToolText:
    """A note whole, unless somebody wrote a longer one into the file by hand."""
    if len(text) <= MAX_TEXT_CHARS:
        return ToolText(text, key=key, truncated=False)
    note = f"[The first {MAX_TEXT_CHARS:,} of {len(text):,} characters. For the rest read the file {_NOTES.path}.]"
    return ToolText(f"{text[:MAX_TEXT_CHARS]}\n\n{note}", key=key, truncated=True)


def _found(notes: Mapping[str, str], query: str | None) -> ToolText:
    wanted = (query or "").strip().casefold()
    if not wanted:
        raise ModelRetry("action='search' needs query, a piece of text to find. To see all keys use action='list'.")
    lines = [
        _line(key, text, at=wanted)
        for key, text in sorted(notes.items())
        if wanted in key.casefold() or wanted in text.casefold()
    ]
    said = f"{query!r} is in {len(lines)} of {_count(notes, 'note')}."
    return _shown(said, lines, rest="Search for more of the text")


def _listed(notes: Mapping[str, str]) -> ToolText:
    lines = [_line(key, text) for key, text in sorted(notes.items())]
    return _shown(f"{_count(notes, 'note')}.", lines, rest="Use action='search'")


def _shown(said: str, lines: list[str], *, rest: str) -> ToolText:
    shown = lines[:MAX_SHOWN]
    left_out = len(lines) - len(shown)
    text = "\n".join([said, *shown])
    if left_out:
        text += f"\n[{len(shown)} of {len(lines)} shown, by key; {left_out} left out. {rest} to see others.]"
    return ToolText(text, shown=len(shown), total=len(lines), truncated=left_out > 0)


def _line(key: str, text: str, *, at: str = "") -> str:
    """A note on one line: its key, its size, and the line of it that holds what is looked for, else the first."""
    lines = text.splitlines() or [""]
    line = next((line for line in lines if at in line.casefold()), lines[0]).strip()
    cut = line if len(line) <= _LINE_CHARS else f"{line[:_LINE_CHARS]}..."
    return f"- {key} ({_count(text, 'character')}): {cut}"


def _key(action: str, key: str | None) -> str:
    name = (key or "").strip()
    if not name:
        raise ModelRetry(f"action={action!r} needs key, a short name such as 'build-command'.")
    if len(name) > MAX_KEY_CHARS or not name.isprintable():
        raise ModelRetry(
            f"key={name[:MAX_KEY_CHARS]!r} ({len(name):,} characters) is no key. Use one line of at most "
            f"{MAX_KEY_CHARS} characters, such as 'build-command'."
        )
    return name


def _text(text: str | None) -> str:
    if text is None or not text.strip():
        raise ModelRetry("action='save' needs text, the note itself. To remove a note use action='delete'.")
    if len(text) > MAX_TEXT_CHARS:
        raise ModelRetry(
            f"text has {len(text):,} characters, and a note may have {MAX_TEXT_CHARS:,}. Save what matters of it, or "
            "write a file and note its path."
        )
    return text


def _note(notes: Mapping[str, str], key: str) -> str:
    if key in notes:
        return notes[key]
    near = difflib.get_close_matches(key, notes, n=3)
    hint = f"Near: {', '.join(map(repr, near))}." if near else "Use action='list' to see the keys."
    raise ModelRetry(f"there is no note {key!r} among {_count(notes, 'note')}. {hint}")


def _check_room(notes: Mapping[str, str], key: str) -> None:
    if key not in notes and len(notes) >= MAX_NOTES:
        raise ModelRetry(f"there are {len(notes)} notes, and {MAX_NOTES} may be. Delete some, or put some together.")


def _count(things: Sized, name: str) -> str:
    return f"{len(things):,} {name}{'' if len(things) == 1 else 's'}"
