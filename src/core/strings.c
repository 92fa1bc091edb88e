/* strings.c - see strings.h. */
#include "core/strings.h"

kb_status kb_strings_copy(kb_context *ctx, size_t count, char *const *from, char ***out) {
    kb_status status = KB_OK;
    *out = NULL;
    if (!from)
        return KB_OK;
    TRY(kb_zalloc(ctx, count, sizeof(char *), out));
    for (size_t i = 0; i < count; i++)
        TRY(kb_strdup(ctx, from[i], &(*out)[i]));
done:
    if (status != KB_OK) {
        kb_strings_free(kb_allocator_of(ctx), count, *out);
        *out = NULL;
    }
    return status;
}

void kb_strings_free(kb_allocator allocator, size_t count, char **strings) {
    for (size_t i = 0; strings && i < count; i++)
        kb_allocator_release(allocator, strings[i]);
    kb_allocator_release(allocator, strings);
}

int kb_matches(const char *pattern, const char *text) {
    const char *star = NULL, *from = NULL;
    for (;;) {
        if (*pattern == '*') {
            star = ++pattern;
            from = text;
        } else if (*text != '\0' && (*pattern == '?' || *pattern == *text)) {
            pattern++;
            text++;
        } else if (*text == '\0' && *pattern == '\0') {
            return 1;
        } else if (star && *from != '\0') {
            pattern = star; /* the star takes one more */
            text = ++from;
        } else {
            return 0;
        }
    }
}
