/*
 * wholefile.h - output files that are written whole or not at all.
 */
#ifndef CLI_WHOLEFILE_H
#define CLI_WHOLEFILE_H

#include "session.h"

#include <stdio.h>

/* Returns whether it succeeded; it need not check the stream for errors. */
typedef int (*file_writer)(const void *user, FILE *to);

/* Replaces PATH by the output of `write`, which is collected in memory first; for "-" it goes
 * directly to standard output. */
kb_status write_whole(session *s, const char *path, file_writer write, const void *user);

#endif
