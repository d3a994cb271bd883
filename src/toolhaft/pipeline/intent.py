"""What a call would change, and what it would write: told by its tool's preview, else by its arguments."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

from pydantic_ai import ToolReturn

from toolhaft.pipeline.call import Call
from toolhaft.pipeline.code_rules import Addition, additions_in
from toolhaft.pipeline.limits import Use
from toolhaft.pipeline.touched import Touched
from toolhaft.shell import PathUse
from toolhaft.spec import ToolKind
from toolhaft.workspace import workspace


@dataclass(frozen=True, slots=True, kw_only=True)
class Intent:
    """What a call would use of the limits, add to files, and touch besides what its arguments name."""

    use: Use
    additions: tuple[Addition, ...] = ()
    paths: tuple[PathUse, ...] = ()


def intent_by_facts(preview: ToolReturn[Any], touched: Touched) -> Intent:
    """What a preview tells. A diff that was cut is completed by the texts in the arguments."""
    facts: Mapping[str, Any] = preview.metadata or {}
    files = _files(facts)
    use = use_in(facts)
    additions = [*additions_in(facts)]
    if facts.get("truncated") or not additions:
        additions.append(_by_arguments(touched, use.files))
    names = dict.fromkeys(name for file in files for name in (file.get("path"), file.get("old_path")) if name)
    return Intent(use=use, additions=tuple(additions), paths=tuple(PathUse(str(name), "write") for name in names))


def intent_by_arguments(call: Call, touched: Touched, written: Sequence[str]) -> Intent:
    """What can be told without a preview: `written` are the paths that the call names as written."""
    files = frozenset(map(workspace().shown, written))
    writes = call.kind is ToolKind.WRITE or bool(files)
    is_command = bool(touched.commands)
    lines = sum(text.count("\n") + 1 for text in touched.texts) if writes and not is_command else 0
    use = Use(files=files, lines=lines, commands=len(touched.commands))
    return Intent(use=use, additions=(_by_arguments(touched, files),) if writes else ())


def use_in(facts: Mapping[str, Any]) -> Use:
    """What a change used, as its tool's facts tell it."""
    files = frozenset(str(file["path"]) for file in _files(facts))
    return Use(files=files, lines=int(facts.get("added") or 0) + int(facts.get("removed") or 0))


def _files(facts: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    return cast("list[Mapping[str, Any]]", facts.get("files") or [])


def _by_arguments(touched: Touched, files: frozenset[str]) -> Addition:
    return Addition(paths=tuple(sorted(files)), text="\n".join((*touched.texts, *touched.commands)))
