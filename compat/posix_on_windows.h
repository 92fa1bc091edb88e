/*
 * posix_on_windows.h - what the library takes from POSIX and Windows lacks.  CMake includes it
 * before every file there.  Threads are those of winpthreads; program_on_windows.h has what only
 * the program needs.
 */
#ifndef KERBIN_COMPAT_WINDOWS_H
#define KERBIN_COMPAT_WINDOWS_H

#define _FILE_OFFSET_BITS      64
#define __USE_MINGW_ANSI_STDIO 1
#include <malloc.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/types.h>

/* ---- files; windows/unistd.h has more ------------------------------------- */

#define rename(from, to)       kb_windows_rename(from, to)
#define realpath(path, buffer) _fullpath(buffer, path, 0)
int kb_windows_rename(const char *from, const char *to);

/* ---- processors and memory ------------------------------------------------ */

typedef struct cpu_set_t {
    int unused;
} cpu_set_t;
#define CPU_COUNT(set)                        ((void)(set), 0)
#define sched_getaffinity(process, size, set) ((void)(set), -1)
#define malloc_usable_size(block)             _msize(block)

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
