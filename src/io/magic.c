/* magic.c - see magic.h. */
#define _POSIX_C_SOURCE 200809L
#include "io/magic.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { LONGEST = 8 };

typedef struct mark {
    kb_magic magic;
    size_t length;
    char first[LONGEST];
    int at_end; /* the file ends with it too: a CSV file could have the column PAR1 */
} mark;

static const mark MARKS[] = {
    {KB_MAGIC_NPY, 6, "\x93NUMPY", 0}, {KB_MAGIC_ZIP, 4, "PK\3\4", 0},
    {KB_MAGIC_PARQUET, 4, "PAR1", 1},  {KB_MAGIC_ARROW, 8, "ARROW1\0", 0},
    {KB_MAGIC_ARROW, 4, "FEA1", 1},
};

static int has_mark(int fd, off_t size, const mark *m) {
    char bytes[LONGEST];
    ssize_t length = (ssize_t)m->length;
    if (size < length || pread(fd, bytes, m->length, 0) != length ||
        memcmp(bytes, m->first, m->length) != 0)
        return 0;
    return !m->at_end || (pread(fd, bytes, m->length, size - length) == length &&
                          memcmp(bytes, m->first, m->length) == 0);
}

kb_magic kb_magic_of(const char *path) {
    struct stat info;
    kb_magic found = KB_MAGIC_NONE;
    /* A pipe would lose what is read, and wait for a writer when it is opened. */
    if (stat(path, &info) != 0 || !S_ISREG(info.st_mode))
        return KB_MAGIC_NONE;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return KB_MAGIC_NONE;
    for (size_t k = 0; k < sizeof MARKS / sizeof *MARKS && found == KB_MAGIC_NONE; k++)
        if (has_mark(fd, info.st_size, &MARKS[k]))
            found = MARKS[k].magic;
    close(fd);
    return found;
}
