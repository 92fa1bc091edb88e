/*
 * session.h - what every command that works has: a context whose notes and progress
 * go to the terminal, the user's options, and one way to end.
 */
#ifndef CLI_SESSION_H
#define CLI_SESSION_H

#include "args.h"
#include "progress.h"

#include "../src/core/try.h" /* of the library's own headers this one alone */

typedef struct session {
    const cli_args *args;
    kb_context *ctx;
    kb_options *options;
    progress bar;
    double started;
    char message[512]; /* of the program's own failures; "": ask the context */
} session;

/* Makes the context and sets the options.  session_close either way. */
kb_status session_open(session *s, const cli_args *args);
/* Prints what went wrong, if anything, frees, and returns the exit status: 0, 1 for
 * work that failed, 2 for a wrong command line. */
int session_close(session *s, kb_status status);

/* Keeps the sentence and returns `status`, for `TRY(session_fail(..))`. */
kb_status session_fail(session *s, kb_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* A line on standard error, unless --quiet. */
void session_note(session *s, const char *format, ...) __attribute__((format(printf, 2, 3)));
void session_warn(session *s, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Writes what is still to be written to standard output: 0, or 1 with a message. */
int finish_stdout(void);

/* The options without a file of weights, which belongs to the training rows: for reading others.
 * To be freed. */
kb_status session_options_to_read(session *s, kb_options **out);

/* Whether `path` can be written and is not the file `input` (which may be NULL): told
 * before the work, since it may be hours until the output is written. */
kb_status session_check_output(session *s, const char *path, const char *input);
int is_stdio(const char *path);

#endif
