/*
 * order.h - numbers compared, sorted and selected.
 */
#ifndef KB_CORE_ORDER_H
#define KB_CORE_ORDER_H

#include <stddef.h>
#include <stdint.h>

static inline size_t kb_least(size_t a, size_t b) {
    return a < b ? a : b;
}

/* For qsort and bsearch: increasing. */
int kb_compare_doubles(const void *a, const void *b);
int kb_compare_uint32(const void *a, const void *b);

/* The value of rank k, counted from 0; reorders x.  O(count) on average. */
double kb_select_rank(double *x, size_t count, size_t k);

#endif
