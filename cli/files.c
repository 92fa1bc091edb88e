/* files.c - see files.h. */
#define _POSIX_C_SOURCE 200809L
#include "files.h"
#include "command.h"

#include <libgen.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int is_stdio(const char *path) {
    return strcmp(path, "-") == 0;
}

/* ---- what a path is ------------------------------------------------------ */

/* 0: there is no such file, or no regular one. */
static int look_at(const char *path, int standard, struct stat *info) {
    int found = is_stdio(path) ? fstat(standard, info) : stat(path, info);
    return found == 0 && S_ISREG(info->st_mode);
}

/* A file to be made is known by its folder and its name. */
static int look_at_new(const char *path, struct stat *info, const char **name) {
    char *copy = strdup(path);
    const char *slash = strrchr(path, '/');
    int found = copy && stat(dirname(copy), info) == 0;
    *name = slash ? slash + 1 : path;
    free(copy);
    return found;
}

static kb_status add(session *s, struct file_on_list file) {
    struct file_on_list *longer = realloc(s->file, (s->files + 1) * sizeof *longer);
    if (!longer)
        return KB_ERR_MEMORY;
    s->file = longer;
    s->file[s->files++] = file;
    return KB_OK;
}

/* ---- the list ------------------------------------------------------------ */

kb_status files_add(session *s, const char *path) {
    struct stat info;
    if (!look_at(path, STDIN_FILENO, &info))
        return KB_OK;
    char *name = strdup(is_stdio(path) ? "standard input" : path);
    if (!name)
        return KB_ERR_MEMORY;
    struct file_on_list file = {.device = info.st_dev, .number = info.st_ino, .name = name};
    kb_status status = add(s, file);
    if (status != KB_OK)
        free(name);
    return status;
}

static kb_status add_one(void *user, const char *path) {
    return files_add(user, path);
}

/* All files that the path means.  That there are none is told when they are to be read. */
static kb_status files_add_matching(session *s, const char *path) {
    kb_status status = kb_data_files(s->ctx, path, add_one, s);
    return status == KB_ERR_IO ? KB_OK : status;
}

kb_status files_add_all(session *s) {
    static const own_id own[] = {OWN_FROM, OWN_VALID, OWN_BACKGROUND};
    static const char *const words[] = {"NAME", "[COMMAND]"}; /* operands that are no files */
    kb_status status = KB_OK;
    size_t count;
    const kb_option_info *table = kb_option_table(&count);
    int named = 1;
    for (size_t k = 0; k < sizeof words / sizeof *words; k++)
        named &= strcmp(s->args->command->operands, words[k]) != 0;
    for (int i = 0; named && i < s->args->operands; i++)
        TRY(files_add_matching(s, s->args->operand[i]));
    for (size_t k = 0; k < sizeof own / sizeof *own; k++)
        if (s->args->own[own[k]])
            TRY(files_add_matching(s, s->args->own[own[k]]));
    for (size_t k = 0; k < count; k++) {
        const char *file = kb_options_file(s->options, table[k].name);
        if (file)
            TRY(files_add(s, file));
    }
done:
    return status;
}

void files_free(session *s) {
    for (size_t k = 0; k < s->files; k++)
        free(s->file[k].name);
    free(s->file);
    s->file = NULL;
    s->files = 0;
}

/* ---- outputs ------------------------------------------------------------- */

kb_status files_check_list(session *s, const char *path) {
    struct stat info;
    if (!look_at(path, STDOUT_FILENO, &info))
        return KB_OK;
    for (size_t k = 0; k < s->files; k++) {
        const struct file_on_list *f = &s->file[k];
        if (!f->written && f->device == info.st_dev && f->number == info.st_ino)
            return session_fail(s, KB_ERR_ARGUMENT, "%s: would be overwritten by the output",
                                f->name);
    }
    return KB_OK;
}

/* Two outputs in one file: the second would replace the first. */
static kb_status add_output(session *s, const char *path) {
    struct stat info;
    const char *name = "";
    if (is_stdio(path) || (stat(path, &info) == 0 && !S_ISREG(info.st_mode)) ||
        (!look_at(path, STDOUT_FILENO, &info) && !look_at_new(path, &info, &name)))
        return KB_OK;
    for (size_t k = 0; k < s->files; k++) {
        const struct file_on_list *f = &s->file[k];
        if (f->written && f->device == info.st_dev && f->number == info.st_ino &&
            strcmp(f->name, name) == 0)
            return session_fail(s, KB_ERR_ARGUMENT, "%s: would be written twice", path);
    }
    struct file_on_list file = {info.st_dev, info.st_ino, strdup(name), 1};
    if (!file.name)
        return KB_ERR_MEMORY;
    kb_status status = add(s, file);
    if (status != KB_OK)
        free(file.name);
    return status;
}

kb_status files_check_output(session *s, const char *path) {
    kb_status status = KB_OK;
    if (!path)
        return KB_OK;
    TRY(files_check_list(s, path));
    TRY(kb_file_check(s->ctx, path));
    TRY(add_output(s, path));
done:
    return status;
}
