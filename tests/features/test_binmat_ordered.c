/* Z with close rows side by side: for every sample what it is without. */
#include "features/matrix.h"

#include "sweeps/sweeps.h"

static kb_binmat *ordered(kb_context *ctx, const world *w) {
    kb_binmat *z;
    kb_binning binning = world_binning(w);
    assert_ok(ctx, kb_binmat_build_ordered(ctx, &binning, w->data, w->R, NULL, &z));
    assert_non_null(z->place);
    return z;
}

/* With tuples, without them, and with rows in several parts. */
static const struct {
    size_t N, R;
    double sigma;
} CASES[] = {{3000, 21, 4}, {3000, 17, 0.5}, {400, 16, 0.05}, {70000, 5, 3}, {1, 1, 1}};
enum { KINDS = sizeof CASES / sizeof *CASES };

static void samples_keep_their_bins(void **unused) {
    kb_context *ctx = test_context();
    (void)unused;
    for (size_t k = 0; k < KINDS; k++) {
        world w = world_build(ctx, CASES[k].N, 2, CASES[k].R, CASES[k].sigma);
        kb_binmat *z = ordered(ctx, &w);
        size_t moved = 0;
        assert_int_equal(z->bins, w.z->bins);
        assert_same_bits(z->start, w.z->start, w.R + 1);
        for (size_t i = 0; i < w.N; i++) {
            moved += z->place[i] != i;
            for (size_t r = 0; r < w.R; r++)
                assert_int_equal(z->key[r][kb_binmat_id(z, i, r)],
                                 w.z->key[r][kb_binmat_id(w.z, i, r)]);
        }
        assert_true(moved > w.N / 2 || w.N == 1);
        kb_binmat_free(z);
        world_free(&w);
    }
    kb_context_free(ctx);
}

static void the_numbers_do_not_depend_on_the_threads(void **unused) {
    test_state state = {0};
    kb_context *one = test_context(), *four = test_context_with(&state, 4);
    world w = world_build(one, 70000, 2, 16, 0.7);
    kb_binmat *a = ordered(one, &w), *b = ordered(four, &w);
    (void)unused;
    assert_same_bits(a->place, b->place, w.N);
    for (size_t i = 0; i < w.N; i++)
        for (size_t r = 0; r < w.R; r++)
            assert_int_equal(kb_binmat_id(a, i, r), kb_binmat_id(b, i, r));
    kb_binmat_free(a);
    kb_binmat_free(b);
    world_free(&w);
    kb_context_free(one);
    kb_context_free(four);
}

static void products_are_those_of_the_matrix(void **unused) {
    kb_context *ctx = test_context();
    (void)unused;
    for (size_t k = 0; k < 3; k++) {
        world w = world_build(ctx, 300, 2, CASES[k].R, CASES[k].sigma);
        kb_binmat *z = ordered(ctx, &w);
        kb_operator *op, *part;
        double *Z = test_matrix(z), *v = test_numbers(2, z->rows * MOST);
        assert_ok(ctx, kb_operator_binmat(ctx, z, &op));
        for (size_t c = 0; c < WIDTHS; c++)
            check_operator(ctx, op, Z, COLUMNS[c], v, TOLERANCE);
        uint32_t rows[] = {7, 250, 3, 3, 299};
        enum { SOME = sizeof rows / sizeof *rows };
        assert_ok(ctx, op->subset(op, ctx, SOME, rows, &part));
        double *few = malloc(SOME * z->bins * sizeof *few);
        for (size_t i = 0; i < SOME; i++)
            memcpy(few + i * z->bins, Z + rows[i] * z->bins, z->bins * sizeof *few);
        check_operator(ctx, part, few, 2, v, TOLERANCE);
        kb_operator_free(part);
        kb_operator_free(op);
        free(Z), free(v), free(few);
        kb_binmat_free(z);
        world_free(&w);
    }
    kb_context_free(ctx);
}

typedef struct watching {
    double f[4];
    size_t sweeps;
} watching;

static kb_status look(kb_context *ctx, void *arg, size_t sweep, kb_watch_answer *answer) {
    (void)ctx;
    ((watching *)arg)->sweeps = sweep;
    *answer = KB_WATCH_KEEP;
    return KB_OK;
}

/* Sums are of whole numbers: only those over the bins and the parts of rows are in another order.
 * Decisions, watched ones too, are those of the samples. */
static void sweeps_come_to_the_same(void **unused) {
    enum { N = 900, R = 40 };
    static const uint32_t watched[] = {5, 17, 600, 899};
    kb_context *ctx = test_context();
    world w = world_build(ctx, N, 2, R, 0.6);
    kb_binmat *z = ordered(ctx, &w);
    double *y = test_numbers(7, N), *s = malloc(N * sizeof *s), *f[2], *weight[2], b[2] = {0};
    watching seen[2] = {{{0}, 0}, {{0}, 0}};
    (void)unused;
    for (size_t i = 0; i < N; i++) {
        y[i] += 5 * w.x[2 * i];
        s[i] = i % 7 == 0 ? 0 : 1 + (double)(i % 3);
    }
    for (int k = 0; k < 2; k++) {
        kb_watch watch = {.rows = 4, .row = watched, .f = seen[k].f, .look = look, .arg = &seen[k]};
        f[k] = malloc(N * sizeof(double));
        weight[k] = calloc(z->bins, sizeof(double));
        kb_sweeps p = {.z = k ? z : w.z,
                       .lambda = 0.3,
                       .max_sweeps = 6,
                       .C = 1,
                       .y = y,
                       .s = s,
                       .intercept = 1,
                       .watch = &watch,
                       .w = weight[k],
                       .b = &b[k],
                       .f = f[k]};
        assert_ok(ctx, kb_sweeps_run(ctx, &p));
        assert_int_equal(seen[k].sweeps, 6);
        for (size_t h = 0; h < 4; h++)
            assert_true(seen[k].f[h] == f[k][watched[h]]);
    }
    assert_close(f[1], f[0], N, 1e-6); /* units of the residuals are 2^-27 of the largest */
    assert_close(&b[1], &b[0], 1, 1e-6);
    double *Z = test_matrix(z), *mine = dense_apply(N, z->bins, 1, Z, weight[1]);
    for (size_t i = 0; i < N; i++)
        mine[i] += b[1];
    assert_close(mine, f[1], N, 1e-6);
    free(Z), free(mine), free(y), free(s);
    for (int k = 0; k < 2; k++)
        free(f[k]), free(weight[k]);
    kb_binmat_free(z);
    world_free(&w);
    kb_context_free(ctx);
}

static void sparse_rows_keep_their_order(void **unused) {
    enum { N = 50 };
    kb_context *ctx = test_context();
    world w = world_build(ctx, N, 2, 3, 1);
    kb_data *sparse = test_sparse(ctx, N, 2, w.x, NULL);
    kb_binning binning = world_binning(&w);
    kb_binmat *z;
    (void)unused;
    assert_ok(ctx, kb_binmat_build_ordered(ctx, &binning, sparse, 3, NULL, &z));
    assert_null(z->place);
    kb_binmat_free(z);
    kb_data_free(sparse);
    world_free(&w);
    kb_context_free(ctx);
}

static int build_one(kb_context *ctx, void *arg) {
    const world *w = arg;
    kb_binning binning = world_binning(w);
    static const uint32_t rows[] = {3, 1};
    kb_binmat *z = NULL, *part = NULL;
    kb_operator *op = NULL;
    kb_status status;
    TRY(kb_binmat_build_ordered(ctx, &binning, w->data, w->R, NULL, &z));
    TRY(kb_operator_binmat(ctx, z, &op));
    TRY(kb_binmat_subset(ctx, z, 2, rows, &part));
done:
    kb_operator_free(op);
    kb_binmat_free(part);
    kb_binmat_free(z);
    return (int)status;
}

static void every_allocation_may_fail(void **unused) {
    kb_context *ctx = test_context();
    world w = world_build(ctx, 60, 2, 5, 0.5);
    (void)unused;
    run_with_allocation_failures(build_one, &w);
    world_free(&w);
    kb_context_free(ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(samples_keep_their_bins),
        cmocka_unit_test(the_numbers_do_not_depend_on_the_threads),
        cmocka_unit_test(products_are_those_of_the_matrix),
        cmocka_unit_test(sweeps_come_to_the_same),
        cmocka_unit_test(sparse_rows_keep_their_order),
        cmocka_unit_test(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
