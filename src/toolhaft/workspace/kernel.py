"""The two system calls that Python lacks: `openat2` and `renameat2`.

Both exist on Linux only, and a container's seccomp filter may refuse them there. A missing one answers
like an old kernel, with `ENOSYS`, so that a caller has one question to ask: did it work, or is there another way?
"""

import errno
import os
import struct
import sys
from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

# The same number on every Linux architecture: include/uapi/asm-generic/unistd.h.
_OPENAT2 = 437
# include/uapi/linux/openat2.h
_RESOLVE_NO_MAGICLINKS = 0x02
_RESOLVE_BENEATH = 0x08
_OPEN_HOW = struct.Struct("=QQQ")  # flags, mode, resolve
# include/uapi/linux/fs.h
_RENAME_NOREPLACE = 1
_RENAME_EXCHANGE = 2


class _Calls(NamedTuple):
    """The C library's functions for the two, and the error of the last one in this thread."""

    syscall: Callable[..., int]
    renameat2: Callable[..., int]
    errno: Callable[[], int]


@cache
def _calls() -> _Calls:
    # Here, since it takes 4 ms that a program which only sets up an agent need not wait for.
    import ctypes

    def missing(*_arguments: object) -> int:
        ctypes.set_errno(errno.ENOSYS)
        return -1

    libc = ctypes.CDLL(None, use_errno=True)
    syscall: Any = libc.syscall if sys.platform == "linux" else missing
    syscall.argtypes = ctypes.c_long, ctypes.c_int, ctypes.c_char_p, ctypes.c_char_p, ctypes.c_size_t
    renameat2: Any = getattr(libc, "renameat2", missing)
    renameat2.argtypes = ctypes.c_int, ctypes.c_char_p, ctypes.c_int, ctypes.c_char_p, ctypes.c_uint
    return _Calls(syscall, renameat2, ctypes.get_errno)


def open_beneath(path: str, flags: int, *, dir_fd: int) -> int:
    """Return a descriptor for `path`, which the kernel resolves without leaving the folder `dir_fd`.

    Raises `OSError`: `EXDEV` where the path leads out or passes an absolute link, `ENOSYS` without `openat2`.
    """
    how = _OPEN_HOW.pack(flags | os.O_CLOEXEC, 0, _RESOLVE_BENEATH | _RESOLVE_NO_MAGICLINKS)
    return _checked(_calls().syscall(_OPENAT2, dir_fd, os.fsencode(path), how, len(how)))


def rename_new(old: str, new: str, *, dir_fd: int) -> None:
    """Rename `old` to `new` within one folder where `new` does not exist yet, else raise `FileExistsError`."""
    _rename(old, new, dir_fd=dir_fd, flag=_RENAME_NOREPLACE)


def exchange(one: str, other: str, *, dir_fd: int) -> None:
    """Let two names of one folder trade places in one step."""
    _rename(one, other, dir_fd=dir_fd, flag=_RENAME_EXCHANGE)


def _rename(old: str, new: str, *, dir_fd: int, flag: int) -> None:
    _checked(_calls().renameat2(dir_fd, os.fsencode(old), dir_fd, os.fsencode(new), flag))


def _checked(result: int) -> int:
    if result < 0:
        number = _calls().errno()
        raise OSError(number, os.strerror(number))
    return result
