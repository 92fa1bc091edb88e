/*
 * outfile.c - see outfile.h.
 *
 * The temporary file has a random name that no other process can have made before (O_EXCL, which
 * does not follow links either), and is locked while it is written.  So what a killed process has
 * left is known by its name and by its lock being free, and is removed by the next one that writes
 * the same target; the number of a process would tell less, since containers use the same ones.
 */
#define _DEFAULT_SOURCE /* flock */
#define _XOPEN_SOURCE   700
#include "core/outfile.h"
#include "core/memory.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

/* A temporary file is called NAME.kb-0123456789ab.tmp. */
#define MARK ".kb-"
#define TAIL ".tmp"
enum {
    BUFFER = 1 << 16,
    RANDOM_DIGITS = 12,
    ADDED = sizeof MARK - 1 + RANDOM_DIGITS + sizeof TAIL - 1
};
enum { MOST_LINKS = 40, MOST_ATTEMPTS = 100, MOST_NAME = 255 };

struct kb_outfile {
    kb_context *ctx;
    char *path;      /* as it was given, for messages */
    char *target;    /* the file that is to be replaced; NULL: written in place */
    char *folder;    /* where it is */
    char *temporary; /* "": there is none */
    int fd, owned;
    int in_memory;
    char *text; /* then: `length` bytes */
    size_t length, capacity;
    mode_t mode; /* of the file that is to be replaced; 0: there is none */
    uid_t user;
    gid_t group;
    size_t used;
    char buffer[BUFFER];
};

static kb_status failed(kb_outfile *file) {
    return kb_fail(file->ctx, KB_ERR_IO, "%s: cannot write: %s",
                   strcmp(file->path, "-") ? file->path : "standard output", strerror(errno));
}

/* ---- the target -------------------------------------------------------- */

/* "-", /dev/stdout and their like are what the process has open; -1: another path. */
static int descriptor_of(const char *path) {
    static const char *const folder[] = {"/dev/fd/", "/proc/self/fd/"};
    if (strcmp(path, "-") == 0 || strcmp(path, "/dev/stdout") == 0)
        return STDOUT_FILENO;
    if (strcmp(path, "/dev/stderr") == 0)
        return STDERR_FILENO;
    for (size_t k = 0; k < 2; k++) {
        size_t length = strlen(folder[k]);
        if (strncmp(path, folder[k], length) != 0)
            continue;
        const char *number = path + length;
        if (*number && !number[strspn(number, "0123456789")] && strlen(number) < 8)
            return atoi(number);
    }
    return -1;
}

/* The last one that separates folders; NULL: there is none. */
static const char *last_slash(const char *path) {
    const char *slash = strrchr(path, '/');
#ifdef _WIN32
    const char *other = strrchr(path, '\\');
    if (other && (!slash || other > slash))
        return other;
#endif
    return slash;
}

/* The part of a path before its name: "." and "/" where there is none. */
static kb_status folder_of(kb_context *ctx, const char *path, char **out) {
    const char *slash = last_slash(path);
    if (!slash)
        return kb_strdup(ctx, ".", out);
    return kb_format(ctx, out, "%.*s", slash == path ? 1 : (int)(slash - path), path);
}

static const char *name_in(const char *path) {
    const char *slash = last_slash(path);
    return slash ? slash + 1 : path;
}

/* Behind a link, even to a file that is not there yet, is the target: the link stays. */
static kb_status find_target(kb_outfile *file) {
    kb_status status;
    struct stat info;
    char *folder = NULL, *next = NULL;
    TRY(kb_strdup(file->ctx, file->path, &file->target));
    for (int links = 0; lstat(file->target, &info) == 0 && S_ISLNK(info.st_mode); links++) {
        char to[PATH_MAX];
        ssize_t length = links < MOST_LINKS ? readlink(file->target, to, sizeof to - 1) : -1;
        if (links == MOST_LINKS)
            errno = ELOOP;
        if (length < 0)
            TRY(failed(file));
        to[length] = '\0';
        TRY(folder_of(file->ctx, file->target, &folder));
        TRY(kb_format(file->ctx, &next, "%s%s%s", *to == '/' ? "" : folder, *to == '/' ? "" : "/",
                      to));
        kb_release(file->ctx, folder);
        kb_release(file->ctx, file->target);
        file->target = next;
        folder = next = NULL;
    }
    TRY(folder_of(file->ctx, file->target, &file->folder));
done:
    kb_release(file->ctx, folder);
    return status;
}

/* Whether the target may be replaced, which needs a right of the folder only. */
static kb_status check_target(kb_outfile *file, int there) {
    if ((there && access(file->target, W_OK) != 0) || access(file->folder, W_OK | X_OK) != 0)
        return failed(file);
    errno = 0;
    if (strlen(file->target) + ADDED >= PATH_MAX || strlen(name_in(file->target)) > MOST_NAME)
        errno = ENAMETOOLONG;
    else if (!*name_in(file->target))
        errno = EISDIR;
    return errno == 0 ? KB_OK : failed(file);
}

/* What is at the path; opens nothing. */
static kb_status look(kb_context *ctx, const char *path, kb_outfile **out) {
    kb_status status;
    struct stat info;
    kb_outfile *file;
    *out = NULL;
    TRY(kb_zalloc(ctx, 1, sizeof *file, &file));
    file->ctx = ctx;
    file->fd = -1;
    TRY(kb_strdup(ctx, path, &file->path));
    if (descriptor_of(path) >= 0) {
        *out = file;
        goto done;
    }
    int there = stat(path, &info) == 0;
    if (!there && errno != ENOENT)
        TRY(failed(file));
    if (there && S_ISDIR(info.st_mode)) {
        errno = EISDIR;
        TRY(failed(file));
    }
    if (there && !S_ISREG(info.st_mode)) {
        if (access(path, W_OK) != 0)
            TRY(failed(file));
        *out = file;
        goto done;
    }
    TRY(find_target(file));
    if (there) {
        file->mode = info.st_mode;
        file->user = info.st_uid;
        file->group = info.st_gid;
    }
    TRY(check_target(file, there));
    *out = file;
done:
    if (status != KB_OK)
        kb_outfile_free(file);
    return status;
}

kb_status kb_file_check(kb_context *ctx, const char *path) {
    kb_outfile *file;
    kb_status status = look(ctx, path, &file);
    kb_outfile_free(file);
    return status;
}

/* ---- temporary files --------------------------------------------------- */

/* The part of the target's name that is in the temporary one, which may not be longer. */
static int kept_length(const kb_outfile *file) {
    size_t length = strlen(name_in(file->target)), most = MOST_NAME - ADDED;
    return (int)(length < most ? length : most);
}

static int is_temporary(const kb_outfile *file, const char *name) {
    size_t kept = (size_t)kept_length(file), at = kept + sizeof MARK - 1;
    return strlen(name) == kept + ADDED && strncmp(name, name_in(file->target), kept) == 0 &&
           strncmp(name + kept, MARK, sizeof MARK - 1) == 0 &&
           strspn(name + at, "0123456789abcdef") == RANDOM_DIGITS &&
           strcmp(name + at + RANDOM_DIGITS, TAIL) == 0;
}

/* Whether the open file still has that name. */
static int is_there(int fd, const char *path) {
    struct stat ours, named;
    return fstat(fd, &ours) == 0 && lstat(path, &named) == 0 && ours.st_dev == named.st_dev &&
           ours.st_ino == named.st_ino;
}

static void remove_if_left(const char *path) {
    struct stat info;
    int fd = open(path, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0)
        return;
    if (fstat(fd, &info) == 0 && S_ISREG(info.st_mode) && flock(fd, LOCK_EX | LOCK_NB) == 0 &&
        is_there(fd, path))
        unlink(path);
    close(fd);
}

/* Where something fails here, the files stay for the next time. */
static void remove_left(kb_outfile *file) {
    DIR *dir = opendir(file->folder);
    if (!dir)
        return;
    for (struct dirent *entry; (entry = readdir(dir));) {
        char *path;
        if (!is_temporary(file, entry->d_name) ||
            kb_format(file->ctx, &path, "%s/%s", file->folder, entry->d_name) != KB_OK)
            continue;
        remove_if_left(path);
        kb_release(file->ctx, path);
    }
    closedir(dir);
}

static uint64_t random_number(const void *place, int attempt) {
    uint64_t number = 0;
    int fd = open("/dev/urandom", O_RDONLY | O_CLOEXEC);
    if (fd < 0 || read(fd, &number, sizeof number) != (ssize_t)sizeof number)
        number = (uint64_t)(1e9 * kb_seconds()) ^ (uint64_t)(uintptr_t)place ^
                 (uint64_t)getpid() << 40 ^ (uint64_t)attempt << 32;
    if (fd >= 0)
        close(fd);
    return number;
}

/* The new file is what the old one was: its owner as far as we may, and its rights.  Where the
 * group cannot be kept, ours has no right that others have not. */
static void keep_owner(const kb_outfile *file) {
    mode_t mode = file->mode & 07777;
    if (file->mode == 0)
        return;
    if (fchown(file->fd, file->user, file->group) != 0) {
        mode &= 01777;
        if (fchown(file->fd, (uid_t)-1, file->group) != 0)
            mode &= ~(mode_t)070 | (mode & 07) << 3;
    }
    (void)fchmod(file->fd, mode);
}

/* Opens it; -1 with errno.  Mode bits as open() gives them, so that the umask holds. */
static int open_temporary(kb_outfile *file) {
    mode_t mode = file->mode ? file->mode & 0600 : 0666; /* private until the rights are set */
    for (int attempt = 0; attempt < MOST_ATTEMPTS; attempt++) {
        unsigned long long number = random_number(file, attempt) >> (64 - 4 * RANDOM_DIGITS);
        sprintf(file->temporary, "%s/%.*s" MARK "%0*llx" TAIL, file->folder, kept_length(file),
                name_in(file->target), RANDOM_DIGITS, number);
        file->fd =
            open(file->temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode);
        if (file->fd < 0 && errno == EEXIST)
            continue;
        if (file->fd < 0)
            break;
        /* Another process may look at it before the lock is ours, and remove it. */
        if ((flock(file->fd, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK) &&
            is_there(file->fd, file->temporary))
            return file->fd;
        unlink(file->temporary);
        close(file->fd);
        file->fd = -1;
    }
    file->temporary[0] = '\0';
    return -1;
}

/* ---- writing ----------------------------------------------------------- */

kb_status kb_outfile_create(kb_context *ctx, const char *path, kb_outfile **out) {
    kb_status status;
    kb_outfile *file;
    *out = NULL;
    TRY(look(ctx, path, &file));
    int descriptor = descriptor_of(path);
    if (descriptor >= 0) {
        file->owned = strcmp(path, "-") != 0;
        file->fd = file->owned ? fcntl(descriptor, F_DUPFD_CLOEXEC, 0) : descriptor;
    } else if (!file->target) {
        file->owned = 1;
        file->fd = open(path, O_WRONLY | O_NOCTTY | O_CLOEXEC);
    } else {
        TRY(kb_zalloc(ctx, strlen(file->folder) + strlen(name_in(file->target)) + ADDED + 2, 1,
                      &file->temporary));
        remove_left(file);
        file->owned = 1;
        if (open_temporary(file) >= 0)
            keep_owner(file);
    }
    if (file->fd < 0)
        TRY(failed(file));
    *out = file;
done:
    if (status != KB_OK)
        kb_outfile_free(file);
    return status;
}

kb_status kb_outfile_create_in_memory(kb_context *ctx, kb_outfile **out) {
    kb_status status = kb_zalloc(ctx, 1, sizeof **out, out);
    if (status != KB_OK)
        return status;
    (*out)->ctx = ctx;
    (*out)->fd = -1;
    (*out)->in_memory = 1;
    return KB_OK;
}

/* The buffer is for files alone. */
static kb_status add_to_memory(kb_outfile *file, const void *bytes, size_t count) {
    kb_status status = kb_reserve(file->ctx, file->length + count, 1, &file->capacity, &file->text);
    if (status != KB_OK)
        return status;
    memcpy(file->text + file->length, bytes, count);
    file->length += count;
    return KB_OK;
}

const char *kb_outfile_bytes(const kb_outfile *file, size_t *count) {
    *count = file->length;
    return file->text;
}

const char *kb_outfile_temporary(const kb_outfile *file) {
    return file->temporary ? file->temporary : "";
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
    if (file->in_memory)
        return add_to_memory(file, bytes, count);
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

/* Some file systems have nothing to sync. */
static int sync_descriptor(int fd) {
    return fsync(fd) == 0 || errno == EINVAL || errno == ENOSYS || errno == ENOTSUP;
}

/* The new name is on disk once the folder is; a folder that may not be read cannot be synced. */
static int sync_folder(const char *path) {
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return 1;
    int good = sync_descriptor(fd), why = errno;
    close(fd);
    errno = why;
    return good;
}

kb_status kb_outfile_commit(kb_outfile *file) {
    kb_status status;
    TRY(flush(file));
    if (file->target) {
        if (!sync_descriptor(file->fd))
            TRY(failed(file));
        int closed = close(file->fd);
        file->fd = -1;
        if (closed != 0 || rename(file->temporary, file->target) != 0)
            TRY(failed(file));
        file->temporary[0] = '\0';
        if (!sync_folder(file->folder))
            TRY(failed(file));
    }
done:
    return status;
}

void kb_outfile_free(kb_outfile *file) {
    if (!file)
        return;
    if (file->temporary && file->temporary[0])
        unlink(file->temporary); /* while it is locked */
    if (file->owned && file->fd >= 0)
        close(file->fd);
    kb_release(file->ctx, file->text);
    kb_release(file->ctx, file->temporary);
    kb_release(file->ctx, file->folder);
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
