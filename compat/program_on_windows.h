/*
 * program_on_windows.h - what only the program takes from POSIX and Windows lacks.  CMake includes
 * it before every file of cli/ there, after posix_on_windows.h.
 */
#ifndef KERBIN_COMPAT_PROGRAM_H
#define KERBIN_COMPAT_PROGRAM_H

#include "posix_on_windows.h"

#include <unistd.h> /* before what includes io.h */

#include <dirent.h>
#include <stdio.h>
#include <time.h>

#define mkdir(path, mode) _mkdir(path)

/* The names in a folder, in order. */
#define alphasort                            NULL
#define scandir(path, list, wanted, compare) kb_windows_names(path, list, wanted)
int kb_windows_names(const char *path, struct dirent ***list, int (*wanted)(const struct dirent *));

#undef gmtime_r
#define gmtime_r(seconds, utc) (gmtime_s(utc, seconds) == 0 ? (utc) : NULL)

/* Streams that become text in memory: files that are read when they are flushed or closed. */
#define open_memstream(text, size) kb_windows_memstream(text, size)
#define fflush(stream)             kb_windows_flush(stream)
#define fclose(stream)             kb_windows_close(stream)
FILE *kb_windows_memstream(char **text, size_t *size);
int kb_windows_flush(FILE *stream);
int kb_windows_close(FILE *stream);

/* Ctrl-C and Ctrl-Break; pipes and large files raise no signals. */
#define SIGHUP  SIGBREAK
#define SIGPIPE (-1)
#define SIGXFSZ (-2)
struct sigaction {
    void (*sa_handler)(int);
    sigset_t sa_mask;
};
#define sigemptyset(set)               (*(set) = 0)
#define sigaddset(set, number)         ((void)(set), (void)(number))
#define sigaction(number, now, before) kb_windows_on_signal(number, now, before)
int kb_windows_on_signal(int number, const struct sigaction *now, struct sigaction *before);

#endif
