/*
 * samples.h - samples in both forms, for tests of all rooms.
 */
#ifndef KB_TESTS_SAMPLES_H
#define KB_TESTS_SAMPLES_H

#include "support.h"

#include "data/data.h"

/* Compressed rows of the dense x (N x d).  Zeros are left out, but for those of every `keep`-th
 * row; 0: of all rows. */
static inline kb_data *compressed(kb_context *ctx, size_t N, size_t d, const double *x,
                                  const double *labels, size_t keep) {
    kb_data *data;
    size_t used = 0, *start = calloc(N + 1, sizeof *start);
    uint32_t *column = malloc((N * d + 1) * sizeof *column);
    double *value = malloc((N * d + 1) * sizeof *value);
    assert_true(start && column && value);
    for (size_t i = 0; i < N; i++) {
        for (size_t j = 0; j < d; j++)
            if (x[i * d + j] != 0 || (keep && i % keep == keep - 1)) {
                column[used] = (uint32_t)j;
                value[used++] = x[i * d + j];
            }
        start[i + 1] = used;
    }
    assert_ok(ctx, data_from_csr(ctx, N, d, start, column, value, labels, &data));
    free(start), free(column), free(value);
    return data;
}

/* Row i, column j, whatever the form. */
static inline double cell(const kb_data *data, size_t i, size_t j) {
    kb_row row = kb_data_row(data, i);
    if (!row.column)
        return row.value[j];
    for (size_t e = 0; e < row.count; e++)
        if (row.column[e] == j)
            return row.value[e];
    return 0;
}

/* For qsort. */
static inline int by_size(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

#endif
