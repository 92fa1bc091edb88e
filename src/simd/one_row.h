/*
 * one_row.h - the bins of one row in all grids.
 *
 * Memory decides the time, not arithmetic: each grid looks into a table of its own, and few of
 * these tables are in the caches.  So the known bins lie in lines of one cache line each, with five
 * keys and what they stand for, and a grid costs one miss.  A key belongs to one line of its grid;
 * a line that is full goes on in another one.
 */
#ifndef KB_SIMD_ONE_ROW_H
#define KB_SIMD_ONE_ROW_H

#include "simd/bins.h"

enum { KB_LINE_KEYS = 5 };

typedef struct kb_key_line {
    uint64_t key[KB_LINE_KEYS]; /* a place that is free has a key of another line */
    uint32_t value[KB_LINE_KEYS];
    uint32_t more; /* the line that goes on, counted from the first of all; 0: none */
} kb_key_line;

/* The line of a key, among the `count` of its grid. */
static inline size_t kb_line_of(uint64_t key, uint64_t count) {
    return (size_t)(((key >> 32) * count) >> 32);
}

/* Blocks of KB_LANES grids.  The lanes past the last grid have one line, without the key 0. */
typedef struct kb_one_row {
    size_t blocks, features;
    const double *parameter; /* kb_grids: blocks x features x {1/delta, offset} x lanes */
    const uint64_t *factor;  /* of the hash */
    const kb_key_line *line; /* begins at a cache line */
    const uint64_t *first;   /* blocks x lanes: the first line of each grid */
    const uint64_t *count;   /* and their number */
    const uint64_t *mask;    /* blocks x lanes: the bits that keys are compared by; NULL: all */
} kb_one_row;

typedef struct kb_one_row_loops {
    /* The values of the bins of a row, UINT32_MAX where its bin is not known; returns how many are
     * known.  y: the scaled features, none beyond a bound of the grids; NULL: `keys` has the keys.
     * keys, value: one a lane. */
    size_t (*find)(const kb_one_row *row, const double *y, uint64_t *keys, uint32_t *value);

    /* The same where the values are floats: their sum, in the order of the grids. */
    size_t (*sum)(const kb_one_row *row, const double *y, uint64_t *keys, double *sum);
} kb_one_row_loops;

#endif
