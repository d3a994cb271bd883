"""`LocalWorkspace`: a folder of this machine as a pydantic-ai workspace that nothing leads out of.

The protocol's methods are coroutines, one thread hop each. Besides them there are plain methods (`open_file`,
`replace_file`, `change`, `undo`, `scan_dir`, `relative`) for callers that do several steps inside one hop of their own.
"""

import asyncio
import errno
import os
import posixpath
import stat
import threading
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import BinaryIO, Self

from pydantic_ai.workspaces import (
    CommandResult,
    FileEntry,
    SupportsCommands,
    SupportsFilesystem,
    SupportsRealpath,
    WorkspaceBackend,
    WorkspaceCommand,
    WorkspaceRef,
    WorkspaceUnavailableError,
)

from toolhaft.shell import PathUse

from . import folders
from .access import Access
from .beneath import Root
from .changes import Applied, ChangeSet
from .command_paths import check_paths
from .command_rules import CommandRules
from .files import Version, WriteMode, Written, open_regular
from .folders import DirEntry
from .journal import Journal
from .journal_folder import journal_folder as find_journal_folder
from .lines import LineIndex
from .local_changes import LocalChangeSet
from .local_commands import LocalCommands
from .net_rules import NetworkRules
from .process import run_command
from .publication import Ground
from .recovery import recover
from .replace import changed
from .sensitive import DEFAULT_PROTECTED_FILES, DEFAULT_SENSITIVE_FILES
from .temporary import remove_leftovers
from .undo import undo


class _LiveRoot(Root):
    """A root whose absence is what pydantic-ai calls a dead environment, and that is put in order when first used."""

    def __init__(self, folder: str | os.PathLike[str], *, first_use: Callable[[], None]) -> None:
        super().__init__(folder)
        self._first_use = first_use
        self._used = False
        self._lock = threading.Lock()

    def open_root(self) -> int:
        """Open the root, or raise `WorkspaceUnavailableError`."""
        if not self._used:
            with self._lock:
                if not self._used:
                    self._first_use()
                    self._used = True
        try:
            return super().open_root()
        except (FileNotFoundError, NotADirectoryError) as error:
            raise WorkspaceUnavailableError(
                f"the workspace folder {self.given!r} does not exist. Make it, or use another one."
            ) from error


class _MadeMeanwhileError(Exception):
    """A file that was to be made is there now: look again."""


class LocalWorkspace(WorkspaceBackend, SupportsCommands, SupportsFilesystem, SupportsRealpath):
    """A folder in which tools read, write and run commands.

    Paths are relative to `root` or absolute and inside it; links, races and `..` lead nowhere else. `run` keeps
    pydantic-ai's contract: ordinary processes that start in `root`, confined by nothing. The commands of tools are
    bounded, confined and judged by `commands`; `aclose()`, or leaving `async with`, ends what runs of them.

    Args:
        root: The folder; it must exist when the workspace is first used, and stays what it was then.
        read_only: Refuse writes, removals and commands with pydantic-ai's `WorkspaceReadOnlyError`.
        allow_delete: Whether tools may offer to delete files. Tools ask it; the protocol's `remove` does not.
        sensitive_files: Patterns of files that are neither read nor written; see `sensitive.py`.
        protected_files: Patterns of files that are read but not changed.
        env: Environment variables for every command.
        commands: What tools may run, and how; see `CommandRules`.
        network: Which hosts tools may ask; see `NetworkRules`.
        journal_folder: Where the journal of changes lies; by default below the user's state folder.
    """

    def __init__(
        self,
        root: str | os.PathLike[str],
        *,
        read_only: bool = False,
        allow_delete: bool = False,
        sensitive_files: Sequence[str] = DEFAULT_SENSITIVE_FILES,
        protected_files: Sequence[str] = DEFAULT_PROTECTED_FILES,
        env: Mapping[str, str] | None = None,
        commands: CommandRules | None = None,
        network: NetworkRules | None = None,
        journal_folder: str | os.PathLike[str] | None = None,
    ) -> None:
        self.allow_delete = allow_delete
        self.network_rules = network or NetworkRules()
        self.line_index = LineIndex()  # kept here, so that it lives as long as the files it is about
        self.access = Access(
            read_only=read_only, sensitive_files=tuple(sensitive_files), protected_files=tuple(protected_files)
        )
        self._root = _LiveRoot(root, first_use=self._recover)
        self._env = dict(env or {})
        self.commands = LocalCommands(
            commands or CommandRules(), access=self.access, env=self._env, live_root=self._live_root
        )
        self._swept: set[tuple[int, int]] = set()
        self._journal_folder = inside = None if journal_folder is None else os.path.abspath(journal_folder)
        self._ground = Ground(
            root=self._root,
            access=self.access,
            allow_delete=allow_delete,
            journal=Journal(lambda: find_journal_folder(self._root.real, inside=inside)),
            relative=self.relative,
            sweep=self._sweep,
            unrepaired=[],
        )

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """End the commands and background jobs of tools; the workspace may be used again after."""
        await asyncio.to_thread(self.commands.close)

    @property
    def ref(self) -> WorkspaceRef:
        """`WorkspaceRef(provider="local", id=<absolute root>)`, known from the start."""
        return WorkspaceRef(provider="local", id=os.path.normpath(self._root.given))

    @property
    def opener(self) -> Root:
        """What opens paths below the folder and nothing outside of it, for a reader with descriptors of its own."""
        return self._root

    def restricted(
        self, *, sensitive_files: Sequence[str] = (), protected_files: Sequence[str] = ()
    ) -> "LocalWorkspace":
        """Return the same folder with the same settings and these patterns besides; its commands are its own."""
        return LocalWorkspace(
            self._root.given,
            read_only=self.access.read_only,
            allow_delete=self.allow_delete,
            sensitive_files=(*self.access.sensitive_files, *sensitive_files),
            protected_files=(*self.access.protected_files, *protected_files),
            env=self._env,
            commands=self.commands.rules,
            journal_folder=self._journal_folder,
        )

    def relative(self, path: str) -> str:
        """Return a path as a model should see it: relative to the root, as text, links not resolved."""
        below = self._root.below(path)
        return path if below is None else posixpath.normpath(below)

    def open_file(self, path: str) -> BinaryIO:
        """Open a regular file for reading, never waiting for a FIFO or device.

        Raises the builtin `OSError`s, `PathTraversalError` where the path leads out of the workspace, and
        `PermissionError` where it leads to a sensitive file.
        """
        file, real = open_regular(self._root, path)
        try:
            self.access.check_read(real, path)
        except PermissionError:
            file.close()
            raise
        return file

    @contextmanager
    def change(
        self, operation: str, *, preview: bool = False, expected_plan: str | None = None
    ) -> Generator[ChangeSet]:
        """Change any number of files when the block ends, all or none, also if the process is killed.

        What the block reads is held until it ends: no other change of this package gets in between, in any process,
        and what anybody else does in between is a `FileChangedError`. `operation` is for the journal. With `preview`
        nothing is written; its `applied.plan_id` as `expected_plan` makes sure that what is changed is what was
        previewed. Undone by `undo(change.applied.change_id)`.
        """
        self.access.check_writable(f"change files ({operation})")
        change = LocalChangeSet(self._ground, operation, preview=preview, expected_plan=expected_plan)
        try:
            yield change
            try:
                change.apply()
            except FileExistsError as error:
                raise changed(str(error.filename)) from error
        finally:
            change.close()

    def paths_of(self, change_id: str) -> tuple[str, ...]:
        """Return the files that a change set changed. Raises `UnknownChangeError`."""
        _, entries = self._ground.journal.find(change_id)
        return tuple(entry.path for entry in entries)

    def undo(self, change_id: str) -> Applied:
        """Take back a change set: bytes, modes, existence; it is a change set itself, so it can be undone too.

        Raises `UndoRefusedError` where a file has changed since, `UnknownChangeError` where the journal does not have
        it (any more). What commands did is in no change set.
        """
        self.access.check_writable(f"undo {change_id!r}")
        return undo(self._ground, change_id)

    def replace_file(
        self, path: str, data: bytes, *, mode: WriteMode = "overwrite", expected: Version | None = None
    ) -> Written:
        """Write a whole file or nothing, making its folders where they are missing.

        `create` raises `FileExistsError` where there is a file; `append` puts `data` behind what is there. With
        `expected`, a file in any other version is left alone: `FileChangedError`.
        """
        self.access.check_writable(f"write {path!r}")
        while True:
            with suppress(_MadeMeanwhileError):
                return self._replace(path, data, mode=mode, expected=expected)

    def scan_dir(self, path: str) -> list[DirEntry]:
        """List a folder by name, without the temporary files of writers."""
        return folders.scan(self._root, path)

    def check_command_paths(self, paths: Iterable[PathUse], cwd: str) -> None:
        """Raise the `PermissionError` of `open_file` and its like for a path that a command in `cwd` names."""
        check_paths(paths, self.access, root=self._root.real, cwd=cwd)

    async def working_dir(self) -> str:
        """Return the real path of the root."""
        return await asyncio.to_thread(self._live_root)

    async def read_bytes(self, path: str) -> bytes:
        """Return the content of a regular file."""

        def read() -> bytes:
            with self.open_file(path) as file:
                return file.read()

        return await asyncio.to_thread(read)

    async def write_bytes(self, path: str, data: bytes) -> None:
        """Replace a file whole, through links that stay inside, making its folders where they are missing.

        A caller that is cancelled does not wait for the thread: the write still happens, whole, or fails unseen.
        """
        await asyncio.to_thread(self.replace_file, path, data)

    async def stat(self, path: str) -> FileEntry:
        """Return kind and size of what a path leads to."""
        info = await asyncio.to_thread(folders.status, self._root, path)
        return _file_entry(path, is_dir=stat.S_ISDIR(info.st_mode), size=info.st_size)

    async def list_dir(self, path: str) -> Sequence[FileEntry]:
        """List a folder by name."""

        def entries() -> list[FileEntry]:
            return [
                _file_entry(posixpath.join(path, entry.name), is_dir=entry.is_dir, size=entry.size)
                for entry in self.scan_dir(path)
            ]

        return await asyncio.to_thread(entries)

    async def make_dir(self, path: str) -> None:
        """Make a folder and what is missing above it."""

        def make() -> None:
            self.access.check_writable(f"make the folder {path!r}")
            with self._root.locate(path) as place:
                self.access.check_change(place.path, path)
                folders.make_folder(place)

        await asyncio.to_thread(make)

    async def remove(self, path: str) -> None:
        """Remove a file, a link itself, or a folder with everything in it, unless something in it is protected."""

        def remove() -> None:
            self.access.check_writable(f"remove {path!r}")
            if self._root.contains_root(path):
                raise _root_stays(path)
            with self._root.locate(path, follow_last=False) as place:
                if place.path == ".":  # reached by '..' or a link
                    raise _root_stays(path)
                folders.remove(place, check=lambda real: self.access.check_change(real, path))

        await asyncio.to_thread(remove)

    async def exists(self, path: str) -> bool:
        """Whether a path leads to a file or folder."""
        try:
            await asyncio.to_thread(folders.status, self._root, path)
        except OSError as error:
            if error.errno in (errno.ENOENT, errno.ENOTDIR, errno.ELOOP):
                return False
            raise
        return True

    async def realpath(self, path: str) -> str:
        """Return where a path really leads; missing names are kept."""
        if self._root.contains_root(path):
            return await asyncio.to_thread(os.path.realpath, path)
        return await asyncio.to_thread(self._root.realpath, path)

    async def run(
        self,
        command: WorkspaceCommand,
        *,
        shell: bool = False,
        env: Mapping[str, str] | None = None,
        timeout: float | None = None,
    ) -> CommandResult:
        """Run a command that starts in the root, with pydantic-ai's contract; see `process.py`."""
        self.access.check_writable("run a command")
        folder = await self.working_dir()
        merged = {**self._env, **(env or {})}
        return await run_command(command, folder=folder, shell=shell, env=merged, timeout=timeout)

    def _live_root(self) -> str:
        os.close(self._root.open_root())
        return self._root.real

    def _recover(self) -> None:
        """Put in order what killed writers left, before anybody looks."""
        if not self.access.read_only:
            self._ground.unrepaired[:] = recover(self._ground.journal, Root(self._root.real))

    def _sweep(self, folder: int) -> None:
        """Remove what killed writers left in a folder, the first time this workspace writes there."""
        info = os.fstat(folder)
        if (info.st_dev, info.st_ino) not in self._swept:
            self._swept.add((info.st_dev, info.st_ino))
            remove_leftovers(folder)

    def _replace(self, path: str, data: bytes, *, mode: WriteMode, expected: Version | None) -> Written:
        change = LocalChangeSet(self._ground, "write_file")
        try:
            target = change.hold(path)
            if mode == "create" and target.exists:
                raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), path)
            if expected is not None and (target.info is None or Version.of(target.info) != expected):
                raise changed(path)
            target.stage_unhashed(data, append=mode == "append", compared=expected is not None)
            applied = change.apply()
        except FileExistsError as error:
            if mode == "create":
                raise
            raise _MadeMeanwhileError from error
        finally:
            change.close()
        (done,) = applied.files
        assert done.version is not None
        return Written(
            path=done.path,
            created=done.created,
            size=done.size,
            version=done.version,
            note=" ".join(applied.notes),
            change_id=applied.change_id,
        )


def _file_entry(path: str, *, is_dir: bool, size: int | None) -> FileEntry:
    return FileEntry(name=posixpath.basename(path), path=path, is_dir=is_dir, size=None if is_dir else size)


def _root_stays(path: str) -> ValueError:
    return ValueError(f"cannot remove {path!r}: it is the workspace root or a folder above it. Remove what is inside.")
