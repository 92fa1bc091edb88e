/*
 * wholefile.h - output files of the program that are whole or not there: written beside, as
 * PATH.part, and renamed.
 */
#ifndef CLI_WHOLEFILE_H
#define CLI_WHOLEFILE_H

#include "session.h"

#include <stdio.h>

/* Returns whether all went well; errors of the stream itself are seen without it. */
typedef int (*file_writer)(const void *user, FILE *to);

/* Replaces PATH by what `write` writes; for "-" that goes to standard output. */
kb_status write_whole(session *s, const char *path, file_writer write, const void *user);

#endif
