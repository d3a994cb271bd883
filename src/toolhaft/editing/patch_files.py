"""Which file a section of a patch is about: without prefixes where they are prefixes, and never one outside."""

from collections.abc import Callable

from toolhaft.editing.patch_model import FilePatch, PatchError, PatchProblem
from toolhaft.editing.patch_names import is_safe, tidy
from toolhaft.editing.refusal import Reason

__all__ = ["existing_path", "matches_filepath", "new_path", "possible_paths"]

# What git writes before the names of the two sides; the single letters after the first are its mnemonic prefixes.
_PREFIXES = frozenset("abciwo")


def existing_path(section: FilePatch, exists: Callable[[str], bool]) -> str | None:
    """The path of the file to change, delete, rename or copy; None where there is none of its names.

    Raises `PatchError` for a name that leads outside, and where the two names mean two different files.
    """
    for old, new in _candidates(section):
        names = [name for name in dict.fromkeys((new, old)) if name is not None]
        if section.kind in ("rename", "copy"):
            names = names[-1:]
        found = [name for name in names if is_safe(name) and exists(name)]
        if len(found) > 1 or (found and len(names) > 1 and found[0] == old):
            raise _refused(
                Reason.AMBIGUOUS,
                f"its headers name two files, {old!r} and {new!r}. Name the same file in both, or say "
                "'rename from' and 'rename to' under a 'diff --git' line.",
                found[0],
            )
        if found:
            return found[0]
    return None


def new_path(section: FilePatch) -> str:
    """The path of the file as it will be called; checked not to lead outside."""
    old, new = _candidates(section)[0]
    return _checked(new if new is not None else old or "")


def possible_paths(section: FilePatch) -> set[str]:
    """Every path that the section may be about, whether there is such a file or not; none that leads outside."""
    return {name for pair in _pairs(section) for name in pair if name is not None and is_safe(name)}


def matches_filepath(section: FilePatch, filepath: str) -> bool:
    """Whether the section can mean `filepath`: it has its name, or the end of it, or no name at all."""
    path = tidy(filepath) or filepath
    names = {name for pair in [*_pairs(section), (section.old_name, section.new_name)] for name in pair if name}
    return not names or any(path == name or path.endswith(f"/{name}") for name in names)


def _candidates(section: FilePatch) -> list[tuple[str | None, str | None]]:
    """The pairs of names that may be meant, the likeliest first; that one must be safe."""
    pairs = _pairs(section)
    for name in pairs[0]:
        if name is not None:
            _checked(name)
    for name in (section.old_name, section.new_name):
        if name and name[0] in _PREFIXES and name[1:3] == "//":  # an absolute path behind a prefix
            _checked(name[1:])
    return pairs


def _pairs(section: FilePatch) -> list[tuple[str | None, str | None]]:
    old, new = section.old_name, section.new_name
    written = (tidy(old), tidy(new))
    if section.names_are_plain:
        return [written]
    stripped = (_stripped(old), _stripped(new))
    if old is None or new is None:
        name = old or new or ""
        return [stripped, written] if name[:2] == ("a/" if new is None else "b/") else [written]
    prefixes = old.partition("/")[0], new.partition("/")[0]
    if old == new:
        return [written, stripped] if prefixes[0] in _PREFIXES else [written]
    if set(prefixes) <= _PREFIXES:
        # Two prefixes that differ are no folder: `a/f` and `b/f` as they are written are not one file.
        return [stripped, written] if prefixes[0] == prefixes[1] else [stripped]
    return [stripped, written] if stripped[0] and stripped[0] == stripped[1] else [written]


def _stripped(name: str | None) -> str | None:
    return None if name is None else tidy(name.partition("/")[2])


def _checked(path: str) -> str:
    if not is_safe(path):
        raise _refused(
            Reason.UNSAFE_PATH,
            f"the name {path!r} is not a path inside the workspace. Name the file relative to its root, without '..'.",
            path,
        )
    return path


def _refused(reason: Reason, message: str, path: str) -> PatchError:
    return PatchError(PatchProblem(reason=reason, message=message, path=path))
