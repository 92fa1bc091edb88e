/* program_on_windows.c - see program_on_windows.h. */
#include "program_on_windows.h"

#include <string.h>
#include <sys/resource.h>
#include <sys/utsname.h>
#define WIN32_LEAN_AND_MEAN
#include <windows.h>
/* After windows.h. */
#include <psapi.h>

/* Lines end with a line feed alone, as everywhere. */
__attribute__((constructor)) static void bytes_as_they_are(void) {
    _set_fmode(_O_BINARY);
    for (int fd = 0; fd < 3; fd++)
        _setmode(fd, _O_BINARY);
}

/* ---- streams that become text ------------------------------------------- */

#undef fflush
#undef fclose
enum { MOST_STREAMS = 16 };
static struct memory_stream {
    FILE *file;
    char **text;
    size_t *size;
} streams[MOST_STREAMS];

static struct memory_stream *stream_of(FILE *file) {
    for (int k = 0; k < MOST_STREAMS; k++)
        if (streams[k].file == file)
            return &streams[k];
    return NULL;
}

FILE *kb_windows_memstream(char **text, size_t *size) {
    struct memory_stream *stream = stream_of(NULL);
    FILE *file = stream ? tmpfile() : NULL;
    *text = NULL;
    *size = 0;
    if (file)
        *stream = (struct memory_stream){file, text, size};
    return file;
}

/* 0, or EOF: no memory, or the file cannot be read. */
static int read_back(const struct memory_stream *stream) {
    long size = ftell(stream->file);
    char *text = size >= 0 ? realloc(*stream->text, (size_t)size + 1) : NULL;
    if (!text)
        return EOF;
    *stream->text = text;
    rewind(stream->file);
    *stream->size = fread(text, 1, (size_t)size, stream->file);
    text[*stream->size] = '\0';
    fseek(stream->file, 0, SEEK_END);
    return *stream->size == (size_t)size ? 0 : EOF;
}

int kb_windows_flush(FILE *file) {
    struct memory_stream *stream = file ? stream_of(file) : NULL;
    int result = fflush(file);
    return stream && read_back(stream) != 0 ? EOF : result;
}

int kb_windows_close(FILE *file) {
    struct memory_stream *stream = stream_of(file);
    int read = stream ? kb_windows_flush(file) : 0;
    if (stream)
        stream->file = NULL;
    return fclose(file) == 0 ? read : EOF;
}

/* ---- folders --------------------------------------------------------------- */

static int by_name(const void *a, const void *b) {
    const struct dirent *const *left = a, *const *right = b;
    return strcmp((*left)->d_name, (*right)->d_name);
}

int kb_windows_names(const char *path, struct dirent ***list,
                     int (*wanted)(const struct dirent *)) {
    DIR *folder = opendir(path);
    struct dirent **found = NULL, *copy = NULL;
    int count = 0;
    if (!folder)
        return -1;
    for (struct dirent *entry; (entry = readdir(folder));) {
        if (wanted && !wanted(entry))
            continue;
        struct dirent **longer = realloc(found, ((size_t)count + 1) * sizeof(*found));
        found = longer ? longer : found;
        copy = longer ? malloc(sizeof *copy) : NULL;
        if (!copy)
            break;
        *copy = *entry;
        found[count++] = copy;
    }
    int whole = count == 0 || copy;
    closedir(folder);
    if (whole) {
        qsort(found, (size_t)count, sizeof(*found), by_name);
        *list = found;
        return count;
    }
    while (count > 0)
        free(found[--count]);
    free(found);
    errno = ENOMEM;
    return -1;
}

/* ---- the process and the machine ------------------------------------------ */

int kb_windows_on_signal(int number, const struct sigaction *now, struct sigaction *before) {
    if (number < 0)
        return -1;
    void (*old)(int) = signal(number, now ? now->sa_handler : SIG_IGN);
    if (old == SIG_ERR)
        return -1;
    if (!now)
        signal(number, old);
    if (before)
        before->sa_handler = old;
    return 0;
}

int kb_windows_usage(struct rusage *usage) {
    PROCESS_MEMORY_COUNTERS counters = {.cb = sizeof counters};
    if (!K32GetProcessMemoryInfo(GetCurrentProcess(), &counters, sizeof counters))
        return -1;
    usage->ru_maxrss = (long)(counters.PeakWorkingSetSize / 1024);
    return 0;
}

int kb_windows_name(struct utsname *system) {
    strcpy(system->sysname, "Windows");
    strcpy(system->release, "");
    strcpy(system->machine, "x86_64");
    return 0;
}
