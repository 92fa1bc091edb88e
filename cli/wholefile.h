/*
 * wholefile.h - output files of the program that are whole or not there.
 */
#ifndef CLI_WHOLEFILE_H
#define CLI_WHOLEFILE_H

#include "session.h"

#include <stdio.h>

/* Returns whether all went well; errors of the stream itself are seen without it. */
typedef int (*file_writer)(const void *user, FILE *to);

/* Replaces PATH by what `write` writes, which is gathered in memory first; for "-" it goes to
 * standard output as it is written. */
kb_status write_whole(session *s, const char *path, file_writer write, const void *user);

#endif
