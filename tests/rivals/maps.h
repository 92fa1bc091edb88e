/*
 * maps.h - what the tests of the rival maps share: a map over a cloud of samples.
 */
#ifndef KB_TESTS_MAPS_H
#define KB_TESTS_MAPS_H

#include "dense.h"
#include "features/cloud.h"
#include "rivals/rival.h"
#include "rivals/rival_parts.h"
#include "solve/direct.h"

typedef struct rivalry {
    const cloud *c;
    kb_rival_kind kind;
    const char *kernel;
    size_t rank;
    kb_landmarks landmarks;
    double lambda;
} rivalry;

/* sigma is 1 / (the cloud's factor), and so different for each feature. */
static inline kb_status rival_of(kb_context *ctx, const rivalry *t, const kb_data *data,
                                 kb_rival **out) {
    double *one = malloc(t->c->d * sizeof *one), *sigma = malloc(t->c->d * sizeof *sigma);
    assert_non_null(one);
    assert_non_null(sigma);
    for (size_t j = 0; j < t->c->d; j++) {
        one[j] = 1;
        sigma[j] = 1 / t->c->factor[j];
    }
    kb_rival_spec spec = {t->kind, t->kernel, t->c->shift, one, sigma, t->rank, 7, t->landmarks};
    kb_status status = kb_rival_build(ctx, &spec, data, out);
    free(one), free(sigma);
    return status;
}

/* The matrix K of the operator, column by column. */
static inline double *matrix_of(kb_context *ctx, kb_operator *op) {
    size_t N = op->rows;
    double *K = malloc((N * N + 1) * sizeof *K), *one = calloc(N + 1, sizeof *one);
    double *column = malloc((N + 1) * sizeof *column);
    assert_true(K && one && column);
    for (size_t j = 0; j < N; j++) {
        one[j] = 1;
        assert_ok(ctx, op->apply_k(op, ctx, 1, one, column, NULL));
        one[j] = 0;
        for (size_t i = 0; i < N; i++)
            K[i * N + j] = column[i];
    }
    free(one), free(column);
    return K;
}

/* The block of each sample; every sample is in one. */
static inline size_t *block_of_samples(const kb_rival *r) {
    size_t *block = malloc(r->columns * sizeof *block);
    assert_non_null(block);
    for (size_t i = 0; i < r->columns; i++)
        block[i] = SIZE_MAX;
    for (size_t b = 0; b < r->blocks; b++)
        for (size_t k = r->start[b]; k < r->start[b + 1]; k++) {
            assert_int_equal(block[r->order[k]], SIZE_MAX);
            block[r->order[k]] = b;
        }
    return block;
}

enum { CHECK_COLUMNS = 3 };

#endif
