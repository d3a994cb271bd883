"""A patch applied to files that are only a dictionary."""

from collections.abc import Mapping

from toolhaft.editing.patch_plan import FileChange, plan_patch


def patched(before: Mapping[str, str], patch: str, *, filepath: str | None = None) -> dict[str, str]:
    """The files after `patch`; `before` stays as it is."""
    files = dict(before)
    for change in plan_patch(patch, before.get, filepath=filepath):
        make(files, change)
    return files


def make(files: dict[str, str], change: FileChange) -> None:
    if change.kind == "rename" and change.old_path is not None:
        del files[change.old_path]
    if change.text is None:
        del files[change.path]
    else:
        files[change.path] = change.text


def hunk(body: str, at: str = "@@ -1 +1 @@", *, name: str = "f.txt") -> str:
    """A patch of one hunk."""
    return f"--- a/{name}\n+++ b/{name}\n{at}\n{body}"
