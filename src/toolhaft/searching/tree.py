"""The tree that is searched, as four callables that the workspace hands in."""

from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from typing import BinaryIO, Literal, NamedTuple, Self

from .ignore import IgnoreRules

_MOST_RULES = 4 * 1024 * 1024  # bytes of one ignore file
_MOST_KEYS = 8
Kind = Literal["file", "folder", "link", "other"]


class Entry(NamedTuple):
    """A name in a folder and what it is, not what it leads to."""

    name: str
    kind: Kind


class Listing:
    """The names in a folder by kind, in no order.

    It never changes, so a workspace may keep it for as long as the folder is as it was, and what the rules say of its
    names is then found once and not in every search.
    """

    __slots__ = ("_doubtful", "_ignored", "files", "folders", "hidden", "links", "others", "quiet")

    def __init__(
        self, *, files: tuple[str, ...], folders: tuple[str, ...], links: tuple[str, ...], others: tuple[str, ...]
    ) -> None:
        self.files = files
        self.folders = folders
        self.links = links
        self.others = others
        self.hidden = frozenset(name for names in (files, folders, links, others) for name in names if name[0] == ".")
        self.quiet: dict[object, tuple[str, ...] | None] = {}  # what a walk found out, see there
        self._ignored: dict[object, frozenset[str]] = {}
        self._doubtful: dict[object, frozenset[str]] = {}

    @classmethod
    def of(cls, entries: Iterable[Entry]) -> Self:
        """Make one of names and kinds."""
        kinds: dict[Kind, list[str]] = {"file": [], "folder": [], "link": [], "other": []}
        for name, kind in entries:
            kinds[kind].append(name)
        return cls(
            files=tuple(kinds["file"]),
            folders=tuple(kinds["folder"]),
            links=tuple(kinds["link"]),
            others=tuple(kinds["other"]),
        )

    def remember(self, key: object, quiet: tuple[str, ...] | None) -> None:
        """Keep what a walk found out, for few keys at once: rules that have been changed are not met again."""
        if len(self.quiet) >= _MOST_KEYS:
            self.quiet.clear()
            self._ignored.clear()
            self._doubtful.clear()
        self.quiet[key] = quiet

    def ignored(self, rules: IgnoreRules) -> frozenset[str]:
        """Give the names that the rules of this folder leave out. A link is a file to them."""
        known = self._ignored.get(rules.chains)
        if known is None:
            no_folders = (*self.files, *self.links, *self.others)
            known = frozenset(
                [name for name in rules.suspects(no_folders) if rules.is_ignored(name, is_dir=False)]
                + [name for name in self.folders if rules.is_ignored(name, is_dir=True)]
            )
            self._ignored[rules.chains] = known
        return known

    def looking_like(self, look: Callable[[str], object]) -> frozenset[str]:
        """Give the files for whose names `look` gives anything."""
        known = self._doubtful.get(look)
        if known is None:
            known = self._doubtful[look] = frozenset(filter(look, self.files))
        return known


def _nothing(path: str) -> bool:
    return False


def _all(paths: Collection[str]) -> set[str]:
    return set(paths)


@dataclass(frozen=True, slots=True, kw_only=True)
class Tree:
    """Paths are relative to the root, with slashes; the root itself is ".".

    `scan` lists a folder, `NotADirectoryError` means a file. `open` opens a regular file and never blocks. Both raise
    `OSError` for what cannot be read, that of `EFBIG` for what is too large to be fetched. `resolve` follows links: it
    gives the real path and what is there, or None where nothing is or where it leads out of the root. `withheld` tells
    whether the contents of a file may not be read; it is asked about real paths. `steady` gives those of some files of
    which it is sure that another process, which opened them by these paths since the tree was made, opened what `open`
    opens.
    """

    scan: Callable[[str], Listing]
    open: Callable[[str], BinaryIO]
    resolve: Callable[[str], tuple[str, Kind] | None]
    withheld: Callable[[str], bool] = _nothing
    steady: Callable[[Collection[str]], set[str]] = _all

    def read(self, path: str) -> bytes | None:
        """Give the content of an ignore file, None where it cannot be read."""
        try:
            with self.open(path) as file:
                return file.read(_MOST_RULES)
        except OSError:
            return None
