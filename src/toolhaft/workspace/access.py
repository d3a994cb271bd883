"""What may be read and changed in a workspace, judged on the real path, so that a link hides nothing."""

from typing import Literal, NamedTuple

from pydantic_ai.workspaces import WorkspaceReadOnlyError

from .sensitive import matches

FileRule = Literal["sensitive_files", "protected_files"]


class FileRuleError(PermissionError):
    """A file may not be read, or not be changed; `rule` names the list and `pattern` what in it has decided."""

    def __init__(self, message: str, rule: FileRule = "sensitive_files", pattern: str = "") -> None:
        super().__init__(message)
        self.rule: FileRule = rule
        self.pattern = pattern


class Access(NamedTuple):
    """The limits of one workspace. `real` is a real path relative to its root, `given` what the caller wrote."""

    read_only: bool
    sensitive_files: tuple[str, ...]
    protected_files: tuple[str, ...]

    def check_read(self, real: str, given: str) -> None:
        """Raise `FileRuleError` for a sensitive file."""
        pattern = matches(real, self.sensitive_files)
        if pattern is not None:
            raise FileRuleError(
                f"{given!r} is a sensitive file (pattern {pattern!r}): its content is neither shown nor changed. "
                "Work without it, or let whoever set up the workspace pass sensitive_files without this pattern.",
                "sensitive_files",
                pattern,
            )

    def check_change(self, real: str, given: str) -> None:
        """Raise `FileRuleError` for a sensitive or protected file."""
        self.check_read(real, given)
        pattern = matches(real, self.protected_files)
        if pattern is not None:
            raise FileRuleError(
                f"{given!r} is protected against changes (pattern {pattern!r}). "
                "Leave it, or let whoever set up the workspace pass protected_files without this pattern.",
                "protected_files",
                pattern,
            )

    def check_writable(self, action: str) -> None:
        """Raise pydantic-ai's `WorkspaceReadOnlyError` in a read-only workspace."""
        if self.read_only:
            raise WorkspaceReadOnlyError(
                f"cannot {action}: this workspace is read-only. Report what should be changed, "
                "or let whoever set it up pass read_only=False."
            )
