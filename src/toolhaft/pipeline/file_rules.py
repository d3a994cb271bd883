"""Files that may not be read or not be changed, judged where a path leads, in the workspace in which the call acts.

A file tool of ours that only reads is judged here by the text of its path, which takes no thread: where links lead, the
workspace judges as it opens the file, if it was made with these rules (`over`). Everything else is looked up.
"""

from __future__ import annotations

import asyncio
import os
import posixpath
import re
from collections.abc import Sequence
from weakref import WeakKeyDictionary

from pydantic_ai.workspaces import Workspace, WorkspaceBackend
from pydantic_ai.workspaces.workspace import workspace_layers

from toolhaft.pipeline.refusal import Refusal, Sources
from toolhaft.shell import PathUse
from toolhaft.workspace import LocalWorkspace, workspace
from toolhaft.workspace.access import Access, FileRuleError
from toolhaft.workspace.command_paths import check_path_texts, check_paths
from toolhaft.workspace.commands_elsewhere import check_paths_elsewhere
from toolhaft.workspace.current import ToolWorkspace
from toolhaft.workspace.direct import DEFAULT_ACCESS


class FileRules:
    """Patterns of sensitive and of protected files, in the one dialect of `workspace/sensitive.py`."""

    def __init__(self, *, sensitive_files: Sequence[str], protected_files: Sequence[str], sources: Sources) -> None:
        self._sources = sources
        for name, patterns in (("sensitive_files", sensitive_files), ("protected_files", protected_files)):
            sources.each(name, patterns, _checked)
        self._access = Access(
            read_only=False, sensitive_files=tuple(sensitive_files), protected_files=tuple(protected_files)
        )
        # One for each folder, so that its background jobs are found again.
        self._narrowed: WeakKeyDictionary[LocalWorkspace, LocalWorkspace] = WeakKeyDictionary()

    def __bool__(self) -> bool:
        return bool(self._access.sensitive_files or self._access.protected_files)

    def in_our_name(self, error: BaseException) -> Refusal | None:
        """The refusal that an error of a tool comes from, where the workspace held one of these rules."""
        found: BaseException | None = error
        while found is not None and not isinstance(found, FileRuleError):
            original = getattr(found, "original_error", None)
            found = original if isinstance(original, BaseException) else found.__cause__
        if found is None or found.pattern not in getattr(self._access, found.rule):
            return None
        return self._refusal(found)

    def over(self, place: WorkspaceBackend) -> WorkspaceBackend:
        """The same folder, with these rules in everything that reads, searches, writes or runs there.

        Another workspace than a folder of ours, or one behind a policy wrapper, comes back as it is.
        """
        local = _folder_of(place)
        if not self or local is None or self._hold_in(local):
            return place
        if local not in self._narrowed:
            self._narrowed[local] = local.restricted(
                sensitive_files=self._access.sensitive_files, protected_files=self._access.protected_files
            )
        return self._narrowed[local]

    def hold_here(self) -> bool:
        """Whether the workspace of the call was made with these rules, so that it judges where links lead."""
        backend = workspace().backend
        return isinstance(backend, LocalWorkspace) and self._hold_in(backend)

    def broken_by_text(self, paths: Sequence[str]) -> Refusal | None:
        """Why these paths may not be read, judged by their text alone."""
        try:
            for path in paths:
                self._access.check_read(posixpath.normpath(path), path)
        except FileRuleError as error:
            return self._refusal(error)
        return None

    async def broken_by(
        self, paths: Sequence[PathUse], *, cwd: str = ".", and_workspace: bool = False
    ) -> Refusal | None:
        """Why these paths may not be read or written; with `and_workspace`, also by the workspace's own rules.

        `cwd` is for the paths of a command: where it starts.
        """
        if not paths or not (self or and_workspace):
            return None
        place = workspace()
        backend = place.backend
        access = self._with_rules_of(backend) if and_workspace else self._access
        try:
            if not isinstance(backend, LocalWorkspace):
                await check_paths_elsewhere(place, paths, access, cwd=cwd)
            else:
                await asyncio.to_thread(_check_local, backend, paths, access, cwd)
        except FileRuleError as error:
            return self._refusal(error)
        return None

    def broken_now(self, paths: Sequence[PathUse]) -> Refusal | None:
        """The same at once, with the workspace's own rules; where that is no folder of ours, by the text alone."""
        backend = workspace().backend
        access = self._with_rules_of(backend)
        try:
            if isinstance(backend, LocalWorkspace):
                _check_local(backend, paths, access, ".")
            else:
                check_path_texts(paths, access, cwd=".")
        except FileRuleError as error:
            return self._refusal(error)
        return None

    def _refusal(self, error: FileRuleError) -> Refusal:
        patterns: tuple[str, ...] = getattr(self._access, error.rule)
        if error.pattern not in patterns:
            return Refusal(error.rule, str(error), "the workspace's own list")
        return self._sources.refusal(error.rule, str(error), patterns.index(error.pattern))

    def _hold_in(self, place: LocalWorkspace) -> bool:
        sensitive, protected = self._access.sensitive_files, self._access.protected_files
        return (
            place.access.sensitive_files[-len(sensitive) or len(place.access.sensitive_files) :] == sensitive
            and place.access.protected_files[-len(protected) or len(place.access.protected_files) :] == protected
        )

    def _with_rules_of(self, backend: WorkspaceBackend) -> Access:
        own = backend.access if isinstance(backend, LocalWorkspace) else DEFAULT_ACCESS
        return Access(
            read_only=False,
            sensitive_files=(*own.sensitive_files, *self._access.sensitive_files),
            protected_files=(*own.protected_files, *self._access.protected_files),
        )


def _checked(pattern: str) -> None:
    if not pattern.strip("!./"):
        raise ValueError(f"{pattern!r} names no file.")
    parts = pattern.removeprefix("!").removeprefix("./").removeprefix("/").removesuffix("/").split("/")
    if not {"", ".", ".."}.isdisjoint(parts) or parts[0] == "~" or "\\" in pattern:
        raise ValueError(
            f"{pattern!r} matches no path: paths are relative to the workspace, with '/' between plain names."
        )
    if any("[" in part and not re.search(r"\[.[^/]*\]", part) for part in parts):
        raise ValueError(f"{pattern!r} has a '[' without its ']'.")
    if "{" in pattern:
        raise ValueError(f"{pattern!r} has braces, which are no part of these globs. Write a pattern for each choice.")


def _folder_of(place: WorkspaceBackend) -> LocalWorkspace | None:
    """The folder that a workspace is, if no policy wrapper stands before it."""
    if isinstance(place, Workspace):
        wrappers = [layer for layer in workspace_layers(place)[:-1] if layer is not ToolWorkspace]
        return _folder_of(place.backend) if not wrappers else None
    return place if isinstance(place, LocalWorkspace) else None


def _check_local(place: LocalWorkspace, paths: Sequence[PathUse], access: Access, cwd: str) -> None:
    root = os.path.realpath(place.ref.id)
    for use in paths:
        try:
            check_paths([use], access, root=root, cwd=cwd)
        except ValueError:  # no path at all: a NUL in it, half of a surrogate pair
            check_path_texts([use], access, cwd=cwd)
