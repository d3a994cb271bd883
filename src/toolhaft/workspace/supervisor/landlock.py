"""Landlock: the kernel refuses this process and all it starts what no rule allows.

Rules only add: a folder that is allowed is allowed with everything in it. Numbers are from
include/uapi/linux/landlock.h; they are the same on every architecture.
"""

import ctypes
import os
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass

_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446
_VERSION_FLAG = 1
_PATH_BENEATH = 1
_PR_SET_NO_NEW_PRIVS = 38
_PR_SET_CHILD_SUBREAPER = 36

_WRITE_FILE = 1 << 1
_READ_FILE = 1 << 2
_IOCTL_DEV = 1 << 15
# Remove and make (bits 4 to 12); then what later versions added.
_CHANGES = _WRITE_FILE | sum(1 << bit for bit in range(4, 13))
_ADDED = {2: 1 << 13, 3: 1 << 14}  # move between folders, truncate
_OF_FILES = _WRITE_FILE | _READ_FILE | 1 << 14 | _IOCTL_DEV
_BIND_AND_CONNECT_TCP = 3
_SCOPES = 3  # abstract sockets and signals

_LIBC = ctypes.CDLL(None, use_errno=True)


@dataclass(frozen=True)
class Rules:
    """What a confined process may do. `readable` None: read everything; else only below these and `writable`."""

    writable: list[str]
    devices: list[str]
    readable: list[str] | None
    network: bool


class _Ruleset(ctypes.Structure):
    _fields_ = (("files", ctypes.c_uint64), ("network", ctypes.c_uint64), ("scopes", ctypes.c_uint64))


class _Beneath(ctypes.Structure):
    _pack_ = 1
    _fields_ = (("allowed", ctypes.c_uint64), ("folder", ctypes.c_int32))


def version() -> int:
    """Return the version of Landlock that this kernel has, 0 where it has none or it is switched off."""
    return max(0, int(_LIBC.syscall(_CREATE_RULESET, None, ctypes.c_size_t(0), ctypes.c_uint32(_VERSION_FLAG))))


def restrict(rules: Rules) -> None:
    """Confine this process and everything it starts from now on. Raises `OSError` where the kernel will not."""
    abi = version()
    changes = _CHANGES | sum(right for since, right in _ADDED.items() if abi >= since)
    reads = 0 if rules.readable is None else _READ_FILE
    ruleset = _Ruleset(
        changes | reads,
        _BIND_AND_CONNECT_TCP if abi >= 4 and not rules.network else 0,
        _SCOPES if abi >= 6 else 0,
    )
    size = 8 if abi < 4 else 16 if abi < 6 else 24  # an older kernel refuses a longer struct
    fd = _checked(_LIBC.syscall(_CREATE_RULESET, ctypes.byref(ruleset), ctypes.c_size_t(size), ctypes.c_uint32(0)))
    try:
        _allow(fd, rules.writable, changes | reads)
        _allow(fd, rules.devices, _WRITE_FILE | reads)
        _allow(fd, rules.readable or (), reads)
        forbid_new_privileges()
        _checked(_LIBC.syscall(_RESTRICT_SELF, fd, ctypes.c_uint32(0)))
    finally:
        os.close(fd)


def _allow(ruleset: int, paths: Iterable[str], rights: int) -> None:
    for path in paths:
        with suppress(FileNotFoundError, PermissionError):
            fd = os.open(path, os.O_PATH | os.O_CLOEXEC)
            try:
                is_folder = os.path.isdir(f"/proc/self/fd/{fd}")
                rule = _Beneath(rights if is_folder else rights & _OF_FILES, fd)
                _checked(_LIBC.syscall(_ADD_RULE, ruleset, _PATH_BENEATH, ctypes.byref(rule), ctypes.c_uint32(0)))
            finally:
                os.close(fd)


def forbid_new_privileges() -> None:
    """Let no program of ours gain rights by `setuid` bits: such a process could not be ended by us."""
    _checked(_LIBC.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))


def become_subreaper() -> None:
    """Inherit every orphan among our descendants."""
    _checked(_LIBC.prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0))


def _checked(result: int) -> int:
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    return result
