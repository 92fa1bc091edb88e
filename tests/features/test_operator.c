/* Operators made from others, against their matrices. */
#include "features/matrix.h"

/* ---- centred ----------------------------------------------------------- */

static void the_centred_map_is_h_z(void **unused) {
    enum { C = 3 };
    kb_context *ctx = test_context();
    world w = world_build(ctx, 80, 2, 10, 0.5);
    kb_operator *op, *centred;
    (void)unused;
    assert_ok(ctx, kb_operator_binmat(ctx, w.z, &op));
    assert_ok(ctx, kb_operator_centred(ctx, op, NULL, &centred));
    assert_int_equal(centred->rows, w.N);
    assert_int_equal(centred->columns, w.z->bins);
    double *HZ = test_matrix(w.z), *v = test_numbers(1, w.N * C);
    take_means_off(HZ, w.N, w.z->bins);
    take_means_off(v, w.N, C);
    check_operator(ctx, centred, HZ, C, v, TOLERANCE);
    free(HZ), free(v);
    kb_operator_free(centred);
    kb_operator_free(op);
    world_free(&w);
    kb_context_free(ctx);
}

static void centring_takes_the_mean_off(void **unused) {
    enum { N = 5000, C = 3 };
    double *first = NULL, means[C];
    (void)unused;
    for (int threads = 1; threads <= 8; threads++) {
        test_state state = {0};
        kb_context *ctx = test_context_with(&state, threads);
        double *v = test_numbers(1, N * C), *want = test_numbers(1, N * C), mean[C];
        take_means_off(want, N, C);
        assert_ok(ctx, kb_centre(ctx, N, C, NULL, v, mean));
        assert_close(v, want, N * C, 1e-14);
        if (!first) {
            first = malloc(N * C * sizeof *first);
            memcpy(first, v, N * C * sizeof *v);
            memcpy(means, mean, sizeof mean);
        }
        assert_same_bits(v, first, N * C);
        assert_same_bits(mean, means, C);
        free(v), free(want);
        kb_context_free(ctx);
    }
    free(first);
}

/* ---- weighted ---------------------------------------------------------- */

/* Z of `w` with row i times root[i]. */
static double *weighted_matrix(const world *w, const double *root) {
    double *Z = test_matrix(w->z);
    for (size_t i = 0; i < w->N; i++)
        for (size_t b = 0; b < w->z->bins; b++)
            Z[i * w->z->bins + b] *= root[i];
    return Z;
}

/* Roots of weights, every seventh 0. */
static double *test_roots(size_t N) {
    double *root = malloc(N * sizeof *root);
    assert_non_null(root);
    for (size_t i = 0; i < N; i++)
        root[i] = i % 7 == 3 ? 0 : 2 * test_uniform(41, i);
    return root;
}

static void the_weighted_map_is_d_z(void **unused) {
    kb_context *ctx = test_context();
    world w = world_build(ctx, 90, 2, 11, 0.5);
    double *root = test_roots(w.N), *DZ = weighted_matrix(&w, root);
    kb_operator *op, *weighted;
    (void)unused;
    assert_ok(ctx, kb_operator_binmat(ctx, w.z, &op));
    assert_ok(ctx, kb_operator_weighted(ctx, op, root, &weighted));
    assert_int_equal(weighted->rows, w.N);
    assert_int_equal(weighted->columns, w.z->bins);
    for (size_t k = 0; k < WIDTHS; k++) { /* narrow and wide in turn: its array grows */
        double *v = test_numbers(2, w.N * COLUMNS[k]);
        check_operator(ctx, weighted, DZ, COLUMNS[k], v, TOLERANCE);
        free(v);
    }
    kb_operator_free(weighted);
    kb_operator_free(op);
    free(root), free(DZ);
    world_free(&w);
    kb_context_free(ctx);
}

/* v -= r r'v / |r|^2, column by column. */
static void take_root_off(double *v, const double *root, size_t N, size_t C) {
    double total = dot(root, root, N);
    for (size_t c = 0; c < C; c++) {
        double along = 0;
        for (size_t i = 0; i < N; i++)
            along += root[i] * v[i * C + c];
        for (size_t i = 0; i < N; i++)
            v[i * C + c] -= root[i] * along / total;
    }
}

/* P D Z, for input that is orthogonal to the roots. */
static void the_weighted_map_can_be_centred(void **unused) {
    enum { C = 5 };
    kb_context *ctx = test_context();
    world w = world_build(ctx, 90, 2, 11, 0.5);
    double *root = test_roots(w.N), *PDZ = weighted_matrix(&w, root);
    double *v = test_numbers(2, w.N * C), *same = test_numbers(2, w.N * C), mean[C];
    kb_operator *op, *weighted, *centred;
    (void)unused;
    take_root_off(PDZ, root, w.N, w.z->bins);
    take_root_off(v, root, w.N, C);
    assert_ok(ctx, kb_centre(ctx, w.N, C, root, same, mean));
    assert_close(same, v, w.N * C, TOLERANCE);
    for (size_t c = 0; c < C; c++) { /* what was taken off is mean times root */
        double before = 2 * test_uniform(2, c) - 1;
        assert_true(fabs(before - same[c] - mean[c] * root[0]) <= TOLERANCE);
    }
    assert_ok(ctx, kb_operator_binmat(ctx, w.z, &op));
    assert_ok(ctx, kb_operator_weighted(ctx, op, root, &weighted));
    assert_ok(ctx, kb_operator_centred(ctx, weighted, root, &centred));
    check_operator(ctx, centred, PDZ, C, v, TOLERANCE);
    kb_operator_free(centred);
    kb_operator_free(weighted);
    kb_operator_free(op);
    free(root), free(PDZ), free(v), free(same);
    world_free(&w);
    kb_context_free(ctx);
}

/* Weights that are all 0 have no mean; nothing is taken off. */
static void centring_without_weight_changes_nothing(void **unused) {
    double root[4] = {0}, v[4] = {1, 2, 3, 4}, mean = 7;
    kb_context *ctx = test_context();
    (void)unused;
    assert_ok(ctx, kb_centre(ctx, 4, 1, root, v, &mean));
    assert_true(mean == 0);
    for (int i = 0; i < 4; i++)
        assert_true(v[i] == i + 1);
    kb_context_free(ctx);
}

/* ---- with a constant --------------------------------------------------- */

/* Z with a column of ones behind, or some rows of it. */
static double *with_ones(const double *Z, size_t D, size_t count, const uint32_t *rows) {
    double *wide = malloc(count * (D + 1) * sizeof *wide);
    assert_non_null(wide);
    for (size_t i = 0; i < count; i++) {
        memcpy(wide + i * (D + 1), Z + (rows ? rows[i] : i) * D, D * sizeof *wide);
        wide[i * (D + 1) + D] = 1;
    }
    return wide;
}

/* All that an operator with a constant has: K V and the squares. */
static void check_constant(kb_context *ctx, kb_operator *op, const double *wide, size_t C) {
    size_t N = op->rows, D = op->columns;
    double *v = test_numbers(2, N * C), *ztv = dense_apply_t(N, D + 1, C, wide, v);
    double *kv = dense_apply(N, D + 1, C, wide, ztv), *out = numbers_for(N * C);
    double square[MOST];
    assert_ok(ctx, op->apply_k(op, ctx, C, v, out, square));
    assert_close(out, kv, N * C, TOLERANCE);
    assert_squares(square, ztv, D + 1, C, TOLERANCE);
    assert_ok(ctx, op->apply_k(op, ctx, C, v, out, NULL));
    assert_close(out, kv, N * C, TOLERANCE);
    assert_ok(ctx, op->apply_k(op, ctx, C, v, NULL, square));
    assert_squares(square, ztv, D + 1, C, TOLERANCE);
    free(v), free(ztv), free(kv), free(out);
}

static void a_constant_adds_1_to_k(void **unused) {
    kb_context *ctx = test_context();
    world w = world_build(ctx, 90, 2, 11, 0.5);
    double *Z = test_matrix(w.z), *wide = with_ones(Z, w.z->bins, w.N, NULL);
    kb_operator *op, *constant;
    (void)unused;
    assert_ok(ctx, kb_operator_binmat(ctx, w.z, &op));
    assert_ok(ctx, kb_operator_constant(ctx, op, &constant));
    for (size_t k = 0; k < WIDTHS; k++)
        check_constant(ctx, constant, wide, COLUMNS[k]);
    kb_operator_free(constant);
    kb_operator_free(op);
    free(Z), free(wide);
    world_free(&w);
    kb_context_free(ctx);
}

/* The part has its own copy of the rows. */
static void some_rows_of_a_constant_have_it_too(void **unused) {
    static const uint32_t rows[] = {4, 89, 0, 17, 18, 5, 5, 60};
    enum { COUNT = sizeof rows / sizeof *rows };
    test_state state = {0};
    kb_context *ctx = test_context_with(&state, 1);
    world w = world_build(ctx, 90, 2, 11, 0.5);
    double *Z = test_matrix(w.z), *wide = with_ones(Z, w.z->bins, COUNT, rows);
    kb_operator *op, *constant, *part, *weighted;
    (void)unused;
    assert_ok(ctx, kb_operator_binmat(ctx, w.z, &op));
    assert_ok(ctx, kb_operator_constant(ctx, op, &constant));
    assert_ok(ctx, constant->subset(constant, ctx, COUNT, rows, &part));
    assert_int_equal(part->rows, COUNT);
    assert_int_equal(part->columns, w.z->bins);
    check_constant(ctx, part, wide, 3);
    kb_operator_free(part);
    kb_operator_free(constant);
    /* A map without subsets has none. */
    assert_ok(ctx, kb_operator_weighted(ctx, op, Z, &weighted));
    assert_null(weighted->subset);
    assert_ok(ctx, kb_operator_constant(ctx, weighted, &constant));
    assert_null(constant->subset);
    kb_operator_free(constant);
    kb_operator_free(weighted);
    kb_operator_free(op);
    kb_operator_free(NULL);
    free(Z), free(wide);
    world_free(&w);
    kb_context_free(ctx);
    assert_int_equal(state.live, 0);
}

/* Enough rows for all of them to have work. */
static void threads_change_no_bit(void **unused) {
    enum { ROWS = 20000, C = 3 };
    static const int teams[] = {1, 2, 5};
    kb_context *ctx = test_context();
    world w = world_build(ctx, ROWS, 2, 6, 0.5);
    double *root = test_roots(ROWS), *v = test_numbers(2, ROWS * C), *first = NULL;
    (void)unused;
    for (int m = 0; m < 3; m++) {
        test_state state = {0};
        kb_context *team = test_context_with(&state, teams[m]);
        kb_operator *op, *made[3];
        double *out = numbers_for(3 * (ROWS + 1) * C);
        assert_ok(team, kb_operator_binmat(team, w.z, &op));
        assert_ok(team, kb_operator_weighted(team, op, root, &made[0]));
        assert_ok(team, kb_operator_centred(team, made[0], root, &made[1]));
        assert_ok(team, kb_operator_constant(team, op, &made[2]));
        for (size_t k = 0; k < 3; k++) {
            double *place = out + k * (ROWS + 1) * C;
            assert_ok(team, made[k]->apply_k(made[k], team, C, v, place, place + ROWS * C));
        }
        for (size_t k = 3; k-- > 0;)
            kb_operator_free(made[k]);
        kb_operator_free(op);
        kb_context_free(team);
        assert_int_equal(state.live, 0);
        if (first)
            assert_same_bits(out, first, 3 * (ROWS + 1) * C);
        if (first)
            free(out);
        else
            first = out;
    }
    free(root), free(v), free(first);
    world_free(&w);
    kb_context_free(ctx);
}

/* ---- when things go wrong ---------------------------------------------- */

static int multiply(kb_context *ctx, void *arg) {
    static const uint32_t rows[] = {3, 1};
    const kb_binmat *z = arg;
    kb_status status;
    kb_operator *op = NULL, *centred = NULL, *weighted = NULL, *both = NULL, *constant = NULL;
    kb_operator *part = NULL;
    double *root = test_roots(z->rows);
    double *v = test_numbers(1, z->rows * 5), *u = test_numbers(1, z->bins * 5), square[5];
    double *out = numbers_for(z->rows * 5);
    TRY(kb_operator_binmat(ctx, z, &op));
    TRY(kb_operator_centred(ctx, op, NULL, &centred));
    TRY(centred->apply_k(centred, ctx, 5, v, out, square));
    TRY(centred->apply(centred, ctx, 5, u, out));
    TRY(kb_operator_weighted(ctx, op, root, &weighted));
    TRY(kb_operator_centred(ctx, weighted, root, &both));
    TRY(kb_operator_constant(ctx, op, &constant));
    TRY(both->apply_k(both, ctx, 2, v, out, square));
    TRY(both->apply_t(both, ctx, 5, v, u));
    TRY(both->apply(both, ctx, 5, u, out));
    TRY(constant->apply_k(constant, ctx, 5, v, out, square));
    TRY(constant->subset(constant, ctx, 2, rows, &part));
    TRY(part->apply_k(part, ctx, 5, v, out, square));
done:
    kb_operator_free(part);
    kb_operator_free(constant);
    kb_operator_free(both);
    kb_operator_free(weighted);
    kb_operator_free(centred);
    kb_operator_free(op);
    free(v), free(u), free(out), free(root);
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
        cmocka_unit_test(the_centred_map_is_h_z),
        cmocka_unit_test(centring_takes_the_mean_off),
        cmocka_unit_test(the_weighted_map_is_d_z),
        cmocka_unit_test(the_weighted_map_can_be_centred),
        cmocka_unit_test(centring_without_weight_changes_nothing),
        cmocka_unit_test(a_constant_adds_1_to_k),
        cmocka_unit_test(some_rows_of_a_constant_have_it_too),
        cmocka_unit_test(threads_change_no_bit),
        cmocka_unit_test(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
