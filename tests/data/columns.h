/*
 * columns.h - samples with columns of every kind that scaling meets.
 */
#ifndef KB_TESTS_COLUMNS_H
#define KB_TESTS_COLUMNS_H

#include "samples.h"

#include "core/random.h"
#include "data/scaling.h"

#include <float.h>
#include <math.h>

enum { N = 157, D = 5 };

/* Columns: uniform; mostly zero; constant; far from zero; with ties. */
static inline void fill(double *x) {
    for (int i = 0; i < N; i++) {
        kb_uniform2 p = kb_random_uniform(3, KB_STREAM_SYNTHETIC, (uint64_t)i, 1);
        double *row = x + i * D;
        row[0] = p.u - 0.3;
        row[1] = p.v < 0.2 ? p.u + 1 : 0;
        row[2] = 7;
        row[3] = 1e6 + p.v;
        row[4] = floor(4 * p.u) - 1;
    }
}

/* The same samples, dense or compressed. */
static inline kb_data *samples(kb_context *ctx, const double *x, int sparse) {
    kb_data *data;
    size_t start[N + 1] = {0}, used = 0;
    uint32_t column[N * D];
    double value[N * D];
    if (!sparse) {
        assert_ok(ctx, data_from_dense(ctx, N, D, x, NULL, &data));
        return data;
    }
    for (int i = 0; i < N; i++) {
        for (uint32_t j = 0; j < D; j++)
            if (x[i * D + (int)j] != 0) {
                column[used] = j;
                value[used++] = x[i * D + (int)j];
            }
        start[i + 1] = used;
    }
    assert_ok(ctx, data_from_csr(ctx, N, D, start, column, value, NULL, &data));
    return data;
}

#endif
