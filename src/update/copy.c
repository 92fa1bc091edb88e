/* copy.c - see copy.h. */
#include "update/copy.h"
#include "options/say.h"

#include <string.h>
#include <sys/mman.h>

/* bytes NULL: they are only counted. */
typedef struct buffer {
    char *bytes;
    size_t count;
} buffer;

static kb_status put(void *user, const void *bytes, size_t count) {
    buffer *b = user;
    if (b->bytes && count > 0)
        memcpy(b->bytes + b->count, bytes, count);
    b->count += count;
    return KB_OK;
}

kb_status kb_model_copy(kb_context *ctx, const kb_model *model, double limit, kb_model **out) {
    kb_status status;
    buffer all = {0}, copy = {0};
    *out = NULL;
    TRY(kb_model_write_bytes(ctx, model, put, &all));
    double need = 2 * (double)all.count;
    if (need > limit)
        TRY(kb_fail(ctx, KB_ERR_MEMORY,
                    "a copy of the model needs %s of memory, and %s may be taken: use a larger %s",
                    kb_size_in_words(need).text, kb_size_in_words(limit).text,
                    kb_say(ctx, KB_OPT_MAX_MEMORY).text));
    TRY(kb_alloc(ctx, all.count, 1, &copy.bytes));
    TRY(kb_model_write_bytes(ctx, model, put, &copy));
    TRY(kb_model_read_bytes(ctx, copy.bytes, copy.count, out));
done:
    kb_release(ctx, copy.bytes);
    return status;
}

kb_status kb_model_take_map(kb_context *ctx, kb_model *copy, kb_map **out) {
    kb_status status;
    kb_map *map = copy->map;
    int scale;
    *out = NULL;
    /* A file keeps these with the fit. */
    TRY(kb_strdup(ctx, copy->info.kernel, &map->kernel));
    TRY(kb_strdup(ctx, copy->info.sigma_text, &map->sigma));
    if (!kb_choice_find(KB_OPT_SCALE, copy->info.scale, &scale))
        TRY(kb_fail(ctx, KB_ERR_MODEL, "the scaling '%.40s' is not known", copy->info.scale));
    map->scaling = kb_choice_word(KB_OPT_SCALE, scale);
    map->dictionary = (kb_dictionary){0}; /* they lie in the file, like the weights */
    map->borrowed = 0;
    copy->weight = NULL;
    munmap(copy->file, copy->file_bytes);
    copy->file = NULL;
    kb_release(ctx, copy->intercept);
    kb_release(ctx, copy->prior);
    copy->intercept = copy->prior = NULL;
    copy->map = NULL;
    *out = map;
done:
    return status;
}
