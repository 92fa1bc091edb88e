/* outfile.c - see outfile.h. */
#define _XOPEN_SOURCE 700
#include "core/outfile.h"
#include "core/memory.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { BUFFER = 1 << 16 };

struct kb_outfile {
    kb_context *ctx;
    char *path;      /* as it was given, for messages */
    char *target;    /* the file that is to be replaced */
    char *temporary; /* NULL: written in place */
    int fd, owned;
    size_t used;
    char buffer[BUFFER];
};

static kb_status failed(kb_outfile *file) {
    return kb_fail(file->ctx, KB_ERR_IO, "%s: cannot write: %s",
                   strcmp(file->path, "-") ? file->path : "standard output", strerror(errno));
}

/* A name beside the target that does not exist yet.  Mode bits as open() gives
 * them, so that the umask holds (mkstemp would make the file private). */
static int open_temporary(kb_outfile *file) {
    size_t room = strlen(file->target) + 32;
    for (int attempt = 0; attempt < 100; attempt++) {
        snprintf(file->temporary, room, "%s.%ld-%d.tmp", file->target, (long)getpid(), attempt);
        int fd = open(file->temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        if (fd >= 0 || errno != EEXIST)
            return fd;
    }
    return -1;
}

/* Behind a link to a file, that file is the target: the link stays. */
static kb_status find_target(kb_outfile *file) {
    char *real = realpath(file->path, NULL);
    kb_status status = kb_strdup(file->ctx, real ? real : file->path, &file->target);
    free(real);
    return status;
}

kb_status kb_outfile_create(kb_context *ctx, const char *path, kb_outfile **out) {
    kb_status status;
    struct stat info;
    kb_outfile *file;
    *out = NULL;
    TRY(kb_zalloc(ctx, 1, sizeof *file, &file));
    file->ctx = ctx;
    file->fd = -1;
    TRY(kb_strdup(ctx, path, &file->path));
    if (strcmp(path, "-") == 0) {
        file->fd = STDOUT_FILENO;
    } else if (stat(path, &info) == 0 && !S_ISREG(info.st_mode)) {
        file->owned = 1;
        file->fd = open(path, O_WRONLY | O_CLOEXEC);
    } else {
        TRY(find_target(file));
        TRY(kb_alloc(ctx, strlen(file->target) + 32, 1, &file->temporary));
        file->temporary[0] = '\0';
        file->owned = 1;
        file->fd = open_temporary(file);
        if (file->fd < 0)
            file->temporary[0] = '\0';
    }
    if (file->fd < 0)
        TRY(failed(file));
    *out = file;
done:
    if (status != KB_OK)
        kb_outfile_free(file);
    return status;
}

static kb_status write_all(kb_outfile *file, const char *bytes, size_t count) {
    while (count > 0) {
        ssize_t wrote = write(file->fd, bytes, count);
        if (wrote < 0 && errno != EINTR)
            return failed(file);
        if (wrote > 0) {
            bytes += wrote;
            count -= (size_t)wrote;
        }
        /* A signal cut the wait short; whoever sent it may want to stop. */
        kb_status status = count > 0 ? kb_progress(file->ctx, "write", -1) : KB_OK;
        if (status != KB_OK)
            return status;
    }
    return KB_OK;
}

static kb_status flush(kb_outfile *file) {
    size_t used = file->used;
    file->used = 0;
    return write_all(file, file->buffer, used);
}

kb_status kb_outfile_write(kb_outfile *file, const void *bytes, size_t count) {
    if (count == 0) /* `bytes` may be NULL */
        return KB_OK;
    if (count <= BUFFER - file->used) {
        memcpy(file->buffer + file->used, bytes, count);
        file->used += count;
        return KB_OK;
    }
    kb_status status = flush(file);
    if (status != KB_OK)
        return status;
    if (count < BUFFER)
        return kb_outfile_write(file, bytes, count);
    return write_all(file, bytes, count);
}

kb_status kb_outfile_put(void *file, const void *bytes, size_t count) {
    return kb_outfile_write(file, bytes, count);
}

kb_status kb_outfile_printf(kb_outfile *file, const char *format, ...) {
    char text[512];
    va_list args;
    va_start(args, format);
    int length = vsnprintf(text, sizeof text, format, args);
    va_end(args);
    if ((size_t)length < sizeof text)
        return kb_outfile_write(file, text, (size_t)length);

    kb_status status;
    char *longer = NULL;
    TRY(kb_alloc(file->ctx, (size_t)length + 1, 1, &longer));
    va_start(args, format);
    vsnprintf(longer, (size_t)length + 1, format, args);
    va_end(args);
    TRY(kb_outfile_write(file, longer, (size_t)length));
done:
    kb_release(file->ctx, longer);
    return status;
}

kb_status kb_outfile_commit(kb_outfile *file) {
    kb_status status;
    TRY(flush(file));
    if (file->temporary) {
        if (fsync(file->fd) != 0)
            TRY(failed(file));
        int closed = close(file->fd);
        file->fd = -1;
        if (closed != 0 || rename(file->temporary, file->target) != 0)
            TRY(failed(file));
        file->temporary[0] = '\0';
    }
done:
    return status;
}

void kb_outfile_free(kb_outfile *file) {
    if (!file)
        return;
    if (file->owned && file->fd >= 0)
        close(file->fd);
    if (file->temporary && file->temporary[0])
        unlink(file->temporary);
    kb_release(file->ctx, file->temporary);
    kb_release(file->ctx, file->target);
    kb_release(file->ctx, file->path);
    kb_release(file->ctx, file);
}

kb_status kb_file_write(kb_context *ctx, const char *path, const void *bytes, size_t count) {
    kb_status status;
    kb_outfile *file;
    TRY(kb_outfile_create(ctx, path, &file));
    TRY(kb_outfile_write(file, bytes, count));
    TRY(kb_outfile_commit(file));
done:
    kb_outfile_free(file);
    return status;
}
