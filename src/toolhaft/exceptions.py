"""How a tool fails: three exceptions, each saying what the model is to do about it.

- `ModelRetry`: the arguments were wrong and the model can mend them. It costs a retry; by default the second one in a
  row ends the run.
- `ToolExecutionError`: the call is over and has failed. The model reads why and goes on; no retry is spent.
- `FileOperationError`: the same, about one file.

The last two are pydantic-ai `ToolFailed`s: a plain exception would end the whole run and cancel its other calls.
`ToolDefinitionError` is for the author of a tool, at decoration, and no model ever sees it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pydantic_ai.exceptions import ModelRetry, ToolFailed
from pydantic_core import CoreSchema

__all__ = ["FileOperationError", "ModelRetry", "ToolDefinitionError", "ToolExecutionError", "describe"]


class ToolDefinitionError(TypeError):
    """A tool is written in a way that cannot work; raised where it is decorated, never while it runs."""


class _Failure(ToolFailed):
    """What both failures share: they keep their attributes in pickles and copies, and compare by type and text.

    `message` is the whole text, which pydantic-ai hands to the model; `reason` is what the raiser said.
    """

    reason: str
    original_error: BaseException | str | None
    """The exception behind this one; its `repr` once it has been in a pickle that could not carry it."""

    def __init__(self, message: str, *, reason: str, original_error: BaseException | str | None) -> None:
        super().__init__(message)
        self.reason = reason
        self.original_error = original_error

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and vars(other).get("message") == self.message

    __hash__ = ToolFailed.__hash__

    def __reduce__(self) -> tuple[Any, ...]:
        state = {**vars(self), "original_error": None}
        return _restored, (type(self), self.args, state, *_packed(self.original_error))

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: Any) -> CoreSchema:
        """As a `ToolFailed`, which it also is when it comes back: only the text survives JSON, the fields do not."""
        return ToolFailed.__get_pydantic_core_schema__(source, handler)


class ToolExecutionError(_Failure):
    """A tool did its work and failed, in a way that the model should know about.

    `suggested_fix` and `recovery_commands` are part of the text, so the model reads them.

    ```python
    raise ToolExecutionError("build", "the lock file is stale", recovery_commands=["make lock"])
    ```
    """

    tool_name: str
    suggested_fix: str | None
    recovery_commands: list[str]

    def __init__(
        self,
        tool_name: str,
        message: str,
        original_error: BaseException | str | None = None,
        suggested_fix: str | None = None,
        recovery_commands: Sequence[str] | None = None,
    ) -> None:
        reason = _never_empty(message, original_error)
        commands = [recovery_commands] if isinstance(recovery_commands, str) else list(recovery_commands or ())
        parts = [f"Tool {tool_name!r} failed: {reason}"]
        if suggested_fix:
            parts.append(f"Suggested fix: {suggested_fix}")
        if commands:
            parts.append("\n".join(["Recovery commands:", *(f"  - {command}" for command in commands)]))
        super().__init__("\n\n".join(parts), reason=reason, original_error=original_error)
        self.tool_name = tool_name
        self.suggested_fix = suggested_fix
        self.recovery_commands = commands


class FileOperationError(_Failure):
    """One file could not be read, written, accessed or decoded.

    `operation` is that word (`read`, `write`, `access`, `decode`), `path` the file as the model named it.
    """

    operation: str
    path: str

    def __init__(
        self, operation: str, path: str, message: str, original_error: BaseException | str | None = None
    ) -> None:
        path = str(path)
        reason = _never_empty(message, original_error)
        super().__init__(
            f"File {operation} failed for {path!r}: {reason}", reason=reason, original_error=original_error
        )
        self.operation = operation
        self.path = path


def describe(error: BaseException) -> str:
    """What an exception says, never empty: its text, else the name of its type.

    A `KeyError` says only the key, so its type stands before it.
    """
    kind = type(error).__name__
    try:
        text = str(error).strip()
    except Exception:  # noqa: BLE001 - a stranger's __str__ may raise anything, and the failure must still be told
        return kind
    text = text.encode(errors="backslashreplace").decode()  # a lone surrogate cannot be sent to a model
    return f"{kind}: {text}" if isinstance(error, KeyError) and text else text or kind


def _never_empty(message: str, original_error: BaseException | str | None) -> str:
    said = str(message)
    if said.strip():
        return said
    if isinstance(original_error, BaseException):
        return describe(original_error)
    return original_error or "no reason was given"


def _packed(error: BaseException | str | None) -> tuple[bytes | None, str | None]:
    """The error as a pickle that is known to load (None if there is none such), and as text."""
    if not isinstance(error, BaseException):
        return None, error
    try:
        text = repr(error)
    except Exception:  # noqa: BLE001 - see describe
        text = type(error).__name__
    import pickle  # here: most programs pickle no failure, and loading it is a twentieth of loading this package

    try:
        packed = pickle.dumps(error)
        pickle.loads(packed)
    except Exception:  # noqa: BLE001 - a stranger's __reduce__ or constructor may raise anything
        return None, text
    return packed, text


def _restored(
    kind: type[_Failure], args: tuple[Any, ...], state: dict[str, Any], packed: bytes | None, text: str | None
) -> _Failure:
    """A failure out of a pickle, by `__new__`: a subclass may have a constructor of its own."""
    failure = kind.__new__(kind, *args)
    vars(failure).update(state)
    failure.original_error = text if packed is None else _unpacked(packed, text)
    return failure


def _unpacked(packed: bytes, text: str | None) -> BaseException | str | None:
    import pickle

    try:
        return pickle.loads(packed)
    except Exception:  # noqa: BLE001 - the reader may lack the class that the writer had
        return text
