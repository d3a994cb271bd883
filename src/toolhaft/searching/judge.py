"""What a search sees by its name: the scope's pattern, hidden names, ignore rules and sensitive files in one place.

Both engines and the corrections between them ask the same judge: about all the files of a folder that was listed, or
about any path, whose folders are then judged from the start down.
"""

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from functools import lru_cache

from .ignore import IgnoreRules
from .query import Scope
from .results import Ledger, Reason
from .tree import Listing, Tree
from .wildmatch import translate

Look = Callable[[str], object]
_NONE: frozenset[str] = frozenset()


class Judge:
    """Judges names for one search. `aliases` are the links that the walk met, since a link is no folder to an ignore
    rule, and `followed` those to folders that it went into.

    With `names_only` it is names that are wanted, not contents: then sensitive files are left out only where the
    pattern does not name them.
    """

    def __init__(self, tree: Tree, scope: Scope, *, names_only: bool = False) -> None:
        self.aliases: set[str] = set()
        start, _ = tree.resolve(scope.path) or (scope.path, None)
        self.followed = [] if start == scope.path else [scope.path]  # the start may be a link, or lie below one
        self.ledger = Ledger()
        self._tree = tree
        self._scope = scope
        self._rules: dict[str, IgnoreRules | None] = {}
        self._entered: dict[str, bool] = {}
        self._guards = not (names_only and scope.files is not None and scope.files.is_specific)
        self._sensitive_name, self._sensitive_folder = _first_looks(scope.sensitive)
        self._key = (self._guards, self._sensitive_name, self._sensitive_folder, scope.include_hidden)

    @property
    def key(self) -> object:
        """What the answer of `is_quiet` hangs on, besides the names and the rules."""
        return self._key

    def is_quiet(self, path: str, rules: IgnoreRules | None, listing: Listing, *, trusting_ripgrep: bool) -> bool:
        """Tell whether no name in a folder that is no link, where none is hidden, is left out by any rule."""
        if rules is not None and (listing.ignored(rules.inside(path)) or (trusting_ripgrep and not rules.is_plain)):
            return False
        if _is_in_hidden(path) and path != "." and not self._scope.include_hidden:
            return False
        if not self._guards:
            return True
        look = self._sensitive_name
        return look is not None and not self._sensitive_folder(path) and not listing.looking_like(look)

    def inherit(self, path: str, rules: IgnoreRules) -> None:
        """Let a folder without ignore files have the rules of the folder above."""
        self._rules[path] = rules

    def wanted(self, prefix: str, names: Sequence[str]) -> Sequence[str]:
        """Give those of the names in a folder that the pattern of the scope is about."""
        files = self._scope.files
        return names if files is None else files.select(names, folder=self._scope.below(prefix) if prefix else "")

    def is_wanted(self, path: str) -> bool:
        """Tell whether the pattern of the scope is about this file."""
        files = self._scope.files
        return files is None or bool(files.matches(self._scope.below(path)))

    def reason(self, path: str, folder: str, *, is_dir: bool) -> Reason | None:
        """Tell why the entry `path` of `folder` is left out by its name, None where it is seen."""
        name = path.rpartition("/")[2]
        if self._is_hidden(path, name, is_dir=is_dir):
            return Reason.HIDDEN
        rules = self.rules_of(folder)
        return Reason.IGNORED if rules is not None and rules.is_ignored(name, is_dir=is_dir) else None

    def folders(self, prefix: str, listing: Listing, ignored: frozenset[str]) -> Iterable[str]:
        """Give the names of the folders to enter, noting the others. `prefix` is "" or the folder's path and "/"."""
        if ignored.isdisjoint(listing.folders) and listing.hidden.isdisjoint(listing.folders):
            return listing.folders
        return list(self._seen(prefix, listing.folders, ignored, is_dir=True))

    def files(
        self, prefix: str, real_prefix: str, listing: Listing, ignored: frozenset[str], *, doubtful_only: bool
    ) -> list[str]:
        """Give the names of the files seen in a folder, noting those that are left out.

        With `doubtful_only`, only of those files that could have been left out: a look at the few among many.
        """
        doubtful = self._doubtful(prefix, real_prefix, listing, ignored)
        names: Sequence[str] = listing.files
        if doubtful_only:
            names = tuple(doubtful.intersection(names)) if doubtful else ()
        names = self.wanted(prefix, names)
        if not doubtful:
            return list(names)
        found = [name for name in names if name not in doubtful]
        for name in self._seen(prefix, [name for name in names if name in doubtful], ignored, is_dir=False):
            if self.may_read(prefix + name, real_prefix + name):
                found.append(name)
        return found

    def may_read(self, path: str, real: str) -> bool:
        """Tell whether a file may be searched, noting it as sensitive where not. `real` is where links lead."""
        unknown = self._sensitive_name is None
        if self._guards and (unknown or self._looks_sensitive(real)) and self._tree.withheld(real):
            self.ledger.note(Reason.SENSITIVE, path)
            return False
        return True

    def is_kept_from_ripgrep(self, path: str) -> bool:
        """Tell whether ripgrep was told to leave this file out for its name, though it may be one that is allowed."""
        return self._guards and self._sensitive_name is not None and self._looks_sensitive(path)

    def trusts_ripgrep(self, folder: str) -> bool:
        """Tell whether ripgrep leaves out nothing in `folder` that we see: it reads the rules there as we do."""
        rules = self.rules_of(folder)
        return rules is None or rules.is_plain

    def enters(self, folder: str, *, start: str) -> bool:
        """Tell whether a walk from `start` comes to `folder` by this very name."""
        if folder == start:
            return True
        if not self._scope.recursive or (start != "." and not folder.startswith(start + "/")):
            return False
        missing: list[str] = []
        while folder != start and folder not in self._entered:
            missing.append(folder)
            folder = folder.rpartition("/")[0] or "."
        entered = self._entered.get(folder, True)
        for path in reversed(missing):
            above = path.rpartition("/")[0] or "."
            entered = entered and self.reason(path, above, is_dir=path not in self.aliases) is None
            self._entered[path] = entered
        return entered

    def takes(self, path: str, *, start: str) -> bool:
        """Tell whether a walk from `start` comes to the file `path` by this very name."""
        folder = path.rpartition("/")[0] or "."
        return path == start or (
            self.enters(folder, start=start)
            and self.is_wanted(path)
            and self.reason(path, folder, is_dir=False) is None
        )

    def seen(self, paths: Iterable[str]) -> Iterator[str]:
        """Give those of `paths`, files below the start that ripgrep saw, that are seen here too.

        In a folder whose rules ripgrep reads as we do, only the pattern and hidden names need a look.
        """
        trusted: dict[str, bool | None] = {}
        start = self._scope.path
        knows_all = "/" not in start  # else there may be rules above the start that ripgrep was not given
        for path in paths:
            folder = path.rpartition("/")[0] or "."
            if folder not in trusted:
                entered = self.enters(folder, start=start)
                trusted[folder] = knows_all and self.trusts_ripgrep(folder) if entered else None
            trust = trusted[folder]
            if trust is None or not (self._is_shown(path) if trust else self.takes(path, start=start)):
                continue
            if self.may_read(path, self._real(path)):
                yield path

    def rules_of(self, folder: str, *, names: Collection[str] | None = None) -> IgnoreRules | None:
        """Give the rules of a folder, reading those of the folders above it where they are not known yet.

        `names` are the hidden names in the folder, where it has just been listed.
        """
        if folder in self._rules or self._scope.include_ignored:
            known = self._rules.get(folder)
            return known and known.inside(folder)
        missing = [folder]
        while missing[-1] != "." and (above := missing[-1].rpartition("/")[0] or ".") not in self._rules:
            missing.append(above)
        rules = None if missing[-1] == "." else self._rules[missing[-1].rpartition("/")[0] or "."]
        for path in reversed(missing):
            known = names if path == folder else None
            rules = self._rules[path] = IgnoreRules.for_folder(rules, path, read=self._tree.read, names=known)
        return rules

    def _doubtful(self, prefix: str, real_prefix: str, listing: Listing, ignored: frozenset[str]) -> frozenset[str]:
        """Give the names in a folder among which are all files that could be left out."""
        if self._guards and (self._sensitive_name is None or self._sensitive_folder(real_prefix[:-1] or ".")):
            return frozenset(listing.files)
        is_in_hidden = self._scope.files is not None and _is_in_hidden(self._scope.below(prefix))
        if is_in_hidden and not self._scope.include_hidden:
            return frozenset(listing.files)
        suspicious = _NONE
        if self._guards and self._sensitive_name is not None:
            suspicious = listing.looking_like(self._sensitive_name)
        return ignored | listing.hidden | suspicious if suspicious or listing.hidden else ignored

    def _seen(self, prefix: str, names: Iterable[str], ignored: frozenset[str], *, is_dir: bool) -> Iterator[str]:
        for name in names:
            path = prefix + name
            if self._is_hidden(path, name, is_dir=is_dir):
                self.ledger.note(Reason.HIDDEN, f"{path}/" if is_dir else path)
            elif name in ignored:
                self.ledger.note(Reason.IGNORED, f"{path}/" if is_dir else path)
            else:
                yield name

    def _real(self, path: str) -> str:
        if not any(path.startswith(link + "/") for link in self.followed):
            return path
        resolved = self._tree.resolve(path)
        return resolved[0] if resolved else path

    def _looks_sensitive(self, path: str) -> bool:
        folder, _, name = path.rpartition("/")
        look = self._sensitive_name
        return look is not None and bool(look(name) or self._sensitive_folder(folder or "."))

    def _is_shown(self, path: str) -> bool:
        files = self._scope.files
        if files is None:
            return True
        below = self._scope.below(path)
        return bool(files.matches(below) if self._scope.include_hidden else files.names(below))

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
        return _is_in_hidden(below) and not (files and files.names(below))


def _is_in_hidden(below: str) -> bool:
    return below.startswith(".") or "/." in below


@lru_cache(maxsize=16)  # also so that what a listing found for these patterns is found again
def _first_looks(patterns: Sequence[str]) -> tuple[Look | None, Look]:
    """Compile what a name and what a folder must look like to be sensitive; None where no patterns are known."""
    plain = [pattern.removeprefix("!") for pattern in patterns]
    folders = [pattern.removesuffix("/**") for pattern in plain if pattern.endswith("/**")]
    names = [pattern.rpartition("/")[2] for pattern in plain if not pattern.endswith("/**")]
    in_folder = _any_of([f"(?:.*/)?{translate(folder)}(?:/.*)?" for folder in folders])
    return (_any_of([translate(name) or "(?!)" for name in names]) if plain else None), in_folder


def _any_of(sources: Sequence[str]) -> Look:
    return re.compile("|".join(sources) or "(?!)", re.DOTALL | re.IGNORECASE).fullmatch
