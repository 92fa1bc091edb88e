/*
 * page.h - what a page of kerbin report shows: found by gather.c, written by page.c.
 */
#ifndef CLI_PAGE_H
#define CLI_PAGE_H

#include "results.h"

/* A sweep, a comparison, or a figure that comes as it is. */
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
    size_t folder_length; /* of DIR/, which all paths begin with */
} page;

/* Fills p with what is in `folder` and the folders in it; what is no good is left out with a
 * warning.  Fails where no sweep or comparison is there.  page_free either way. */
kb_status page_gather(page *p, const char *folder);
void page_free(page *p);

#endif
