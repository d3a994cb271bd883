"""Reads a patch: unified diffs as git, GNU diff and models write them, or the Codex form.

Models wrap patches in prose and fences, indent them, leave out prefixes, line numbers and the last newline. All that is
understood; what is not understood is refused, never skipped: no line that changes something may be lost.
"""

import re
from collections.abc import Sequence
from dataclasses import replace

from toolhaft.editing.patch_body import HUNK_START, begins_body, is_stray, read_hunk, starts_names
from toolhaft.editing.patch_codex import begins_codex, parse_codex
from toolhaft.editing.patch_model import FilePatch, Hunk, PatchError, PatchProblem
from toolhaft.editing.patch_names import git_pair, may_be_same, read_name
from toolhaft.editing.refusal import Reason

__all__ = ["parse_patch"]

_FIRST_HEADER = re.compile(r"^([ \t]+)(?:diff --git |--- \S|\*\*\* Begin Patch)", re.MULTILINE)
_ANY_HEADER = re.compile(r"^(?:diff --git |--- |\+\+\+ |@@|\*\*\* )", re.MULTILINE)
_GIT_MODES = {"100644": 0o644, "100755": 0o755}


def parse_patch(patch: str) -> list[FilePatch]:
    """What `patch` says of each file, in its order; raises `PatchError` for what cannot be read as a whole.

    A patch of hunks alone, without any header, comes back as one `FilePatch` with neither name.
    """
    lines = _lines(_dedented(patch))
    sections: list[FilePatch] = []
    at = 0
    while at < len(lines):
        if lines[at].startswith(HUNK_START) and sections:
            hunks, at = _hunks(lines, at, sections[-1].hunks)
            sections[-1] = replace(sections[-1], hunks=hunks)
        elif begins_codex(lines[at]):
            envelope, at = parse_codex(lines, at)
            sections += envelope
        elif lines[at].startswith("diff --git "):
            section, at = _git_section(lines, at)
            sections.append(section)
        elif _starts_plain_section(lines, at):
            section, at = _plain_section(lines, at)
            sections.append(section)
        else:
            _check_supported_here(lines, at)
            if sections and is_stray(lines, at):
                raise _refused(
                    Reason.MALFORMED,
                    f"The line {lines[at]!r} changes something, but belongs to no hunk. Put it below an @@ line.",
                )
            at += 1
    if not sections:
        raise _refused(
            Reason.MALFORMED, "No patch was found in it. Send a unified diff: --- and +++ lines, then @@ hunks."
        )
    return sections


def _dedented(patch: str) -> str:
    """Undo the indentation of a patch that is indented as a whole."""
    if _ANY_HEADER.search(patch):
        return patch
    first = _FIRST_HEADER.search(patch)
    if not first:
        return patch
    return re.sub(f"^{first[1]}", "", patch, flags=re.MULTILINE)


def _lines(patch: str) -> list[str]:
    """The lines without their LF; a missing last newline is given back, with the CR of its neighbours."""
    lines = patch.split("\n")
    last = lines.pop()
    if last and lines and lines[-1].endswith("\r") and not last.endswith("\r"):
        last += "\r"
    return [*lines, last] if last else lines


def _starts_plain_section(lines: Sequence[str], at: int) -> bool:
    return lines[at].startswith(HUNK_START) or starts_names(lines, at)


def _check_supported_here(lines: Sequence[str], at: int) -> None:
    line = lines[at]
    if line == "GIT binary patch" or (line.startswith("Binary files ") and line.rstrip().endswith("differ")):
        raise _refused(Reason.UNSUPPORTED, "It changes a binary file; only text can be patched.")
    if line.startswith("*** ") and at + 1 < len(lines) and lines[at + 1].startswith("--- "):
        raise _refused(Reason.UNSUPPORTED, "This is a context diff (diff -c). Send a unified diff (diff -u).")


def _plain_section(lines: Sequence[str], at: int) -> tuple[FilePatch, int]:
    old, new, at = _names(lines, at)
    hunks, at = _hunks(lines, at, ())
    kind = "add" if old is None and new is not None else "delete" if new is None and old is not None else "change"
    return FilePatch(kind=kind, old_name=old, new_name=new, hunks=hunks), at


def _names(lines: Sequence[str], at: int) -> tuple[str | None, str | None, int]:
    """The names of a `---` and a `+++` line; where only one of the two is there, it stands for both."""
    old = new = ""
    if lines[at].startswith("--- "):
        old, at = read_name(lines[at][4:].rstrip("\r")), at + 1
    if at < len(lines) and lines[at].startswith("+++ "):
        new, at = read_name(lines[at][4:].rstrip("\r")), at + 1
    if old == "" or new == "":
        old = new = (old or new) or None
    return old, new, at


def _hunks(lines: Sequence[str], at: int, before: tuple[Hunk, ...]) -> tuple[tuple[Hunk, ...], int]:
    """The hunks from here on, behind those that came `before` in the same file; the first may lack its `@@` line."""
    hunks = [*before]
    while True:
        at_hunk = at
        while at_hunk < len(lines) and not lines[at_hunk].strip():
            at_hunk += 1
        if at_hunk >= len(lines) or not (
            lines[at_hunk].startswith(HUNK_START) or (not hunks and begins_body(lines, at_hunk))
        ):
            return tuple(hunks), at
        if lines[at_hunk].startswith("@@@"):
            raise _refused(Reason.UNSUPPORTED, "This is a combined diff of a merge (@@@). Send a diff of two versions.")
        hunk, at = read_hunk(lines, at_hunk, len(hunks) + 1)
        hunks.append(hunk)


def _git_section(lines: Sequence[str], at: int) -> tuple[FilePatch, int]:
    """A section that `diff --git` begins: extended headers, then perhaps names and hunks."""
    pair = git_pair(lines[at][len("diff --git ") :].rstrip("\r"))
    headers, at = _extended_headers(lines, at + 1)
    _check_supported(headers, pair)
    section = _by_headers(headers, pair)
    if at < len(lines) and _starts_plain_section(lines, at) and not lines[at].startswith(HUNK_START):
        plain, at = _plain_section(lines, at)
        _check_consistent(section, plain, pair, headers)
        if section.names_are_plain:
            return replace(section, hunks=plain.hunks), at
        kind = section.kind if plain.kind == "change" else plain.kind
        return replace(section, kind=kind, old_name=plain.old_name, new_name=plain.new_name, hunks=plain.hunks), at
    if section.old_name is None and section.new_name is None:
        raise _refused(Reason.MALFORMED, "A 'diff --git' line does not say clearly which file it is about.")
    hunks, at = _hunks(lines, at, ())
    return replace(section, hunks=hunks), at


def _check_consistent(
    section: FilePatch, plain: FilePatch, pair: tuple[str, str] | None, headers: dict[str, str]
) -> None:
    """Refuse `---` and `+++` lines that are about another file, or another kind of change, than the lines before."""
    names = (section.old_name, section.new_name) if section.names_are_plain else pair or (None, None)
    same_old = _may_be(plain.old_name, names if section.names_are_plain else names[:1])
    if plain.kind == "change":
        fits = True
    elif section.kind == "change":
        fits = "new mode" not in headers
    else:
        fits = plain.kind == section.kind
    if fits and same_old and _may_be(plain.new_name, names[1:]):
        return
    raise _refused(
        Reason.CONFLICT,
        f"the --- and +++ lines name {plain.old_name!r} and {plain.new_name!r}, but the lines before them are about "
        f"{names[0]!r} and {names[1]!r}. Give every file its own 'diff --git' line.",
        names[1],
    )


def _may_be(said: str | None, meant: Sequence[str | None]) -> bool:
    return said is None or any(name is None or may_be_same(said, name) for name in meant)


def _extended_headers(lines: Sequence[str], at: int) -> tuple[dict[str, str], int]:
    words = (
        "old mode", "new mode", "deleted file mode", "new file mode", "copy from", "copy to", "rename from",
        "rename to", "similarity index", "dissimilarity index", "index", "GIT binary patch", "Binary files",
    )  # fmt: skip
    headers: dict[str, str] = {}
    while at < len(lines):
        word = next((word for word in words if lines[at].startswith(word)), None)
        if word is None:
            break
        headers[word] = lines[at][len(word) :].strip()
        at += 1
    return headers, at


def _check_supported(headers: dict[str, str], pair: tuple[str, str] | None) -> None:
    path = pair[1] if pair else None
    if "GIT binary patch" in headers or "Binary files" in headers:
        raise _refused(Reason.UNSUPPORTED, "It changes a binary file; only text can be patched.", path)
    for word in ("new file mode", "deleted file mode", "old mode", "new mode"):
        mode = headers.get(word, "100644")
        if mode not in _GIT_MODES:
            raise _refused(
                Reason.UNSUPPORTED,
                f"{word!r} {mode} is not a regular file; links and submodules are not patched.",
                path,
            )


def _by_headers(headers: dict[str, str], pair: tuple[str, str] | None) -> FilePatch:
    old, new = pair or (None, None)
    mode = _GIT_MODES.get(headers.get("new mode") or headers.get("new file mode") or "")
    for kind in ("rename", "copy"):
        if f"{kind} from" in headers and f"{kind} to" in headers:
            source, target = read_name(headers[f"{kind} from"]), read_name(headers[f"{kind} to"])
            return FilePatch(kind=kind, old_name=source, new_name=target, mode=mode, names_are_plain=True)
    if "new file mode" in headers:
        return FilePatch(kind="add", old_name=None, new_name=new, mode=mode)
    if "deleted file mode" in headers:
        return FilePatch(kind="delete", old_name=old, new_name=None)
    return FilePatch(kind="change", old_name=old, new_name=new, mode=mode)


def _refused(reason: Reason, message: str, path: str | None = None) -> PatchError:
    return PatchError(PatchProblem(reason=reason, message=message, path=path))
