/* memory.c - see memory.h. */
#define _DEFAULT_SOURCE /* madvise */
#include "core/memory.h"

#if defined(__APPLE__)
#include <malloc/malloc.h>
#define malloc_usable_size malloc_size
#else
#include <malloc.h>
#endif
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

kb_size_text kb_size_in_words(double bytes) {
    static const char *const unit[] = {"bytes", "KiB", "MiB", "GiB", "TiB", "PiB"};
    kb_size_text out;
    int u = 0;
    while (bytes >= 1024 && u < 5) {
        bytes /= 1024;
        u++;
    }
    snprintf(out.text, sizeof out.text, bytes < 10 && u > 0 ? "%.1f %s" : "%.0f %s", bytes,
             unit[u]);
    return out;
}

/* ---- the charge -------------------------------------------------------- */

void kb_charge_begin(kb_context *ctx, size_t limit) {
    atomic_store(&ctx->charged, 0);
    ctx->refused = 0;
    ctx->ceiling = ctx->guarded || limit >= LLONG_MAX ? 0 : limit > 0 ? (long long)limit : 1;
}

int kb_charge_end(kb_context *ctx) {
    ctx->ceiling = 0;
    return ctx->refused;
}

size_t kb_charge_left(kb_context *ctx) {
    long long left = ctx->ceiling - atomic_load(&ctx->charged);
    return ctx->ceiling == 0 ? SIZE_MAX : left > 0 ? (size_t)left : 0;
}

void kb_charge_refuse(kb_context *ctx) {
    ctx->refused = ctx->ceiling > 0;
}

/* Blocks of the standard allocator know their size. */
static void *reallocate_charged(kb_context *ctx, void *block, size_t bytes) {
    long long before = block ? (long long)malloc_usable_size(block) : 0;
    long long more = (long long)bytes - before;
    if (more > 0 && (size_t)more > kb_charge_left(ctx)) {
        ctx->refused = 1;
        return NULL;
    }
    void *moved = ctx->config.reallocate(ctx->config.user, block, bytes);
    if (moved || bytes == 0)
        atomic_fetch_add(&ctx->charged,
                         (moved ? (long long)malloc_usable_size(moved) : 0) - before);
    return moved;
}

/* ---- blocks ------------------------------------------------------------ */

/* The caller's allocator is called by one thread at a time, as kerbin.h promises; realloc and free
 * need no lock, and threads that wait for one are slow. */
static void *reallocate(kb_context *ctx, void *block, size_t bytes) {
    if (ctx->ceiling > 0)
        return reallocate_charged(ctx, block, bytes);
    if (ctx->guarded)
        pthread_mutex_lock(&ctx->lock);
    void *moved = ctx->config.reallocate(ctx->config.user, block, bytes);
    if (ctx->guarded)
        pthread_mutex_unlock(&ctx->lock);
    return moved;
}

kb_status kb_realloc(kb_context *ctx, size_t count, size_t size, void *inout) {
    void **block = inout;
    size_t bytes;
    if (__builtin_mul_overflow(count, size, &bytes))
        return kb_fail(ctx, KB_ERR_MEMORY, "out of memory: %zu items of %zu bytes", count, size);
    if (bytes == 0)
        bytes = 1;
    void *grown = reallocate(ctx, *block, bytes);
    if (grown) {
        *block = grown;
        return KB_OK;
    }
    pthread_mutex_lock(&ctx->lock);
    kb_status status = kb_fail(ctx, KB_ERR_MEMORY, "out of memory: cannot get %s",
                               kb_size_in_words((double)bytes).text);
    pthread_mutex_unlock(&ctx->lock);
    return status;
}

kb_status kb_alloc(kb_context *ctx, size_t count, size_t size, void *out) {
    *(void **)out = NULL;
    return kb_realloc(ctx, count, size, out);
}

kb_status kb_zalloc(kb_context *ctx, size_t count, size_t size, void *out) {
    kb_status status = kb_alloc(ctx, count, size, out);
    if (status == KB_OK)
        memset(*(void **)out, 0, count * size);
    return status;
}

kb_status kb_reserve(kb_context *ctx, size_t need, size_t size, size_t *capacity, void *inout) {
    if (need <= *capacity)
        return KB_OK;
    size_t grown = *capacity + *capacity / 2 + 16, spare = kb_charge_left(ctx) / size / 4;
    if (grown < need)
        grown = need;
    if (grown - need > spare) /* little is left */
        grown = need + spare;
    kb_status status = kb_realloc(ctx, grown, size, inout);
    if (status == KB_OK)
        *capacity = grown;
    return status;
}

kb_status kb_strdup(kb_context *ctx, const char *text, char **out) {
    size_t bytes = strlen(text) + 1;
    kb_status status = kb_alloc(ctx, bytes, 1, out);
    if (status == KB_OK)
        memcpy(*out, text, bytes);
    return status;
}

kb_status kb_format(kb_context *ctx, char **out, const char *format, ...) {
    va_list args;
    va_start(args, format);
    int length = vsnprintf(NULL, 0, format, args);
    va_end(args);
    kb_status status = kb_alloc(ctx, (size_t)length + 1, 1, out);
    if (status == KB_OK) {
        va_start(args, format);
        vsnprintf(*out, (size_t)length + 1, format, args);
        va_end(args);
    }
    return status;
}

void kb_release(kb_context *ctx, void *block) {
    if (block)
        reallocate(ctx, block, 0);
}

kb_allocator kb_allocator_of(const kb_context *ctx) {
    return (kb_allocator){ctx->config.user, ctx->config.reallocate};
}

void kb_allocator_release(kb_allocator allocator, void *block) {
    if (block)
        allocator.reallocate(allocator.user, block, 0);
}

void kb_prefer_large_pages(void *block, size_t bytes) {
#ifdef MADV_HUGEPAGE
    const uintptr_t page = (uintptr_t)2 << 20;
    uintptr_t begin = ((uintptr_t)block + page - 1) / page * page;
    uintptr_t end = ((uintptr_t)block + bytes) / page * page;
    if (begin < end)
        (void)madvise((void *)begin, end - begin, MADV_HUGEPAGE); /* as it was, where it fails */
#else
    (void)block, (void)bytes;
#endif
}

/* ---- reading ----------------------------------------------------------- */

enum { BLOCKS = 4 << 20, BLOCKS_OF_A_THREAD = 1 << 20 };

kb_status kb_read_charged(kb_context *ctx, const char *path, size_t limit, const char *advice,
                          kb_read_body *read, void *user) {
    size_t blocks = BLOCKS + (size_t)ctx->threads * BLOCKS_OF_A_THREAD;
    kb_charge_begin(ctx, limit < SIZE_MAX - blocks ? limit + blocks : limit);
    kb_status status = read(ctx, path, user);
    int refused = kb_charge_end(ctx);
    if (status == KB_ERR_MEMORY && refused)
        return kb_fail(ctx, status, "%s: reading it takes more than %s of memory: %s",
                       strcmp(path, "-") ? path : "standard input",
                       kb_size_in_words((double)limit).text, advice);
    return status;
}
