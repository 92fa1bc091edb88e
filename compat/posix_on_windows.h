/*
 * posix_on_windows.h - what the library takes from POSIX and Windows lacks.  CMake includes it
 * before every file there.  Threads are those of winpthreads.  Not here, so that the program is not
 * built: poll, spawn, wait, getrusage, uname and the size of a terminal.
 */
#ifndef KERBIN_COMPAT_WINDOWS_H
#define KERBIN_COMPAT_WINDOWS_H

#define _FILE_OFFSET_BITS      64
#define __USE_MINGW_ANSI_STDIO 1
#include <fcntl.h>
#include <io.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

/* ---- files: as bytes, and replaced by another of that name ---------------- */

#define O_CLOEXEC                       (_O_NOINHERIT | _O_BINARY)
#define fsync(fd)                       _commit(fd)
#define realpath(path, buffer)          _fullpath(buffer, path, 0)
#define rename(from, to)                kb_windows_rename(from, to)
#define pread(fd, bytes, count, offset) kb_windows_pread(fd, bytes, count, offset)
int kb_windows_rename(const char *from, const char *to);
ssize_t kb_windows_pread(int fd, void *bytes, size_t count, long long offset);

/* ---- processors ----------------------------------------------------------- */

typedef struct cpu_set_t {
    int unused;
} cpu_set_t;
#define CPU_COUNT(set)                        ((void)(set), 0)
#define sched_getaffinity(process, size, set) ((void)(set), -1)
#define _SC_NPROCESSORS_ONLN                  1
#define sysconf(name)                         kb_windows_processors()
long kb_windows_processors(void);

/* ---- there are neither signals of threads nor locales of them -------------- */

typedef int kb_windows_signals;
#define sigset_t        kb_windows_signals
#define sigfillset(set) (*(set) = 0)
#undef pthread_sigmask
#define pthread_sigmask(how, set, old) ((void)(set), (void)(old), 0)
#ifndef SIG_SETMASK
#define SIG_SETMASK 0
#endif
typedef void *locale_t; /* strtod reads with the locale of the process */
#define LC_ALL_MASK                 0
#define newlocale(mask, name, base) ((locale_t)0)
#define uselocale(locale)           ((void)(locale), (locale_t)0)
#define freelocale(locale)          ((void)(locale))

#endif
