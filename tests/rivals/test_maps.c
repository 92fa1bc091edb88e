/*
 * The rival maps: every property that all of them have, over a table of maps, each against an
 * oracle of its own.  How each of them is drawn is tested in files of their own.
 */
#include "rivals/maps.h"

enum { C = CHECK_COLUMNS };

/* ---- oracles ----------------------------------------------------------- */

/* What the products must be: K by plain loops, and Z where the map has one by a formula. */
typedef struct oracle {
    double *K; /* N x N */
    double *Z; /* N x D, or NULL */
} oracle;

/* The kernel matrix: exact, and nystrom with all samples as landmarks. */
static oracle kernel_matrix(kb_context *ctx, const rivalry *t, const kb_rival *r) {
    kb_kernel *kernel = test_kernel(ctx, t->kernel);
    oracle o = {.K = plain_matrix(kernel, t->c)};
    (void)r;
    kb_kernel_free(kernel);
    return o;
}

/* The kernel within blocks, and 0 between them. */
static oracle blocks_of_the_kernel_matrix(kb_context *ctx, const rivalry *t, const kb_rival *r) {
    oracle o = kernel_matrix(ctx, t, r);
    size_t N = t->c->N, *block = block_of_samples(r);
    assert_true(r->blocks > 4);
    for (size_t i = 0; i < N; i++)
        for (size_t j = 0; j < N; j++)
            o.K[i * N + j] *= block[i] == block[j];
    free(block);
    return o;
}

/* Z = sqrt(2/R) cos(w'x + b), and K = Z Z'. */
static oracle cosines(kb_context *ctx, const rivalry *t, const kb_rival *r) {
    const cloud *c = t->c;
    size_t N = c->N, R = r->columns;
    oracle o = {calloc(N * N, sizeof *o.K), malloc(N * R * sizeof *o.Z)};
    (void)ctx;
    assert_true(o.K && o.Z);
    for (size_t i = 0; i < N; i++)
        for (size_t k = 0; k < R; k++) {
            double turns = r->phase[k];
            for (size_t j = 0; j < c->d; j++)
                turns +=
                    (c->x[i * c->d + j] - c->shift[j]) * r->factor[j] * *kb_fourier_at(r, k, j);
            o.Z[i * R + k] = sqrt(2.0 / (double)R) * cos(2 * 3.14159265358979323846 * turns);
        }
    for (size_t i = 0; i < N; i++)
        for (size_t j = 0; j < N; j++)
            for (size_t k = 0; k < R; k++)
                o.K[i * N + j] += o.Z[i * R + k] * o.Z[j * R + k];
    return o;
}

/* ---- the table --------------------------------------------------------- */

/* A map over N samples of d features.  The numbers differ so that each property is tested on a
 * shape that can break it, at the least cost. */
typedef struct shape {
    size_t N, d, rank;
} shape;

typedef struct map {
    const char *name;
    kb_rival_kind kind;
    kb_landmarks landmarks;
    oracle (*oracle)(kb_context *ctx, const rivalry *t, const kb_rival *r);
    double close;           /* products to those of the oracle: rounding, unless noted */
    shape products[4];      /* against the oracle; ends with N = 0 */
    size_t product_kernels; /* of TEST_KERNELS, from the first; 0: gauss alone */
    shape bits;             /* for the same bits */
    unsigned bit_kernels;   /* a bit for each of TEST_KERNELS */
    shape small;            /* for allocations that fail */
    shape file;             /* for damaged arrays */
} map;

enum { LAPLACE = 1, POWER = 4, EXPONENTIAL = 16, GAUSS = 32, ALL_KERNELS = 63 };

static const map MAPS[] = {
    {"exact",
     KB_RIVAL_EXACT,
     KB_LANDMARKS_UNIFORM,
     kernel_matrix,
     1e-13,
     {{230, 4, 0}},
     6,
     {500, 5, 0},
     LAPLACE | POWER | EXPONENTIAL,
     {40, 3, 0},
     {20, 3, 0}},
    {"blocks",
     KB_RIVAL_BLOCKS,
     KB_LANDMARKS_UNIFORM,
     blocks_of_the_kernel_matrix,
     1e-13,
     {{260, 3, 50}},
     6,
     {900, 4, 150},
     LAPLACE,
     {40, 3, 8},
     {60, 3, 10}},
    {"small blocks",
     KB_RIVAL_BLOCKS,
     KB_LANDMARKS_UNIFORM,
     blocks_of_the_kernel_matrix,
     1e-13,
     {{260, 3, 20}},
     1,
     {900, 4, 40},
     GAUSS,
     {40, 3, 4},
     {60, 3, 5}},
    /* Z is kept as float. */
    {"fourier",
     KB_RIVAL_FOURIER,
     KB_LANDMARKS_UNIFORM,
     cosines,
     1e-6,
     {{1, 1, 1}, {97, 3, 17}, {200, 130, 300}, {5, 2, 257}},
     0,
     {700, 5, 90},
     ALL_KERNELS,
     {40, 3, 8},
     {20, 3, 17}},
    /* Every fifth sample is a duplicate, so the kernel between all of them is singular: dropped
     * directions are smaller than 1e-6, their squares than 1e-12. */
    {"nystrom",
     KB_RIVAL_NYSTROM,
     KB_LANDMARKS_UNIFORM,
     kernel_matrix,
     1e-9,
     {{150, 4, 1000}},
     6,
     {700, 5, 300},
     LAPLACE,
     {40, 3, 8},
     {20, 3, 12}},
    {"nystrom with distant landmarks",
     KB_RIVAL_NYSTROM,
     KB_LANDMARKS_KMEANS,
     kernel_matrix,
     1e-9,
     {{150, 4, 1000}},
     6,
     {700, 5, 40},
     GAUSS,
     {40, 3, 8},
     {20, 3, 12}},
};
enum { MAP_COUNT = sizeof MAPS / sizeof *MAPS };

static rivalry map_over(const map *m, const cloud *c, const char *kernel, size_t rank,
                        double lambda) {
    return (rivalry){c, m->kind, kernel, rank, m->landmarks, lambda};
}

/* ---- what all maps have in common -------------------------------------- */

/* K V, |Z'V|^2, Z W, Z'V, decisions for the same samples, and a direct solution. */
static double *everything(kb_context *ctx, const rivalry *t, size_t room, int round_trip,
                          const kb_data *data, size_t *count) {
    kb_rival *rival, *copy = NULL;
    kb_operator *op;
    size_t N = data->rows;
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
static void check_products_fit(kb_context *ctx, const rivalry *t) {
    kb_rival *rival;
    kb_operator *op;
    size_t N = t->c->N, count;
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
static void check_same_bits(const rivalry *t) {
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

static int use_rival(kb_context *ctx, void *arg) {
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
static void check_damaged_arrays(kb_context *ctx, const rivalry *t, const kb_data *data) {
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

/* K, K V and Z W are those of the oracle, and a direct solution solves its equations. */
static void check_oracle(kb_context *ctx, const map *m, const rivalry *t) {
    kb_rival *r;
    kb_operator *op;
    size_t N = t->c->N, count;
    assert_ok(ctx, rival_of(ctx, t, t->c->dense, &r));
    assert_ok(ctx, kb_rival_operator(ctx, r, t->c->dense, SIZE_MAX, &op));
    oracle o = m->oracle(ctx, t, r);
    double *K = matrix_of(ctx, op), *v = test_numbers(1, N * C);
    double *w = test_numbers(2, r->columns * C), *want = dense_apply(N, N, C, o.K, v);
    double *all = everything(ctx, t, SIZE_MAX, 0, t->c->dense, &count);
    assert_close(K, o.K, N * N, m->close);
    assert_close(all, want, N * C, m->close);
    if (o.Z) {
        double *decisions = dense_apply(N, r->columns, C, o.Z, w);
        assert_close(all + N * C, decisions, N * C, m->close);
        free(decisions);
    }
    if (kb_rival_is_direct(t->kind)) {
        const double *alpha = all + 3 * N * C;
        double *back = dense_apply(N, N, C, o.K, alpha);
        for (size_t e = 0; e < N * C; e++)
            back[e] += t->lambda * alpha[e];
        assert_close(back, v, N * C, 1e-12);
        free(back);
    }
    free(K), free(v), free(w), free(want), free(all), free(o.K), free(o.Z);
    kb_operator_free(op);
    kb_rival_free(r);
}

static void products_are_those_of_the_oracle(void **state) {
    const map *m = *state;
    kb_context *ctx = test_context();
    for (size_t s = 0; s < 4 && m->products[s].N; s++) {
        cloud c = cloud_build(ctx, m->products[s].N, m->products[s].d, 5);
        for (size_t k = 0; k < m->product_kernels || k < 1; k++) {
            const char *kernel = m->product_kernels ? TEST_KERNELS[k] : "gauss";
            rivalry t = map_over(m, &c, kernel, m->products[s].rank, 0.5);
            check_oracle(ctx, m, &t);
            check_products_fit(ctx, &t);
        }
        cloud_free(&c);
    }
    kb_context_free(ctx);
}

static void no_bit_depends_on_how_it_is_done(void **state) {
    const map *m = *state;
    kb_context *ctx = test_context();
    cloud c = cloud_build(ctx, m->bits.N, m->bits.d, 5);
    for (size_t k = 0; k < TEST_KERNEL_COUNT; k++)
        if (m->bit_kernels >> k & 1) {
            rivalry t = map_over(m, &c, TEST_KERNELS[k], m->bits.rank, 0.1);
            check_same_bits(&t);
            check_products_fit(ctx, &t);
        }
    cloud_free(&c);
    kb_context_free(ctx);
}

/* Few entries among many features, and zeros that stay zeros: rows cost their entries. */
static void thin_rows_give_the_same_bits(void **state) {
    enum { N = 60, d = 2000 };
    const map *m = *state;
    kb_context *ctx = test_context();
    cloud c = cloud_build(ctx, N, d, 5);
    for (size_t k = 0; k < N * d; k++)
        if (k % 97)
            c.x[k] = 0;
    memset(c.shift, 0, d * sizeof(double));
    kb_data_free(c.dense);
    kb_data_free(c.sparse);
    assert_ok(ctx, data_from_dense(ctx, N, d, c.x, NULL, &c.dense));
    c.sparse = test_sparse(ctx, N, d, c.x, NULL);
    rivalry t = map_over(m, &c, "laplace", m->kind == KB_RIVAL_FOURIER ? 70 : 20, 0.1);
    check_same_bits(&t);
    cloud_free(&c);
    kb_context_free(ctx);
}

static void one_to_three_samples_of_one_feature_work(void **state) {
    const map *m = *state;
    kb_context *ctx = test_context();
    for (size_t N = 1; N < 4; N++) {
        cloud c = cloud_build(ctx, N, 1, 5);
        rivalry t = map_over(m, &c, "laplace", 1, 1);
        check_products_fit(ctx, &t);
        cloud_free(&c);
    }
    kb_context_free(ctx);
}

static void damaged_arrays_are_refused(void **state) {
    const map *m = *state;
    kb_context *ctx = test_context();
    cloud c = cloud_build(ctx, m->file.N, m->file.d, 5);
    rivalry t = map_over(m, &c, "laplace", m->file.rank, 1);
    check_damaged_arrays(ctx, &t, c.dense);
    check_damaged_arrays(ctx, &t, c.sparse);
    cloud_free(&c);
    kb_context_free(ctx);
}

static void other_features_than_those_of_the_map_are_refused(void **state) {
    const map *m = *state;
    kb_context *ctx = test_context();
    cloud c = cloud_build(ctx, 20, 3, 5);
    rivalry t = map_over(m, &c, "laplace", 17, 1);
    kb_rival *r;
    kb_data *narrow;
    double w[20] = {0}, out;
    assert_ok(ctx, rival_of(ctx, &t, c.dense, &r));
    assert_ok(ctx, data_from_dense(ctx, 1, 2, c.x, NULL, &narrow));
    assert_fails(ctx, KB_ERR_DATA, "the data have 2 features, the model 3",
                 kb_rival_decide(ctx, r, narrow, 1, w, &out));
    kb_data_free(narrow);
    kb_rival_free(r);
    cloud_free(&c);
    kb_context_free(ctx);
}

static void every_allocation_may_fail(void **state) {
    const map *m = *state;
    kb_context *ctx = test_context();
    cloud c = cloud_build(ctx, m->small.N, m->small.d, 5);
    rivalry t = map_over(m, &c, "laplace", m->small.rank, 1);
    run_with_allocation_failures(use_rival, &t);
    cloud_free(&c);
    kb_context_free(ctx);
}

/* ---- exact ------------------------------------------------------------- */

/* More points than a piece of a product has. */
static void long_rows_are_multiplied_in_pieces(void **unused) {
    test_state state = {0};
    kb_context *ctx = test_context_with(&state, 2);
    cloud c = cloud_build(ctx, 2500, 2, 5);
    rivalry t = {&c, KB_RIVAL_EXACT, "laplace", 0, 0, 0.1};
    size_t count;
    (void)unused;
    double *stored = everything(ctx, &t, SIZE_MAX, 0, c.dense, &count);
    double *lean = everything(ctx, &t, 0, 0, c.dense, &count);
    assert_same_bits(stored, lean, count);
    kb_kernel *kernel = test_kernel(ctx, "laplace");
    double *K = plain_matrix(kernel, &c), *v = test_numbers(1, c.N * C);
    double *want = dense_apply(c.N, c.N, C, K, v);
    assert_close(stored, want, c.N * C, 1e-12);
    free(stored), free(lean), free(K), free(v), free(want);
    kb_kernel_free(kernel);
    cloud_free(&c);
    kb_context_free(ctx);
}

/* ---- all of them ------------------------------------------------------- */

typedef struct property {
    const char *name;
    CMUnitTestFunction check;
} property;
#define PROPERTY(name)                                                                             \
    { #name, name }

static const property PROPERTIES[] = {
    PROPERTY(products_are_those_of_the_oracle),
    PROPERTY(no_bit_depends_on_how_it_is_done),
    PROPERTY(thin_rows_give_the_same_bits),
    PROPERTY(one_to_three_samples_of_one_feature_work),
    PROPERTY(damaged_arrays_are_refused),
    PROPERTY(other_features_than_those_of_the_map_are_refused),
    PROPERTY(every_allocation_may_fail),
};
enum { PROPERTY_COUNT = sizeof PROPERTIES / sizeof *PROPERTIES };

int main(void) {
    static char names[MAP_COUNT * PROPERTY_COUNT][100];
    struct CMUnitTest common[MAP_COUNT * PROPERTY_COUNT];
    const struct CMUnitTest single[] = {
        cmocka_unit_test(long_rows_are_multiplied_in_pieces),
    };
    for (size_t k = 0; k < MAP_COUNT * PROPERTY_COUNT; k++) {
        const map *m = &MAPS[k / PROPERTY_COUNT];
        const property *p = &PROPERTIES[k % PROPERTY_COUNT];
        snprintf(names[k], sizeof names[k], "%s: %s", m->name, p->name);
        common[k] = (struct CMUnitTest){names[k], p->check, NULL, NULL, (void *)(uintptr_t)m};
    }
    return cmocka_run_group_tests_name("all maps", common, NULL, NULL) +
           cmocka_run_group_tests_name("exact alone", single, NULL, NULL);
}
