"""Programs that only read, and the options with which they do more. An unlisted program is never a reader."""

from __future__ import annotations

from typing import Literal, NamedTuple

from .options import Options, names, read_options
from .words import Word

Operands = Literal["files", "text", "pattern"]


class Reader(NamedTuple):
    """How a program that reads is called; the empty one has no option that does anything else."""

    operands: Operands = "files"  # what its operands are; pattern: the first one is, unless -e or -f gives it
    never: frozenset[str] = frozenset()  # with these options it does more than read
    only: frozenset[str] | None = None  # when given: with any other option it does
    values: frozenset[str] = frozenset()  # options that take a value
    most: int | None = None  # more operands than this are no longer read

    def refusal(self, words: tuple[Word, ...]) -> str | None:
        """Why these words (behind the name) do more than read; None when they only read."""
        if not (self.never or self.only is not None or self.most is not None):
            return None
        return self.refuses(read_options(words, self.values))

    def refuses(self, options: Options) -> str | None:
        """The same of options already read."""
        if option := options.has(self.never):
            return f"option {_dashed(option)} does more than read"
        if self.only is not None and (other := options.other(self.only)):
            return f"option {_dashed(other)} is not known to only read"
        if options.doubtful:
            return "a word of unknown value could be an option"
        if self.most is not None and len(options.operands) > self.most:
            return f"more than {self.most} operands"
        return None


def _dashed(option: str) -> str:
    return ("-" if len(option) == 1 else "--") + option


def _reader(
    operands: Operands = "files", *, never: str = "", only: str | None = None, values: str = "", most: int | None = None
) -> Reader:
    return Reader(operands, names(never), None if only is None else names(only), names(values), most)


_FILES = """
    cat tac nl cut paste join comm expand unexpand fold fmt column od hexdump hd strings cksum sum md5sum
    sha1sum sha224sum sha256sum sha384sum sha512sum b2sum shasum base32 basenc cmp diff tsort ls
    dir vdir stat du df readlink realpath wc head zipinfo"""
_TEXT = """
    echo true false : pwd whoami id groups uname nproc uptime logname users who w basename dirname seq expr
    which whereis type exit return break continue shift times cal factor ps pgrep pidof free lscpu lsblk
    lsusb lspci getconf locale printenv tty help tr rev"""
_GREP = "e f m A B C D d regexp file max-count context after-context before-context include exclude exclude-dir"

READERS: dict[str, Reader] = {
    **dict.fromkeys(names(_FILES), Reader()),
    **dict.fromkeys(names(_TEXT), Reader("text")),
    **dict.fromkeys(names("grep egrep fgrep"), _reader("pattern", values=_GREP)),
    **dict.fromkeys(
        names("zcat bzcat xzcat zstdcat"), _reader(only="c f k q v stdout to-stdout force keep quiet verbose")
    ),
    "cut": _reader(values="d f c b delimiter fields characters bytes output-delimiter"),
    "head": _reader(values="n c lines bytes"),
    "rg": _reader(
        "pattern",
        never="pre z search-zip hostname-bin",
        values="""A B C E M T d e f g j m r t after-context before-context context encoding max-columns type-not regexp
        file"""
        """glob iglob threads max-count replace type max-depth sort sortr color colors path-separator type-add
        max-filesize""",
    ),
    "fd": _reader(
        "pattern", never="x X l exec exec-batch list-details", values="e t d E c extension type max-depth exclude"
    ),
    "fdfind": _reader(
        "pattern", never="x X l exec exec-batch list-details", values="e t d E c extension type max-depth exclude"
    ),
    "jq": _reader("pattern", values="arg argjson slurpfile rawfile indent tab", never=""),
    "tail": _reader(never="f F follow retry", values="n c lines bytes pid s"),
    "sort": _reader(
        never="o output compress-program T temporary-directory files0-from",
        values="""k t S o T key field-separator buffer-size batch-size parallel output compress-program
        temporary-directory""",
    ),
    "uniq": _reader(values="f s w skip-fields skip-chars check-chars", most=1),
    "shuf": _reader(never="o output random-source", values="n i o head-count input-range output random-source"),
    "pr": _reader(),
    "iconv": _reader(never="o output", values="f t o from-code to-code output"),
    "base64": _reader(never="o output i input", values="w o wrap output b break"),
    "diff3": _reader(never="diff-program"),
    "sdiff": _reader(never="o output diff-program", values="o w output width"),
    # tree gives the letters of one cluster their values in turn: -Lo 2 FILE
    "tree": _reader(never="o R"),
    "file": _reader(never="C compile z Z uncompress m magic-file", values="F f P separator files-from"),
    "wait": _reader("text", only="n f"),
    "jobs": _reader("text", only="l n p r s"),  # -x runs a command
    "arch": _reader("text", most=0),  # on macOS it runs its operands
    "hostname": _reader(
        "text", only="f i I s d A y fqdn long ip-address all-ip-addresses short domain all-fqdns", most=0
    ),
    "xxd": _reader(only="a b c e E g h i l n o p ps s u len cols seek", values="c g l n o s len cols seek", most=1),
    "dpkg": _reader("text", only="l L s S list listfiles status search"),
    "dpkg-query": _reader(
        "text", only="l L s S W f list listfiles status search show showformat", values="f showformat"
    ),
    "numfmt": _reader("text"),
    "sw_vers": _reader("text", most=0),
    "getfacl": _reader(),
}
