/* test_joined_operator.c - products of Z with its rows on several ranks. */
#define _POSIX_C_SOURCE 200809L
#include "joined/joined_world.h"

#include "joined/joined_operator.h"

enum { ROWS = 2 * KB_RANK_ROWS + 100, GRIDS = 21, WIDEST = 7 };

typedef struct products {
    world w;
    kb_operator *exact; /* of one process */
    double *v, *weights, *zero;
    double *zv, *zw, *kv, *square; /* by one rank: bits that the others must have */
    size_t C;
    int first;
} products;

static void multiply(kb_context *ctx, void *arg) {
    products *p = arg;
    kb_data view;
    kb_binned mine = joined_rows(ctx, &p->w, &view);
    kb_operator *op = mine.op;
    size_t D = mine.z->bins, N = view.rows, C = p->C, at = view.first_row * C;
    double *zv = malloc(D * C * sizeof *zv), *zw = malloc((N + 1) * C * sizeof *zw);
    double *kv = malloc((N + 1) * C * sizeof *kv), square[WIDEST], again[WIDEST];
    assert_ok(ctx, op->apply_t(op, ctx, C, p->v + at, zv));
    assert_ok(ctx, op->apply(op, ctx, C, p->weights, zw));
    assert_ok(ctx, op->apply_k(op, ctx, C, p->v + at, kv, square));
    assert_ok(ctx, op->apply_k(op, ctx, C, p->v + at, NULL, again));
    assert_same_bits(square, again, C);
    if (p->first) {
        memcpy(p->zv, zv, D * C * sizeof *zv);
        memcpy(p->zw, zw, N * C * sizeof *zw);
        memcpy(p->kv, kv, N * C * sizeof *kv);
        memcpy(p->square, square, C * sizeof *square);
    }
    assert_same_bits(zv, p->zv, D * C);
    assert_same_bits(zw, p->zw + at, N * C);
    assert_same_bits(kv, p->kv + at, N * C);
    assert_same_bits(square, p->square, C);
    free(zv), free(zw), free(kv);
    kb_binned_release(&mine);
}

/* 1e-12: a number is rounded by 2^-51 of the largest, and there are up to 4,196 in a sum. */
static void compare_with_one_process(kb_context *ctx, const products *p) {
    size_t D = p->w.z->bins, N = p->w.N, C = p->C;
    double *bins = malloc(D * C * sizeof *bins), *rows = malloc(N * C * sizeof *rows);
    double square[WIDEST];
    assert_ok(ctx, p->exact->apply_t(p->exact, ctx, C, p->v, bins));
    assert_close(p->zv, bins, D * C, 1e-12);
    assert_ok(ctx, p->exact->apply(p->exact, ctx, C, p->weights, rows));
    assert_close(p->zw, rows, N * C, 1e-12);
    assert_ok(ctx, p->exact->apply_k(p->exact, ctx, C, p->v, rows, square));
    assert_close(p->kv, rows, N * C, 1e-12);
    assert_close(p->square, square, C, 1e-12);
    free(bins), free(rows);
}

static void check(double sigma, size_t C) {
    kb_context *ctx = test_context();
    products p = {.w = world_build(ctx, ROWS, 3, GRIDS, sigma), .C = C};
    size_t D = p.w.z->bins;
    assert_ok(ctx, kb_operator_binmat(ctx, p.w.z, &p.exact));
    p.v = test_numbers(3, ROWS * C);
    p.weights = test_numbers(4, D * C);
    for (size_t i = 0; C > 1 && i < ROWS; i++) /* a column of zeros, and one of small numbers */
        p.v[i * C] = 0, p.v[i * C + 1] *= 1e-30;
    p.zv = malloc(D * C * sizeof *p.zv), p.zw = malloc(ROWS * C * sizeof *p.zw);
    p.kv = malloc(ROWS * C * sizeof *p.kv), p.square = malloc(C * sizeof *p.square);
    for (int P = 1; P <= 5; P++)
        for (int threads = 1; threads <= 2; threads++) {
            p.first = P == 1 && threads == 1;
            run_ranked(P, threads, multiply, &p);
        }
    compare_with_one_process(ctx, &p);
    kb_operator_free(p.exact);
    free(p.v), free(p.weights), free(p.zv), free(p.zw), free(p.kv), free(p.square);
    world_free(&p.w);
    kb_context_free(ctx);
}

static void products_are_those_of_one_process_with_the_same_bits_on_any_ranks(void **state) {
    const size_t columns[] = {1, 2, 3, 7};
    (void)state;
    for (size_t c = 0; c < sizeof columns / sizeof *columns; c++) {
        check(3, columns[c]);
        check(0.1, columns[c]);
    }
}

/* The small numbers of a column are not lost beside the large ones of another. */
static void columns_have_units_of_their_own(void **state) {
    kb_context *ctx = test_context();
    world w = world_build(ctx, 50, 2, 4, 1);
    kb_operator *exact, *joined;
    double *v = test_numbers(3, 100), a[100], b[100];
    (void)state;
    for (size_t i = 0; i < 50; i++)
        v[2 * i] *= 1e200;
    assert_ok(ctx, kb_operator_binmat(ctx, w.z, &exact));
    assert_ok(ctx, kb_operator_joined(ctx, w.z, &joined));
    assert_ok(ctx, exact->apply_k(exact, ctx, 2, v, a, NULL));
    assert_ok(ctx, joined->apply_k(joined, ctx, 2, v, b, NULL));
    for (size_t i = 0; i < 50; i++) {
        assert_true(fabs(a[2 * i] - b[2 * i]) <= 1e-12 * 1e200);
        assert_true(fabs(a[2 * i + 1] - b[2 * i + 1]) <= 1e-12);
    }
    free(v);
    kb_operator_free(exact);
    kb_operator_free(joined);
    world_free(&w);
    kb_context_free(ctx);
}

static void what_is_no_number_stays_none(void **state) {
    kb_context *ctx = test_context();
    world w = world_build(ctx, 50, 2, 4, 1);
    kb_operator *op;
    double *v = test_numbers(3, 100), out[100];
    (void)state;
    v[10] = NAN;
    assert_ok(ctx, kb_operator_joined(ctx, w.z, &op));
    assert_ok(ctx, op->apply_k(op, ctx, 2, v, out, NULL));
    assert_true(isnan(out[0]) && isnan(out[98]) && isfinite(out[1]));
    free(v);
    kb_operator_free(op);
    world_free(&w);
    kb_context_free(ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(products_are_those_of_one_process_with_the_same_bits_on_any_ranks),
        cmocka_unit_test(columns_have_units_of_their_own),
        cmocka_unit_test(what_is_no_number_stays_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
