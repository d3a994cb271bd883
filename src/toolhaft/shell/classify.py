"""Judges a command line: safe, dev, dangerous or blocked. The worst simple command in it decides.

Every simple command that bash would run is judged on its own: its assignments, its redirections, its program with its
options, and the commands that it runs in turn. What is not known to be harmless is dangerous. This is no sandbox: it
decides what needs asking, and confinement holds whatever was asked.
"""

from __future__ import annotations

import fnmatch
import posixpath
import re
from collections.abc import Iterable, Iterator

from . import dev, git
from .blocked import blocked, blocked_target
from .builtins import BUILTINS
from .environment import is_project_path, matters
from .paths import paths_of
from .programs import PROGRAMS, Refusal
from .readers import READERS
from .syntax import Command, parse
from .unwrap import unwrap
from .verdict import Level, PathUse, Verdict
from .words import Redirect, Word

MAX_UNWRAPPED = 8
_SYSTEM_FOLDERS = frozenset(("/bin", "/usr/bin", "/usr/local/bin", "/sbin", "/usr/sbin", "/opt/homebrew/bin"))
_HARMLESS_TARGETS = re.compile(r"/dev/(?:null|stdout|stderr|stdin|fd/\d+|tty|zero|urandom|random)")
_DESCRIPTOR = re.compile(r"\d+-?|-")
_ACTIVATE = re.compile(r"(?:\./)?\.?v?env/bin/activate")

_Judged = tuple[Level, str]
_SAFE: _Judged = (Level.SAFE, "only reads")
# Every program that may only read, with what answers why a call of it does more.
_REFUSALS: dict[str, Refusal] = {
    **{name: reader.refusal for name, reader in READERS.items()},
    **PROGRAMS,
    **BUILTINS,
    "git": git.refusal,
}


def classify(command: str, *, safe_commands: Iterable[str] = (), blocked_patterns: Iterable[str] = ()) -> Verdict:
    """How far a command line may be trusted, why, and the paths it names.

    `safe_commands` are beginnings of commands, whole words (`"terraform plan"`), that are safe besides ours.
    `blocked_patterns` are regular expressions searched in each simple command, and each pipeline, with quotes removed
    and single blanks. Never raises for what is in `command`; a bad pattern raises `re.error`.

    >>> classify("git status && rm -r build").reason
    'rm: not a known reader or development tool'
    """
    script = parse(command)
    judge = _Judge(
        safe=tuple(tuple(text.split()) for text in safe_commands if text.split()),
        blocked=tuple(re.compile(pattern) for pattern in blocked_patterns),
    )
    worst = _SAFE
    if script.problems:
        worst = (Level.DANGEROUS, f"not understood: {script.problems[0]}")
        if found := judge.pattern(command):
            worst = (Level.BLOCKED, found)
    elif not script.commands:
        worst = (Level.DANGEROUS if not command.strip() else Level.SAFE, "no command")
    for simple in script.commands:
        worst = _worse(worst, judge.command(simple))
    texts = tuple(simple.text for simple in script.commands if simple.words)
    return Verdict(worst[0], worst[1], texts, tuple(dict.fromkeys(judge.paths)))


def _worse(first: _Judged, second: _Judged) -> _Judged:
    return second if second[0].rank > first[0].rank else first


class _Judge:
    """Judges the simple commands of one command line."""

    def __init__(self, *, safe: tuple[tuple[str, ...], ...], blocked: tuple[re.Pattern[str], ...]) -> None:
        self.safe, self.blocked = safe, blocked
        self.paths: list[PathUse] = []

    def pattern(self, text: str) -> str | None:
        """The configured pattern that refuses this text."""
        found = next((pattern for pattern in self.blocked if pattern.search(text)), None)
        return f"it matches the blocked pattern {found.pattern!r}" if found else None

    def command(self, command: Command, depth: int = 0) -> _Judged:
        """The level of one simple command and of all that it runs."""
        worst = _SAFE
        if depth > MAX_UNWRAPPED:
            return Level.DANGEROUS, f"commands wrapped more than {MAX_UNWRAPPED} deep"
        for redirect in command.redirects:
            worst = _worse(worst, _redirect(redirect))
        name = _name(command.words[0].text) if command.words else ""
        self.paths += paths_of(command, name)
        project = False
        for variable, values in command.assignments:
            if matters(variable) and not (variable == "IFS" and name == "read"):
                project = project or (
                    bool(command.words) and is_project_path(variable, values[0].text if values else "")
                )
                if not project:
                    worst = _worse(worst, (Level.DANGEROUS, f"setting {variable} changes what programs run"))
        if not command.words:
            return worst
        if self.blocked and (found := self._blocked(command)):
            return Level.BLOCKED, found
        judged = self._program(command, name, depth)
        if project and judged[0] is Level.SAFE:
            judged = (Level.DANGEROUS, "its variables change what a reader runs")
        return _worse(worst, judged)

    def _blocked(self, command: Command) -> str | None:
        pipe = " | ".join([before.text for before in command.upstream] + [command.text])
        return self.pattern(command.text) or (self.pattern(pipe) if command.upstream else None)

    def _program(self, command: Command, name: str, depth: int) -> _Judged:
        judged = self._of_tables(command, name, depth)
        if judged[0] is not Level.BLOCKED and self.safe and self._configured(command.words):
            return Level.SAFE, "configured as safe"
        return judged

    def _of_tables(self, command: Command, name: str, depth: int) -> _Judged:
        first, words = command.words[0], command.words[1:]
        shown = first.text.rpartition("/")[2] or first.text
        if found := blocked(command, name.casefold()):
            return Level.BLOCKED, found
        for guess in _guesses(command) if not first.known or first.globs else ():
            if found := blocked(guess, _name(guess.words[0].text).casefold()):
                return Level.BLOCKED, found
        if command.is_function:
            return Level.SAFE, "a function judged where it is defined"
        worst = _SAFE
        if not first.known or first.globs:
            worst = (Level.DANGEROUS, f"{first.text}: a command whose name only the running shell knows")
        if wrapped := unwrap(command, name):
            worst = _worse(worst, (wrapped.floor, wrapped.reason))
            for inner in wrapped.commands:
                worst = _worse(worst, self.command(inner, depth + 1))
            if "/" in first.text:
                worst = _worse(worst, _wrapper_of_its_own(first.text))
            if wrapped.rest is None:
                return worst
            words = wrapped.rest
        return _worse(worst, self._judge(name, first.text, shown, words))

    def _configured(self, words: tuple[Word, ...]) -> bool:
        return any(
            len(words) >= len(beginning)
            and all(word.known and word.text == text for word, text in zip(words, beginning, strict=False))
            for beginning in self.safe
        )

    def _judge(self, name: str, path: str, shown: str, words: tuple[Word, ...]) -> _Judged:
        if "/" in path and posixpath.dirname(path) not in _SYSTEM_FOLDERS:
            return _project_program(path, words)
        refusal = _REFUSALS.get(name)
        reason = refusal(words) if refusal else None
        if refusal and not reason:
            return _SAFE
        if dev.is_version_query(name, words) or dev.is_listing(name, words):
            return Level.SAFE, "only asks what is installed"
        if refusal:
            return Level.DANGEROUS, f"{shown}: {reason}"
        return _development(name, shown, words)


def _guesses(command: Command) -> Iterator[Command]:
    """What a command may be whose name only the running shell knows: its variables empty, its words split."""
    text, rest = command.words[0].text, command.words[1:]
    for possible in (text, _VARIABLE.sub("", text)):
        fields = tuple(Word(field, known=False) for field in possible.split())
        if fields:
            yield command._replace(words=(*fields, *rest))
    if command.words[0].globs:
        for name in fnmatch.filter(_FAMOUS, _name(text)):
            yield command._replace(words=(Word(name), *rest))


_VARIABLE = re.compile(r"\$\{?\w+\}?|\$\(\.\.\.\)")
_FAMOUS = ("rm", "sudo", "su", "chmod", "dd", "mkfs", "pkill", "killall", "doas")


def _name(path: str) -> str:
    """What the program at this path is called."""
    return posixpath.basename(path.rstrip("/")) if "/" in path else path


def _redirect(redirect: Redirect) -> _Judged:
    operator, target = redirect
    if operator in ("<<", "<<<") or (target.nested and target.text in ("<(...)", ">(...)")):
        return Level.SAFE, "only reads"
    if found := blocked_target(target) if operator != "<" else None:
        return Level.BLOCKED, found
    if operator in (">&", "<&") and _DESCRIPTOR.fullmatch(target.text):
        return Level.SAFE, "only reads"
    if target.known and _HARMLESS_TARGETS.fullmatch(target.text):
        return Level.SAFE, "only reads"
    if operator == "<" and not target.text.startswith("/dev/"):
        return Level.SAFE, "only reads"
    return Level.DANGEROUS, f"{operator} {target.text}: a redirection writes a file"


def _wrapper_of_its_own(path: str) -> _Judged:
    """A wrapper (`env`, `python -m`) called by a path: another program may lie there."""
    if posixpath.dirname(path) in _SYSTEM_FOLDERS:
        return _SAFE
    if dev.project_program(path):
        return Level.DEV, f"{path} is the project's own"
    return Level.DANGEROUS, f"{path}: a program that is not the system's"


def _project_program(path: str, words: tuple[Word, ...]) -> _Judged:
    """A program that the project keeps itself: development at best."""
    name = dev.project_program(path)
    if name is None:
        return Level.DANGEROUS, f"{path}: a program that is not the system's"
    if dev.is_version_query(name, words):
        return Level.DEV, f"{path} is the project's own"
    return _development(name, path, words)


def _development(name: str, shown: str, words: tuple[Word, ...]) -> _Judged:
    if name == "uv" and words and words[0].text == "pip":
        name, words = "pip", words[1:]
    if name in ("pip", "pip3", "python -m pip"):
        reads, reason = dev.pip(words)
        if reason:
            return Level.DANGEROUS, reason
        return (Level.SAFE, "only reads") if reads else (Level.DEV, "pip installs packages")
    if name in ("source", ".") and len(words) == 1 and words[0].known and _ACTIVATE.fullmatch(words[0].text):
        return Level.DEV, "it activates the project's environment"
    if name in ("make", "gmake") and (reason := dev.make(words)):
        return Level.DANGEROUS, f"{shown}: {reason}"
    tool = dev.TOOLS.get(name)
    if tool is None:
        return Level.DANGEROUS, f"{shown}: not a known reader or development tool"
    reason = tool.refusal(words)
    return (Level.DANGEROUS, f"{shown}: {reason}") if reason else (Level.DEV, f"{shown} is a development tool")
