"""The paths a command reads or writes, so that rules about files hold for commands too.

Operands of a known program are read or written as its row says; of an unknown one every word that could be a path is
named, with access unknown.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator

from . import git
from .options import Options, names, read_options
from .readers import READERS
from .syntax import Command
from .verdict import Access, PathUse
from .words import Word

# How a program uses its operands: `w` write, `r` read, `m` a mode or owner, `*` all that follow, `$` the last one.
_WRITERS: dict[str, str] = {
    **dict.fromkeys(
        names("rm rmdir mkdir touch tee truncate unlink shred mkfifo mknod gzip gunzip bzip2 xz zstd ed"), "w*"
    ),
    **dict.fromkeys(names("chmod chown chgrp setfacl"), "mw*"),
    **dict.fromkeys(names("cp install ln rsync scp"), "r*w$"),
    "mv": "w*",
    "zip": "wr*",
    "tar": "r*",
    "unzip": "r*",
    "patch": "w*",
    "uniq": "rw",
    "xxd": "rw",
    "source": "r*",
    ".": "r*",
}
# Options of writers whose value is no file; a letter means something else to the next program.
_WRITER_VALUES: dict[str, str] = {
    "truncate": "s size r reference",
    "mkdir": "m mode",
    "mkfifo": "m mode",
    "install": "m mode o owner g group S suffix",
    "cp": "S suffix",
    "mv": "S suffix",
    "ln": "S suffix",
    "touch": "d date r reference t",
    "shred": "n s iterations size",
    "rsync": "e rsh exclude include filter",
    "scp": "P i o c F J l S",
    "zip": "x i",
    "patch": "p d i o",
    "unzip": "x P",
    "chmod": "reference",
    "chown": "reference",
}
# Options whose value is a file: those it writes, those it reads.
_FILE_VALUES = {
    "sort": ("o output", "T"),
    "curl": (
        "o output c D cookie-jar dump-header trace",
        "d data data-binary F form K T config upload-file b cookie netrc-file E cert key",
    ),
    "wget": ("O o P output-document output-file directory-prefix", "i input-file post-file body-file"),
    "grep": ("", "f file"),
    "egrep": ("", "f file"),
    "rg": ("", "f file ignore-file"),
    "tar": ("f file C directory", "T X files-from f file"),
    "unzip": ("d", ""),
    "cp": ("t target-directory", ""),
    "mv": ("t target-directory", ""),
    "ln": ("t target-directory", ""),
    "install": ("t target-directory", ""),
    "git": ("output", "F file"),
    "jq": ("", "f from-file"),
    "shuf": ("o output", ""),
    "tree": ("o", ""),
    "gcc": ("o", ""),
}


def paths_of(command: Command, name: str) -> Iterator[PathUse]:
    """Every path that a simple command, whose program is called `name`, names in words and redirections."""
    for redirect in command.redirects:
        yield from _redirected(command, redirect.operator, redirect.target)
    for word in command.data:
        if not word.nested and not word.text.isdigit():
            yield _use(command, word, "unknown")
    if not name:
        return
    words = command.words[1:]
    if name in READERS and name not in _WRITERS:
        yield from _reader(command, name, words)
    elif name == "git":
        yield from _git(command, words)
    elif name == "find":
        yield from _find(command, words)
    elif name in ("sed", "gsed", "awk", "gawk", "mawk", "nawk"):
        yield from _scripted(command, name, words)
    elif name == "dd":
        yield from _dd(command, words)
    elif name in _WRITERS:
        yield from _written(command, name, words)
    elif name not in _NO_PATHS:
        yield from _unknown(command, words)


_NO_PATHS = names(
    """test [ [[ (( printf set export unset read local declare typeset readonly sleep date cd eval env command
    xargs sh bash"""
)


def _use(command: Command, word: Word, access: Access) -> PathUse:
    exact = (word.known or (word.home and word.text[:2] in ("~", "~/"))) and not word.globs and not word.splits
    return PathUse(word.text, access, exact, command.folder)


def _redirected(command: Command, operator: str, target: Word) -> Iterator[PathUse]:
    if operator in ("<<", "<<<") or (target.nested and target.text.startswith(("<(", ">("))):
        return
    if operator in (">&", "<&") and re.fullmatch(r"\d+-?|-", target.text):
        return
    if not target.text.startswith("/dev/"):
        yield _use(command, target, "read" if operator == "<" else "write")


def _values(command: Command, name: str, options: Options) -> Iterator[PathUse]:
    written, read = _FILE_VALUES.get(name, ("", ""))
    for access, cell in (("write", written), ("read", read)):
        for value in options.values(names(cell)) if cell else []:
            text = value.text.rpartition("@")[2] if name == "curl" and "@" in value.text else value.text
            yield _use(command, value._replace(text=text), "write" if access == "write" else "read")


def _takes_value(name: str) -> frozenset[str]:
    cells = " ".join(_FILE_VALUES.get(name, ("", "")))
    reader = READERS.get(name)
    return names(cells) | (reader.values if reader else names(""))


def _reader(command: Command, name: str, words: tuple[Word, ...]) -> Iterator[PathUse]:
    reader = READERS[name]
    if reader.operands == "text":
        return
    options = read_options(words, _takes_value(name))
    yield from _values(command, name, options)
    operands = options.operands
    if reader.operands == "pattern" and not options.has(names("e f regexp file from-file files")):
        operands = operands[1:]
    for word in operands:
        if word.text != "-" and not (word.nested and word.text.startswith(("<(", ">("))):
            yield _use(command, word, "read")
    if not operands and (name in ("rg", "ls", "du", "tree", "fd") or options.has(names("r R recursive"))):
        yield PathUse(".", "read", True, command.folder)


def _written(command: Command, name: str, words: tuple[Word, ...]) -> Iterator[PathUse]:
    if name == "tar" and words and re.fullmatch(r"[A-Za-z]+", words[0].text):
        words = (words[0]._replace(text="-" + words[0].text), *words[1:])
    options = read_options(words, _takes_value(name) | names(_WRITER_VALUES.get(name, "")))
    yield from _values(command, name, options)
    roles, operands = _WRITERS[name], options.operands
    aimed = options.has(names("t target-directory")) and name != "tar"
    for index, word in enumerate(operands):
        role = roles[index] if index < len(roles) and roles[index] in "wrm" else roles.rstrip("*$")[-1]
        if roles == "r*w$":
            role = "w" if index == len(operands) - 1 and index and not aimed else "r"
        if role != "m" and word.text != "-":
            yield _use(command, word, "write" if role == "w" else "read")


_GIT_WRITER_VALUES = names("m message F file output author date")
_GIT_VALUES = {name: reader.values | names("output") for name, reader in git.READS.items()}


def _git(command: Command, words: tuple[Word, ...]) -> Iterator[PathUse]:
    options, rest = git.split(words)
    folder = command.folder
    for value in options.values(names("C")):
        folder = posixpath.join(folder or "", value.text) if folder is not None and value.known else None
    inside = command._replace(folder=folder)
    if not rest:
        return
    name = rest[0].text
    reads = name in git.READS
    inner = read_options(rest[1:], _GIT_VALUES.get(name, _GIT_WRITER_VALUES))
    for value in inner.values(names("output")):
        yield _use(inside, value, "write")
    for value in inner.values(names("F file")):
        yield _use(inside, value, "read")
    pattern = name == "grep" and not inner.has(names("e f"))
    for word in inner.operands[1:] if pattern else inner.operands:
        revision, colon, path = word.text.partition(":")
        yield _use(inside, word, "read" if reads else "unknown")
        if colon and path and "//" not in path and revision != "":
            yield _use(inside, word._replace(text=path), "read")


def _find(command: Command, words: tuple[Word, ...]) -> Iterator[PathUse]:
    access: Access = "write" if any(word.text == "-delete" for word in words) else "read"
    starts = True
    for index, word in enumerate(words):
        starts = starts and not word.text.startswith(("-", "(", "!"))
        if starts:
            yield _use(command, word, access)
        elif index and words[index - 1].text in ("-fprint", "-fprint0", "-fls", "-fprintf"):
            yield _use(command, word, "write")
        elif index and words[index - 1].text in ("-newer", "-samefile", "-files0-from"):
            yield _use(command, word, "read")
        elif (
            index
            and words[index - 1].text in ("-name", "-path", "-iname", "-ipath", "-wholename")
            and word.text[:1] not in "-"
        ):
            yield PathUse(word.text, access, False, command.folder)
    if not words or words[0].text.startswith("-"):
        yield PathUse(".", access, True, command.folder)


def _scripted(command: Command, name: str, words: tuple[Word, ...]) -> Iterator[PathUse]:
    sed = name.endswith("sed")
    options = read_options(
        words, names("e f l expression file line-length") if sed else names("F v f assign file"), stop=not sed
    )
    scripts = names("e expression f file") if sed else names("f file")
    for value in options.values(names("f file")):
        yield _use(command, value, "read")
    access: Access = (
        "write" if sed and any(option[0].startswith(("i", "in-place")) for option in options.options) else "read"
    )
    for word in options.operands if options.has(scripts) else options.operands[1:]:
        if sed or "=" not in word.text:
            yield _use(command, word, access)


def _dd(command: Command, words: tuple[Word, ...]) -> Iterator[PathUse]:
    for word in words:
        key, _, value = word.text.partition("=")
        if key in ("if", "of") and not value.startswith("/dev/"):
            yield _use(command, word._replace(text=value), "read" if key == "if" else "write")


def _unknown(command: Command, words: tuple[Word, ...]) -> Iterator[PathUse]:
    """Every word of a program we do not know that could be a path, also behind `=` and `@`."""
    known = command.words[0].text.rpartition("/")[2] if command.words else ""
    if known in _FILE_VALUES:
        yield from _values(command, known, read_options(words, _takes_value(known)))
    for word in words:
        text = word.text
        if text.startswith("-") and "=" not in text:
            # the value may be glued on: -o.env
            text = text[2:] if not text.startswith("--") and re.search(r"[./]", text) else ""
        elif "=" in text:
            text = text.partition("=")[2]
        text = text.removeprefix("@")
        if text and not re.search(r"\s|://", text) and len(text) < 4096:
            yield _use(command, word._replace(text=text), "unknown")
