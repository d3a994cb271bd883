"""What is searched and for what: frozen records, and the arguments that make ripgrep do the same."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from .errors import SearchError
from .glob import Glob

OutputMode = Literal["content", "files", "count"]
# Enough to say "50 of 504" truly; above it a total would cost a walk of the whole tree, and a report says "at least".
COUNT_LIMIT = 2_000
# ripgrep leaves the column out where a match is empty at the end of a file, so the marks must not look like text.
# A binary file is searched to its end, so that one without a match need not be mentioned. Context is read afterwards,
# of what is shown only: ripgrep 15 is silent about a binary file where a line of context comes before the match.
_LINES = (*("-n", "--column", "--field-match-separator=\x01", "--crlf", "--binary"),)


@dataclass(frozen=True, slots=True, kw_only=True)
class Scope:
    """Which files a walk sees.

    `path` is a folder or a file relative to the root, links and all, as the workspace shows it; "." is the root. A file
    named by it is seen whatever the ignore files say. `sensitive` are patterns of file names as `Tree.withheld` knows
    them: what none of them meets is not asked about, nor given to ripgrep.
    """

    path: str = "."
    files: Glob | None = None
    recursive: bool = True
    include_ignored: bool = False
    include_hidden: bool = False
    sensitive: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.path.startswith("/") or ".." in self.path.split("/"):
            raise SearchError(f"The path {self.path!r} is not relative to the root. Resolve it in the workspace first.")

    def below(self, path: str) -> str:
        """Give `path`, which is relative to the root, relative to the folder that is searched."""
        return path if self.path == "." else path[len(self.path) + 1 :]


@dataclass(frozen=True, slots=True, kw_only=True)
class Query:
    """A search for the lines that hold `pattern`, in the files of `scope`.

    `max_results` bounds the matching lines (`output_mode="content"`) or the files. Matches are counted up to
    `count_limit`, so that a report can say how many there are; then the search stops.
    """

    pattern: str
    scope: Scope = Scope()
    use_regex: bool = False
    case_sensitive: bool = True
    context_lines: int = 0
    max_results: int = 100
    count_limit: int = COUNT_LIMIT
    output_mode: OutputMode = "content"

    @property
    def most_counted(self) -> int:
        """How many results are counted before the search stops: never fewer than may be shown."""
        return max(self.count_limit, self.max_results)

    def __post_init__(self) -> None:
        if self.max_results < 1:
            raise SearchError(f"max_results={self.max_results} shows nothing. Use 1 or more.")
        if not 0 <= self.context_lines <= 100:
            raise SearchError(f"context_lines={self.context_lines} is outside of 0 to 100.")


def search_arguments(
    query: Query, targets: Sequence[str], *, in_order: bool = False, ignore_files: Sequence[str] = ()
) -> list[str]:
    """Give the arguments of an `rg` whose working directory is the root; `targets` are relative to it.

    Nothing the model wrote can become an option: the pattern follows `-e`, every target begins with `./`.
    """
    return [
        *_walk_arguments(query.scope, ignore_files=ignore_files),
        *_LINES,
        *(("--sort", "path") if in_order else ()),
        "-s" if query.case_sensitive else "-i",
        *(() if query.use_regex else ("-F",)),
        *("-e", query.pattern, "--"),
        *map(_target, targets),
    ]


def _target(path: str) -> str:
    return "./" if path == "." else f"./{path}"


def _walk_arguments(scope: Scope, *, ignore_files: Sequence[str]) -> list[str]:
    """Say which files: no user's configuration, nothing above the root, no output made for a terminal."""
    see_hidden = scope.include_hidden or (scope.files is not None and scope.files.names_hidden)
    rough = scope.files.rough_names() if scope.files else None
    return [
        *("--no-config", "--null", "--with-filename", "--color", "never"),
        *("--no-require-git", "--no-ignore-parent", "--no-ignore-global", "--no-ignore-messages"),
        *(("--no-ignore",) if scope.include_ignored else ()),
        *(f"--ignore-file={name}" for name in ignore_files),
        *(("--hidden", "--glob", "!.git") if see_hidden else ("--glob", "!.*")),
        *(f"--iglob=!{'**/' if '/' in name else ''}{name}" for name in scope.sensitive if not name.startswith("!")),
        *(("--type", "wanted") if rough else ()),
        *(f"--type-add=wanted:{name}" for name in rough or ()),
        *(() if scope.recursive else ("--max-depth", "1")),
    ]
