/*
 * masked_rows.h - the inner loops over single columns of Z.
 *
 * A column is a list of octets: eight rows side by side, of which some belong to it.  An octet is
 * its number, shifted left by eight, and a bit for each row that belongs.  Rows that are close
 * share most of their bins, so where close rows lie side by side an octet has several, and costs
 * one vector instead of a jump for each.
 *
 * All levels of CPU give the same bits (simd.h): a sum runs over each of the eight places of the
 * octets, then over the places.
 *
 * The arrays are read and written by whole octets: they have room for the last one, whose other
 * rows are left unchanged.
 */
#ifndef KB_SIMD_MASKED_ROWS_H
#define KB_SIMD_MASKED_ROWS_H

#include <stddef.h>
#include <stdint.h>

enum { KB_OCTET = 8 };
/* A row's octet alone. */
static inline uint32_t kb_octet_of(size_t row) {
    return (uint32_t)(row / KB_OCTET << 8) | 1u << row % KB_OCTET;
}

/* Rows with targets 1 and -1: gaps u = y - f are open if u y >= 0. */
typedef struct kb_open_gaps {
    double sum;
    double count;
} kb_open_gaps;

typedef struct kb_masked_rows {
    /* The sum of v over the rows. */
    double (*sum)(const uint32_t *octet, size_t count, const double *v);

    /* v += by. */
    void (*add)(const uint32_t *octet, size_t count, double by, double *v);

    /* v += by h. */
    void (*add_times)(const uint32_t *octet, size_t count, double by, const double *h, double *v);

    /* v += by h, rounded by adding `round` and taking it off again, and no larger than `most`. */
    void (*add_rounded)(const uint32_t *octet, size_t count, double by, const double *h,
                        double round, double most, double *v);

    /* The gaps that are open; bit i of up[k] says whether row 8 k + i has y > 0. */
    kb_open_gaps (*open)(const uint32_t *octet, size_t count, const uint8_t *up, const double *u);

    /* u += by, and the sum of those that are open there. */
    double (*move)(const uint32_t *octet, size_t count, const uint8_t *up, double by, double *u);
} kb_masked_rows;

#endif
