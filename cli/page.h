/*
 * page.h - what a page of kerbin report shows: found by gather.c, written by page.c.
 */
#ifndef CLI_PAGE_H
#define CLI_PAGE_H

#include "results.h"

/* A sweep, a comparison, or a figure that is shown unchanged. */
typedef struct entry {
    char *path;
    json_t *json; /* NULL: a figure */
    results r;
    char *svg;
    size_t svg_size;
} entry;

typedef struct page {
    session *s;
    entry *entry;
    size_t count, room;
    size_t folder_length; /* length of "DIR/", the prefix of all paths */
} page;

/* Fills p with the files in `folder` and its subfolders; unusable files are left out with a
 * warning.  Fails if there is no sweep or comparison.  Call page_free in both cases. */
kb_status page_gather(page *p, const char *folder);
void page_free(page *p);

#endif
