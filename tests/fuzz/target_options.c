/*
 * target_options.c - options by name: each line of the input is name=value.
 *
 * A value that was refused changes nothing; one that was taken is taken again as it reads.
 */
#define _GNU_SOURCE
#include "fuzz.h"

#include "options/config.h"

#include <stdlib.h>
#include <string.h>

static void set_one(kb_context *ctx, kb_options *options, const char *name, const char *value) {
    char *before = NULL;
    if (kb_options_get(options, name))
        fuzz_check((before = strdup(kb_options_get(options, name))));
    kb_status status = fuzz_status(ctx, kb_options_set(ctx, options, name, value));
    const char *after = kb_options_get(options, name);
    if (status == KB_OK) {
        fuzz_check(after);
        char *copy = strdup(after);
        fuzz_check(copy && kb_options_set(ctx, options, name, copy) == KB_OK);
        fuzz_check(strcmp(kb_options_get(options, name), copy) == 0);
        free(copy);
    } else {
        fuzz_check((!before && !after) || strcmp(before, after) == 0);
    }
    free(before);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    kb_context *ctx = fuzz_context();
    kb_options *options;
    char *text = malloc(size + 1), *at, *next;
    fuzz_check(text && kb_options_create(ctx, &options) == KB_OK);
    if (size)
        memcpy(text, data, size);
    text[size] = '\0';
    for (at = text; at; at = next) {
        next = strchr(at, '\n');
        if (next)
            *next++ = '\0';
        char *value = strchr(at, '=');
        if (value) {
            *value++ = '\0';
            set_one(ctx, options, at, value);
        }
    }
    kb_config config = kb_config_of(options);
    kb_config_set_untuned(&config);
    kb_options_free(options);
    free(text);
    fuzz_context_end(ctx);
    return 0;
}
