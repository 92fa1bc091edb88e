/*
 * points.h - samples as the rival maps see them: scaled and divided by sigma, so that every
 * kernel is that of sigma = 1.
 *
 *     value = (x - shift) * factor,   factor = scale / sigma, of the feature
 */
#ifndef KB_RIVALS_POINTS_H
#define KB_RIVALS_POINTS_H

#include "data/data.h"

typedef struct kb_metric {
    size_t features;
    const double *shift, *factor;
} kb_metric;

typedef struct kb_points {
    kb_allocator allocator;
    size_t rows, features;

    /* One of the two forms, that of the data. */
    double *dense;     /* rows x features */
    size_t *row_start; /* rows + 1 */
    uint32_t *column;
    double *value;
    double *zero; /* features: the value of x = 0, where a sparse row has no entry */
} kb_points;

/* The rows begin .. begin + count of the data, or those that `order` names at those places.
 * O(values) time and bytes.  *out belongs to the caller (kb_points_free); on failure it is NULL. */
kb_status kb_points_build(kb_context *ctx, const kb_metric *metric, const kb_data *data,
                          size_t begin, size_t count, const uint32_t *order, kb_points **out);
/* Empty ones to be filled, with room for `entries` if sparse. */
kb_status kb_points_create(kb_context *ctx, size_t rows, size_t features, int sparse,
                           size_t entries, kb_points **out);
/* Makes the one row of dense points those of x. */
void kb_points_set(const kb_metric *metric, const double *x, kb_points *points);
void kb_points_free(kb_points *points);

/* Bytes that the points of such data take. */
double kb_points_bytes(const kb_data *data);

/* Whether rows have so few entries that merging those of a pair is faster than dense tiles. */
int kb_points_thin(const kb_points *points);

/* Features k .. k + K of the rows first .. first + rows, `lanes` rows side by side: for each
 * group of so many rows K x lanes numbers, zeros where there is no row.  See simd/tiles.h. */
void kb_points_pack(const kb_points *points, size_t first, size_t rows, size_t lanes, size_t k,
                    size_t K, double *out);

/* The sum over the features of direction * (value - zero): the same bits for both forms. */
double kb_points_project(const kb_points *points, size_t i, const double *direction);

#endif
