"""The two system calls that Python lacks: `openat2` and `renameat2`.

Both exist on Linux only, and a container's seccomp filter may refuse them there. A missing one answers
like an old kernel, with `ENOSYS`, so that a caller has one question to ask: did it work, or is there another way?
"""

import ctypes
import errno
import os
import sys

# The same number on every Linux architecture: include/uapi/asm-generic/unistd.h.
_OPENAT2 = 437
# include/uapi/linux/openat2.h
_RESOLVE_NO_MAGICLINKS = 0x02
_RESOLVE_BENEATH = 0x08
# include/uapi/linux/fs.h
_RENAME_NOREPLACE = 1
_RENAME_EXCHANGE = 2


class _OpenHow(ctypes.Structure):
    _fields_ = (("flags", ctypes.c_uint64), ("mode", ctypes.c_uint64), ("resolve", ctypes.c_uint64))


def _missing(*_arguments: object) -> int:
    ctypes.set_errno(errno.ENOSYS)
    return -1


_LIBC = ctypes.CDLL(None, use_errno=True)
_syscall = _LIBC.syscall if sys.platform == "linux" else _missing
_renameat2 = getattr(_LIBC, "renameat2", _missing)


def open_beneath(path: str, flags: int, *, dir_fd: int) -> int:
    """Return a descriptor for `path`, which the kernel resolves without leaving the folder `dir_fd`.

    Raises `OSError`: `EXDEV` where the path leads out or passes an absolute link, `ENOSYS` without `openat2`.
    """
    how = _OpenHow(flags | os.O_CLOEXEC, 0, _RESOLVE_BENEATH | _RESOLVE_NO_MAGICLINKS)
    # A variadic C function: what is wider than an int must say so.
    number, size = ctypes.c_long(_OPENAT2), ctypes.c_size_t(ctypes.sizeof(how))
    return _checked(_syscall(number, dir_fd, os.fsencode(path), ctypes.byref(how), size))


def rename_new(old: str, new: str, *, dir_fd: int) -> None:
    """Rename `old` to `new` within one folder where `new` does not exist yet, else raise `FileExistsError`."""
    _rename(old, new, dir_fd=dir_fd, flag=_RENAME_NOREPLACE)


def exchange(one: str, other: str, *, dir_fd: int) -> None:
    """Let two names of one folder trade places in one step."""
    _rename(one, other, dir_fd=dir_fd, flag=_RENAME_EXCHANGE)


def _rename(old: str, new: str, *, dir_fd: int, flag: int) -> None:
    folder = ctypes.c_int(dir_fd)
    _checked(_renameat2(folder, os.fsencode(old), folder, os.fsencode(new), ctypes.c_uint(flag)))


def _checked(result: int) -> int:
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    return result
