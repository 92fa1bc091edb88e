/* gather.c - the files that kerbin report shows; see page.h. */
#define _POSIX_C_SOURCE 200809L
#include "page.h"
#include "report.h"
#include "files.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { MOST_FOLDERS_DEEP = 8 };

static int ends_in(const char *name, const char *suffix) {
    size_t length = strlen(name), tail = strlen(suffix);
    return length > tail && strcmp(name + length - tail, suffix) == 0;
}

static entry *new_entry(page *p, const char *path) {
    if (p->count == p->room) {
        size_t room = 2 * p->room + 16;
        entry *more = realloc(p->entry, room * sizeof *more);
        if (!more)
            return NULL;
        p->entry = more;
        p->room = room;
    }
    entry *e = &p->entry[p->count];
    *e = (entry){.path = strdup(path + p->folder_length)};
    if (!e->path)
        return NULL;
    p->count++;
    return e;
}

static kb_status add_json(page *p, const char *path) {
    kb_status status = KB_OK;
    json_error_t error;
    FILE *from = fopen(path, "r");
    if (!from) {
        session_warn(p->s, "%s: cannot read: %s; left out", path, strerror(errno));
        return KB_OK;
    }
    json_t *json = json_loadf(from, 0, &error);
    fclose(from);
    if (!json) {
        session_warn(p->s, "%s: broken JSON in line %d: %s; left out", path, error.line,
                     error.text);
    } else if (!results_are_in(json)) {
        session_note(p->s, "%s: neither a sweep nor a comparison; left out", path);
        json_decref(json);
    } else {
        entry *e = new_entry(p, path);
        if (!e) {
            json_decref(json);
            return KB_ERR_MEMORY;
        }
        e->json = json;
        status = results_read(json, &e->r);
    }
    return status;
}

/* Skips figures that are drawn from the JSON anyway. */
static kb_status add_svg(page *p, const char *path) {
    size_t size = file_size(path);
    FILE *from = fopen(path, "r");
    char *text = malloc(size + 1);
    kb_status status = KB_OK;
    if (!text)
        status = KB_ERR_MEMORY;
    if (from && text) {
        size = fread(text, 1, size, from);
        text[size] = '\0';
        if (ferror(from)) {
            session_warn(p->s, "%s: cannot read; left out", path);
            text[0] = '\0';
        }
        entry *e = strstr(text, "<svg") && !strstr(text, results_mark) ? new_entry(p, path) : NULL;
        if (e) {
            e->svg = text;
            e->svg_size = size;
            text = NULL;
        }
    } else if (!from)
        session_warn(p->s, "%s: cannot read: %s; left out", path, strerror(errno));
    if (from)
        fclose(from);
    free(text);
    return status;
}

static kb_status add_folder(page *p, const char *folder, int deep);

static kb_status add_file(page *p, const char *folder, const char *name, int deep) {
    struct stat info = {0};
    kb_status status = KB_OK;
    char *path = malloc(strlen(folder) + strlen(name) + 2);
    if (!path)
        return KB_ERR_MEMORY;
    sprintf(path, "%s/%s", folder, name);
    /* Links to folders are not followed: they may form a cycle.  A pipe or a device may have no
     * end. */
    int json = ends_in(name, ".json"), svg = ends_in(name, ".svg");
    int folder_itself = lstat(path, &info) == 0 && S_ISDIR(info.st_mode);
    int no_file = !folder_itself && stat(path, &info) == 0 && !S_ISREG(info.st_mode);
    if (folder_itself)
        status = deep < MOST_FOLDERS_DEEP ? add_folder(p, path, deep + 1) : KB_OK;
    else if (!no_file && (json || svg || ends_in(name, ".csv"))) /* the table beside the JSON */
        status = files_add(p->s, path);
    if (status == KB_OK && !folder_itself && (json || svg) && no_file)
        session_warn(p->s, "%s: is no file; left out", path);
    else if (status == KB_OK && !folder_itself && json)
        status = add_json(p, path);
    else if (status == KB_OK && !folder_itself && svg)
        status = add_svg(p, path);
    free(path);
    return status;
}

static kb_status add_folder(page *p, const char *folder, int deep) {
    struct dirent **found = NULL;
    kb_status status = KB_OK;
    int count = scandir(folder, &found, NULL, alphasort);
    if (count < 0 && deep > 0)
        session_warn(p->s, "%s: cannot read: %s; left out", folder, strerror(errno));
    else if (count < 0)
        status = session_fail(p->s, KB_ERR_IO, "%s: cannot read: %s", folder, strerror(errno));
    for (int k = 0; k < count; k++) {
        if (status == KB_OK && found[k]->d_name[0] != '.')
            status = add_file(p, folder, found[k]->d_name, deep);
        free(found[k]);
    }
    free(found);
    return status;
}

static kb_status check_found(const page *p, const char *folder) {
    for (size_t k = 0; k < p->count; k++)
        if (p->entry[k].json)
            return KB_OK;
    return session_fail(p->s, KB_ERR_DATA,
                        "%s: no sweeps or comparisons; kerbin sweep -o %s/NAME.csv writes one",
                        folder, folder);
}

kb_status page_gather(page *p, const char *folder) {
    kb_status status;
    p->folder_length = strlen(folder) + 1;
    TRY(add_folder(p, folder, 0));
    TRY(check_found(p, folder));
done:
    return status;
}

void page_free(page *p) {
    for (size_t k = 0; k < p->count; k++) {
        free(p->entry[k].path);
        free(p->entry[k].svg);
        results_free(&p->entry[k].r);
        json_decref(p->entry[k].json);
    }
    free(p->entry);
}
