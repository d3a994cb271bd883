"""A walk over a tree: which files a search sees, in the order of their paths, and what it leaves out.

The walk holds one open listing per level, not a call per level, so a tree may be as deep as it likes. A link is
followed where it leads to something inside the root that the walk does not reach by its own name, once, and never to
a folder that it stands in; so every file is searched once and a circle ends where it began.

ripgrep walks by itself and says what it skipped. Beside it runs a survey: the same walk over folders and links alone,
since ripgrep is silent about links to folders. What this module decides is the last word in both engines.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from .glob import path_key
from .ignore import IgnoreRules
from .query import Scope
from .results import Ledger, Reason
from .tree import Entry, Kind, Tree


@dataclass(frozen=True, slots=True)
class _Level:
    path: str
    real: str
    rules: IgnoreRules | None
    entries: Iterator[Entry]


class Walk:
    """One walk. `files` gives what is seen; the other attributes grow while it runs.

    `folders` tells of each folder met whether it was entered, `aliases` are the links met, `links` those of them that
    were followed, `ledger` what was left out. With `names_only` it is names that are wanted, not contents: sensitive
    files are left out only where the pattern does not name them. `stop` is asked at every folder; once it is true the
    walk ends.
    """

    def __init__(
        self, tree: Tree, scope: Scope, *, names_only: bool = False, stop: Callable[[], bool] = lambda: False
    ) -> None:
        self.links: list[str] = []
        self.aliases: set[str] = set()
        self.folders: dict[str, bool] = {}
        self.ledger = Ledger()
        self._tree = tree
        self._scope = scope
        self._names_only = names_only
        self._stop = stop
        self._rules: dict[str, IgnoreRules | None] = {}
        self._seen: dict[str, bool] = {}
        self._followed: set[str] = set()
        self._start = scope.path

    def files(self, *, survey: bool = False, until: str | None = None) -> Iterator[str]:
        """Give the files seen, by path; in a `survey` only those that a link leads to, the start if it is a file.

        The walk ends behind the path `until`. Raises what `scan` raises for the start itself, but for the
        `NotADirectoryError` of a file.
        """
        path = self._scope.path
        self._start, _ = self._tree.resolve(path) or (path, "folder")
        try:
            entries = self._sorted(path)
        except NotADirectoryError:
            if self._may_read(path, self._start):
                yield path
            return
        end = path_key(until) if until else None
        levels = [self._level(path, self._start, entries)]
        while levels:
            entry = next(levels[-1].entries, None)
            if entry is None:
                levels.pop()
                continue
            path = _join(levels[-1].path, entry.name)
            if end and path_key(path) > end:
                return
            if self._meet(path, entry, levels, survey=survey):
                yield path

    def seen(self, paths: Iterable[str]) -> Iterator[str]:
        """Give those of `paths`, files below the start, that this walk sees; `paths` are what ripgrep saw.

        In a folder whose ignore files both read alike, only the pattern and hidden names need a look.
        """
        trusted: dict[str, bool | None] = {}
        for path in paths:
            folder = path.rpartition("/")[0] or "."
            if folder not in trusted:
                is_entered = self._reaches(folder, "folder", start=self._scope.path)
                trusted[folder] = self._trusts(self._rules_of(folder)) if is_entered else None
            trust = trusted[folder]
            if trust is None or not (self._is_shown(path) if trust else self._is_taken(path, folder)):
                continue
            if self._may_read(path, self._real(path)):
                yield path

    def notes(self, path: str, reason: Reason | None) -> bool:
        """Judge a file that ripgrep left out, for `reason` where that is not a rule. True if it should be searched."""
        folder, _, name = path.rpartition("/")
        folder = folder or "."
        if not (self._reaches(folder, "folder", start=self._scope.path) and self.is_wanted(path)):
            return False
        reason = reason or self._name_reason(path, name, self._rules_of(folder), is_dir=False)
        if reason is not None:
            self.ledger.note(reason, path)
            return False
        return self._may_read(path, self._real(path))

    def is_wanted(self, path: str) -> bool:
        """Tell whether the pattern of the scope is about this file."""
        files = self._scope.files
        return files is None or bool(files.matches(self._scope.below(path)))

    def _real(self, path: str) -> str:
        resolved = self._tree.resolve(path) if self.links else None
        return resolved[0] if resolved else path

    def _trusts(self, rules: IgnoreRules | None) -> bool:
        """Tell whether ripgrep reads these rules as we do."""
        return rules is None or (rules.is_plain and "/" not in self._scope.path)

    def _is_shown(self, path: str) -> bool:
        files = self._scope.files
        if files is None:
            return True
        below = self._scope.below(path)
        return bool(files.matches(below) if self._scope.include_hidden else files.names(below))

    def _meet(self, path: str, entry: Entry, levels: list[_Level], *, survey: bool) -> bool:
        """Deal with one entry. Gives whether it is a file to search."""
        if entry.kind == "folder":
            if self._scope.recursive:
                self._enter(path, _join(levels[-1].real, entry.name), levels)
            return False
        if entry.kind == "link":
            return self._follow(path, entry.name, levels)
        if survey and entry.kind == "file" and not entry.name.startswith(".") and self._trusts(levels[-1].rules):
            return False
        if not self.is_wanted(path):
            return False
        reason = self._name_reason(path, entry.name, levels[-1].rules, is_dir=False)
        if reason is None and entry.kind == "other":
            reason = Reason.NOT_A_FILE
        if reason is not None:
            self.ledger.note(reason, path)
            return False
        return not survey and self._may_read(path, _join(levels[-1].real, entry.name))

    def _enter(self, path: str, real: str, levels: list[_Level]) -> bool:
        reason = self._name_reason(path, path.rpartition("/")[2], levels[-1].rules, is_dir=True)
        if reason is None and self._stop():
            reason = Reason.OUT_OF_TIME
            levels.clear()
        self.folders[path] = reason is None
        if reason is not None:
            self.ledger.note(reason, path + "/")
            return False
        try:
            entries = self._sorted(path)
        except OSError:
            self.ledger.note(Reason.UNREADABLE, path + "/")
            return False
        levels.append(self._level(path, real, entries))
        return True

    def _follow(self, path: str, name: str, levels: list[_Level]) -> bool:
        self.aliases.add(path)
        real, kind = self._tree.resolve(path) or ("", None)
        if kind == "file" and not self.is_wanted(path):
            return False
        reason = self._name_reason(path, name, levels[-1].rules, is_dir=False)
        if reason is None and kind in (None, "other"):
            reason = Reason.NOT_A_FILE if kind else Reason.LINKED_OUT
        if reason is not None:
            self.ledger.note(reason, path)
            return False
        if kind == "file":
            return self._follow_file(path, real)
        if (
            self._scope.recursive
            and real not in self._followed
            and not self._reaches(real, "folder", start=self._start)
        ):
            self._follow_folder(path, real, levels)
        return False

    def _follow_file(self, path: str, real: str) -> bool:
        if not self._names_only and (real in self._followed or self._reaches(real, "file", start=self._start)):
            return False
        if not self._may_read(path, real):
            return False
        self._followed.add(real)
        self.links.append(path)
        return True

    def _follow_folder(self, path: str, real: str, levels: list[_Level]) -> None:
        here = levels[-1].real
        if real == "." or here == real or here.startswith(real + "/"):
            self.ledger.note(Reason.LINKED_OUT, path + "/")
        elif self._enter(path, real, levels):
            self._followed.add(real)
            self.links.append(path)

    def _may_read(self, path: str, real: str) -> bool:
        files = self._scope.files
        if self._names_only and files is not None and files.is_specific:
            return True
        if self._tree.withheld(real):
            self.ledger.note(Reason.SENSITIVE, path)
            return False
        return True

    def _name_reason(self, path: str, name: str, rules: IgnoreRules | None, *, is_dir: bool) -> Reason | None:
        if self._is_hidden(path, name, is_dir=is_dir):
            return Reason.HIDDEN
        if rules is not None and rules.is_ignored(name, is_dir=is_dir):
            return Reason.IGNORED
        return None

    def _is_hidden(self, path: str, name: str, *, is_dir: bool) -> bool:
        """A hidden name is seen where that was asked for, or where the pattern names it; `.git` never is."""
        files = self._scope.files
        if name == ".git":
            return True
        if self._scope.include_hidden:
            return False
        if is_dir:
            return name.startswith(".") and not (files and files.enters(name))
        below = self._scope.below(path)
        return (below.startswith(".") or "/." in below) and not (files and files.names(below))

    def _reaches(self, path: str, kind: Kind, *, start: str) -> bool:
        """Tell whether the walk comes to `path` by this very name, from the place `start` where it began."""
        if path == start:
            return True
        if start != "." and not path.startswith(start + "/"):
            return False
        folder = path.rpartition("/")[0] or "."
        if kind == "file":
            deep_enough = self._scope.recursive or folder == start
            return deep_enough and self._reaches_folder(folder, start) and self._is_taken(path, folder)
        return self._scope.recursive and self._reaches_folder(path, start)

    def _is_taken(self, path: str, folder: str) -> bool:
        name = path.rpartition("/")[2]
        return self.is_wanted(path) and self._name_reason(path, name, self._rules_of(folder), is_dir=False) is None

    def _reaches_folder(self, folder: str, start: str) -> bool:
        missing: list[str] = []
        while folder != start and folder not in self._seen:
            missing.append(folder)
            folder = folder.rpartition("/")[0] or "."
        seen = self._seen.get(folder, True)
        for path in reversed(missing):
            above = self._rules_of(path.rpartition("/")[0] or ".")
            is_dir = path not in self.aliases
            seen = seen and self._name_reason(path, path.rpartition("/")[2], above, is_dir=is_dir) is None
            self._seen[path] = seen
        return seen

    def _level(self, path: str, real: str, entries: list[Entry]) -> _Level:
        names = {entry.name for entry in entries if entry.name.startswith(".")}
        return _Level(path, real, self._rules_of(path, names=names), iter(entries))

    def _rules_of(self, folder: str, *, names: set[str] | None = None) -> IgnoreRules | None:
        """Give the rules of a folder, reading those of the folders above it where they are not known yet."""
        if self._scope.include_ignored:
            return None
        missing: list[str] = []
        while folder not in self._rules:
            missing.append(folder)
            folder = folder.rpartition("/")[0] or "."
            if missing[-1] == ".":
                break
        rules = self._rules.get(folder)
        for path in reversed(missing):
            known = names if path == missing[0] else None
            rules = self._rules[path] = IgnoreRules.for_folder(rules, path, read=self._tree.read, names=known)
        return rules

    def _sorted(self, path: str) -> list[Entry]:
        return sorted(self._tree.scan(path), key=lambda entry: entry.name.encode("utf-8", "surrogateescape"))


def _join(folder: str, name: str) -> str:
    return name if folder == "." else f"{folder}/{name}"
