"""Where the journal of a workspace lies: outside the tree, private to the user.

`$XDG_STATE_HOME/toolhaft` or `~/.local/state/toolhaft`; where that cannot be written or lies in the workspace itself,
a folder of the user's own in the system's temporary folder. Each workspace root has a folder of its own below.
"""

import hashlib
import os
import stat
import tempfile
from contextlib import suppress


def journal_folder(root: str, *, inside: str | None = None) -> str:
    """Return the folder for the journal of the workspace at the real path `root`, made if it was missing.

    `inside` is a folder to put it in instead of the user's own. Raises `OSError` where none can be had.
    """
    name = hashlib.sha256(os.fsencode(root)).hexdigest()[:32]
    for parent in [inside] if inside is not None else [_state_home(), _temporary_home()]:
        if inside is None and _is_in(parent, root):
            continue
        folder = os.path.join(parent, name)
        try:
            _make_private(parent)
            _make_private(folder)
        except OSError:
            if parent == inside:
                raise
            continue
        if os.access(folder, os.W_OK | os.X_OK):
            return folder
    raise PermissionError(
        f"no folder for it can be written: {_state_home()!r} and {_temporary_home()!r} were tried. "
        "Set XDG_STATE_HOME to a folder that can, outside the workspace."
    )


def _state_home() -> str:
    given = os.environ.get("XDG_STATE_HOME", "")
    # A relative one is to be ignored: XDG Base Directory Specification, "Basics".
    home = given if os.path.isabs(given) else os.path.expanduser("~/.local/state")
    return os.path.join(home, "toolhaft")


def _temporary_home() -> str:
    return os.path.join(tempfile.gettempdir(), f"toolhaft-{os.geteuid()}")


def _is_in(folder: str, root: str) -> bool:
    return os.path.join(os.path.realpath(folder), "").startswith(os.path.join(root, ""))


def _make_private(folder: str) -> None:
    """Make a folder that only its owner can enter; one that is another user's, or a link, is refused."""
    with suppress(FileExistsError):
        os.makedirs(folder, mode=0o700)
    info = os.lstat(folder)
    if not stat.S_ISDIR(info.st_mode) or info.st_uid != os.geteuid():
        raise PermissionError(f"{folder!r} is not a folder of this user's own")
    if stat.S_IMODE(info.st_mode) & 0o077:
        os.chmod(folder, 0o700)
