"""What an editing engine raises: a change it will not make, why, and what to do instead.

An engine either answers with the whole new text or raises; there is no half result to clean up. The message is written
for a model that sees nothing else; `reason` is for the program that must tell one refusal from another.
"""

from enum import StrEnum

__all__ = ["EditError", "Reason"]


class Reason(StrEnum):
    """Why a change was refused."""

    EMPTY = "empty"
    SAME = "same"
    NOT_FOUND = "not found"
    AMBIGUOUS = "ambiguous"
    ALREADY_APPLIED = "already applied"
    PLACEHOLDER = "placeholder"
    CONFLICT = "conflict"
    MALFORMED = "malformed"
    UNSUPPORTED = "unsupported"
    UNSAFE_PATH = "unsafe path"
    MISSING_FILE = "missing file"
    FILE_EXISTS = "file exists"


class EditError(ValueError):
    """The change was not made; nothing is returned, so nothing can be written.

    `reason` says which rule refused it, `lines` are the 1-based lines the message speaks of (a bounded list).
    """

    def __init__(self, reason: Reason, message: str, lines: tuple[int, ...] = ()) -> None:
        super().__init__(reason, message, lines)
        self.reason = reason
        self.message = message
        self.lines = lines

    def __str__(self) -> str:
        return self.message
