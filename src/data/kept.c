/* kept.c - see kept.h. */
#include "data/kept.h"
#include "core/strings.h"

#include <string.h>

kb_status kb_kept_create(kb_context *ctx, size_t columns, kb_kept **out) {
    kb_status status;
    TRY(kb_zalloc(ctx, 1, sizeof **out, out));
    (*out)->columns = columns;
    TRY(kb_zalloc(ctx, columns, sizeof *(*out)->name, &(*out)->name));
done:
    if (status != KB_OK && *out) {
        kb_release(ctx, *out);
        *out = NULL;
    }
    return status;
}

void kb_kept_free(kb_allocator allocator, kb_kept *kept) {
    if (!kept)
        return;
    kb_strings_free(allocator, kept->columns, kept->name);
    kb_allocator_release(allocator, kept->begin);
    kb_allocator_release(allocator, kept->text);
    kb_allocator_release(allocator, kept);
}

kb_status kb_kept_add(kb_context *ctx, kb_kept *k, const char *text, size_t length) {
    kb_status status;
    TRY(kb_reserve(ctx, k->cells + 1, sizeof *k->begin, &k->cell_capacity, &k->begin));
    TRY(kb_reserve(ctx, k->length + length + 1, 1, &k->text_capacity, &k->text));
    k->begin[k->cells++] = k->length;
    memcpy(k->text + k->length, text, length);
    k->length += length;
    k->text[k->length++] = '\0';
done:
    return status;
}
