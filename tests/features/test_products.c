/* K V, Z W and Z' V against the matrix Z itself. */
#include "features/world.h"

static const size_t COLUMNS[] = {1, 2, 3, 7, 16, 26, 33};
enum { WIDTHS = sizeof COLUMNS / sizeof *COLUMNS, MOST = 33 };

/* out (rows x C) = A B, A rows x inner, or its transpose. */
static double *dense_product(const double *A, int transposed, size_t rows, size_t inner, size_t C,
                             const double *B) {
    double *out = calloc(rows * C, sizeof *out);
    assert_non_null(out);
    for (size_t i = 0; i < rows; i++)
        for (size_t k = 0; k < inner; k++) {
            double a = transposed ? A[k * rows + i] : A[i * inner + k];
            for (size_t c = 0; a != 0 && c < C; c++)
                out[i * C + c] += a * B[k * C + c];
        }
    return out;
}

static double *numbers_for(size_t count) {
    double *x = malloc(count * sizeof *x);
    assert_non_null(x);
    for (size_t k = 0; k < count; k++)
        x[k] = NAN; /* whatever is not written shows */
    return x;
}

/* Sums of at most N or R terms of size 1: 1e-13 is hundreds of roundings. */
static const double TOLERANCE = 1e-13;

static void check_products(kb_context *ctx, const world *w) {
    kb_operator *op;
    size_t N = w->N, D = w->z->bins;
    double *Z = test_matrix(w->z), square[MOST];
    assert_ok(ctx, kb_operator_binmat(ctx, w->z, &op));
    assert_int_equal(op->rows, N);
    assert_int_equal(op->columns, D);
    for (size_t k = 0; k < WIDTHS; k++) {
        size_t C = COLUMNS[k];
        double *v = test_numbers(2, N * C), *u = test_numbers(3, D * C);
        double *ztv = dense_product(Z, 1, D, N, C, v), *zw = dense_product(Z, 0, N, D, C, u);
        double *kv = dense_product(Z, 0, N, D, C, ztv);
        double *rows = numbers_for(N * C), *bins = numbers_for(D * C);
        assert_ok(ctx, op->apply_t(op, ctx, C, v, bins));
        assert_close(bins, ztv, D * C, TOLERANCE);
        assert_ok(ctx, op->apply(op, ctx, C, u, rows));
        assert_close(rows, zw, N * C, TOLERANCE);
        assert_ok(ctx, op->apply_k(op, ctx, C, v, rows, NULL));
        assert_close(rows, kv, N * C, TOLERANCE);
        double *again = numbers_for(N * C);
        assert_ok(ctx, op->apply_k(op, ctx, C, v, again, square));
        assert_same_bits(again, rows, N * C); /* the squares change nothing */
        for (size_t c = 0; c < C; c++) {
            double want = 0;
            for (size_t b = 0; b < D; b++)
                want += ztv[b * C + c] * ztv[b * C + c];
            assert_true(fabs(square[c] - want) <= TOLERANCE * want);
        }
        free(v), free(u), free(ztv), free(zw), free(kv), free(rows), free(bins), free(again);
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

/* Ids of one, two and four bytes, and more rows than are worked on at a time. */
static void wide_numbers_are_multiplied_too(void **unused) {
    static const double sigmas[] = {1, 1e-3, 1e-6};
    static const int widths[] = {1, 2, 4};
    kb_context *ctx = test_context();
    (void)unused;
    for (int k = 0; k < 3; k++) {
        size_t N = k == 2 ? 110000 : 3000, C = 3; /* a third of the values is zero */
        world w = world_build(ctx, N, 1, 2, sigmas[k]);
        kb_operator *op;
        assert_int_equal(w.z->group[0].width, widths[k]);
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

static double dot(const double *a, const double *b, size_t count) {
    double sum = 0;
    for (size_t k = 0; k < count; k++)
        sum += a[k] * b[k];
    return sum;
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

/* With enough work for threads to be woken, and enough bins for several batches. */
static void threads_and_levels_change_no_bit(void **unused) {
    static const int teams[] = {1, 2, 3, 5, 8};
    static const struct {
        size_t N, R;
        double sigma;
    } cases[] = {{3000, 37, 0.3}, {9000, 9, 1e-4}, {20000, 7, 1}};
    static const size_t columns[] = {1, 3, 13};
    kb_context *ctx = test_context();
    const kb_kernels *level[8];
    size_t levels = kb_kernels_list(level, 8);
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
                    w.z->kernels = level[l];
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

/* A column's numbers are its own: beside others they come out the same. */
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

/* |Z'v|^2 where v'(Kv) would drown: three equal samples hold much that cancels, and one
 * other 1e-5, so that v'Kv adds up terms of 1e3 with roundings of 1e-13 to get 1e-10. */
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
    assert_true(loss > 1e-6); /* so the care is needed */
    free(v), free(out);
    kb_operator_free(op);
    world_free(&w);
    kb_context_free(ctx);
}

/* ---- the centred map --------------------------------------------------- */

static void take_means_off(double *v, size_t N, size_t C) {
    for (size_t c = 0; c < C; c++) {
        double mean = 0;
        for (size_t i = 0; i < N; i++)
            mean += v[i * C + c] / (double)N;
        for (size_t i = 0; i < N; i++)
            v[i * C + c] -= mean;
    }
}

static void the_centred_map_is_h_z(void **unused) {
    enum { C = 3 };
    kb_context *ctx = test_context();
    world w = world_build(ctx, 80, 2, 10, 0.5);
    kb_operator *op, *centred;
    size_t N = w.N, D = w.z->bins;
    (void)unused;
    assert_ok(ctx, kb_operator_binmat(ctx, w.z, &op));
    assert_ok(ctx, kb_operator_centred(ctx, op, NULL, &centred));
    assert_int_equal(centred->rows, N);
    assert_int_equal(centred->columns, D);
    double *HZ = test_matrix(w.z), square[C];
    take_means_off(HZ, N, D);
    double *v = test_numbers(1, N * C), *u = test_numbers(2, D * C);
    take_means_off(v, N, C);
    double *rows = numbers_for(N * C), *bins = numbers_for(D * C);
    double *ztv = dense_product(HZ, 1, D, N, C, v), *zu = dense_product(HZ, 0, N, D, C, u);
    double *kv = dense_product(HZ, 0, N, D, C, ztv);
    assert_ok(ctx, centred->apply_k(centred, ctx, C, v, rows, square));
    assert_close(rows, kv, N * C, TOLERANCE);
    for (size_t c = 0; c < C; c++) {
        double want = 0;
        for (size_t b = 0; b < D; b++)
            want += ztv[b * C + c] * ztv[b * C + c];
        assert_true(fabs(square[c] - want) <= TOLERANCE * (1 + want));
    }
    assert_ok(ctx, centred->apply(centred, ctx, C, u, rows));
    assert_close(rows, zu, N * C, TOLERANCE);
    assert_ok(ctx, centred->apply_t(centred, ctx, C, v, bins));
    assert_close(bins, ztv, D * C, TOLERANCE);
    free(HZ), free(v), free(u), free(rows), free(bins), free(ztv), free(zu), free(kv);
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

/* The three products of `op` against those of a matrix; v (N x C) is what K is applied to. */
static void check_operator(kb_context *ctx, kb_operator *op, const double *Z, size_t C,
                           const double *v) {
    size_t N = op->rows, D = op->columns;
    double *u = test_numbers(3, D * C), square[MOST];
    double *ztv = dense_product(Z, 1, D, N, C, v), *zw = dense_product(Z, 0, N, D, C, u);
    double *kv = dense_product(Z, 0, N, D, C, ztv);
    double *rows = numbers_for(N * C), *bins = numbers_for(D * C);
    assert_ok(ctx, op->apply_k(op, ctx, C, v, rows, square));
    assert_close(rows, kv, N * C, TOLERANCE);
    for (size_t c = 0; c < C; c++) {
        double want = 0;
        for (size_t b = 0; b < D; b++)
            want += ztv[b * C + c] * ztv[b * C + c];
        assert_true(fabs(square[c] - want) <= 1e-12 * want);
    }
    assert_ok(ctx, op->apply_k(op, ctx, C, v, rows, NULL));
    assert_close(rows, kv, N * C, TOLERANCE);
    assert_ok(ctx, op->apply(op, ctx, C, u, rows));
    assert_close(rows, zw, N * C, TOLERANCE);
    assert_ok(ctx, op->apply_t(op, ctx, C, v, bins));
    assert_close(bins, ztv, D * C, TOLERANCE);
    free(u), free(ztv), free(zw), free(kv), free(rows), free(bins);
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
        check_operator(ctx, weighted, DZ, COLUMNS[k], v);
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
    check_operator(ctx, centred, PDZ, C, v);
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

static void a_constant_adds_1_to_k(void **unused) {
    kb_context *ctx = test_context();
    world w = world_build(ctx, 90, 2, 11, 0.5);
    size_t N = w.N, D = w.z->bins;
    double *Z = test_matrix(w.z), *wide = malloc(N * (D + 1) * sizeof *wide), square[MOST];
    kb_operator *op, *constant;
    (void)unused;
    for (size_t i = 0; i < N; i++) {
        memcpy(wide + i * (D + 1), Z + i * D, D * sizeof *wide);
        wide[i * (D + 1) + D] = 1;
    }
    assert_ok(ctx, kb_operator_binmat(ctx, w.z, &op));
    assert_ok(ctx, kb_operator_constant(ctx, op, &constant));
    for (size_t k = 0; k < WIDTHS; k++) {
        size_t C = COLUMNS[k];
        double *v = test_numbers(2, N * C), *ztv = dense_product(wide, 1, D + 1, N, C, v);
        double *kv = dense_product(wide, 0, N, D + 1, C, ztv), *out = numbers_for(N * C);
        assert_ok(ctx, constant->apply_k(constant, ctx, C, v, out, square));
        assert_close(out, kv, N * C, TOLERANCE);
        for (size_t c = 0; c < C; c++) {
            double want = 0;
            for (size_t b = 0; b <= D; b++)
                want += ztv[b * C + c] * ztv[b * C + c];
            assert_true(fabs(square[c] - want) <= 1e-12 * want);
        }
        assert_ok(ctx, constant->apply_k(constant, ctx, C, v, out, NULL));
        assert_close(out, kv, N * C, TOLERANCE);
        free(v), free(ztv), free(kv), free(out);
    }
    kb_operator_free(constant);
    kb_operator_free(op);
    free(Z), free(wide);
    world_free(&w);
    kb_context_free(ctx);
}

static int multiply(kb_context *ctx, void *arg) {
    const kb_binmat *z = arg;
    kb_status status;
    kb_operator *op = NULL, *centred = NULL, *weighted = NULL, *both = NULL, *constant = NULL;
    double *root = test_roots(z->rows);
    double *v = test_numbers(1, z->rows * 5), *u = test_numbers(1, z->bins * 5), square[5];
    double *out = numbers_for(z->rows * 5);
    TRY(kb_operator_binmat(ctx, z, &op));
    TRY(kb_operator_centred(ctx, op, NULL, &centred));
    TRY(op->apply(op, ctx, 1, u, out));
    TRY(op->apply_k(op, ctx, 5, v, out, square));
    TRY(op->apply_t(op, ctx, 3, v, u));
    TRY(centred->apply_k(centred, ctx, 5, v, out, square));
    TRY(centred->apply(centred, ctx, 5, u, out));
    TRY(kb_operator_weighted(ctx, op, root, &weighted));
    TRY(kb_operator_centred(ctx, weighted, root, &both));
    TRY(kb_operator_constant(ctx, op, &constant));
    TRY(both->apply_k(both, ctx, 2, v, out, square));
    TRY(both->apply_t(both, ctx, 5, v, u));
    TRY(both->apply(both, ctx, 5, u, out));
    TRY(constant->apply_k(constant, ctx, 5, v, out, square));
done:
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
        cmocka_unit_test(products_agree_with_the_matrix),
        cmocka_unit_test(tuples_are_multiplied_too),
        cmocka_unit_test(wide_numbers_are_multiplied_too),
        cmocka_unit_test(apply_t_is_adjoint_of_apply),
        cmocka_unit_test(k_is_z_times_its_transpose),
        cmocka_unit_test(threads_and_levels_change_no_bit),
        cmocka_unit_test(a_column_does_not_know_its_neighbours),
        cmocka_unit_test(the_square_keeps_its_digits),
        cmocka_unit_test(the_centred_map_is_h_z),
        cmocka_unit_test(centring_takes_the_mean_off),
        cmocka_unit_test(the_weighted_map_is_d_z),
        cmocka_unit_test(the_weighted_map_can_be_centred),
        cmocka_unit_test(centring_without_weight_changes_nothing),
        cmocka_unit_test(a_constant_adds_1_to_k),
        cmocka_unit_test(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
