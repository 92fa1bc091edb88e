/*
 * files.h - the files that a command reads, and those that it writes: no file is both.
 *
 * session_open puts the operands on the list, and every option that names a file to read.  Files
 * are compared by what they are, not by name: links and standard input are seen through.
 */
#ifndef CLI_FILES_H
#define CLI_FILES_H

#include "session.h"

/* Adds a file that is read; one that is not there is none.  "-": standard input. */
kb_status files_add(session *s, const char *path);
/* Adds what the arguments name. */
kb_status files_add_all(session *s);
void files_free(session *s);

/* Whether `path` can be written, is no file on the list, and is not the same file as an output that
 * was given here before: checked before the work, which may take hours.  NULL is fine. */
kb_status files_check_output(session *s, const char *path);
/* Only whether it is on the list, for what was added since. */
kb_status files_check_list(session *s, const char *path);
int is_stdio(const char *path);

#endif
