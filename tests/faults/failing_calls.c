/* Makes system calls fail as a broken disk does, while an environment variable says so.
   FAULT=short: write takes one byte, every second time it is interrupted. FAULT=fsync, FAULT=close: EIO or, with
   FAULT_ERROR=28, ENOSPC; only for regular files, so that the program itself goes on. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int fault(const char *name, int fd)
{
    const char *wanted = getenv("FAULT");
    struct stat info;
    return wanted && !strcmp(wanted, name) && !fstat(fd, &info) && S_ISREG(info.st_mode);
}

static int fail(void)
{
    const char *number = getenv("FAULT_ERROR");
    errno = number ? atoi(number) : EIO;
    return -1;
}

ssize_t write(int fd, const void *data, size_t size)
{
    static int turn;
    ssize_t (*real)(int, const void *, size_t) = dlsym(RTLD_NEXT, "write");
    if (!fault("short", fd))
        return real(fd, data, size);
    if (turn++ % 2) {
        errno = EINTR;
        return -1;
    }
    return real(fd, data, size ? 1 : 0);
}

int fsync(int fd)
{
    int (*real)(int) = dlsym(RTLD_NEXT, "fsync");
    return fault("fsync", fd) ? fail() : real(fd);
}

int close(int fd)
{
    int (*real)(int) = dlsym(RTLD_NEXT, "close");
    int failing = fault("close", fd);
    int result = real(fd);
    return failing ? fail() : result;
}
