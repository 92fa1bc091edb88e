/*
 * faults.c - a library to be preloaded: fails the k-th call that a program makes to the kernel for
 * its files, its memory maps and its threads.
 *
 * KERBIN_FAULT=K fails the K-th of all these calls, with the error that such a call most often
 * has; nothing: none.  KERBIN_FAULT_COUNT=FILE gets their number, and the name of the one that
 * failed.  Calls that the C library makes by itself, such as those of stdio, are not seen.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

static atomic_long calls;
static long fail_at = -1;
static const char *failed_name = "";

static int must_fail(const char *name, int error) {
    if (fail_at < 0) {
        const char *at = getenv("KERBIN_FAULT");
        fail_at = at ? atol(at) : 0;
    }
    if (atomic_fetch_add(&calls, 1) + 1 != fail_at)
        return 0;
    failed_name = name;
    errno = error;
    return 1;
}

__attribute__((destructor)) static void tell(void) {
    const char *path = getenv("KERBIN_FAULT_COUNT");
    char text[100];
    if (!path)
        return;
    int fd = (int)syscall(SYS_openat, AT_FDCWD, path, O_WRONLY | O_CREAT | O_TRUNC, 0666);
    int length = snprintf(text, sizeof text, "%ld %s\n", atomic_load(&calls), failed_name);
    if (fd >= 0) {
        syscall(SYS_write, fd, text, (size_t)length);
        syscall(SYS_close, fd);
    }
}

/* The function of the same name that would be called without this library. */
#define NEXT(name) ((__typeof__(&name))(uintptr_t)dlsym(RTLD_NEXT, #name))

/* What the sanitizers and the loader open is not the program's. */
static int is_foreign(const char *path) {
    return strncmp(path, "/proc/", 6) == 0 || strncmp(path, "/dev/", 5) == 0 ||
           strncmp(path, "/sys/", 5) == 0;
}

int open(const char *path, int flags, ...) {
    va_list args;
    va_start(args, flags);
    mode_t mode = flags & O_CREAT ? va_arg(args, mode_t) : 0;
    va_end(args);
    if (!is_foreign(path) && must_fail("open", EMFILE))
        return -1;
    return NEXT(open)(path, flags, mode);
}

ssize_t read(int fd, void *to, size_t count) {
    return must_fail("read", EIO) ? -1 : NEXT(read)(fd, to, count);
}

ssize_t pread(int fd, void *to, size_t count, off_t at) {
    return must_fail("pread", EIO) ? -1 : NEXT(pread)(fd, to, count, at);
}

/* Long ones are cut, as by a disk that is nearly full: with KERBIN_FAULT only. */
ssize_t write(int fd, const void *from, size_t count) {
    if (must_fail("write", ENOSPC))
        return -1;
    return NEXT(write)(fd, from, count > 4096 && fail_at > 0 ? count / 2 : count);
}

int fsync(int fd) {
    return must_fail("fsync", EIO) ? -1 : NEXT(fsync)(fd);
}

int close(int fd) {
    if (!must_fail("close", EIO))
        return NEXT(close)(fd);
    NEXT(close)(fd);
    errno = EIO;
    return -1;
}

int rename(const char *from, const char *to) {
    return must_fail("rename", EIO) ? -1 : NEXT(rename)(from, to);
}

int fstat(int fd, struct stat *info) {
    return must_fail("fstat", EIO) ? -1 : NEXT(fstat)(fd, info);
}

int stat(const char *path, struct stat *info) {
    return must_fail("stat", EACCES) ? -1 : NEXT(stat)(path, info);
}

int lstat(const char *path, struct stat *info) {
    return must_fail("lstat", EACCES) ? -1 : NEXT(lstat)(path, info);
}

void *mmap(void *at, size_t length, int rights, int flags, int fd, off_t offset) {
    if (fd >= 0 && must_fail("mmap", ENOMEM)) /* memory is another test's */
        return MAP_FAILED;
    return NEXT(mmap)(at, length, rights, flags, fd, offset);
}

int pthread_create(pthread_t *thread, const pthread_attr_t *how, void *(*run)(void *), void *arg) {
    return must_fail("pthread_create", EAGAIN) ? EAGAIN
                                               : NEXT(pthread_create)(thread, how, run, arg);
}
