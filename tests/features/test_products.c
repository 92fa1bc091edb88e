/* K V, Z W and Z' V against the matrix Z itself. */
#include "features/matrix.h"

static void check_products(kb_context *ctx, const world *w) {
    kb_operator *op;
    double *Z = test_matrix(w->z);
    assert_ok(ctx, kb_operator_binmat(ctx, w->z, &op));
    assert_int_equal(op->rows, w->N);
    assert_int_equal(op->columns, w->z->bins);
    for (size_t k = 0; k < WIDTHS; k++) {
        double *v = test_numbers(2, w->N * COLUMNS[k]);
        check_operator(ctx, op, Z, COLUMNS[k], v, TOLERANCE);
        free(v);
    }
    kb_operator_free(op);
    free(Z);
}

static void products_agree_with_the_matrix(void **unused) {
    static const size_t shapes[][3] = {/* N, d, R */
                                       {60, 2, 12}, {1, 1, 1},  {50, 3, 1}, {40, 1, 3},
                                       {31, 2, 5},  {33, 2, 6}, {20, 4, 8}, {2, 1, 9}};
    kb_context *ctx = test_context();
    (void)unused;
    for (size_t k = 0; k < sizeof shapes / sizeof *shapes; k++) {
        world w = world_build(ctx, shapes[k][0], shapes[k][1], shapes[k][2], 0.5);
        check_products(ctx, &w);
        world_free(&w);
    }
    kb_context_free(ctx);
}

/* Wide bins: many rows agree in a group, and the products go through tuples. */
static void tuples_are_multiplied_too(void **unused) {
    static const size_t grids[] = {1, 4, 6, 16, 21, 33};
    kb_context *ctx = test_context();
    (void)unused;
    for (size_t k = 0; k < sizeof grids / sizeof *grids; k++) {
        world w = world_build(ctx, 400, 2, grids[k], 20);
        for (size_t b = 0; b < w.z->bundles; b++)
            assert_non_null(w.z->bundle[b].ids);
        check_products(ctx, &w);
        world_free(&w);
    }
    kb_context_free(ctx);
}

/* A nonzero is 1/sqrt(R) of all grids, however few of them are here. */
static void a_range_is_divided_by_all_grids(void **unused) {
    static const double sigmas[] = {0.5, 20}; /* without tuples, and with */
    kb_context *ctx = test_context();
    (void)unused;
    for (int k = 0; k < 2; k++) {
        world w = world_build(ctx, 60, 2, 12, sigmas[k]);
        assert_int_equal(w.z->R, 12);
        w.z->R = 31;
        check_products(ctx, &w);
        world_free(&w);
    }
    kb_context_free(ctx);
}

/* Ids of 8, 16 and 18 bits, and more rows than are worked on at a time. */
static void wide_numbers_are_multiplied_too(void **unused) {
    static const double sigmas[] = {1, 1e-3, 1e-6};
    static const int bits[] = {8, 16, 18};
    kb_context *ctx = test_context();
    (void)unused;
    for (int k = 0; k < 3; k++) {
        size_t N = k == 2 ? 110000 : 3000, C = 3; /* a third of the values is zero */
        world w = world_build(ctx, N, 1, 2, sigmas[k]);
        kb_operator *op;
        assert_int_equal(w.z->group[0].bits, bits[k]);
        assert_ok(ctx, kb_operator_binmat(ctx, w.z, &op));
        double *v = test_numbers(2, N * C), *out = numbers_for(N * C);
        double *want = calloc(N * C, sizeof *want);
        double *sums = calloc(w.z->bins * C, sizeof *sums);
        for (size_t r = 0; r < w.R; r++) {
            double *s = sums + w.z->start[r] * C;
            for (size_t i = 0; i < N; i++)
                for (size_t c = 0; c < C; c++)
                    s[test_id(w.z, r, i) * C + c] += v[i * C + c];
            for (size_t i = 0; i < N; i++)
                for (size_t c = 0; c < C; c++)
                    want[i * C + c] += s[test_id(w.z, r, i) * C + c] / (double)w.R;
        }
        assert_ok(ctx, op->apply_k(op, ctx, C, v, out, NULL));
        assert_close(out, want, N * C, TOLERANCE);
        free(v), free(out), free(want), free(sums);
        kb_operator_free(op);
        world_free(&w);
    }
    kb_context_free(ctx);
}

static void apply_t_is_adjoint_of_apply(void **unused) {
    kb_context *ctx = test_context();
    world w = world_build(ctx, 2000, 3, 37, 0.3);
    kb_operator *op;
    size_t N = w.N, D = w.z->bins, C = 5;
    (void)unused;
    assert_ok(ctx, kb_operator_binmat(ctx, w.z, &op));
    double *v = test_numbers(1, N * C), *u = test_numbers(2, D * C);
    double *zu = numbers_for(N * C), *ztv = numbers_for(D * C);
    assert_ok(ctx, op->apply(op, ctx, C, u, zu));
    assert_ok(ctx, op->apply_t(op, ctx, C, v, ztv));
    double left = dot(zu, v, N * C), right = dot(u, ztv, D * C);
    /* Against the size of what was added up: about sqrt(N C) times the entries. */
    assert_true(fabs(left - right) <= 1e-12 * sqrt(dot(zu, zu, N * C) * dot(v, v, N * C)));
    free(v), free(u), free(zu), free(ztv);
    kb_operator_free(op);
    world_free(&w);
    kb_context_free(ctx);
}

static void k_is_z_times_its_transpose(void **unused) {
    kb_context *ctx = test_context();
    world w = world_build(ctx, 2000, 3, 37, 0.3);
    kb_operator *op;
    size_t N = w.N, C = 9;
    (void)unused;
    assert_ok(ctx, kb_operator_binmat(ctx, w.z, &op));
    double *v = test_numbers(1, N * C), *kv = numbers_for(N * C), *zztv = numbers_for(N * C);
    double *ztv = numbers_for(w.z->bins * C);
    assert_ok(ctx, op->apply_k(op, ctx, C, v, kv, NULL));
    assert_ok(ctx, op->apply_t(op, ctx, C, v, ztv));
    assert_ok(ctx, op->apply(op, ctx, C, ztv, zztv));
    assert_close(kv, zztv, N * C, TOLERANCE);
    free(v), free(kv), free(zztv), free(ztv);
    kb_operator_free(op);
    world_free(&w);
    kb_context_free(ctx);
}

/* The three products one after the other, in one array. */
static double *all_products(kb_context *ctx, const kb_binmat *z, size_t C) {
    kb_operator *op;
    size_t N = z->rows, D = z->bins;
    double *v = test_numbers(1, N * C), *u = test_numbers(2, D * C);
    double *out = numbers_for((2 * N + D + 1) * C);
    assert_ok(ctx, kb_operator_binmat(ctx, z, &op));
    assert_ok(ctx, op->apply_k(op, ctx, C, v, out, out + (2 * N + D) * C));
    assert_ok(ctx, op->apply(op, ctx, C, u, out + N * C));
    assert_ok(ctx, op->apply_t(op, ctx, C, v, out + 2 * N * C));
    kb_operator_free(op);
    free(v);
    free(u);
    return out;
}

/* Bins few against the rows, which are then cut into parts: with tuples, and without.  All three
 * products against plain loops, with the same bits for any number of threads. */
static void parts_of_the_rows_add_up(void **unused) {
    static const struct {
        size_t N, d, R;
        double sigma;
        int tuples;
    } cases[] = {{40000, 1, 18, 4, 1}, {140000, 1, 5, 3, 1}, {90000, 10, 8, 1.6, 0}};
    static const int teams[] = {1, 2, 3, 5, 16};
    enum { C = 3 };
    kb_context *ctx = test_context();
    (void)unused;
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        world w = world_build(ctx, cases[k].N, cases[k].d, cases[k].R, cases[k].sigma);
        size_t N = w.N, D = w.z->bins, count = (2 * N + D + 1) * C;
        assert_int_equal(w.z->bundle[0].ids != NULL, cases[k].tuples);
        double *v = test_numbers(1, N * C), *u = test_numbers(2, D * C);
        double *want = calloc(count, sizeof *want), *first = NULL;
        assert_non_null(want);
        double *kv = want, *zu = want + N * C, *ztv = want + 2 * N * C, *square = ztv + D * C;
        double value = 1 / sqrt((double)w.R);
        for (size_t r = 0; r < w.R; r++)
            for (size_t i = 0; i < N; i++)
                for (size_t c = 0, j = w.z->start[r] + test_id(w.z, r, i); c < C; c++) {
                    ztv[j * C + c] += v[i * C + c] * value;
                    zu[i * C + c] += u[j * C + c] * value;
                }
        for (size_t r = 0; r < w.R; r++)
            for (size_t i = 0; i < N; i++)
                for (size_t c = 0, j = w.z->start[r] + test_id(w.z, r, i); c < C; c++)
                    kv[i * C + c] += ztv[j * C + c] * value;
        for (size_t j = 0; j < D * C; j++)
            square[j % C] += ztv[j] * ztv[j];
        for (size_t t = 0; t < sizeof teams / sizeof *teams; t++) {
            test_state state = {0};
            kb_context *team = test_context_with(&state, teams[t]);
            double *out = all_products(team, w.z, C);
            kb_context_free(team);
            assert_int_equal(state.live, 0);
            if (t > 0)
                assert_same_bits(out, first, count);
            /* Sums of up to N numbers in another order. */
            assert_close(out, want, count, 1e-12);
            if (t > 0)
                free(out);
            else
                first = out;
        }
        free(v), free(u), free(want), free(first);
        world_free(&w);
    }
    kb_context_free(ctx);
}

/* With enough work for threads to be woken, and enough bins for several batches. */
static void threads_and_levels_change_no_bit(void **unused) {
    static const int teams[] = {1, 2, 3, 5, 8};
    static const struct {
        size_t N, R;
        double sigma;
    } cases[] = {{3000, 37, 0.3}, {9000, 9, 1e-4}, {20000, 7, 1}};
    static const size_t columns[] = {1, 3, 13};
    kb_context *ctx = test_context();
    const kb_simd *level[8];
    size_t levels = kb_simd_list(level, 8);
    (void)unused;
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        world w = world_build(ctx, cases[k].N, 2, cases[k].R, cases[k].sigma);
        for (size_t m = 0; m < 3; m++) {
            size_t C = columns[m], count = (2 * w.N + w.z->bins + 1) * C;
            double *first = NULL;
            for (size_t t = 0; t < sizeof teams / sizeof *teams; t++)
                for (size_t l = 0; l < levels; l++) {
                    test_state state = {0};
                    kb_context *team = test_context_with(&state, teams[t]);
                    w.z->simd = level[l];
                    double *out = all_products(team, w.z, C);
                    kb_context_free(team);
                    assert_int_equal(state.live, 0);
                    if (first)
                        assert_same_bits(out, first, count);
                    if (first)
                        free(out);
                    else
                        first = out;
                }
            free(first);
        }
        world_free(&w);
    }
    kb_context_free(ctx);
}

/* The result of a column does not depend on the other columns. */
static void a_column_does_not_know_its_neighbours(void **unused) {
    enum { C = 13 };
    kb_context *ctx = test_context();
    world w = world_build(ctx, 500, 2, 10, 0.3);
    kb_operator *op;
    (void)unused;
    assert_ok(ctx, kb_operator_binmat(ctx, w.z, &op));
    double *v = test_numbers(1, w.N * C), *all = numbers_for(w.N * C), square[C], alone;
    double *one = numbers_for(w.N), *out = numbers_for(w.N);
    assert_ok(ctx, op->apply_k(op, ctx, C, v, all, square));
    for (size_t c = 0; c < C; c++) {
        for (size_t i = 0; i < w.N; i++)
            one[i] = v[i * C + c];
        assert_ok(ctx, op->apply_k(op, ctx, 1, one, out, &alone));
        for (size_t i = 0; i < w.N; i++)
            assert_true(out[i] == all[i * C + c]);
        assert_true(alone == square[c]);
    }
    free(v), free(all), free(one), free(out);
    kb_operator_free(op);
    world_free(&w);
    kb_context_free(ctx);
}

/* |Z'v|^2 where v'(Kv) would lose all digits: three equal samples hold much that cancels, and
 * one other 1e-5, so that v'Kv adds up terms of 1e3 with roundings of 1e-13 to get 1e-10. */
static void the_square_keeps_its_digits(void **unused) {
    kb_context *ctx = test_context();
    world w = world_build(ctx, 1000, 1, 64, 1);
    kb_operator *op;
    (void)unused;
    assert_ok(ctx, kb_operator_binmat(ctx, w.z, &op));
    double *v = calloc(w.N, sizeof *v), *out = numbers_for(w.N), square;
    const double hold[] = {123456789, 98765432, -222222221};
    size_t given = 0, other = 0;
    for (size_t i = 0; i < w.N; i++)
        if (w.x[i] == 0 && given < 3)
            v[i] = hold[given++];
        else if (w.x[i] != 0 && fabs(w.x[i]) < 0.3)
            other = i;
    assert_int_equal(given, 3);
    double loss = 0;
    for (int k = 0; k < 20; k++) {
        v[other] = 1e-5 * (1 + k / 7.0);
        double want = v[other] * v[other], naive = 0;
        assert_ok(ctx, op->apply_k(op, ctx, 1, v, out, &square));
        assert_true(fabs(square - want) <= 1e-12 * want);
        for (size_t i = 0; i < w.N; i++)
            naive += v[i] * out[i];
        loss = fmax(loss, fabs(naive - want) / want);
    }
    assert_true(loss > 1e-6); /* so it is needed */
    free(v), free(out);
    kb_operator_free(op);
    world_free(&w);
    kb_context_free(ctx);
}

static int multiply(kb_context *ctx, void *arg) {
    const kb_binmat *z = arg;
    kb_status status;
    kb_operator *op = NULL;
    double *v = test_numbers(1, z->rows * 5), *u = test_numbers(1, z->bins * 5), square[5];
    double *out = numbers_for(z->rows * 5);
    TRY(kb_operator_binmat(ctx, z, &op));
    TRY(op->apply(op, ctx, 1, u, out));
    TRY(op->apply_k(op, ctx, 5, v, out, square));
    TRY(op->apply_t(op, ctx, 3, v, u));
done:
    kb_operator_free(op);
    free(v), free(u), free(out);
    return (int)status;
}

static void every_allocation_may_fail(void **unused) {
    kb_context *ctx = test_context();
    world w = world_build(ctx, 100, 2, 10, 0.3);
    (void)unused;
    run_with_allocation_failures(multiply, w.z);
    world_free(&w);
    kb_context_free(ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(products_agree_with_the_matrix),
        cmocka_unit_test(tuples_are_multiplied_too),
        cmocka_unit_test(a_range_is_divided_by_all_grids),
        cmocka_unit_test(wide_numbers_are_multiplied_too),
        cmocka_unit_test(apply_t_is_adjoint_of_apply),
        cmocka_unit_test(k_is_z_times_its_transpose),
        cmocka_unit_test(parts_of_the_rows_add_up),
        cmocka_unit_test(threads_and_levels_change_no_bit),
        cmocka_unit_test(a_column_does_not_know_its_neighbours),
        cmocka_unit_test(the_square_keeps_its_digits),
        cmocka_unit_test(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
