"""`{file}` in the command of a hook: a path of the call, which must never become part of the script."""

from __future__ import annotations

import re

FILE = "{file}"
FILE_VARIABLE = "TOOLHAFT_FILE_PATH"
# What bash takes as one: an escaped character, a single-quoted text, a double-quoted one; or the placeholder.
_PIECES = re.compile(r"""\\.|'[^']*'|"(?:\\.|[^"\\])*"|\{file\}""", re.DOTALL)


def with_variable(command: str) -> str:
    r"""The command with `{file}` as a variable, quoted for the place where it stands.

    In single quotes it is for the shell that gets the text: `sh -c 'ruff check {file}'`.
    """
    variable = f'"${{{FILE_VARIABLE}}}"'

    def placed(found: re.Match[str]) -> str:
        piece = found[0]
        if piece.strip("'\"") == FILE:
            return variable
        if piece.startswith('"') and FILE in piece:
            raise ValueError(
                f"in command={command!r} {FILE} stands in double quotes, where a file's name could become part "
                f"of the script. Write it without quotes: it is quoted already."
            )
        return piece.replace(FILE, variable) if piece.startswith("'") else piece

    return _PIECES.sub(placed, command)
