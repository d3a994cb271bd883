"""A folder as an outline that fits a page: near entries before deep ones, and everything left out is counted.

Folders are listed level by level until the page is full, so a big folder near the top cannot hide its neighbours. What
the rules leave out is counted by kind, with one example of each.
"""

from collections import deque
from collections.abc import Callable, Sequence
from typing import Protocol

from .ignore import IgnoreRules, Read


class Entry(Protocol):
    """One name in a folder, as the workspace lists it."""

    @property
    def name(self) -> str: ...
    @property
    def is_dir(self) -> bool: ...
    @property
    def is_link(self) -> bool: ...
    @property
    def size(self) -> int | None: ...


Scan = Callable[[str], Sequence[Entry]]


class Node:
    """A file or folder of the outline. `not_shown` counts the entries of a folder that did not fit."""

    __slots__ = ("children", "is_dir", "is_link", "name", "not_shown", "problem", "size")

    def __init__(self, *, name: str, is_dir: bool, is_link: bool = False, size: int | None = None) -> None:
        self.name = name
        self.is_dir = is_dir
        self.is_link = is_link
        self.size = size
        self.children: list[Node] = []
        self.not_shown = 0
        self.problem = ""


class Outline:
    """What `outline` found. `left_out` counts what a rule left out, each kind with its first example."""

    def __init__(self, root: Node) -> None:
        self.root = root
        self.files = 0
        self.folders = 0
        self.not_shown = 0
        self.left_out: dict[str, tuple[int, str]] = {}

    def leave_out(self, kind: str, example: str) -> None:
        """Count one more entry that a rule leaves out."""
        number, first = self.left_out.get(kind, (0, example))
        self.left_out[kind] = (number + 1, first)


def outline(
    scan: Scan,
    read: Read,
    *,
    folder: str = "",
    max_entries: int = 100,
    show_hidden: bool = False,
    ignore: Sequence[str] = (),
) -> Outline:
    """List `folder` and what is below it, at most `max_entries` entries in all.

    `scan` and `read` take paths relative to the workspace root; `folder` is one, "" for the root itself. `ignore` are
    patterns as in a `.gitignore` at the root; they outrank the tree's own ignore files. Raises what `scan` raises for
    `folder` itself; a folder below that cannot be listed is shown with its problem.
    """
    read = _with_patterns(read, ignore)
    made = Outline(Node(name=folder, is_dir=True))
    queue = deque([(made.root, folder, _rules_above(folder, read), scan(folder or "."))])
    while queue:
        node, path, above, entries = queue.popleft()
        rules = IgnoreRules.for_folder(above, path, read=read, names={entry.name for entry in entries} | {".rgignore"})
        kept = _kept(made, path, entries, rules, show_hidden=show_hidden)
        room = max_entries - made.files - made.folders
        node.not_shown = max(0, len(kept) - room)
        made.not_shown += node.not_shown
        for entry in kept[:room]:
            child = Node(name=entry.name, is_dir=entry.is_dir, is_link=entry.is_link, size=entry.size)
            node.children.append(child)
            made.folders += entry.is_dir
            made.files += not entry.is_dir
            if entry.is_dir and not entry.is_link:
                inner = f"{path}/{entry.name}" if path else entry.name
                queue.append((child, inner, rules, _listed(scan, inner, child)))
    return made


def _with_patterns(read: Read, ignore: Sequence[str]) -> Read:
    """Let `ignore` stand in the root's `.rgignore`, the ignore file that outranks the others."""
    if not ignore:
        return read
    patterns = "\n".join(ignore).encode("utf-8", "surrogateescape")

    def read_more(path: str) -> bytes | None:
        content = read(path)
        return (content or b"") + b"\n" + patterns if path == ".rgignore" else content

    return read_more


def _rules_above(folder: str, read: Read) -> IgnoreRules | None:
    """The rules of every folder above `folder`, from the root down."""
    rules = None
    parts = folder.split("/") if folder else []
    for depth in range(len(parts)):
        rules = IgnoreRules.for_folder(rules, "/".join(parts[:depth]), read=read)
    return rules


def _listed(scan: Scan, path: str, node: Node) -> Sequence[Entry]:
    try:
        return scan(path)
    except OSError as error:
        node.problem = error.strerror or type(error).__name__
        return ()


def _kept(made: Outline, path: str, entries: Sequence[Entry], rules: IgnoreRules, *, show_hidden: bool) -> list[Entry]:
    """The entries that no rule leaves out, folders first, each kind by name."""
    kept: list[Entry] = []
    for entry in entries:
        where = f"{path}/{entry.name}" if path else entry.name
        if entry.name.startswith(".") and not show_hidden:
            made.leave_out("hidden", where)
        elif entry.name == ".git" or rules.is_ignored(entry.name, is_dir=entry.is_dir and not entry.is_link):
            made.leave_out("ignored", where)
        else:
            kept.append(entry)
    return sorted(kept, key=lambda entry: (not entry.is_dir, entry.name))
