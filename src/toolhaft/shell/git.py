"""git: which sub-commands only read, and with which options they do not."""

from __future__ import annotations

from .options import Options, names, read_options
from .readers import Reader
from .words import Word

_WRITES = names("output ext-diff textconv show-signature help")
_LOG = Reader(never=_WRITES, values=names("n S G O L U max-count since until after before author committer grep"))
_PLAIN = Reader(never=_WRITES)
_LIST = names("list l contains no-contains merged no-merged points-at show-current")
_LISTING = names(
    """
    a all r remotes v verbose vv q quiet show-current list l contains no-contains merged no-merged points-at
    sort format column no-column color no-color abbrev no-abbrev i ignore-case n omit-empty"""
)
_LISTING_VALUES = names("contains no-contains merged no-merged points-at sort format")
_GET = names("get get-all get-regexp get-urlmatch list l get-color get-colorbool")
_CONFIG = _GET | names(
    """name-only show-origin show-scope z null type bool int path default global system local worktree f file blob
    includes no-includes"""
)

READS: dict[str, Reader] = {
    **dict.fromkeys(names("log show diff whatchanged shortlog reflog range-diff cherry"), _LOG),
    **dict.fromkeys(
        names("""
    status rev-parse rev-list describe ls-files ls-tree merge-base name-rev for-each-ref show-ref show-branch
    count-objects diff-tree diff-index diff-files check-ignore check-attr version var blame annotate"""),
        _PLAIN,
    ),
    "cat-file": Reader(never=names("textconv filters help")),
    "grep": Reader(
        "pattern", never=names("O open-files-in-pager textconv help"), values=names("e f A B C m max-depth")
    ),
    "branch": Reader("text", only=_LISTING, values=_LISTING_VALUES),
    "tag": Reader("text", only=_LISTING, values=_LISTING_VALUES | names("n")),
    "remote": Reader("text", only=names("v verbose all push")),
    "stash": _LOG,
    "config": Reader("text", only=_CONFIG, values=names("type f file blob default")),
    "symbolic-ref": Reader("text", only=names("q quiet short"), most=1),
    "worktree": Reader("text", only=names("porcelain v verbose z")),
    "notes": Reader("text", only=names("ref")),
}
_SECOND: dict[str, frozenset[str]] = {
    "stash": names("list show"),
    "worktree": names("list"),
    "notes": names("list show"),
    "remote": names("get-url"),
}
_NONE = Options((), ())
_GLOBAL_VALUES = names("C c git-dir work-tree namespace exec-path super-prefix config-env")
_GLOBAL = names("C P no-pager no-optional-locks literal-pathspecs no-replace-objects version")


def split(words: tuple[Word, ...]) -> tuple[Options, tuple[Word, ...]]:
    """The options before the sub-command, and the sub-command with what follows it."""
    if words and words[0].text[:1] != "-" and words[0].known:
        return _NONE, words
    options = read_options(words, _GLOBAL_VALUES, stop=True)
    return options, options.operands


def refusal(words: tuple[Word, ...]) -> str | None:
    """Why this git command does more than read; None when it only reads."""
    options, rest = split(words)
    if other := options.other(_GLOBAL):
        return f"git option {other!r} can make git run something else"
    if options.doubtful or (rest and not rest[0].known):
        return "a word of unknown value could be an option"
    if not rest:
        return None if options.has(names("version")) else "git without a sub-command"
    name = rest[0].text
    reader = READS.get(name)
    if reader is None:
        return f"git {name} is not known to only read"
    inner = read_options(rest[1:], reader.values)
    if any(value and "%G" in value.text for option, value in inner.options if option in ("format", "pretty")):
        return "%G asks gpg about signatures"
    return reader.refuses(inner) or _refuses_operands(name, inner)


def _refuses_operands(name: str, options: Options) -> str | None:
    operands = [word.text for word in options.operands]
    if name in ("branch", "tag"):
        return None if not operands or options.has(_LIST) else f"git {name} {operands[0]} makes a new one"
    if name == "config":
        reads = options.has(_GET) or (len(operands) == 1 and "." in operands[0]) or operands[:1] in (["get"], ["list"])
        return None if reads else "git config with a value sets it"
    if name == "reflog":
        return (
            f"git reflog {operands[0]} changes it"
            if operands[:1] in (["expire"], ["delete"], ["drop"], ["write"])
            else None
        )
    if name in _SECOND:
        plain = name in ("remote", "notes") and not operands
        return (
            None
            if plain or (operands[:1] and operands[0] in _SECOND[name])
            else f"git {name} is not known to only read"
        )
    return None
