/*
 * session.h - the common part of all working commands: a context that logs to the terminal, the
 * user's options, and one way to end.
 */
#ifndef CLI_SESSION_H
#define CLI_SESSION_H

#include "args.h"
#include "progress.h"

#include "../src/core/try.h" /* the only private header of the library that is used here */

#include <sys/types.h>

/* A file of files.h, by what it is.  One that is to be made: its folder, and its name there. */
struct file_on_list {
    dev_t device;
    ino_t number;
    char *name;
    int written; /* else it is read */
};

typedef struct session {
    const cli_args *args;
    kb_context *ctx;
    kb_options *options;
    progress bar;
    double started;
    struct file_on_list *file;
    size_t files;
    char message[512]; /* errors of the program itself; "": ask the context */
    int told_by_other; /* another rank has failed, and says why */
} session;

/* Makes the context and sets the options.  Call session_close on success and on failure. */
kb_status session_open(session *s, const cli_args *args);
/* Prints the error, if any, frees, and returns the exit status: 0, 1 if the work failed, 2 for a
 * wrong command line. */
int session_close(session *s, kb_status status);

/* Stores the message and returns `status`, for `TRY(session_fail(..))`. */
kb_status session_fail(session *s, kb_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* A line on standard error, unless --quiet. */
void session_note(session *s, const char *format, ...) __attribute__((format(printf, 2, 3)));
void session_warn(session *s, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Where a rank may fail alone: KB_OK where all are fine, else how the first failed, which tells it.
 * All ranks must call it. */
kb_status session_agree(session *s, kb_status status);

/* Flushes standard output: 0, or 1 with a message. */
int finish_stdout(void);

/* The options without the weights, which belong to the training rows: for reading other files.
 * Freed by the caller. */
kb_status session_options_to_read(session *s, kb_options **out);

/* Where fits are timed or scored on other rows, none are held out unless --holdout asks for it. */
kb_status session_hold_nothing_out(session *s);

#endif
