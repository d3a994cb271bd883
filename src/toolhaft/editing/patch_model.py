"""What a patch says, once it is read; not yet what it does to any file."""

from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from toolhaft.editing.refusal import EditError, Reason

__all__ = ["FilePatch", "Hunk", "Kind", "Mark", "PatchError", "PatchProblem"]

Mark = Literal[" ", "-", "+"]
Kind = Literal["add", "change", "delete", "rename", "copy"]


@dataclass(frozen=True, slots=True, kw_only=True)
class PatchProblem:
    """One thing that keeps a patch from being applied; `path` and `hunk` (counted from 1 in its file) where known."""

    reason: Reason
    message: str
    path: str | None = None
    hunk: int | None = None

    def __str__(self) -> str:
        where = [part for part in (self.path, f"hunk {self.hunk}" if self.hunk else None) if part]
        return f"{', '.join(where)}: {self.message}" if where else self.message


class PatchError(EditError):
    """The patch was not applied, not even in part; `problems` holds every reason, file by file and hunk by hunk."""

    def __init__(self, *problems: PatchProblem) -> None:
        listed = "\n".join(map(str, problems))
        super().__init__(problems[0].reason, f"The patch was not applied; no file was changed.\n{listed}")
        self.args = problems  # what pickle calls the class with
        self.problems = problems


@dataclass(frozen=True, kw_only=True)  # no slots: what is computed is kept
class Hunk:
    r"""One block of a patch: `body` is all its lines without their LF (a CR is kept), each with its mark.

    `old_start` is the 1-based line it claims, None where it claims none; `anchors` are lines that stand somewhere
    before it. `old_unterminated` and `new_unterminated` say that its last line has no newline at the end of the file
    before, and after; `at_end` that it must reach the end of the file.
    """

    number: int
    body: tuple[tuple[Mark, str], ...]
    old_start: int | None = None
    anchors: tuple[str, ...] = ()
    old_unterminated: bool = False
    new_unterminated: bool = False
    at_end: bool = False

    @cached_property
    def old(self) -> list[str]:
        """The lines it expects in the file: context and removed."""
        return [line for mark, line in self.body if mark != "+"]

    @cached_property
    def new(self) -> list[str]:
        """The lines it leaves in the file: context and added."""
        return [line for mark, line in self.body if mark != "-"]

    @cached_property
    def bare_old(self) -> list[str]:
        """The same without the CR of their line ends."""
        bare = [line.removesuffix("\r") for line in self.old]
        return [*bare[:-1], self.old[-1]] if self.old_unterminated else bare

    @cached_property
    def is_about_line_ends(self) -> bool:
        """Whether some of its lines end in CR LF and some in LF: then its line ends are meant as they are."""
        last_old = max((at for at, (mark, _) in enumerate(self.body) if mark != "+"), default=-1)
        last_new = max((at for at, (mark, _) in enumerate(self.body) if mark != "-"), default=-1)
        endless = ({last_old} if self.old_unterminated else set[int]()) | (
            {last_new} if self.new_unterminated else set[int]()
        )
        return len({line.endswith("\r") for at, (_, line) in enumerate(self.body) if at not in endless}) > 1

    @cached_property
    def changed(self) -> tuple[int, int]:
        """From which to which of its old lines it changes something (half open; an insertion is empty)."""
        at, last = 0, 0
        first: int | None = None
        for mark, _ in self.body:
            if mark != " ":
                first = at if first is None else first
                last = at + (mark == "-")
            at += mark != "+"
        return first or 0, last


@dataclass(frozen=True, slots=True, kw_only=True)
class FilePatch:
    """All that a patch says of one file: names as written, prefixes and all (None: there is no such file).

    `names_are_plain` where the names carry no `a/`, `b/`: rename and copy lines, and the Codex form. `in_order` where
    a hunk without a line number is looked for behind the one before it; `unchecked_delete` where a deletion does not
    say what the file held. `mode` is 0o644 or 0o755 where the patch sets it.
    """

    kind: Kind
    old_name: str | None
    new_name: str | None
    hunks: tuple[Hunk, ...] = ()
    mode: int | None = None
    names_are_plain: bool = False
    in_order: bool = False
    unchecked_delete: bool = False
