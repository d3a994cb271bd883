"""Readers with a language of their own: find, sed, awk, tar, date; each answers why a call does more than read."""

from __future__ import annotations

import re
from collections.abc import Callable

from .options import names, read_options
from .words import Word

Refusal = Callable[[tuple[Word, ...]], str | None]

_FIND_TESTS = names(
    """
    name iname path ipath wholename iwholename regex iregex lname ilname type xtype size mtime atime ctime mmin
    amin cmin newer anewer cnewer user group uid gid perm links inum samefile fstype maxdepth mindepth regextype
    printf used"""
)
_FIND_WORDS = names(
    """
    print print0 ls prune quit empty readable writable executable true false depth d mount xdev daystart follow
    noleaf nouser nogroup not and or a o warn nowarn L H P E X x s"""
)
_NEWER = re.compile(r"newer[aBcm][aBcmt]")


def find(words: tuple[Word, ...]) -> str | None:
    """Why this `find` does more than print; its `-exec` parts are taken out before."""
    rest = list(words)
    while rest:
        word = rest.pop(0)
        if word.open or (word.splits and not word.known):
            return "a word of unknown value could be an action"
        if not word.text.startswith("-") or len(word.text) < 2:
            continue
        name = word.text[1:]
        if name in _FIND_TESTS or _NEWER.fullmatch(name):
            value = rest.pop(0) if rest else Word("")
            if value.splits:
                return "a word of unknown value could be an action"
        elif name not in _FIND_WORDS and not re.fullmatch(r"O\d", name):
            return f"{word.text} is not known to only read"
    return None


_SED_VALUES = names("e f l i expression file line-length")
_SED_OPTIONS = names(
    "n E r e u z s l quiet silent expression regexp-extended unbuffered null-data separate line-length posix debug"
)
_SED_SPACE = re.compile(r"[\s;{}]*")
_SED_ADDRESS = re.compile(
    r"""(?:(?:\d+(?:~\d+)?|\$|(?P<one>/(?:[^/\\\n]|\\.)*/)I?)
    (?:\s*,\s*(?:[+~]?\d+|\$|(?P<two>/(?:[^/\\\n]|\\.)*/)I?))?)?\s*!?[ \t]*""",
    re.X,
)
_SED_COMMAND = re.compile(
    r"""(?:[pPdDhHgGxnN=lz]|[qQ]\s*\d*|[bt][ \t]*\w*|:\w+
    |[sy](?P<mark>[/|\#,@:!%_+~;=])(?P<pattern>(?:(?!(?P=mark))[^\\\n]|\\.)*)(?P=mark)(?:(?!(?P=mark))[^\\]|\\[\s\S])*(?P=mark)[gpiIMm0-9]*
    )[ \t]*(?=[;}\n\#]|\Z)|\#[^\n]*|(?=\{)""",
    re.X,
)
_OPEN_BRACKET = re.compile(r"\[[^\]]*/?\Z")


def _sed_script(script: str) -> bool:
    """Whether every command of the script is known to only print."""
    at = 0
    while True:
        space = _SED_SPACE.match(script, at)
        at = space.end() if space else at
        if at >= len(script):
            return True
        address = _SED_ADDRESS.match(script, at)
        command = _SED_COMMAND.match(script, address.end()) if address else None
        if not address or not command:
            return False
        patterns = (address["one"], address["two"], command["pattern"])
        # where a delimiter stands inside [...], sed and BSD sed disagree about where the pattern ends
        if any(_OPEN_BRACKET.search(pattern) for pattern in patterns if pattern) or command.end() == at:
            return False
        at = command.end()


def sed(words: tuple[Word, ...]) -> str | None:
    """Why this `sed` may write or run something."""
    options = read_options(words, _SED_VALUES)
    if options.doubtful:
        return "a word of unknown value could be an option or a script"
    if other := options.other(_SED_OPTIONS):
        return f"option {other!r} is not known to only read"
    scripts = options.values(names("e expression")) or list(options.operands[:1])
    for script in scripts:
        if not (script.known and _sed_script(script.text)):
            return f"the sed script {script.text!r} is not known to only read"
    return None


_AWK = re.compile(
    r"""(?P<string>"(?:[^"\\\n]|\\.)*")|(?P<name>[A-Za-z_]\w*)|(?P<number>[\d.]+)|(?P<or>\|\|)|(?P<at_least>>=)|(?P<comment>\#[^\n]*)
|(?P<space>[ \t]+)|(?P<mark>[\s\S])""",
    re.X,
)
_AWK_REGEX = re.compile(r"/(?:[^/\\\n\[]|\\.|\[\^?\]?[^\]\n]*\])*/")
_AWK_RUNS = re.compile(r"\bsystem\b|\bgetline\b|@|\bARGV\b|\bARGC\b|\bENVIRON\b|\bPROCINFO\b|\bclose\b|\bfflush\b")


def awk(words: tuple[Word, ...]) -> str | None:
    """Why this `awk` may write or run something."""
    options = read_options(words, names("F v f i field-separator assign file"), stop=True)
    if options.doubtful or any(name not in ("F", "v") for name, _ in options.options):
        return "an option that is not known to only read"
    if not options.operands or not options.operands[0].known:
        return "a program that only the shell knows"
    program = options.operands[0].text
    if found := _AWK_RUNS.search(program):
        return f"{found.group()} in an awk program"
    return _awk_program(program)


def _awk_program(program: str) -> str | None:
    at, printing, value_before, divided = 0, False, False, False
    while match := _AWK.match(program, at):
        kind, text = match.lastgroup, match.group()
        if text == "/" and not value_before:
            match = _AWK_REGEX.match(program, at)
            if not match or "/" in match.group()[1:-1].replace("\\/", ""):
                return "a pattern whose end is in doubt"
        elif text == "/" and ('"' in program[at:] or "/" in program[at + 1 :]):
            divided = True
        if divided:
            return "a division that may be a pattern"
        at = match.end()
        if text == "|" or (text == ">" and printing):
            return f"{text} writes or runs in an awk program"
        if kind == "name":
            printing = printing or text in ("print", "printf")
        elif text in ";}":
            printing = False
        if kind != "space":
            value_before = kind in ("string", "number", "name") or text in ")]$/"
    return None


_TAR = names("t f v z j J a list file verbose gzip bzip2 xz zstd auto-compress exclude wildcards C directory")


def tar(words: tuple[Word, ...]) -> str | None:
    """Why this `tar` does more than list an archive."""
    first = words[0] if words else Word("")
    if first.known and re.fullmatch(r"[A-Za-z]+", first.text):
        # without the dash the letters take their values in turn from the words that follow: tar tfC ARCHIVE FOLDER
        values = [letter for letter in first.text if letter in "fC"]
        if not set(first.text) <= _TAR or len(words) <= len(values):
            return "tar does more than list an archive"
        given = [Word("-" + letter + word.text) for letter, word in zip(values, words[1:], strict=False)]
        plain = "".join(letter for letter in first.text if letter not in "fC")
        words = (Word("-" + plain), *given, *words[1 + len(values) :])
    options = read_options(words, names("f C file directory exclude"))
    if options.doubtful:
        return "a word of unknown value could be an option"
    given = [name for name, _ in options.options]
    if options.other(_TAR) or not ("t" in given or "list" in given):
        return "tar does more than list an archive"
    if any(":" in value.text for value in options.values(names("f file"))):
        return "an archive on another machine"
    return None


_DATE_VALUES, _DATE = (
    names("d date r reference"),
    names("d date r reference u utc universal R rfc-email iso-8601 rfc-3339 debug"),
)


def date(words: tuple[Word, ...]) -> str | None:
    """Why this `date` may set the clock."""
    plain = tuple(word for word in words if not re.fullmatch(r"-I(date|hours|minutes|seconds|ns)?", word.text))
    options = read_options(plain, _DATE_VALUES)
    if options.doubtful or options.other(_DATE):
        return "an option that is not known to only read"
    return None if all(word.text.startswith("+") for word in options.operands) else "it may set the clock"


def sleep(words: tuple[Word, ...]) -> str | None:
    """Why this `sleep` is not a short one."""
    short = len(words) == 1 and re.fullmatch(r"\d{1,3}(\.\d+)?s?", words[0].text)
    return None if short else "it may sleep for very long"


def gzip(words: tuple[Word, ...]) -> str | None:
    """Why this decompressor writes a file."""
    options = read_options(words, names("S suffix"))
    known = names("l t c d k q v n list test stdout to-stdout decompress uncompress keep quiet verbose")
    # of several modes the last one counts: xz -t -d decompresses
    looks = options.has(names("l t list test")) and not options.has(names("d decompress uncompress"))
    prints = options.has(names("c stdout to-stdout"))
    return "it replaces files" if options.other(known) or options.doubtful or not (looks or prints) else None


_UNZIP, _UNZIP_LISTS = names("l v Z t z p c q qq x"), names("l v Z t z p c")


def unzip(words: tuple[Word, ...]) -> str | None:
    """Why this `unzip` does more than list or print an archive."""
    options = read_options(words, names("x P"))
    lists = options.has(_UNZIP_LISTS) and not options.other(_UNZIP) and not options.doubtful
    return None if lists else "unzip does more than list or print an archive"


PROGRAMS: dict[str, Refusal] = {
    "find": find,
    "sed": sed,
    "gsed": sed,
    "awk": awk,
    "gawk": awk,
    "mawk": awk,
    "nawk": awk,
    "tar": tar,
    "date": date,
    "sleep": sleep,
    "unzip": unzip,
    "gzip": gzip,
    "gunzip": gzip,
    "xz": gzip,
    "bzip2": gzip,
}
