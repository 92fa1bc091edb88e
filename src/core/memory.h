/*
 * memory.h - checked memory: sizes that cannot overflow, and a clear message when
 * there is no more.  All memory of the library comes from here.
 */
#ifndef KB_CORE_MEMORY_H
#define KB_CORE_MEMORY_H

#include "core/context.h"

/* *out = count items of `size` bytes, not initialised (kb_zalloc: zero).  A count
 * of 0 gives a block that may be freed, never NULL. */
kb_status kb_alloc(kb_context *ctx, size_t count, size_t size, void *out);
kb_status kb_zalloc(kb_context *ctx, size_t count, size_t size, void *out);

/* Resizes the block at *inout, keeping its content; on failure it is unchanged. */
kb_status kb_realloc(kb_context *ctx, size_t count, size_t size, void *inout);

/* Makes room for `need` items in a growing array of *capacity items. */
kb_status kb_reserve(kb_context *ctx, size_t need, size_t size, size_t *capacity, void *inout);

kb_status kb_strdup(kb_context *ctx, const char *text, char **out);
/* A printf into fresh memory. */
kb_status kb_format(kb_context *ctx, char **out, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

void kb_release(kb_context *ctx, void *block);

/* A handle is freed without a context, so it keeps this copy of the allocator.  The caller must
 * keep the allocator usable for that long. */
typedef struct kb_allocator {
    void *user;
    void *(*reallocate)(void *user, void *block, size_t bytes);
} kb_allocator;

kb_allocator kb_allocator_of(const kb_context *ctx);
void kb_allocator_release(kb_allocator allocator, void *block);

/* Asks for large pages in memory that is still to be written, where the system has them: less time
 * for reads all over it. */
void kb_prefer_large_pages(void *block, size_t bytes);

/* From now on what the context allocates is counted, less what it releases, and an allocation that
 * would make it more than `limit` bytes fails with KB_ERR_MEMORY; until kb_charge_end, which tells
 * whether one has failed.  For work whose size is not known before.  Nothing is counted with an
 * allocator of the caller, who can count for himself. */
void kb_charge_begin(kb_context *ctx, size_t limit);
int kb_charge_end(kb_context *ctx);
/* SIZE_MAX where nothing is counted. */
size_t kb_charge_left(kb_context *ctx);
/* Memory that others take, such as decompressors, was refused for what is left. */
void kb_charge_refuse(kb_context *ctx);

typedef kb_status kb_read_body(kb_context *ctx, const char *path, void *user);

/* Calls `read`, which reads the file.  A file does not tell how much memory its content takes, so
 * that is counted: more than `limit` bytes is KB_ERR_MEMORY and a sentence that ends with `advice`.
 * Text that is being parsed comes on top: it does not stay. */
kb_status kb_read_charged(kb_context *ctx, const char *path, size_t limit, const char *advice,
                          kb_read_body *read, void *user);

/* "512 MiB", "1.3 GiB": for messages. */
typedef struct kb_size_text {
    char text[24];
} kb_size_text;
kb_size_text kb_size_in_words(double bytes);

#endif
