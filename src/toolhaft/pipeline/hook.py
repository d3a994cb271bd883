"""A hook: what a person lets run before or after something happens, and when.

A command hook speaks by its exit code (`hook_process`), a Python function by what it returns or raises
(`hook_function`); both are told the same and may say the same (`hook_answer`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Literal

from toolhaft.pipeline.hook_script import FILE, FILE_VARIABLE, with_variable
from toolhaft.searching.glob import Glob, compile_glob

MIN_TIMEOUT_SECONDS, MAX_TIMEOUT_SECONDS = 1, 300
# What `post_edit` of old configurations stands for.
POST_EDIT_MATCHER = "edit_file|update_file|write_file|apply_patch"


class HookEvent(StrEnum):
    """What happens. The two `pre_` events can be blocked by a hook; of the others hooks are only told."""

    PRE_TOOL_USE = "pre_tool_use"
    POST_TOOL_USE = "post_tool_use"
    PRE_LLM_CALL = "pre_llm_call"
    POST_LLM_CALL = "post_llm_call"
    SESSION_START = "session_start"
    SESSION_END = "session_end"
    ON_ERROR = "on_error"
    BUDGET_WARNING = "budget_warning"
    CONTEXT_COMPRESS = "context_compress"
    AGENT_COMPLETE = "agent_complete"

    @property
    def can_block(self) -> bool:
        """Whether a hook may say no."""
        return self in (HookEvent.PRE_TOOL_USE, HookEvent.PRE_LLM_CALL)


class Block(Exception):  # noqa: N818 - it is an answer, not an error
    """Raised by a Python function that is a pre hook: the call is refused, with this reason."""


@dataclass(frozen=True, slots=True)
class Hook:
    """One hook. Raises `ValueError` where it is made in a way that cannot be meant.

    ```python
    Hook("post_tool_use", "lint", command="ruff check {file}", file_patterns=["*.py"])
    ```
    """

    event: HookEvent | str
    name: str
    command: str | None = None
    """Text for bash. `{file}` stands for a path of the call, quoted: the hook runs once for each of them."""

    function: Callable[[dict[str, Any]], Any] | None = None
    """Or a Python function, async or not, of what a command reads on stdin. It returns None, or a dict with
    `additionalContext` or `updatedInput`, or raises `Block`."""

    matcher: str = "*"
    """A regular expression for the whole name of the tool; `*` is every tool."""

    file_patterns: Sequence[str] | str = ()
    """Globs such as `*.py` and `src/**`: only calls that name such a file. It chooses, it does not protect: what a
    command touches is not always known. To protect files is for guardrails."""

    timeout_seconds: float = 10
    background: bool = False
    """Not waited for, so that it can neither block nor add anything."""

    enabled: bool = True
    on_hook_error: Literal["block", "allow"] | None = None
    """What a pre hook that fails means. None is "block"."""

    source: str | None = None
    """Where the hook is written down, as in `toolhaft.toml:12`."""

    _script: str = field(init=False, repr=False, compare=False)
    _is_wanted: Callable[[str], object] = field(init=False, repr=False, compare=False)
    _globs: tuple[Glob, ...] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        try:
            self._check()
            object.__setattr__(self, "event", HookEvent(self.event))
            object.__setattr__(self, "file_patterns", _listed(self.file_patterns))
            object.__setattr__(self, "_script", with_variable(self.command or ""))
            object.__setattr__(self, "_is_wanted", _whole_name(self.matcher))
            object.__setattr__(self, "_globs", tuple(map(compile_glob, self.file_patterns)))
        except ValueError as error:
            where = f"{self.source}: " if self.source else ""
            raise ValueError(f"{where}the hook {self.name!r} cannot be: {error}") from error

    @property
    def script(self) -> str:
        """The command with `{file}` as a variable: a path is never text of the script, whatever it is called."""
        return self._script

    @property
    def can_block(self) -> bool:
        """Whether the hook may say no."""
        return HookEvent(self.event).can_block

    @property
    def refuses_when_broken(self) -> bool:
        """Whether what it watches over does not happen when the hook itself fails."""
        return self.can_block and self.on_hook_error != "allow"

    @property
    def needs_paths(self) -> bool:
        """Whether the hook has any use for the paths of a call."""
        return bool(self._globs) or self.command is not None

    def is_for(self, tool_name: str) -> bool:
        """Whether the hook is for calls of this tool; an event without one has the name ""."""
        return bool(self._is_wanted(tool_name))

    def wants(self, paths: Sequence[str]) -> bool:
        """Whether the hook is for a call that names these paths, relative to the root."""
        return not self._globs or bool(self.chosen(paths))

    def chosen(self, paths: Sequence[str]) -> list[str]:
        """Those of the paths that the hook is for."""
        return [path for path in paths if not self._globs or any(glob.matches(path) for glob in self._globs)]

    def runs(self, paths: Sequence[str]) -> list[str]:
        """The path that each run of the hook is about; a single "" where it is about no path."""
        chosen = self.chosen(paths)
        if FILE_VARIABLE not in self._script:
            return chosen[:1] or [""]
        return chosen or ([] if FILE in (self.command or "") else [""])

    def _check(self) -> None:
        if self.event not in list(HookEvent):
            raise ValueError(f"there is no event {str(self.event)!r}. Use one of {', '.join(HookEvent)}.")
        if (self.command is None) == (self.function is None):
            raise ValueError("it needs a command or a function, and not both.")
        if self.command is not None and not self.command.replace("\0", "").strip():
            raise ValueError(f"command={self.command!r} is empty. Write what bash should run.")
        if not MIN_TIMEOUT_SECONDS <= self.timeout_seconds <= MAX_TIMEOUT_SECONDS:
            raise ValueError(
                f"a timeout of {self.timeout_seconds!r} seconds is not possible. "
                f"Use {MIN_TIMEOUT_SECONDS} to {MAX_TIMEOUT_SECONDS}."
            )
        if self.on_hook_error not in (None, "block", "allow"):
            raise ValueError(f"on_hook_error={self.on_hook_error!r} is none. Use 'block' or 'allow'.")
        if self.on_hook_error == "block" and not self.can_block:
            raise ValueError(f"on_hook_error='block' is only for pre hooks, and {str(self.event)!r} cannot be blocked.")


def _listed(patterns: Sequence[str] | str) -> tuple[str, ...]:
    return (patterns,) if isinstance(patterns, str) else tuple(patterns)


def _whole_name(matcher: str) -> Callable[[str], object]:
    try:
        return re.compile(".*" if matcher == "*" else matcher, re.DOTALL).fullmatch
    except re.error as error:
        raise ValueError(
            f"matcher={matcher!r} is no regular expression ({error}). It is for the whole name of a tool: "
            "'write_file|edit_file', 'mcp_.*'."
        ) from error
