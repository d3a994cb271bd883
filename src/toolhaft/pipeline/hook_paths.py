"""The paths that a call names, as hooks look at them: relative to the root, each once, links not resolved."""

from __future__ import annotations

import posixpath
from collections.abc import Iterator

from toolhaft.editing.patch_files import new_path
from toolhaft.editing.patch_model import PatchError
from toolhaft.editing.patch_parse import parse_patch
from toolhaft.pipeline.call import Call
from toolhaft.pipeline.touched import Touched, touched_by
from toolhaft.workspace import workspace


def paths_of(call: Call) -> tuple[str, ...]:
    """The paths in the arguments of a call, in its command and in the headers of its patch.

    A path that only the shell can work out is not among them.
    """
    touched = touched_by(call)
    patch = call.args.get("patch")
    named = [
        *(use.path for use in (*touched.paths, *touched.suspects)),
        *_in_commands(touched),
        *(_in_patch(patch) if isinstance(patch, str) else ()),
    ]
    shown = workspace().shown
    return tuple(dict.fromkeys(shown(path) for path in named if path))


def _in_commands(touched: Touched) -> Iterator[str]:
    for command in touched.commands:
        for use in workspace().command_rules.classify(command).paths:
            if use.exact and use.folder is not None:
                yield posixpath.join(touched.cwd, use.folder, use.path)


def _in_patch(patch: str) -> Iterator[str]:
    try:
        for section in parse_patch(patch):
            if section.kind == "rename" and section.old_name:
                yield section.old_name
            yield new_path(section)
    except PatchError:
        return  # the tool refuses it
