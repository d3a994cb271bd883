"""What somebody has allowed for the rest of a conversation."""

from __future__ import annotations

import re
import shlex
import threading

import httpx2

from toolhaft.pipeline.call import Call
from toolhaft.shell import classify
from toolhaft.shell.verdict import Level
from toolhaft.spec import ToolKind
from toolhaft.workspace.net_errors import AddressRefusedError
from toolhaft.workspace.net_rules import check_url

# A word of a command that says what is done, not to what: `git`, `commit`, `--amend`, but no path, number or glob.
_TELLING = re.compile(r"-{0,2}[A-Za-z][\w-]*")

_Kind = tuple[str, ...]


class Consents:
    """The calls that need not be asked about again, by conversation.

    A tool is allowed whatever its arguments; a command only for its programs with their subcommands and options, and
    never where it is dangerous; a `url` only for its host. They are held in memory and end with the process.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._given: dict[str, set[_Kind]] = {}

    def add(self, call: Call) -> None:
        """Allow calls like this one. Without effect for a command that is dangerous."""
        kind = _kind(call)
        if kind is not None:
            with self._lock:
                self._given.setdefault(call.conversation_id, set()).add(kind)

    def cover(self, call: Call) -> bool:
        """Whether a call like this one has been allowed in its conversation."""
        given = self._given.get(call.conversation_id)
        return bool(given) and _kind(call) in given

    def revoke(self, conversation_id: str) -> None:
        """Take back what was allowed in a conversation."""
        with self._lock:
            self._given.pop(conversation_id, None)


def _kind(call: Call) -> _Kind | None:
    url = call.args.get("url")
    if call.kind is ToolKind.NETWORK and isinstance(url, str):
        return _host(call.name, url)
    command = call.args.get("command")
    if call.kind is not ToolKind.SHELL or not isinstance(command, str):
        return (call.name,)
    verdict = classify(command)
    if verdict.level >= Level.DANGEROUS:
        return None
    return (call.name, *(" ".join(_telling_words(text)) for text in verdict.commands))


def _host(name: str, url: str) -> _Kind | None:
    try:
        parsed = httpx2.URL(url)
        return (name, parsed.scheme, check_url(parsed), str(parsed.port))
    except (httpx2.InvalidURL, AddressRefusedError):
        return None


def _telling_words(command: str) -> list[str]:
    try:
        words = shlex.split(command)
    except ValueError:  # a command that only bash can take apart counts as it is written
        return [command]
    return [words[0], *(word for word in words[1:] if word.startswith("-") or _TELLING.fullmatch(word))]
