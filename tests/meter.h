/*
 * meter.h - an allocator that knows how much is taken, for the tests of memory forecasts.
 */
#ifndef KB_TESTS_METER_H
#define KB_TESTS_METER_H

#include "support.h"

typedef struct meter {
    size_t now, peak;
} meter;

enum { METER_HEAD = 64 };

/* realloc with the size of each block in front of it. */
static inline void *metered(void *user, void *block, size_t bytes) {
    meter *m = user;
    char *old = block ? (char *)block - METER_HEAD : NULL;
    size_t had = 0;
    if (old)
        memcpy(&had, old, sizeof had);
    m->now -= had;
    if (bytes == 0) {
        free(old);
        return NULL;
    }
    char *grown = realloc(old, bytes + METER_HEAD);
    assert_non_null(grown);
    memcpy(grown, &bytes, sizeof bytes);
    m->now += bytes;
    m->peak = m->now > m->peak ? m->now : m->peak;
    return grown + METER_HEAD;
}

/* A context of one thread whose memory is counted in `m`, which must outlive it. */
static inline kb_context *metered_context(meter *m) {
    kb_context *ctx;
    kb_context_config config = {.size = sizeof config,
                                .user = m,
                                .reallocate = metered,
                                .threads = 1,
                                .option_style = KB_STYLE_FLAG};
    assert_int_equal(kb_context_create(&config, &ctx), KB_OK);
    return ctx;
}

#endif
