/*
 * strings.h - arrays of texts, and texts with wildcards.
 */
#ifndef KB_CORE_STRINGS_H
#define KB_CORE_STRINGS_H

#include "core/memory.h"

/* *out = a copy of `count` texts, freed by kb_strings_free; NULL on failure, and where `from` is
 * NULL. */
kb_status kb_strings_copy(kb_context *ctx, size_t count, char *const *from, char ***out);
void kb_strings_free(kb_allocator allocator, size_t count, char **strings);

/* Whether the whole text has the form of the pattern, in which * stands for any bytes and ? for
 * one. */
int kb_matches(const char *pattern, const char *text);

#endif
