"""A walk over a tree: which files a search sees, in the order of their paths, and what it leaves out.

The walk holds one open listing per level, not a call per level, so a tree may be as deep as it likes. A link is
followed where it leads to something inside the root that the walk does not reach by its own name, once, and never to
a folder that it stands in; so every file is searched once and a circle ends where it began.

ripgrep walks by itself and is silent about what it leaves out. Beside it runs a survey: the same walk, which looks
closer only at folders, links and names that could be left out, and leaves the searching to ripgrep.
"""

import os
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache

from .glob import path_key
from .ignore import MARKS, IgnoreRules
from .judge import Judge
from .query import Scope
from .results import Reason
from .tree import Kind, Listing, Tree

# The path by which something was met, its real path, what it is, and the rules of the folder that it is in. Of a stack
# of them the last one comes first.
_Item = tuple[str, str, Kind, IgnoreRules | None]


class Walk:
    """One walk. `files` gives what is seen; `links`, the links that were followed, and the judge's ledger grow with it.

    A `survey` gives only the files that ripgrep may not see. With `names_only` the files of a folder come before those
    of the folders in it. `stop` is asked at every folder; once it is true the walk ends.
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
        self._followed: set[str] = set()
        self._start = scope.path
        self._keyed: IgnoreRules | None = None  # the rules that `_key` is about
        self._key = _one_for(None, self.judge.key, survey)

    def files(self, *, until: str | None = None) -> Iterator[str]:
        """Give the files seen, by path, and end behind the path `until`.

        Raises what `scan` raises for the start itself, but for the `NotADirectoryError` of a file.
        """
        path = self._scope.path
        self._start, _ = self._tree.resolve(path) or (path, "folder")
        stack: list[_Item] = []
        try:
            yield from self._open(path, self._start, None, stack)
        except NotADirectoryError:
            if self._names_only or self.judge.may_read(path, self._start):
                yield path
            return
        end = path_key(until) if until else None
        while stack:
            path, real, kind, rules = stack.pop()
            if end and path_key(path) > end:
                return
            if kind == "folder":
                yield from self._enter(path, real, rules, stack)
            elif kind == "file":
                yield path
            else:
                yield from self._follow(path, real, rules, stack)

    def note_unreadable(self, paths: Iterable[str]) -> None:
        """Note the files that ripgrep could not read, those of them that were asked for."""
        for path in paths:
            noted = self.judge.ledger.has(Reason.UNREADABLE, path + "/")
            if not noted and self.judge.takes(path, start=self._scope.path):
                self.judge.ledger.note(Reason.UNREADABLE, path)

    def _enter(self, path: str, real: str, rules: IgnoreRules | None, stack: list[_Item]) -> Iterable[str]:
        """Go into a folder that is seen, noting why where that cannot be."""
        try:
            if not self._stop():
                return self._open(path, real, rules, stack)
            self.judge.ledger.note(Reason.OUT_OF_TIME, path + "/")
            stack.clear()
        except OSError:
            self.judge.ledger.note(Reason.UNREADABLE, path + "/")
        return ()

    def _open(self, path: str, real: str, rules: IgnoreRules | None, stack: list[_Item]) -> Iterable[str]:
        """List a folder and put what there is to do in it on the stack. Gives what need not wait for its turn."""
        listing = self._tree.scan(path)
        if rules is not None and MARKS.isdisjoint(listing.hidden):
            self.judge.inherit(path, rules)
        else:
            rules = self.judge.rules_of(path, names=listing.hidden)
        folders = self._quiet(path, rules, listing) if path == real else None
        if folders is None:
            return self._judged(path, real, rules, listing, stack)
        if self._scope.recursive:
            stack.extend((folder, folder, "folder", rules) for folder in folders)
        if self._survey:
            return ()
        prefix = "" if path == "." else f"{path}/"
        names = self.judge.wanted(prefix, listing.files)
        if self._names_only:
            return [prefix + name for name in names]
        stack.extend((prefix + name, prefix + name, "file", None) for name in names)
        _sort_last(stack, len(names) + (len(folders) if self._scope.recursive else 0))
        return ()

    def _quiet(self, path: str, rules: IgnoreRules | None, listing: Listing) -> tuple[str, ...] | None:
        """Give the folders in a folder, last one first, if there is nothing else to judge in it; else None.

        Most folders of most trees are so. What makes them so is their names and the rules, so it is found out once.
        """
        if rules is not self._keyed:
            self._keyed, self._key = rules, _one_for(rules and rules.chains, self.judge.key, self._survey)
        key = self._key
        if key not in listing.quiet:
            is_quiet = not (listing.hidden or listing.links or listing.others)
            is_quiet = is_quiet and self.judge.is_quiet(path, rules, listing, trusting_ripgrep=self._survey)
            prefix = "" if path == "." else f"{path}/"
            names = sorted(listing.folders, key=os.fsencode, reverse=True)
            listing.remember(key, tuple(prefix + name for name in names) if is_quiet else None)
        return listing.quiet[key]

    def _judged(
        self, path: str, real: str, rules: IgnoreRules | None, listing: Listing, stack: list[_Item]
    ) -> Iterable[str]:
        """Judge the names in a folder one by one."""
        judge, recursive = self.judge, self._scope.recursive
        ignored = listing.ignored(rules.inside(path)) if rules is not None else frozenset[str]()
        prefix = "" if path == "." else f"{path}/"
        real_prefix = "" if real == "." else f"{real}/"
        leaves = self._survey and (rules is None or rules.is_plain)
        names = judge.files(prefix, real_prefix, listing, ignored, doubtful_only=leaves)
        if leaves:  # ripgrep searches the others
            names = [name for name in names if judge.is_kept_from_ripgrep(prefix + name)]
        for name in listing.others:
            if judge.is_wanted(prefix + name):
                judge.ledger.note(judge.reason(prefix + name, path, is_dir=False) or Reason.NOT_A_FILE, prefix + name)
        kinds: list[tuple[Kind, Iterable[str]]] = [("file", names), ("link", listing.links)]
        if recursive:
            kinds.append(("folder", judge.folders(prefix, listing, ignored)))
        items: list[_Item] = [(prefix + name, real_prefix + name, kind, rules) for kind, some in kinds for name in some]
        stack += items
        _sort_last(stack, len(items))
        return ()

    def _follow(self, path: str, real: str, rules: IgnoreRules | None, stack: list[_Item]) -> Iterable[str]:
        """Follow a link, which is `real` itself, to what it leads to."""
        self.judge.aliases.add(path)
        folder = path.rpartition("/")[0] or "."
        target, kind = self._tree.resolve(path) or ("", None)
        if kind == "file" and not self.judge.is_wanted(path):
            return ()
        reason = self.judge.reason(path, folder, is_dir=False)
        if reason is None and kind in (None, "other"):
            reason = Reason.NOT_A_FILE if kind else Reason.LINKED_OUT
        if reason is not None:
            self.judge.ledger.note(reason, path)
            return ()
        if kind == "file":
            return self._follow_file(path, target)
        if not self._scope.recursive:
            return ()
        return self._follow_folder(path, target, rules, stack, here=real.rpartition("/")[0] or ".")

    def _follow_file(self, path: str, target: str) -> Iterable[str]:
        """Follow a link to a file. Where names are wanted, it is a name of its own."""
        if not self._names_only and (target in self._followed or self.judge.takes(target, start=self._start)):
            return ()
        if not self.judge.may_read(path, target):
            return ()
        self._followed.add(target)
        self.links.append(path)
        return (path,)

    def _follow_folder(
        self, path: str, target: str, rules: IgnoreRules | None, stack: list[_Item], *, here: str
    ) -> Iterable[str]:
        if target in self._followed or self.judge.enters(target, start=self._start):
            return ()
        if target == "." or here == target or here.startswith(target + "/"):
            self.judge.ledger.note(Reason.LINKED_OUT, path + "/")
            return ()
        self._followed.add(target)
        self.links.append(path)
        self.judge.followed.append(path)
        return self._enter(path, target, rules, stack)


@lru_cache(maxsize=1_000)
def _one_for(*what: object) -> object:
    """Give one object for all that is equal, which takes less time to be found by."""
    return object()


def _sort_last(stack: list[_Item], count: int) -> None:
    """Sort the last items of a stack, all of one folder, so that the first by path is the last."""
    if count > 1:
        stack[-count:] = sorted(stack[-count:], key=lambda item: os.fsencode(item[0]), reverse=True)
