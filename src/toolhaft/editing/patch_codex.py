"""The Codex form of a patch: `*** Begin Patch`, one `***` line a file, hunks placed by context instead of numbers."""

from collections.abc import Sequence
from dataclasses import replace

from toolhaft.editing.patch_model import FilePatch, Hunk, Mark, PatchError, PatchProblem
from toolhaft.editing.refusal import Reason

__all__ = ["begins_codex", "parse_codex"]

BEGIN, END = "*** Begin Patch", "*** End Patch"
ADD, UPDATE, DELETE = "*** Add File: ", "*** Update File: ", "*** Delete File: "
MOVE, END_OF_FILE = "*** Move to: ", "*** End of File"
_MARKS: dict[str, Mark] = {" ": " ", "-": "-", "+": "+"}


def begins_codex(line: str) -> bool:
    """Whether a patch of this form begins with `line`."""
    return line.rstrip() == BEGIN or line.startswith((ADD, UPDATE, DELETE))


def parse_codex(lines: Sequence[str], at: int) -> tuple[list[FilePatch], int]:
    """What the patch that begins at `lines[at]` says of each file, and the index behind its `*** End Patch`."""
    at += lines[at].rstrip() == BEGIN
    sections: list[FilePatch] = []
    while at < len(lines) and lines[at].rstrip() != END:
        line = lines[at].rstrip("\r")
        if line.startswith(ADD):
            section, at = _added(lines, at + 1, line.removeprefix(ADD).strip())
            sections.append(section)
        elif line.startswith(DELETE):
            sections.append(_section("delete", line.removeprefix(DELETE).strip()))
            at += 1
        elif line.startswith(UPDATE):
            section, at = _updated(lines, at + 1, line.removeprefix(UPDATE).strip())
            sections.append(section)
        elif line.strip() and (sections or not line.startswith("```")):
            raise _malformed(f"{line!r} stands where a line such as '{UPDATE}path' is expected.")
        else:
            at += 1
    if not sections:
        raise _malformed(f"No file is named between '{BEGIN}' and '{END}'.")
    return sections, at + 1


def _section(kind: str, name: str) -> FilePatch:
    if kind == "add":
        return FilePatch(kind="add", old_name=None, new_name=name, names_are_plain=True)
    if kind == "delete":
        return FilePatch(kind="delete", old_name=name, new_name=None, names_are_plain=True, unchecked_delete=True)
    return FilePatch(kind="change", old_name=name, new_name=name, names_are_plain=True, in_order=True)


def _added(lines: Sequence[str], at: int, name: str) -> tuple[FilePatch, int]:
    body: list[tuple[Mark, str]] = []
    while at < len(lines) and _is_added(lines, at):
        body.append(("+", lines[at][1:]))
        at += 1
    hunks = (Hunk(number=1, body=tuple(body)),) if body else ()
    return replace(_section("add", name), hunks=hunks), at


def _is_added(lines: Sequence[str], at: int) -> bool:
    """Whether `lines[at]` belongs to a new file: it has its +, or is a blank line among lines that have it."""
    while at < len(lines) and not lines[at].strip("\r"):
        at += 1
    return at < len(lines) and lines[at].startswith("+")


def _updated(lines: Sequence[str], at: int, name: str) -> tuple[FilePatch, int]:
    section = _section("change", name)
    if at < len(lines) and lines[at].startswith(MOVE):
        target = lines[at].rstrip("\r").removeprefix(MOVE).strip()
        section = replace(section, kind="rename", new_name=target)
        at += 1
    hunks: list[Hunk] = []
    while at < len(lines) and not _begins_file(lines[at]):
        hunk, at = _hunk(lines, at, len(hunks) + 1)
        if hunk is not None:
            hunks.append(hunk)
    return replace(section, hunks=tuple(hunks)), at


def _begins_file(line: str) -> bool:
    return line.startswith((ADD, UPDATE, DELETE)) or line.rstrip() == END


def _hunk(lines: Sequence[str], at: int, number: int) -> tuple[Hunk | None, int]:
    anchors: list[str] = []
    while at < len(lines) and lines[at].startswith("@@"):
        anchors.append(lines[at][2:].strip().removesuffix("@@").rstrip())
        at += 1
    body: list[tuple[Mark, str]] = []
    while at < len(lines) and not _begins_file(lines[at]) and not lines[at].startswith(("@@", "*** ")):
        line = lines[at]
        if line.strip("\r") and line[0] not in _MARKS:
            raise _malformed(f"hunk {number}: the line {line!r} begins with neither a blank, + nor -.")
        body.append((_MARKS[line[0]], line[1:]) if line.strip("\r") else (" ", line))
        at += 1
    at_end = at < len(lines) and lines[at].rstrip() == END_OF_FILE
    if not at_end and at < len(lines) and lines[at].startswith("*** ") and not _begins_file(lines[at]):
        raise _malformed(f"{lines[at]!r} is no line of this form.")
    if not at_end:
        body = _without_trailing_blanks(lines, at, body)
    if not body and anchors:
        raise _malformed(f"hunk {number} has no lines.")
    hunk = Hunk(number=number, body=tuple(body), anchors=tuple(filter(None, anchors)), at_end=at_end) if body else None
    return hunk, at + 1 if at_end else at


def _without_trailing_blanks(lines: Sequence[str], at: int, body: list[tuple[Mark, str]]) -> list[tuple[Mark, str]]:
    """Blank lines before the next `@@` or `***` line may only be there to look at; as context they prove nothing."""
    size = len(body)
    while size and not lines[at - len(body) + size - 1].strip("\r"):
        size -= 1
    return body[:size]


def _malformed(message: str) -> PatchError:
    return PatchError(PatchProblem(reason=Reason.MALFORMED, message=message))
