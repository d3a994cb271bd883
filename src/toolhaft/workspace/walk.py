"""Resolve a path below a folder by hand, so that nothing leads out of it.

A walk holds one descriptor for every folder it went down, each opened from its parent's descriptor and never
through a link. A link is read and its target walked like any other path; `..` closes the top descriptor and
stands on the one below, so it can neither be raced nor climb above the first. What comes out is a `Place`:
an open folder and a name in it, which later calls use without resolving anything again.
"""

import errno
import os
from collections.abc import Callable
from dataclasses import dataclass

# What the kernel allows: include/linux/namei.h, MAXSYMLINKS.
_MAX_LINKS = 40
# O_PATH asks for no permission to list the folder. macOS lacks it.
_FOLDER = getattr(os, "O_PATH", os.O_RDONLY) | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


class PathTraversalError(PermissionError):
    """A path leads out of the folder it was to stay in. `path` is what the caller gave."""

    def __init__(self, message: str, *, path: str = "") -> None:
        super().__init__(message)
        self.path = path


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where a path ends: the last name of its real path, in an open folder.

    `folder` is a descriptor (opened with `O_PATH` where there is one), `path` the real path relative to the root
    (`.` is the root itself), `given` what the caller wrote. `missing` names the folders between `folder` and
    `name` that do not exist yet. `exists` is what the walk saw; only the next call with `folder` knows for sure.
    """

    folder: int
    name: str
    path: str
    given: str
    exists: bool
    missing: tuple[str, ...] = ()


class Walk:
    """One resolution of one path. `close` it when its place is no longer used."""

    def __init__(self, root: int, *, given: str, below_root: Callable[[str], str | None]) -> None:
        self._given = given
        self._below_root = below_root
        self._folders = [("", root)]
        self._missing: list[str] = []
        self._coming: list[str] = []
        self._last: str | None = None
        self._folder_only = False
        self._links = 0

    def to(self, path: str, *, follow_last: bool = True, keep_missing: bool = False) -> Place:
        """Walk to `path`, relative to the root.

        `follow_last=False` stops at a link in the last place. With `keep_missing`, `..` after a missing name
        cancels that name as text, as `os.path.realpath` does; without, it is a `FileNotFoundError`, as for the kernel.
        """
        self._expect(path)
        while self._coming:
            name = self._coming.pop()
            if name == "..":
                self._up(keep_missing=keep_missing)
            elif self._missing:
                self._missing.append(name)
            elif self._coming or follow_last:
                self._down(name)
            else:
                self._stop_at(name)
        return self._place()

    def close(self) -> None:
        """Close every folder below the root."""
        while len(self._folders) > 1:
            os.close(self._folders.pop()[1])

    def _expect(self, path: str) -> None:
        if not self._coming:
            self._folder_only = self._folder_only or path.endswith(("/", "/."))
        self._coming.extend(reversed(names_in(path)))

    def _up(self, *, keep_missing: bool) -> None:
        if self._missing and keep_missing:
            self._missing.pop()
        elif self._missing:
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), self._given)
        elif len(self._folders) == 1:
            raise PathTraversalError(
                f"{self._given!r} climbs above the workspace root with '..'. Use a path that stays inside it.",
                path=self._given,
            )
        else:
            os.close(self._folders.pop()[1])

    def _stop_at(self, name: str) -> None:
        if self._folder_only:  # 'name/' is a folder or an error, as for rmdir(2); never what a link leads to
            os.close(os.open(name, _FOLDER, dir_fd=self._folders[-1][1]))
        self._last = name

    def _down(self, name: str) -> None:
        try:
            self._folders.append((name, os.open(name, _FOLDER, dir_fd=self._folders[-1][1])))
        except FileNotFoundError:
            self._missing.append(name)
        except OSError as error:
            # A link opened with O_NOFOLLOW | O_DIRECTORY is ENOTDIR on Linux and ELOOP elsewhere.
            if error.errno not in (errno.ENOTDIR, errno.ELOOP):
                raise
            self._not_a_folder(name)

    def _not_a_folder(self, name: str) -> None:
        try:
            target = os.readlink(name, dir_fd=self._folders[-1][1])
        except OSError as error:
            if error.errno != errno.EINVAL:
                raise
            if self._coming or self._folder_only:
                raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), self._given) from error
            self._last = name
        else:
            self._follow(target)

    def _follow(self, target: str) -> None:
        self._links += 1
        if self._links > _MAX_LINKS:
            raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), self._given)
        if target.startswith("/"):
            below = self._below_root(target)
            if below is None:
                raise PathTraversalError(
                    f"{self._given!r} passes a link that leads outside the workspace. Use a path that stays inside it.",
                    path=self._given,
                )
            self.close()
            target = below
        self._expect(target)

    def _place(self) -> Place:
        names = [name for name, _ in self._folders[1:]]
        if self._missing:
            *between, name = self._missing
            return self._at(self._folders[-1][1], name, names + self._missing, missing=tuple(between), exists=False)
        if self._last is not None:
            return self._at(self._folders[-1][1], self._last, [*names, self._last])
        if names:
            return self._at(self._folders[-2][1], names[-1], names)
        return self._at(self._folders[0][1], ".", ["."])

    def _at(
        self, folder: int, name: str, names: list[str], *, missing: tuple[str, ...] = (), exists: bool = True
    ) -> Place:
        path = "/".join(names)
        return Place(folder=folder, name=name, path=path, given=self._given, exists=exists, missing=missing)


def names_in(path: str) -> list[str]:
    """Return the names a path goes through: `a//./b/..` is `["a", "b", ".."]`."""
    return [name for name in path.split("/") if name not in ("", ".")]
