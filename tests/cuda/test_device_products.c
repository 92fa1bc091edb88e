/* Products in whole numbers on a device: those of kb_operator_joined, to the bit. */
#define _POSIX_C_SOURCE 200809L
#include "cuda/on_device.h"
#include "features/world.h"

#include "device/device_operator.h"
#include "joined/halves.h"
#include "joined/joined_operator.h"

typedef struct pair {
    world w;
    kb_binmat *z; /* there */
    kb_operator *here, *there;
} pair;

static pair pair_build(kb_context *ctx, size_t N, size_t d, size_t R, double sigma) {
    pair p = {.w = world_build(ctx, N, d, R, sigma)};
    kb_binning binning = world_binning(&p.w);
    test_device(ctx);
    assert_ok(ctx, kb_device_bin(ctx, &binning, p.w.data, R, NULL, &p.z));
    assert_ok(ctx, kb_operator_joined(ctx, p.w.z, &p.here));
    assert_ok(ctx, kb_operator_device(ctx, p.z, &p.there));
    return p;
}

static void pair_free(pair *p) {
    kb_operator_free(p->here);
    kb_operator_free(p->there);
    kb_binmat_free(p->z);
    world_free(&p->w);
}

static double *zeros(size_t count) {
    double *x = calloc(count ? count : 1, sizeof *x);
    assert_non_null(x);
    return x;
}

/* All products of the C columns of v. */
static void compare(kb_context *ctx, const pair *p, size_t C, const double *v) {
    size_t N = p->w.N, D = p->z->bins;
    double *a = zeros(N * C), *b = zeros(N * C), *wa = zeros(D * C), *wb = zeros(D * C);
    double square[2][16];
    assert_ok(ctx, p->here->apply_k(p->here, ctx, C, v, a, square[0]));
    assert_ok(ctx, p->there->apply_k(p->there, ctx, C, v, b, square[1]));
    assert_same_bits(a, b, N * C);
    assert_same_bits(square[0], square[1], C);
    assert_ok(ctx, p->there->apply_k(p->there, ctx, C, v, b, NULL));
    assert_same_bits(a, b, N * C);
    assert_ok(ctx, p->here->apply_t(p->here, ctx, C, v, wa));
    assert_ok(ctx, p->there->apply_t(p->there, ctx, C, v, wb));
    assert_same_bits(wa, wb, D * C);
    free(a), free(b), free(wa), free(wb);
}

static void products_are_those_of_ranks(void **unused) {
    static const size_t rows[] = {1, 33, 700, 2100}, grids[] = {1, 16, 17, 45};
    static const double sigma[] = {0.02, 0.4, 5};
    kb_context *ctx = test_context();
    (void)unused;
    for (size_t k = 0; k < 12; k++) {
        pair p = pair_build(ctx, rows[k % 4], 1 + k % 3, grids[(k + k / 4) % 4], sigma[k % 3]);
        size_t C = 1 + k % 9;
        double *v = test_numbers(11 + k, p.w.N * C);
        for (size_t e = 0; e < p.w.N * C; e++)
            v[e] *= e % 5 ? 1 : 1e-9; /* of different sizes */
        compare(ctx, &p, C, v);
        assert_int_equal(p.z->away, 1);
        free(v);
        pair_free(&p);
    }
    kb_context_free(ctx);
}

static void columns_that_are_zero_or_not_finite(void **unused) {
    enum { N = 60, C = 7 };
    kb_context *ctx = test_context();
    pair p = pair_build(ctx, N, 2, 20, 0.4);
    double *v = test_numbers(5, N * C);
    (void)unused;
    for (size_t i = 0; i < N; i++)
        v[i * C + 1] = 0, v[i * C + 4] *= 1e-310, v[i * C + 6] *= 1e300;
    v[3 * C + 2] = NAN;
    v[5 * C + 3] = -INFINITY;
    compare(ctx, &p, C, v);
    free(v);
    pair_free(&p);
    kb_context_free(ctx);
}

static void little_memory_gives_the_same_bits(void **unused) {
    test_state state = {0};
    kb_context *ctx = test_context_with(&state, 2);
    pair p = pair_build(ctx, 500, 2, 40, 0.4);
    double *v = test_numbers(5, 500 * 3);
    (void)unused;
    if (test_is_emulated(ctx)) {
        assert_ok(ctx, kb_binmat_fetch(ctx, p.z));
        setenv("KB_EMULATED_MEMORY", "1000", 1);
        compare(ctx, &p, 3, v);
        unsetenv("KB_EMULATED_MEMORY");
        assert_int_equal(state.warnings, 1);
    }
    free(v);
    pair_free(&p);
    kb_context_free(ctx);
    assert_int_equal(state.live, 0);
}

/* Against the arithmetic of 128 bits, of all sizes and at the points that round either way. */
static void sums_of_halves_are_the_nearest_number(void **unused) {
    (void)unused;
    for (uint64_t k = 0; k < 200000; k++) {
        double a = test_uniform(1, k) - 0.5, b = test_uniform(2, k) - 0.5;
        int64_t sum[2] = {(int64_t)ldexp(a, (int)(k % 61)), (int64_t)ldexp(b, (int)(k / 61 % 57))};
        if (k % 3 == 0)
            sum[1] = (int64_t)1 << k / 3 % 56;
        if (k % 7 == 0)
            sum[0] &= ~(((int64_t)1 << k % 40) - 1);
        double expected = (double)((__int128)sum[0] * ((int64_t)1 << KB_HALVES_LOW) + sum[1]);
        double found = kb_halves_value(sum);
        assert_same_bits(&expected, &found, 1);
    }
}

static int multiply_all(kb_context *ctx, void *arg) {
    const world *w = arg;
    kb_binning binning = world_binning(w);
    kb_device *device;
    kb_binmat *z = NULL;
    kb_operator *op = NULL;
    double v[60], out[60];
    for (size_t i = 0; i < 60; i++)
        v[i] = (double)i;
    int status = kb_device_open(ctx, &device);
    if (status == KB_OK)
        status = kb_device_bin(ctx, &binning, w->data, w->R, NULL, &z);
    if (status == KB_OK)
        status = kb_operator_device(ctx, z, &op);
    if (status == KB_OK)
        status = op->apply_k(op, ctx, 1, v, out, NULL);
    kb_operator_free(op);
    kb_binmat_free(z);
    if (ctx->free_device)
        ctx->free_device(ctx);
    return status;
}

static void failures_leave_nothing(void **unused) {
    kb_context *ctx = test_context();
    world w = world_build(ctx, 60, 2, 20, 0.5);
    kb_device *d = test_device(ctx);
    double before = d->call->memory_free(d->gpu);
    (void)unused;
    run_with_allocation_failures(multiply_all, &w);
    assert_true(d->call->memory_free(d->gpu) >= before);
    world_free(&w);
    kb_context_free(ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(products_are_those_of_ranks),
        cmocka_unit_test(columns_that_are_zero_or_not_finite),
        cmocka_unit_test(little_memory_gives_the_same_bits),
        cmocka_unit_test(sums_of_halves_are_the_nearest_number),
        cmocka_unit_test(failures_leave_nothing),
    };
    return test_has_device() ? cmocka_run_group_tests(tests, NULL, NULL) : TEST_SKIPPED;
}
