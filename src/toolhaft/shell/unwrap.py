"""Follows a command into the commands it runs: `sh -c`, `env`, `xargs`, `find -exec`, `sudo`, `git -c alias.x=!...`.

`unwrap` answers the commands found inside, and the least that the wrapper itself is. A wrapper that also runs what
cannot be seen (a file, standard input, another machine) is dangerous by itself; it is followed all the same, because
what it runs may be worse.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import NamedTuple

from . import git
from .dev import TOOLS
from .environment import matters
from .options import names, read_options
from .syntax import Command, parse
from .verdict import Level
from .words import Word
from .wrappers import RUNNERS, SHELLS, WRAPPERS, Wrapper

_DANGER = Level.DANGEROUS


class Unwrapped(NamedTuple):
    """What a wrapper runs. `rest`: its own words, where they have to be judged too (`find` without its `-exec`)."""

    commands: tuple[Command, ...]
    floor: Level = Level.SAFE
    reason: str = ""
    rest: tuple[Word, ...] | None = None


def unwrap(command: Command, name: str) -> Unwrapped | None:
    """What `command`, whose program is called `name`, runs; None when it is no wrapper."""
    follow = _FOLLOW.get(name)
    return follow(command, name, command.words[1:]) if follow else None


def _inside(command: Command, words: tuple[Word, ...]) -> Command:
    """The command that a wrapper runs: fed from the same pipe, in the same folder."""
    return command._replace(words=words, assignments=(), redirects=(), is_function=False)


def _operands(command: Command, name: str, words: tuple[Word, ...]) -> Unwrapped:
    return _behind(command, WRAPPERS[name], words)


def _behind(command: Command, wrapper: Wrapper, words: tuple[Word, ...]) -> Unwrapped:
    options = read_options(words, names(wrapper.values), stop=True)
    rest = options.operands
    floor, reason = wrapper.floor, f"{command.words[0].text} itself"
    if wrapper.only is not None and (other := options.other(names(wrapper.only))):
        floor, reason = max(floor, _DANGER, key=lambda level: level.rank), f"option {other!r}"
    rest = rest[wrapper.skip :]
    if not rest and command.words[0].text == "time":
        floor, reason = _DANGER, "time without a command"
    if floor is Level.DEV and rest and rest[0].text not in TOOLS:
        floor, reason = _DANGER, f"it may download and run {rest[0].text!r}"
    if options.doubtful and not (rest and rest[0].known):
        floor, reason = max(floor, _DANGER, key=lambda level: level.rank), "a word of unknown value"
    return Unwrapped((_inside(command, rest),) if rest else (), floor, reason)


def _text(command: Command, words: tuple[Word, ...], source: str, *, floor: Level = Level.SAFE) -> Unwrapped:
    """Follow a text that a shell will read."""
    script = parse(source)
    commands = tuple(
        inner._replace(upstream=(*command.upstream, *inner.upstream), inner=(*inner.inner, *command.inner))
        for inner in script.commands
    )
    if script.problems:
        return Unwrapped(commands, _DANGER, script.problems[0])
    if any(not word.known for word in words):
        return Unwrapped(commands, _DANGER, "a text that only the running shell knows")
    return Unwrapped(commands, floor, f"{command.words[0].text} itself" if command.words else "")


# What other shells read differently from bash: to them it may be another command.
_BASH_ONLY = re.compile(r"""\$['"]|\(\(|\[\[|&>|<<<|[<>]\(|\|&|\{[^}]*(?:,|\.\.)|\bfunction\b|=\(|\$\[|[@?*+!]\(|\\x""")


def _shell(command: Command, name: str, words: tuple[Word, ...]) -> Unwrapped:
    options = read_options(words, names("c o O rcfile init-file"), stop=True)
    programs = options.values(names("c"))
    if not programs and options.has(names("c")):
        return Unwrapped((), _DANGER, f"{name} -c without a program")
    if programs:
        # in `bash -c -e TEXT` or `bash -co pipefail TEXT` the text is an operand: read both
        text = programs[0] if not programs[0].text.startswith("-") else (options.operands or programs)[0]
        odd = (
            options.doubtful or options.other(names("c l e u x")) or any(word.text.startswith("-") for word in programs)
        )
        foreign = name not in ("bash", "rbash") and (
            name not in ("sh", "dash", "ash", "ksh", "mksh") or _BASH_ONLY.search(text.text)
        )
        found = _text(command, (text, *options.operands), text.text)
        if (odd or foreign) and found.floor < _DANGER:
            return found._replace(floor=_DANGER, reason=f"{name} may read this otherwise")
        return found
    if options.has(names("n")) and options.operands and not options.other(names("n")):
        return Unwrapped((), Level.DEV, f"{name} -n only reads a script")
    for text in _fed_texts(command) if not options.operands else []:
        found = parse(text)
        return Unwrapped(found.commands, _DANGER, f"{name} runs what it is fed")
    return Unwrapped((), _DANGER, f"{name} runs a script")


def _fed_texts(command: Command) -> list[str]:
    """The text on standard input, where it can be seen: a here-document, or `echo` before the pipe."""
    texts = [redirect.target.text for redirect in command.redirects if redirect.operator in ("<<", "<<<")]
    upstream = [before for before in command.upstream if before.words]
    while upstream and (upstream[-1].text == "cat" or upstream[-1].words[0].text == "tee"):
        if any(redirect.operator.startswith("<") for redirect in upstream[-1].redirects):
            break
        upstream.pop()
    if not texts and upstream:
        last = upstream[-1]
        if last.words[0].text in ("echo", "printf"):
            texts = [_printed(last.words)]
        elif last.words[0].text == "cat":
            texts = [redirect.target.text for redirect in last.redirects if redirect.operator in ("<<", "<<<")]
    return texts


def _printed(words: tuple[Word, ...]) -> str:
    """What `echo` or `printf` prints, near enough: one line for each word of a format of several."""
    given = [word.text for word in words[1:] if not word.text.startswith("-") or len(word.text) > 2]
    if words[0].text == "printf" and given and "%" in given[0]:
        pieces = re.split(r"%[sbq]", given[0])
        values = iter(given[1:])
        given = ["".join(piece + next(values, "") for piece in pieces[:-1]) + pieces[-1], *values]
        return "\n".join(given).replace("\\n", "\n")
    return " ".join(given).replace("\\n", "\n")


_FIND_RUNS = frozenset(("-exec", "-execdir", "-ok", "-okdir"))


def _find(command: Command, name: str, words: tuple[Word, ...]) -> Unwrapped:
    rest: list[Word] = []
    commands: list[Command] = []
    floor = Level.SAFE
    index = 0
    while index < len(words):
        if words[index].text not in _FIND_RUNS:
            rest.append(words[index])
            index += 1
            continue
        if words[index].text.startswith("-ok"):
            floor = _DANGER
        inner: list[Word] = []
        index += 1
        while (
            index < len(words)
            and words[index].text != ";"
            and not (words[index].text == "+" and inner[-1:] and inner[-1].text == "{}")
        ):
            inner.append(words[index])
            index += 1
        index += 1
        found = tuple(word._replace(known=False) if "{}" in word.text else word for word in inner)
        commands.append(_inside(command, found))
    return Unwrapped(tuple(commands), floor, "find -ok asks", tuple(rest))


_UNKNOWN = Word("", known=False, splits=True, open=True)


def _xargs(command: Command, name: str, words: tuple[Word, ...]) -> Unwrapped:
    options = read_options(
        words,
        names("I J R n P L s d E a i l max-args max-procs max-lines max-chars delimiter arg-file replace eof"),
        stop=True,
    )
    inner = options.operands or (Word("echo"),)
    marks = [value.text for value in options.values(names("I J i replace"))] + (
        ["{}"] if options.has(names("i replace")) else []
    )
    if marks:
        inner = tuple(
            word._replace(known=False, open=any(word.text.startswith(mark) for mark in marks), splits=False)
            if any(mark in word.text for mark in marks if mark)
            else word
            for word in inner
        )
    else:
        inner = (*inner, _UNKNOWN)
    harmless = names(
        "0 I n P L r t x d s null no-run-if-empty max-args max-procs max-lines verbose exit delimiter replace"
    )
    floor = _DANGER if options.doubtful and not options.operands else Level.SAFE
    if other := options.other(harmless):
        return Unwrapped((_inside(command, inner),), _DANGER, f"xargs option {other!r}")
    return Unwrapped((_inside(command, inner),), floor, "xargs of an unknown command")


def _env(command: Command, name: str, words: tuple[Word, ...]) -> Unwrapped:
    options = read_options(words, names("u C S unset chdir split-string"), stop=True)
    rest = options.operands
    floor, reason = Level.SAFE, "env itself"
    if split := options.values(names("S split-string")):
        found = _text(command, tuple(split), " ".join([split[0].text, *(word.text for word in rest)]))
        return found._replace(
            floor=max(found.floor, _DANGER, key=lambda level: level.rank), reason="env -S splits a text its own way"
        )
    if other := options.other(names("i u 0 ignore-environment unset null")):
        floor, reason = _DANGER, f"env option {other!r}"
    while rest and "=" in rest[0].text and not rest[0].text.startswith("="):
        variable = rest[0].text.partition("=")[0]
        if matters(variable) or (not rest[0].known and (rest[0].open or rest[0].splits)):
            floor, reason = _DANGER, f"setting {variable} changes what programs run"
        rest = rest[1:]
    if rest and rest[0].text == "-":
        rest = rest[1:]
    return Unwrapped((_inside(command, rest),) if rest else (), floor, reason)


_PLAIN_COMMAND = Wrapper(only="p")


def _command(command: Command, name: str, words: tuple[Word, ...]) -> Unwrapped:
    options = read_options(words, frozenset(), stop=True)
    if options.has(names("v V")):
        return Unwrapped(())
    return _behind(command, _PLAIN_COMMAND, words)


_FILTERS = names("setup env-filter tree-filter index-filter parent-filter msg-filter commit-filter tag-name-filter")
_RUNS = ("rebase", "bisect", "submodule", "difftool", "filter-branch")


def _git(command: Command, name: str, words: tuple[Word, ...]) -> Unwrapped | None:
    """The commands in git's own options: aliases, pagers and monitors given by -c, and `--exec`."""
    options, rest = git.split(words)
    if not options.options and not (rest and rest[0].text in _RUNS):
        return None
    texts = [value.text.partition("=")[2].lstrip("!") for name, value in options.options if name == "c" and value]
    verb = rest[0].text if rest else ""
    inner: list[Command] = []
    if verb == "rebase":
        texts += [value.text for value in read_options(rest[1:], names("x exec")).values(names("x exec"))]
    elif verb in ("bisect", "submodule") and len(rest) > 2 and rest[1].text in ("run", "foreach"):
        texts += [rest[2].text] if rest[1].text == "foreach" and len(rest) == 3 else []
        inner.append(_inside(command, rest[2:]))
    elif verb == "difftool":
        texts += [value.text for value in read_options(rest[1:], names("x extcmd")).values(names("x extcmd"))]
    elif verb == "filter-branch":
        texts += [value.text for value in read_options(rest[1:], _FILTERS).values(_FILTERS)]
    inner += [found for text in texts for found in parse(text).commands]
    return Unwrapped(tuple(inner), _DANGER, f"git {verb} runs other commands") if inner else None


def _strings(command: Command, name: str, words: tuple[Word, ...]) -> Unwrapped:
    """Programs that hand a text to a shell."""
    values = "b c D E e F I i J L l m O o p Q R S W w B" if name == "ssh" else "c n w"
    options = read_options(words, names(values), stop=name != "script")
    texts = [word.text for word in options.values(names("c command"))]
    if name == "ssh":
        texts = [" ".join(word.text for word in options.operands[1:])]
        texts += [word.text.partition("=")[2] for word in options.values(names("o"))]
    elif name == "trap":
        texts = [word.text for word in options.operands[:1]]
    elif name == "watch":
        texts = [" ".join(word.text for word in options.operands)]
    elif name == "flock":
        told = [word.text for word in options.operands[1:]]
        texts += [" ".join(told[1:] if told[:1] in (["-c"], ["--command"]) else told)]
    commands = tuple(inner for text in texts for inner in parse(text).commands)
    return Unwrapped(commands, _DANGER, f"{name} runs what it is told")


def _python(command: Command, name: str, words: tuple[Word, ...]) -> Unwrapped | None:
    """`python -m MODULE ...` as a command called `python -m MODULE`: any file of that name could be meant."""
    valued = False
    for index, word in enumerate(words):
        if word.text == "-m" and word.known and not valued and len(words) > index + 1:
            module = words[index + 1]
            named = module._replace(text=f"python -m {module.text}")
            return Unwrapped((_inside(command, (named, *words[index + 2 :])),), Level.DEV, "it runs a module of Python")
        # a warning's category (-W error::a.B) would be imported
        if not re.fullmatch(r"[a-z]+" if valued else r"-[uBbOsEPq]+|-[WX][a-z]*", word.text) or not word.known:
            return None
        valued = not valued and word.text in ("-W", "-X")
    return None


def _runner(command: Command, name: str, words: tuple[Word, ...]) -> Unwrapped | None:
    verb, harmless, values = RUNNERS[name]
    if not words or words[0].text != verb:
        return None
    words = words[1:]
    options = read_options(words, names(values), stop=True)
    rest = options.operands
    if name.endswith("coverage"):
        module = options.has(names("m"))
        rest = (Word("python"), *((Word("-m"),) if module else ()), *rest)
    if name in ("npm", "pnpm", "yarn") and not options.values(names("c call")) and rest and rest[0].text not in TOOLS:
        return Unwrapped((_inside(command, rest),), _DANGER, f"it may download and run {rest[0].text!r}")
    if other := options.other(names(harmless)):
        inner = tuple(found for value in options.values(names("c call")) for found in parse(value.text).commands)
        return Unwrapped((*inner, _inside(command, rest)) if rest else inner, _DANGER, f"option {other!r} of {name}")
    return Unwrapped((_inside(command, rest),) if rest else (), Level.DEV, f"{name} runs the project's programs")


def _eval(command: Command, name: str, words: tuple[Word, ...]) -> Unwrapped:
    return _text(command, words, " ".join(word.text for word in words))


_FOLLOW: dict[str, Callable[[Command, str, tuple[Word, ...]], Unwrapped | None]] = {
    **dict.fromkeys(WRAPPERS, _operands),
    **dict.fromkeys(SHELLS, _shell),
    **dict.fromkeys(("python", "python3", "python2", "pypy3"), _python),
    **dict.fromkeys(("ssh", "script", "trap", "watch", "flock"), _strings),
    **dict.fromkeys(RUNNERS, _runner),
    "eval": _eval,
    "find": _find,
    "xargs": _xargs,
    "env": _env,
    "command": _command,
    "git": _git,
}
