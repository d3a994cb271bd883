"""A walk over a tree: which files a search sees, in the order of their paths, and what it leaves out.

The walk holds one open listing per level, not a call per level, so a tree may be as deep as it likes. A link is
followed where it leads to something inside the root that the walk does not reach by its own name, once, and never to
a folder that it stands in; so every file is searched once and a circle ends where it began.

ripgrep walks by itself and is silent about what it leaves out. Beside it runs a survey: the same walk, which looks
closer only at folders, links and names that could be left out, and leaves the searching to ripgrep.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from .glob import path_key
from .judge import Judge
from .query import Scope
from .results import Reason
from .tree import Entry, Tree


@dataclass(frozen=True, slots=True)
class _Level:
    path: str
    real: str
    entries: Iterator[Entry]
    gives_files: bool  # to the caller; in a survey ripgrep searches them


class Walk:
    """One walk. `files` gives what is seen; `links`, the links that were followed, and the judge's ledger grow with it.

    A `survey` gives only the files that ripgrep may not see. `stop` is asked at every folder; once it is true the walk
    ends.
    """

    def __init__(
        self,
        tree: Tree,
        scope: Scope,
        *,
        survey: bool = False,
        names_only: bool = False,
        stop: Callable[[], bool] = lambda: False,
    ) -> None:
        self.judge = Judge(tree, scope, names_only=names_only)
        self.links: list[str] = []
        self._tree = tree
        self._scope = scope
        self._survey = survey
        self._names_only = names_only
        self._stop = stop
        self._folders: set[str] = set()
        self._followed: set[str] = set()
        self._start = scope.path

    def files(self, *, until: str | None = None) -> Iterator[str]:
        """Give the files seen, by path, and end behind the path `until`.

        Raises what `scan` raises for the start itself, but for the `NotADirectoryError` of a file.
        """
        path = self._scope.path
        self._start, _ = self._tree.resolve(path) or (path, "folder")
        levels: list[_Level] = []
        try:
            self._open(path, self._start, levels)
        except NotADirectoryError:
            if self.judge.may_read(path, self._start):
                yield path
            return
        end = path_key(until) if until else None
        while levels:
            entry = next(levels[-1].entries, None)
            if entry is None:
                levels.pop()
                continue
            path = _join(levels[-1].path, entry.name)
            if end and path_key(path) > end:
                return
            if self._meet(path, entry, levels):
                yield path

    def note_unreadable(self, paths: Iterable[str]) -> None:
        """Note the files that ripgrep could not read, those of them that were asked for."""
        for path in paths:
            if path not in self._folders and self.judge.takes(path, start=self._scope.path):
                self.judge.ledger.note(Reason.UNREADABLE, path)

    def _open(self, path: str, real: str, levels: list[_Level]) -> None:
        entries = list(self._tree.scan(path))
        self.judge.rules_of(path, names={entry.name for entry in entries if entry.name[0] == "."})
        leaves = self._survey and self.judge.trusts_ripgrep(path)
        if leaves:
            names = [entry.name for entry in entries if entry.kind == "file"]
            doubtful = self.judge.doubtful(path, names)
            entries = [entry for entry in entries if entry.kind != "file" or entry.name in doubtful]
        entries.sort(key=lambda entry: path_key(entry.name))
        levels.append(_Level(path, real, iter(entries), gives_files=not leaves))

    def _meet(self, path: str, entry: Entry, levels: list[_Level]) -> bool:
        """Deal with one entry. Gives whether it is a file to search."""
        level = levels[-1]
        if entry.kind == "folder":
            if self._scope.recursive:
                self._enter(path, _join(level.real, entry.name), levels)
            return False
        if entry.kind == "link":
            return self._follow(path, levels)
        if not self.judge.is_wanted(path):
            return False
        reason = self.judge.reason(path, level.path, is_dir=False)
        if reason is None and entry.kind == "other":
            reason = Reason.NOT_A_FILE
        if reason is not None:
            self.judge.ledger.note(reason, path)
            return False
        if not self.judge.may_read(path, _join(level.real, entry.name)):
            return False
        return level.gives_files or self.judge.is_kept_from_ripgrep(path)

    def _enter(self, path: str, real: str, levels: list[_Level]) -> bool:
        self._folders.add(path)
        reason = self.judge.reason(path, levels[-1].path, is_dir=path not in self.judge.aliases)
        if reason is None and self._stop():
            reason = Reason.OUT_OF_TIME
            levels.clear()
        if reason is None:
            try:
                self._open(path, real, levels)
            except OSError:
                reason = Reason.UNREADABLE
        if reason is not None:
            self.judge.ledger.note(reason, path + "/")
        return reason is None

    def _follow(self, path: str, levels: list[_Level]) -> bool:
        self.judge.aliases.add(path)
        real, kind = self._tree.resolve(path) or ("", None)
        if kind == "file" and not self.judge.is_wanted(path):
            return False
        reason = self.judge.reason(path, levels[-1].path, is_dir=False)
        if reason is None and kind in (None, "other"):
            reason = Reason.NOT_A_FILE if kind else Reason.LINKED_OUT
        if reason is not None:
            self.judge.ledger.note(reason, path)
            return False
        if kind == "file":
            return self._follow_file(path, real)
        if self._scope.recursive:
            self._follow_folder(path, real, levels)
        return False

    def _follow_file(self, path: str, real: str) -> bool:
        """Follow a link to a file. Where names are wanted, it is a name of its own."""
        if not self._names_only and (real in self._followed or self.judge.takes(real, start=self._start)):
            return False
        if not self.judge.may_read(path, real):
            return False
        self._followed.add(real)
        self.links.append(path)
        return True

    def _follow_folder(self, path: str, real: str, levels: list[_Level]) -> None:
        if real in self._followed or self.judge.enters(real, start=self._start):
            return
        here = levels[-1].real
        if real == "." or here == real or here.startswith(real + "/"):
            self.judge.ledger.note(Reason.LINKED_OUT, path + "/")
        elif self._enter(path, real, levels):
            self._followed.add(real)
            self.links.append(path)
            self.judge.followed.append(path)


def _join(folder: str, name: str) -> str:
    return name if folder == "." else f"{folder}/{name}"
