/*
 * gnuplot.c - see gnuplot.h.
 *
 * Script, picture and errors go through unnamed files instead of pipes: neither side waits for the
 * other, and the status of a child that dies early is enough.
 */
#define _POSIX_C_SOURCE 200809L
#include "gnuplot.h"

#include <errno.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

int gnuplot_found(void) {
    const char *path = getenv("PATH");
    char file[4096];
    while (path && *path) {
        int length = (int)strcspn(path, ":");
        int used = snprintf(file, sizeof file, "%.*s/gnuplot", length, path);
        if (length > 0 && used < (int)sizeof file && access(file, X_OK) == 0)
            return 1;
        path += length + (path[length] == ':');
    }
    return 0;
}

/* 0, or why it could not start. */
static int spawn(FILE *in, FILE *out, FILE *err, pid_t *child) {
    static char name[] = "gnuplot", defaults[] = "-d"; /* ignore the user's own settings */
    char *const argv[] = {name, defaults, NULL};
    FILE *const stream[] = {in, out, err};
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    sigset_t ignored;
    int error = posix_spawn_file_actions_init(&actions);
    if (error)
        return error;
    error = posix_spawnattr_init(&attributes);
    if (!error) {
        /* Signals that this program ignores must not be ignored by the child. */
        sigemptyset(&ignored);
        sigaddset(&ignored, SIGPIPE);
        sigaddset(&ignored, SIGXFSZ);
        posix_spawnattr_setsigdefault(&attributes, &ignored);
        error = posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF);
        for (int k = 0; k < 3 && !error; k++)
            error = posix_spawn_file_actions_adddup2(&actions, fileno(stream[k]), k);
        if (!error)
            error = posix_spawnp(child, name, &actions, &attributes, argv, environ);
        posix_spawnattr_destroy(&attributes);
    }
    posix_spawn_file_actions_destroy(&actions);
    return error;
}

/* All of the file; to be freed.  NULL: out of memory, or it cannot be read. */
static char *read_all(FILE *from, size_t *size) {
    long end = fseek(from, 0, SEEK_END) == 0 ? ftell(from) : -1;
    char *text = end >= 0 ? malloc((size_t)end + 1) : NULL;
    if (!text)
        return NULL;
    rewind(from);
    *size = fread(text, 1, (size_t)end, from);
    text[*size] = '\0';
    return text;
}

/* gnuplot shows the line and a caret, then the error: its last line. */
static kb_status tell_complaint(session *s, FILE *err) {
    size_t size = 0;
    char *text = read_all(err, &size);
    while (text && size > 0 && (text[size - 1] == '\n' || text[size - 1] == ' '))
        text[--size] = '\0';
    const char *last = text ? strrchr(text, '\n') : NULL;
    last = last ? last + 1 : text ? text : "";
    last += strspn(last, " ");
    kb_status status =
        session_fail(s, KB_ERR_IO, "gnuplot failed%s%s", *last ? ": " : "", *last ? last : "");
    free(text);
    return status;
}

static int ended_well(pid_t child) {
    int result;
    while (waitpid(child, &result, 0) < 0)
        if (errno != EINTR)
            return 0;
    return WIFEXITED(result) && WEXITSTATUS(result) == 0;
}

kb_status gnuplot_run(session *s, const char *script, char **bytes, size_t *size) {
    kb_status status = KB_OK;
    pid_t child;
    FILE *in = tmpfile(), *out = tmpfile(), *err = tmpfile();
    *bytes = NULL;
    if (!in || !out || !err || fputs(script, in) == EOF || fflush(in) != 0 ||
        lseek(fileno(in), 0, SEEK_SET) != 0)
        TRY(session_fail(s, KB_ERR_IO, "no temporary file for gnuplot: %s", strerror(errno)));
    int error = spawn(in, out, err, &child);
    if (error)
        TRY(session_fail(s, KB_ERR_IO, "gnuplot cannot be run: %s", strerror(error)));
    if (!ended_well(child))
        TRY(tell_complaint(s, err));
    *bytes = read_all(out, size);
    if (!*bytes)
        TRY(KB_ERR_MEMORY);
    if (*size == 0)
        TRY(tell_complaint(s, err));
done:
    if (status != KB_OK) {
        free(*bytes);
        *bytes = NULL;
    }
    if (in)
        fclose(in);
    if (out)
        fclose(out);
    if (err)
        fclose(err);
    return status;
}
