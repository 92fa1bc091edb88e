/*
 * rivalchecks.h - checks that every rival must pass.
 */
#ifndef KB_TESTS_RIVALCHECKS_H
#define KB_TESTS_RIVALCHECKS_H

#include "features/cloud.h"
#include "rivals/rival_parts.h"

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

/* out = A B, A rows x inner. */
static inline double *test_product(const double *A, size_t rows, size_t inner, size_t C,
                                   const double *B) {
    double *out = calloc(rows * C + 1, sizeof *out);
    assert_non_null(out);
    for (size_t i = 0; i < rows; i++)
        for (size_t k = 0; k < inner; k++)
            for (size_t c = 0; c < C; c++)
                out[i * C + c] += A[i * inner + k] * B[k * C + c];
    return out;
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

enum { CHECK_COLUMNS = 3 };

/* K V, |Z'V|^2, Z W, Z'V, decisions for the same samples, and a direct solution. */
static inline double *everything(kb_context *ctx, const rivalry *t, size_t room, int round_trip,
                                 const kb_data *data, size_t *count) {
    kb_rival *rival, *copy = NULL;
    kb_operator *op;
    size_t N = data->rows, C = CHECK_COLUMNS;
    assert_ok(ctx, rival_of(ctx, t, data, &rival));
    assert_ok(ctx, kb_rival_operator(ctx, rival, data, room, &op));
    assert_int_equal(op->rows, N);
    assert_int_equal(op->columns, rival->columns);
    size_t D = op->columns;
    *count = (4 * N + D + 1) * C;
    double *out = calloc(*count, sizeof *out), *v = test_numbers(1, N * C);
    double *w = test_numbers(2, D * C);
    assert_non_null(out);
    assert_ok(ctx, op->apply_k(op, ctx, C, v, out, out + (4 * N + D) * C));
    assert_ok(ctx, op->apply(op, ctx, C, w, out + N * C));
    assert_ok(ctx, op->apply_t(op, ctx, C, v, out + 4 * N * C));
    if (round_trip) {
        kb_array arrays[KB_RIVAL_ARRAYS];
        size_t n = kb_rival_arrays(rival, arrays);
        assert_ok(ctx,
                  kb_rival_restore(ctx, t->kind, t->kernel, rival->features, n, arrays, &copy));
    }
    assert_ok(ctx, kb_rival_decide(ctx, copy ? copy : rival, data, C, w, out + 2 * N * C));
    if (kb_rival_is_direct(t->kind))
        assert_ok(ctx, kb_rival_solve(ctx, rival, t->lambda, NULL, C, v, out + 3 * N * C, NULL));
    kb_operator_free(op);
    kb_rival_free(copy);
    kb_rival_free(rival);
    free(v), free(w);
    return out;
}

/* The products fit together: K v = Z (Z' v), |Z'v|^2 = v' K v, decisions = Z w. */
static inline void check_products_fit(kb_context *ctx, const rivalry *t) {
    kb_rival *rival;
    kb_operator *op;
    size_t N = t->c->N, C = CHECK_COLUMNS, count;
    double *all = everything(ctx, t, SIZE_MAX, 0, t->c->dense, &count);
    assert_ok(ctx, rival_of(ctx, t, t->c->dense, &rival));
    assert_ok(ctx, kb_rival_operator(ctx, rival, t->c->dense, SIZE_MAX, &op));
    double *again = malloc((N * C + 1) * sizeof *again), *v = test_numbers(1, N * C), square[3];
    assert_ok(ctx, op->apply(op, ctx, C, all + 4 * N * C, again));
    assert_close(again, all, N * C, 1e-12);                   /* K v */
    assert_close(all + 2 * N * C, all + N * C, N * C, 1e-12); /* decisions */
    for (size_t c = 0; c < C; c++) {
        double want = 0;
        for (size_t i = 0; i < N; i++)
            want += v[i * C + c] * all[i * C + c];
        assert_true(fabs(all[(4 * N + op->columns) * C + c] - want) <= 1e-11 * (1 + fabs(want)));
    }
    assert_ok(ctx, op->apply_k(op, ctx, C, v, NULL, square)); /* without the product itself */
    assert_same_bits(square, all + (4 * N + op->columns) * C, C);
    kb_operator_free(op);
    kb_rival_free(rival);
    free(all), free(again), free(v);
}

/* The same bits for every number of threads, stored or not, saved and loaded or not, and from
 * sparse data. */
static inline void check_same_bits(const rivalry *t) {
    static const int teams[] = {1, 2, 3, 5};
    double *first = NULL;
    for (int m = 0; m < 7; m++) {
        test_state state = {0};
        size_t count;
        kb_context *ctx = test_context_with(&state, teams[m % 4]);
        double *all = everything(ctx, t, m == 4 ? 0 : SIZE_MAX, m == 5,
                                 m == 6 ? t->c->sparse : t->c->dense, &count);
        kb_context_free(ctx);
        assert_int_equal(state.live, 0);
        if (first)
            assert_same_bits(all, first, count);
        if (first)
            free(all);
        else
            first = all;
    }
    free(first);
}

static inline int use_rival(kb_context *ctx, void *arg) {
    const rivalry *t = arg;
    kb_rival *rival = NULL, *copy = NULL;
    kb_operator *op = NULL, *lean = NULL;
    kb_array arrays[KB_RIVAL_ARRAYS];
    size_t N = t->c->N;
    double b, *v = test_numbers(1, N), *out = malloc(N * sizeof *out), *w = calloc(4 * N + 99, 8);
    kb_status status;
    TRY(rival_of(ctx, t, t->c->dense, &rival));
    TRY(kb_rival_operator(ctx, rival, t->c->dense, SIZE_MAX, &op));
    TRY(kb_rival_operator(ctx, rival, t->c->dense, 0, &lean));
    TRY(op->apply_k(op, ctx, 1, v, out, NULL));
    TRY(lean->apply_t(lean, ctx, 1, v, w));
    TRY(lean->apply(lean, ctx, 1, w, out));
    if (kb_rival_is_direct(t->kind))
        TRY(kb_rival_solve(ctx, rival, t->lambda, NULL, 1, v, out, &b));
    TRY(kb_rival_restore(ctx, t->kind, t->kernel, rival->features, kb_rival_arrays(rival, arrays),
                         arrays, &copy));
    TRY(kb_rival_decide(ctx, copy, t->c->sparse, 1, w, out));
done:
    kb_operator_free(op);
    kb_operator_free(lean);
    kb_rival_free(copy);
    kb_rival_free(rival);
    free(v), free(out), free(w);
    return (int)status;
}

/* Arrays that are damaged are refused, or at least do no harm. */
static inline void check_damaged_arrays(kb_context *ctx, const rivalry *t, const kb_data *data) {
    kb_rival *rival, *copy;
    kb_array arrays[KB_RIVAL_ARRAYS], bad[KB_RIVAL_ARRAYS];
    assert_ok(ctx, rival_of(ctx, t, data, &rival));
    size_t n = kb_rival_arrays(rival, arrays);
    for (size_t k = 0; k < n; k++)
        for (int how = 0; how < 4; how++) {
            memcpy(bad, arrays, sizeof bad);
            double nan_there[4] = {NAN, NAN, NAN, NAN};
            if (how == 0)
                bad[k].name = "other";
            else if (how == 1)
                bad[k].shape[0]--; /* one more would be past the end */
            else if (how == 2)
                bad[k].type = (kb_array_type)((bad[k].type + 1) % 3);
            else if (bad[k].type == KB_ARRAY_F64 && bad[k].shape[0] * bad[k].shape[1] == 4)
                bad[k].bytes = nan_there;
            else
                bad[k].rank = 3 - bad[k].rank;
            assert_int_equal(
                kb_rival_restore(ctx, t->kind, t->kernel, rival->features, n, bad, &copy),
                KB_ERR_MODEL);
            assert_null(copy);
        }
    assert_int_equal(
        kb_rival_restore(ctx, t->kind, t->kernel, rival->features + 1, n, arrays, &copy),
        KB_ERR_MODEL);
    kb_rival_free(rival);
}

#endif
