/* parts.c - see parts.h. */
#define _POSIX_C_SOURCE 200809L
#include "lines/parts.h"
#include "core/strings.h"
#include "ranks/ranks.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* ---- names ------------------------------------------------------------- */

/* Where the last part of the path begins. */
static const char *last_of(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

static int is_pattern(const char *path) {
    struct stat info;
    const char *name = last_of(path);
    return name[strcspn(name, "*?")] != '\0' && stat(path, &info) != 0;
}

static int in_order(const void *a, const void *b) {
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Adds the entry of the folder, if it is a file that matches.  `before`: the path up to its name.
 */
static kb_status add(kb_context *ctx, const char *path, int before, const char *name,
                     size_t *capacity, kb_parts *out) {
    kb_status status;
    struct stat info;
    const char *pattern = path + before;
    if ((*name == '.' && *pattern != '.') || !kb_matches(pattern, name))
        return KB_OK;
    TRY(kb_reserve(ctx, out->count + 1, sizeof *out->path, capacity, &out->path));
    TRY(kb_format(ctx, &out->path[out->count], "%.*s%s", before, path, name));
    if (stat(out->path[out->count], &info) != 0 || !S_ISDIR(info.st_mode))
        out->count++; /* opening it tells what is wrong */
    else
        kb_release(ctx, out->path[out->count]);
done:
    return status;
}

kb_status kb_parts_find(kb_context *ctx, const char *path, kb_parts *out) {
    kb_status status;
    int before = (int)(last_of(path) - path);
    size_t capacity = 0;
    char *folder = NULL;
    DIR *entries = NULL;
    *out = (kb_parts){0};
    if (strcmp(path, "-") == 0 || !is_pattern(path))
        return KB_OK;
    TRY(kb_format(ctx, &folder, "%.*s", before > 0 ? before : 1, before > 0 ? path : "."));
    entries = opendir(folder);
    if (!entries)
        TRY(kb_fail(ctx, KB_ERR_IO, "%s: cannot open %s: %s", path, folder, strerror(errno)));
    for (struct dirent *entry; errno = 0, (entry = readdir(entries));)
        TRY(add(ctx, path, before, entry->d_name, &capacity, out));
    if (errno)
        TRY(kb_fail(ctx, KB_ERR_IO, "%s: cannot read %s: %s", path, folder, strerror(errno)));
    if (out->count == 0)
        TRY(kb_fail(ctx, KB_ERR_IO, "%s: no file has such a name", path));
    qsort(out->path, out->count, sizeof *out->path, in_order);
done:
    if (entries)
        closedir(entries);
    kb_release(ctx, folder);
    return status;
}

void kb_parts_clear(kb_context *ctx, kb_parts *parts) {
    kb_strings_free(kb_allocator_of(ctx), parts->count, parts->path);
    *parts = (kb_parts){0};
}

/* ---- ranks ------------------------------------------------------------- */

typedef struct view {
    int64_t files, bytes;
    uint64_t hash; /* of names and sizes */
} view;

static void hash_in(uint64_t *hash, const void *bytes, size_t count) {
    for (size_t i = 0; i < count; i++)
        *hash = (*hash ^ ((const unsigned char *)bytes)[i]) * 0x100000001b3u;
}

static view look(const kb_parts *parts) {
    view v = {.files = (int64_t)parts->count, .hash = 0xcbf29ce484222325u};
    struct stat info;
    for (size_t k = 0; k < parts->count; k++) {
        int64_t size = stat(parts->path[k], &info) == 0 ? (int64_t)info.st_size : -1;
        hash_in(&v.hash, last_of(parts->path[k]), strlen(last_of(parts->path[k])) + 1);
        hash_in(&v.hash, &size, sizeof size);
        v.bytes += size;
    }
    return v;
}

kb_status kb_parts_compare(kb_context *ctx, const char *path, const kb_parts *parts) {
    kb_status status;
    view mine = look(parts);
    void *gathered = NULL;
    if (kb_rank_count(ctx) == 1 || last_of(path)[strcspn(last_of(path), "*?")] == '\0')
        return KB_OK;
    TRY(kb_ranks_gather(ctx, &mine, sizeof mine, &gathered, NULL));
    const view *all = gathered;
    for (int k = 1; k < kb_rank_count(ctx); k++)
        if (all[k].files != all[0].files || all[k].bytes != all[0].bytes)
            TRY(kb_fail(ctx, KB_ERR_DATA,
                        "%s: rank %d sees %lld files of %lld bytes, and rank 0 %lld of %lld: give "
                        "all ranks the same",
                        path, k, (long long)all[k].files, (long long)all[k].bytes,
                        (long long)all[0].files, (long long)all[0].bytes));
        else if (all[k].hash != all[0].hash)
            TRY(kb_fail(ctx, KB_ERR_DATA,
                        "%s: rank %d sees other files than rank 0: give all ranks the same", path,
                        k));
done:
    kb_release(ctx, gathered);
    return status;
}
