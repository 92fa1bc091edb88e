/* wholefile.c - see wholefile.h. */
#define _POSIX_C_SOURCE 200809L
#include "wholefile.h"
#include "files.h"

#include <stdlib.h>

kb_status write_whole(session *s, const char *path, file_writer write, const void *user) {
    char *text = NULL;
    size_t length = 0;
    if (is_stdio(path))
        return write(user, stdout) ? KB_OK : ferror(stdout) ? KB_ERR_IO : KB_ERR_MEMORY;
    FILE *to = open_memstream(&text, &length);
    int good = to && write(user, to);
    if (to) {
        good &= !ferror(to);
        good &= fclose(to) == 0;
    }
    kb_status status =
        good ? kb_file_write(s->ctx, path, text, length)
             : session_fail(s, KB_ERR_MEMORY, "%s: cannot write: out of memory", path);
    free(text);
    return status;
}
