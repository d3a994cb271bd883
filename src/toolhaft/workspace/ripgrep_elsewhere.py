"""`rg` in a workspace elsewhere, by the workspace's own `run`: what it writes arrives as one text, at its end.

One command asks whether there is an `rg` that answers as ours does, whether its output arrives unharmed, and runs it.
Where any of it is not so, that is an `EngineError`, and the caller does without.
"""

import re
from collections.abc import AsyncGenerator, Sequence

from pydantic_ai.workspaces import SupportsCommands, Workspace, WorkspaceOutputLimitError
from pydantic_ai.workspaces.workspace import workspace_layers

from toolhaft.searching.drive import Chunk, Exit, Run
from toolhaft.searching.errors import EngineError

from .current import ToolWorkspace

_OLDEST_MAJOR = 14
_MARK = "toolhaft\0\x01\n"  # a NUL or control character that is lost on the way would be a match that is lost
# Less than what workspaces cut off by themselves, and enough for all matches that are counted in lines of 1,000 bytes.
_MOST_OUTPUT_BYTES = 2_000_000
_SCRIPT = f"""command -v rg >/dev/null || exit 127
rg --version
printf 'toolhaft\\000\\001\\n'
{{ rg "$@"; echo "status $?" >&2; }} | head -c {_MOST_OUTPUT_BYTES}"""
_VERSION = re.compile(r"ripgrep (\d+)\.")
_STATUS = re.compile(r"status (\d+)\n\Z")


def runs_commands(place: ToolWorkspace) -> bool:
    """Whether `rg` may be asked for: not behind a policy wrapper, which has to see every file that is read."""
    layers = [layer for layer in workspace_layers(place) if layer is not ToolWorkspace]
    return len(layers) == 1 and isinstance(place.backend, SupportsCommands)


def ripgrep_elsewhere(place: Workspace, *, timeout_seconds: float) -> Run:
    """Return the `Run` that starts the workspace's `rg` in its working directory."""

    async def run(arguments: Sequence[str]) -> AsyncGenerator[Chunk | Exit, None]:
        try:
            done = await place.run(["sh", "-c", _SCRIPT, "sh", *arguments], timeout=timeout_seconds)
        except WorkspaceOutputLimitError as error:
            raise EngineError("the workspace cut off what rg wrote.") from error
        said, mark, output = done.stdout.partition(_MARK)
        version, status = _VERSION.match(said), _STATUS.search(done.stderr)
        if not (mark and version and int(version[1]) >= _OLDEST_MAJOR and status):
            raise EngineError(f"the workspace has no rg {_OLDEST_MAJOR} whose output arrives as it is.")
        data = output.encode("utf-8", "surrogateescape")
        yield Chunk(data)
        if len(data) >= _MOST_OUTPUT_BYTES:  # and all of it was not enough for the reader
            raise EngineError("rg wrote more than is fetched.")
        yield Chunk(done.stderr[: status.start()].encode("utf-8", "surrogateescape"), is_error=True)
        yield Exit(int(status[1]))

    return run
