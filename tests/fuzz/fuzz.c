/* fuzz.c - see fuzz.h. */
#define _GNU_SOURCE
#include "fuzz.h"

#include <fcntl.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

_Noreturn void fuzz_failed(const char *what, const char *file, int line) {
    fprintf(stderr, "%s:%d: not true: %s\n", file, line, what);
    abort();
}

/* ---- the context ------------------------------------------------------- */

static size_t taken;
static long blocks, contexts;

static void *reallocate(void *user, void *block, size_t bytes) {
    size_t had = block ? malloc_usable_size(block) : 0;
    (void)user;
    if (bytes == 0) {
        blocks -= block != NULL;
        taken -= had;
        free(block);
        return NULL;
    }
    if (bytes > FUZZ_MEMORY || taken - had + bytes > FUZZ_MEMORY)
        return NULL;
    void *moved = realloc(block, bytes);
    if (moved) {
        blocks += block == NULL;
        taken = taken - had + malloc_usable_size(moved);
    }
    return moved;
}

kb_context *fuzz_context(void) {
    kb_context *ctx;
    kb_context_config config = KB_CONTEXT_CONFIG_INIT;
    config.reallocate = reallocate;
    config.threads = 1;
    fuzz_check(kb_context_create(&config, &ctx) == KB_OK);
    contexts++;
    return ctx;
}

void fuzz_context_end(kb_context *ctx) {
    kb_context_free(ctx);
    fuzz_check(--contexts > 0 || blocks == 0);
}

kb_status fuzz_status(const kb_context *ctx, kb_status status) {
    const char *message = kb_context_message(ctx);
    fuzz_check(status <= KB_ERR_CANCELLED);
    fuzz_check(status == KB_OK || *message);
    return status;
}

/* ---- files ------------------------------------------------------------- */

const char *fuzz_file(int slot, const void *bytes, size_t count) {
    static int fd[2] = {-1, -1};
    static char path[2][64];
    if (fd[slot] < 0) {
        fd[slot] = memfd_create("fuzz", MFD_CLOEXEC);
        fuzz_check(fd[slot] >= 0);
        snprintf(path[slot], sizeof path[slot], "/proc/self/fd/%d", fd[slot]);
    }
    fuzz_check(ftruncate(fd[slot], 0) == 0);
    fuzz_check(count == 0 || pwrite(fd[slot], bytes, count, 0) == (ssize_t)count);
    return path[slot];
}

fuzz_input fuzz_split(const uint8_t *data, size_t size) {
    fuzz_input in = {.rest = data + size};
    const uint8_t *end = size ? memchr(data, '\n', size) : NULL;
    size_t length = end ? (size_t)(end - data) : size;
    if (end) {
        in.rest = end + 1;
        in.count = size - length - 1;
    }
    length = length < sizeof in.line - 1 ? length : sizeof in.line - 1;
    if (length > 0)
        memcpy(in.line, data, length);
    return in;
}

/* ---- options ----------------------------------------------------------- */

static int is_word_of(const char *list, const char *word) {
    size_t length = strlen(word);
    for (const char *at = list; length > 0 && (at = strstr(at, word)); at++)
        if ((at == list || at[-1] == ' ') && (at[length] == ' ' || at[length] == '\0'))
            return 1;
    return 0;
}

static int opens_a_file(const char *name, const char *value) {
    return (strcmp(name, "weights") == 0 && strncmp(value, "column:", 7) != 0 &&
            strcmp(value, "none") != 0) ||
           (strcmp(name, "class-weight") == 0 && strcmp(value, "none") != 0 &&
            strcmp(value, "balanced") != 0) ||
           (strcmp(name, "sigma") == 0 && *value == '@') ||
           (strcmp(name, "kernel") == 0 && strncmp(value, "table:", 6) == 0);
}

void fuzz_set_options(kb_context *ctx, kb_options *options, const char *line, const char *allowed) {
    char text[2048], *rest = text;
    snprintf(text, sizeof text, "%s", line);
    for (char *word; (word = strsep(&rest, " "));) {
        char *value = strchr(word, '=');
        if (!value)
            continue;
        *value++ = '\0';
        if ((!allowed || is_word_of(allowed, word)) && !opens_a_file(word, value))
            fuzz_status(ctx, kb_options_set(ctx, options, word, value));
    }
}

unsigned long fuzz_number(const char *line, const char *name, unsigned long otherwise) {
    size_t length = strlen(name);
    for (const char *at = line; (at = strstr(at, name)); at++)
        if (at[length] == '=')
            return strtoul(at + length + 1, NULL, 10);
    return otherwise;
}

uint64_t fuzz_random(uint64_t *state) {
    uint64_t z = *state += 0x9e3779b97f4a7c15u; /* splitmix64 */
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}
