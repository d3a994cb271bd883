"""The tree that is searched, as four callables that the workspace hands in."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import BinaryIO, Literal, NamedTuple

_MOST_RULES = 4 * 1024 * 1024  # bytes of one ignore file
Kind = Literal["file", "folder", "link", "other"]


class Entry(NamedTuple):
    """A name in a folder and what it is, not what it leads to."""

    name: str
    kind: Kind


def _nothing(path: str) -> bool:
    return False


@dataclass(frozen=True, slots=True, kw_only=True)
class Tree:
    """Paths are relative to the root, with slashes; the root itself is ".".

    `scan` lists a folder, in any order; `NotADirectoryError` means a file. `open` opens a regular file and never
    blocks. Both raise `OSError` for what cannot be read. `resolve` follows links: it gives the real path and what is
    there, or None where nothing is or where it leads out of the root. `withheld` tells whether the contents of a file
    may not be read; it is asked about real paths.
    """

    scan: Callable[[str], Iterable[Entry]]
    open: Callable[[str], BinaryIO]
    resolve: Callable[[str], tuple[str, Kind] | None]
    withheld: Callable[[str], bool] = _nothing

    def read(self, path: str) -> bytes | None:
        """Give the content of an ignore file, None where it cannot be read."""
        try:
            with self.open(path) as file:
                return file.read(_MOST_RULES)
        except OSError:
            return None
