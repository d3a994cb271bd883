"""What is refused in every mode, by what it does and not by how it is spelled.

Removing / or the home folder, becoming another user, mode 777, writing a device, making a file system, fork bombs, mass
kills, and running what was just downloaded. The rules see a command after unquoting and unwrapping, so a word that is
only data (`grep sudo README`) never meets them.
"""

from __future__ import annotations

import posixpath
import re

from .options import names, read_options
from .syntax import Command
from .words import Word
from .wrappers import INTERPRETERS, SHELLS, WRAPPERS

_ESCALATES = names("sudo su doas pkexec runuser sudoedit run0 gosu su-exec dzdo please")
_FILE_SYSTEMS = re.compile(r"mkfs(\..+)?|mke2fs|mkntfs|mkdosfs|newfs(_.+)?|wipefs")
_DEVICE = re.compile(
    r"/dev/(?:[shvx]d[a-z]|xvd|nvme|mmcblk|disk|rdisk|mapper|dm-|md\d|md/|loop|sr\d|zram|nbd|block|mem|kmem|port|mtd|nand|pmem|root)\S*"
)
_NO_DEVICES = re.compile(
    r"/dev/(?:null|zero|full|random|urandom|tty\w*|stdin|stdout|stderr|fd|pts|shm|ptmx|console|tcp|udp)(?:/.*)?"
)
_DOWNLOADS = names("curl wget fetch aria2c http https xh httpie lwp-download")
_SYSTEM = names(
    "bin boot dev etc home lib lib32 lib64 opt proc root sbin srv sys usr var Applications Library System Users Volumes"
)
_DEFAULT = re.compile(r"\$\{\w+:?[-=]([^{}]*)\}")  # what an unset variable stands for
_KILL_9 = frozenset(("9", "kill", "sigkill"))


def blocked(command: Command, name: str) -> str | None:
    """Why this simple command, whose program is called `name`, is refused; None when it is not."""
    words = command.words[1:]
    if name in _ESCALATES:
        return f"{name} acts as another user"
    if name.startswith(("mk", "newfs", "wipefs")) and _FILE_SYSTEMS.fullmatch(name):
        return f"{name} destroys what is on a device"
    if name in command.functions and command.concurrent:
        return f"the function {name!r} starts itself again and again: a fork bomb"
    rule = _RULES.get(name)
    return (rule(command, words) if rule else None) or _runs_download(command, name, words)


def blocked_target(word: Word) -> str | None:
    """Why a redirection or a copy to this path is refused: it is a disk."""
    path = _normal(word.text)
    return f"{path} is a device" if _DEVICE.fullmatch(path) else None


def _normal(path: str) -> str:
    return re.sub(r"^//+", "/", posixpath.normpath(path)) if path else ""


def _rm(command: Command, words: tuple[Word, ...]) -> str | None:
    options = read_options(words, frozenset())
    if not options.has(names("r R recursive no-preserve-root")):
        return None
    for word in options.operands:
        if root := _root(command, word):
            return f"rm of {root}"
    return None


_FIND_ALL = names("-delete -depth -xdev -mount -type f d l -mindepth -maxdepth -print")


def _find(command: Command, words: tuple[Word, ...]) -> str | None:
    """`find / -delete`, where nothing narrows what it finds."""
    texts = [word.text for word in words]
    starts = [word for word in words if not word.text.startswith("-") and (word.known or word.home)]
    if "-delete" not in texts or any(text.startswith("-") and text not in _FIND_ALL for text in texts):
        return None
    return next((f"find deletes {root}" for word in starts if (root := _root(command, word))), None)


def _root(command: Command, word: Word) -> str | None:
    """The name of the root, the home folder or a system folder, when that is what a word removes."""
    path = word.text if word.known else _DEFAULT.sub(r"\1", word.text)
    if not path.startswith(("/", "~")) and command.folder:
        path = f"{command.folder}/{path}"
    while path.endswith(("/*", "/.", "/.*", "/{*,.*}", "/**")):
        path = path.rpartition("/")[0] or "/"
    path = _normal(path)
    home = word.home or not word.quoted or not word.known or command.folder
    if (path == "~" and home) or (word.home and "/" not in path) or path == "/":
        return repr(word.text)
    return repr(word.text) if path.startswith("/") and path[1:] in _SYSTEM else None


def _chmod(command: Command, words: tuple[Word, ...]) -> str | None:
    operands = [word.text for word in words if not word.text.startswith("-")]
    mode = operands[0] if operands else ""
    if (
        re.fullmatch(r"[0-7]*777", mode)
        or re.fullmatch(r"(a|ugo)?[+=]rwx[st]*", mode)
        or "777" in (word.text[1:] for word in words)
    ):
        return f"chmod {mode} lets everybody write"
    return None


def _dd(command: Command, words: tuple[Word, ...]) -> str | None:
    for word in words:
        target = _normal(word.text.removeprefix("of=")) if word.text.startswith("of=") else ""
        if target.startswith("/dev/") and not _NO_DEVICES.fullmatch(target):
            return f"dd writes the device {target}"
    return None


def _kills_hard(words: tuple[Word, ...]) -> bool:
    texts = [word.text.lower() for word in words]
    return any(
        text.lstrip("-").removeprefix("signal=").removeprefix("s") in _KILL_9
        or text.lstrip("-") in _KILL_9
        or re.fullmatch(r"-9[a-z]+", text)
        for text in texts
        if text.startswith("-") or text in _KILL_9
    )


def _pkill(command: Command, words: tuple[Word, ...]) -> str | None:
    wide = any(re.fullmatch(r"-9?[a-z]*[fuU]|--full|--euid.*|--uid.*|-9?f\w*", word.text) for word in words)
    return "pkill -9 of every match" if _kills_hard(words) and wide else None


def _killall(command: Command, words: tuple[Word, ...]) -> str | None:
    return "killall -9" if _kills_hard(words) else None


def _kill(command: Command, words: tuple[Word, ...]) -> str | None:
    texts = [word.text for word in words]
    every = texts[1:].count("-1") > 0 or (texts[:1] == ["--"] and "-1" in texts)
    return "kill of every process" if every else None


def _onto_device(command: Command, words: tuple[Word, ...]) -> str | None:
    return next((found for word in words if (found := blocked_target(word))), None)


_RULES = {
    **dict.fromkeys(("tee", "cp", "mv", "shred"), _onto_device),
    "rm": _rm,
    "find": _find,
    "chmod": _chmod,
    "dd": _dd,
    "pkill": _pkill,
    "killall": _killall,
    "kill": _kill,
}


def _runs_download(command: Command, name: str, words: tuple[Word, ...]) -> str | None:
    runs_text = name in ("eval", "source", ".") or bool(command.words[0].nested)
    if not runs_text and name not in SHELLS and name not in INTERPRETERS:
        return None
    inside = any(_downloads(inner) for inner in command.inner)
    if not inside and not any(_downloads(before) for before in command.upstream):
        return None
    if inside and runs_text:
        return "it runs what it downloads"
    if runs_text:
        return None
    options = read_options(words, names("c e m o O"), stop=True)
    program = [*options.values(names("c e")), *options.operands[:1]]
    if inside and (
        any(word.nested for word in program) or any(redirect.target.nested for redirect in command.redirects)
    ):
        return f"{name} runs what it downloads"
    given = options.values(names("c e m")) or (
        program and program[0].text not in ("-", "/dev/stdin") and not options.has(names("s"))
    )
    return None if given or inside else f"{name} runs what is downloaded"


def _downloads(command: Command) -> bool:
    texts = [posixpath.basename(word.text) for word in command.words[:6]]
    wrapped = texts[:1] and (texts[0] in WRAPPERS or texts[0] in ("env", "command", "xargs"))
    return not _DOWNLOADS.isdisjoint(texts if wrapped else texts[:1])
