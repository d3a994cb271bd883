"""Programs that run another command, and how to find it among their words. Data only: add a row to teach one."""

from __future__ import annotations

from dataclasses import dataclass

from .options import names
from .verdict import Level

SHELLS = names("sh bash dash ash ksh mksh zsh fish rbash busybox-sh")
INTERPRETERS = names("python python2 python3 perl ruby node nodejs php lua Rscript osascript deno bun pypy3 tclsh")


@dataclass(frozen=True, slots=True)
class Wrapper:
    """A program that runs the command in its operands: `nice -n 5 COMMAND`."""

    values: str = ""  # its options that take a value
    only: str | None = ""  # its harmless options; None: any
    skip: int = 0  # operands before the command
    floor: Level = Level.SAFE


_DANGER = Level.DANGEROUS
WRAPPERS: dict[str, Wrapper] = {
    "nice": Wrapper(values="n adjustment", only="n adjustment 0 1 2 3 4 5 6 7 8 9"),
    "ionice": Wrapper(values="c n class classdata", only="c n t class classdata ignore"),
    "nohup": Wrapper(),
    "time": Wrapper(only="p v"),
    "timeout": Wrapper(
        values="k s kill-after signal", only="k s v kill-after signal foreground preserve-status verbose", skip=1
    ),
    "gtimeout": Wrapper(
        values="k s kill-after signal", only="k s v kill-after signal foreground preserve-status", skip=1
    ),
    "stdbuf": Wrapper(values="i o e input output error", only="i o e input output error"),
    "builtin": Wrapper(),
    "exec": Wrapper(values="a", only="c l"),
    "setsid": Wrapper(only=None, floor=_DANGER),
    "chrt": Wrapper(only=None, skip=1, floor=_DANGER),
    "taskset": Wrapper(only=None, skip=1, floor=_DANGER),
    "unbuffer": Wrapper(only=None, floor=_DANGER),
    "catchsegv": Wrapper(only=None, floor=_DANGER),
    "fakeroot": Wrapper(only=None, values="l s i b lib faked", floor=_DANGER),
    "strace": Wrapper(only=None, values="e o p s u E P S a b I O X", floor=_DANGER),
    "ltrace": Wrapper(only=None, values="e o p s u l a n", floor=_DANGER),
    "valgrind": Wrapper(only=None, floor=_DANGER),
    "gdb": Wrapper(only=None, values="ex x", floor=_DANGER),
    "chroot": Wrapper(only=None, skip=1, floor=_DANGER),
    "unshare": Wrapper(only=None, floor=_DANGER),
    "nsenter": Wrapper(only=None, values="t S G target", floor=_DANGER),
    "systemd-run": Wrapper(only=None, values="p u M E unit property", floor=_DANGER),
    "bwrap": Wrapper(only=None, floor=_DANGER),
    "firejail": Wrapper(only=None, floor=_DANGER),
    "proot": Wrapper(only=None, values="r b w q", floor=_DANGER),
    "flock": Wrapper(only=None, values="w E c timeout", skip=1, floor=_DANGER),
    "watch": Wrapper(only=None, values="n interval", floor=_DANGER),
    "parallel": Wrapper(only=None, values="j a I S jobs", floor=_DANGER),
    "entr": Wrapper(only=None, floor=_DANGER),
    "busybox": Wrapper(floor=_DANGER),
    "toybox": Wrapper(floor=_DANGER),
    "coproc": Wrapper(floor=_DANGER),
    "torsocks": Wrapper(only=None, floor=_DANGER),
    "proxychains": Wrapper(only=None, values="f", floor=_DANGER),
    "xvfb-run": Wrapper(only=None, values="s n e f p w", floor=_DANGER),
    "dbus-run-session": Wrapper(only=None, floor=_DANGER),
    "npx": Wrapper(values="", only="y yes no no-install prefer-offline", floor=Level.DEV),
    "bunx": Wrapper(only="", floor=Level.DEV),
    "uvx": Wrapper(values="p python", only="q quiet p python", floor=Level.DEV),
}
# `poetry run pytest`: the tool, its sub-command, and options of the sub-command that are harmless
RUNNERS: dict[str, tuple[str, str, str]] = {
    "uv": (
        "run",
        "frozen locked no-sync offline active q quiet all-extras dev no-dev extra group isolated",
        "extra group",
    ),
    "poetry": ("run", "", ""),
    "pipenv": ("run", "", ""),
    "pdm": ("run", "", ""),
    "rye": ("run", "", ""),
    "bundle": ("exec", "", ""),
    "npm": ("exec", "", "c call"),
    "pnpm": ("exec", "", "c call"),
    "yarn": ("exec", "", ""),
    "python -m coverage": ("run", "m branch a append p parallel-mode source omit include", "source omit include"),
    "coverage": ("run", "m branch a append p parallel-mode source omit include", "source omit include"),
}
