/* wholefile.c - see wholefile.h. */
#include "wholefile.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

kb_status write_whole(session *s, const char *path, file_writer write, const void *user) {
    if (is_stdio(path))
        return write(user, stdout) ? KB_OK : KB_ERR_MEMORY;
    size_t length = strlen(path);
    char *beside = malloc(length + sizeof ".part");
    if (!beside)
        return KB_ERR_MEMORY;
    memcpy(beside, path, length);
    strcpy(beside + length, ".part");
    errno = 0;
    FILE *to = fopen(beside, "wb");
    int good = to != NULL;
    if (to) {
        good = write(user, to);
        good &= !ferror(to);
        good &= fclose(to) == 0;
        good = good && rename(beside, path) == 0;
    }
    kb_status status = KB_OK;
    if (!good) {
        status = session_fail(s, KB_ERR_IO, "%s: cannot write%s%s", path, errno ? ": " : "",
                              errno ? strerror(errno) : "");
        if (to)
            remove(beside);
    }
    free(beside);
    return status;
}
