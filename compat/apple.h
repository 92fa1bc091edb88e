/*
 * apple.h - what kerbin takes from Linux and macOS lacks.  CMake includes it before every file
 * there.
 */
#ifndef KERBIN_COMPAT_APPLE_H
#define KERBIN_COMPAT_APPLE_H

/* The processors that a process may use are those of the machine. */
typedef struct cpu_set_t {
    int unused;
} cpu_set_t;
#define CPU_COUNT(set)                        ((void)(set), 0)
#define sched_getaffinity(process, size, set) ((void)(set), -1)

#endif
