/*
 * bytes.h - how a part of the work reports the memory that it will take, before it takes any.
 *
 * Each part has a function `kb_.._bytes` that returns these three numbers; fit/forecast.c adds them
 * up.
 */
#ifndef KB_CORE_BYTES_H
#define KB_CORE_BYTES_H

#include <stddef.h>

typedef struct kb_bytes {
    double fixed; /* bytes in all */
    double row;   /* more for each row of the data */
    double bin;   /* more for each bin, or column of Z */
} kb_bytes;

static inline void kb_bytes_add(kb_bytes *sum, kb_bytes part) {
    sum->fixed += part.fixed;
    sum->row += part.row;
    sum->bin += part.bin;
}

/* What is taken beside the bin numbers, which are forecast while the first grids are binned. */
typedef struct kb_memory_plan {
    size_t limit;   /* bytes that may be taken in all */
    double fixed;   /* bytes that do not depend on the bins */
    double per_bin; /* bytes for each bin of Z */
} kb_memory_plan;

#endif
