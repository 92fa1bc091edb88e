/* Bins made on a device: the same bin matrix as on the CPU, to the bit. */
#define _POSIX_C_SOURCE 200809L
#include "cuda/on_device.h"
#include "features/world.h"

static void same_ids(const kb_id_group *a, const kb_id_group *b, size_t rows) {
    assert_int_equal(a->ids != NULL, b->ids != NULL);
    if (!a->ids)
        return;
    assert_int_equal(a->bits, b->bits);
    assert_memory_equal(a->ids, b->ids, rows * kb_id_row_bytes(a->bits));
}

/* b may be on a device. */
static void same_matrix(kb_context *ctx, const kb_binmat *a, const kb_binmat *b) {
    double ids = b->away ? (double)b->id_bytes : 0;
    assert_int_equal(b->away, b->elsewhere != NULL);
    assert_ok(ctx, kb_binmat_fetch(ctx, b));
    assert_int_equal(b->away, 0);
    assert_int_equal(a->rows, b->rows);
    assert_int_equal(a->grids, b->grids);
    assert_int_equal(a->R, b->R);
    assert_int_equal(a->bins, b->bins);
    assert_int_equal(a->id_bytes, b->id_bytes);
    assert_true(a->kappa == b->kappa);
    /* The first bundles tell what all will take: only of few are these all. */
    assert_true(a->bundles > 4 || a->forecast == b->forecast + ids);
    assert_memory_equal(a->start, b->start, (a->grids + 1) * sizeof *a->start);
    for (size_t r = 0; r < a->grids; r++)
        assert_memory_equal(a->key[r], b->key[r], kb_binmat_bins_of(a, r) * sizeof(uint64_t));
    for (size_t k = 0; k < a->bundles; k++)
        same_ids(&a->bundle[k], &b->bundle[k], a->rows);
    for (size_t q = 0; q < a->groups; q++) {
        assert_int_equal(a->tuples[q], b->tuples[q]);
        same_ids(&a->group[q], &b->group[q], a->tuples[q]);
    }
}

/* Bundles that have tuples. */
static size_t with_tuples(const kb_binmat *z) {
    size_t count = 0;
    for (size_t k = 0; k < z->bundles; k++)
        count += z->bundle[k].ids != NULL;
    return count;
}

static kb_binmat *bin_there(kb_context *ctx, const world *w, const kb_memory_plan *memory) {
    kb_binmat *z;
    kb_binning binning = world_binning(w);
    test_device(ctx);
    assert_ok(ctx, kb_device_bin(ctx, &binning, w->data, w->R, memory, &z));
    return z;
}

/* Returns how many bundles have tuples. */
static size_t compare(kb_context *ctx, size_t N, size_t d, size_t R, double sigma) {
    world w = world_build(ctx, N, d, R, sigma);
    kb_binmat *z = bin_there(ctx, &w, NULL);
    assert_non_null(kb_device_bins_of(z));
    same_matrix(ctx, w.z, z);
    size_t count = with_tuples(z);
    kb_binmat_free(z);
    world_free(&w);
    return count;
}

static void bins_are_those_of_the_cpu(void **unused) {
    static const size_t rows[] = {1, 5, 31, 32, 33, 700, 2049}, grids[] = {1, 3, 8, 9, 16, 17, 45};
    static const double sigma[] = {0.02, 0.4, 5};
    kb_context *ctx = test_context();
    size_t any = 0, none = 0;
    (void)unused;
    for (size_t i = 0; i < 7; i++)
        for (size_t k = 0; k < 7; k++)
            for (size_t s = 0; s < 3; s++) {
                size_t R = grids[(i + k) % 7];
                size_t tuples = compare(ctx, rows[i], 1 + (i + k + s) % 4, R, sigma[s]);
                any += tuples > 0;
                none += tuples == 0;
            }
    assert_true(any > 0);
    assert_true(none > 0);
    kb_context_free(ctx);
}

/* More than 2^8 and 2^16 bins of a grid, and more keys than the first table holds. */
static void ids_are_as_wide_as_they_must_be(void **unused) {
    kb_context *ctx = test_context();
    (void)unused;
    compare(ctx, 600, 2, 5, 1e-4);
    if (!TEST_LIGHT)
        compare(ctx, 66000, 1, 3, 1e-7);
    kb_context_free(ctx);
}

/* Of many rows, bundles after the first four have no tuples where those have none. */
static void many_rows_are_stored_as_on_the_cpu(void **unused) {
    kb_context *ctx = test_context();
    (void)unused;
    if (!TEST_LIGHT) {
        assert_int_equal(compare(ctx, 65600, 2, 81, 20), 6);
        assert_int_equal(compare(ctx, 65600, 2, 81, 0.001), 0);
    }
    kb_context_free(ctx);
}

/* Values so far out that they share the outermost bin. */
static void values_of_any_size_have_their_bin(void **unused) {
    static const double far[] = {0, -0.0, 1e5, -1e5, 3e9, -3e9, 1e300, -1e300, 5e-324, 1e-300};
    enum { FAR = sizeof far / sizeof *far, N = 300 };
    kb_context *ctx = test_context();
    world w = world_build(ctx, N, 3, 20, 0.3);
    (void)unused;
    for (size_t i = 0; i < N; i++)
        w.data->dense[3 * i + i % 3] = far[i % FAR] * (double)(1 + i / 100);
    for (size_t j = 0; j < 3; j++) {
        w.shift[j] = (double)j - 0.7;
        w.scale[j] = 1 / (0.3 + (double)j);
    }
    kb_binmat *here = world_bin(ctx, &w, NULL), *there = bin_there(ctx, &w, NULL);
    same_matrix(ctx, here, there);
    kb_binmat_free(here);
    kb_binmat_free(there);
    world_free(&w);
    kb_context_free(ctx);
}

static void the_limit_of_memory_holds(void **unused) {
    kb_context *ctx = test_context();
    world w = world_build(ctx, 2000, 3, 100, 0.2);
    kb_binning binning = world_binning(&w);
    kb_memory_plan plan = {.limit = 1000, .fixed = 1000, .per_bin = 10};
    kb_binmat *z, *here;
    char message[] = "with the bin numbers that come from the GPU ";
    (void)unused;
    test_device(ctx);
    assert_int_equal(kb_device_bin(ctx, &binning, w.data, w.R, &plan, &z), KB_ERR_MEMORY);
    assert_null(z);
    /* Enough for all but the numbers, as long as they are not asked for. */
    plan.limit = (size_t)(plan.fixed + plan.per_bin * (double)w.z->bins * 1.3);
    assert_int_equal(kb_binmat_build(ctx, &binning, w.data, w.R, &plan, &here), KB_ERR_MEMORY);
    z = bin_there(ctx, &w, &plan);
    for (int k = 0; k < 2; k++) {
        assert_int_equal(kb_binmat_fetch(ctx, z), KB_ERR_MEMORY);
        assert_memory_equal(kb_context_message(ctx), message, sizeof message - 1);
        assert_int_equal(z->away, 1);
    }
    kb_binmat_free(z);
    plan.limit = (size_t)1 << 30;
    assert_ok(ctx, kb_binmat_build(ctx, &binning, w.data, w.R, &plan, &here));
    z = bin_there(ctx, &w, &plan);
    same_matrix(ctx, here, z);
    kb_binmat_free(here);
    kb_binmat_free(z);
    world_free(&w);
    kb_context_free(ctx);
}

/* ---- what stays on the CPU --------------------------------------------- */

static void sparse_rows_stay_on_the_cpu(void **unused) {
    test_state state = {0};
    kb_context *ctx = test_context_with(&state, 2);
    world w = world_build(ctx, 100, 3, 20, 0.5);
    kb_data *dense = w.data;
    (void)unused;
    w.data = test_sparse(ctx, w.N, w.d, w.x, NULL);
    for (int k = 0; k < 2; k++) {
        kb_binmat *z = bin_there(ctx, &w, NULL);
        assert_null(kb_device_bins_of(z));
        same_matrix(ctx, w.z, z);
        kb_binmat_free(z);
    }
    assert_int_equal(state.warnings, 1);
    assert_non_null(
        strstr(state.log, "--device cuda: sparse rows are binned and solved on the CPU"));
    kb_data_free(dense);
    world_free(&w);
    kb_context_free(ctx);
    assert_int_equal(state.live, 0);
}

/* With so little memory that nothing fits, and with too little for the bins alone. */
static void too_little_memory_leaves_it_to_the_cpu(void **unused) {
    kb_context *plain = test_context();
    int emulated = test_is_emulated(plain);
    (void)unused;
    for (size_t bytes = 1000; emulated && bytes < (size_t)1 << 23; bytes *= 2) {
        char text[32];
        test_state state = {0};
        kb_context *ctx = test_context_with(&state, 1);
        world w = world_build(ctx, 3000, 3, 50, 0.01);
        snprintf(text, sizeof text, "%zu", bytes);
        setenv("KB_EMULATED_MEMORY", text, 1);
        kb_binmat *z = bin_there(ctx, &w, NULL);
        same_matrix(ctx, w.z, z);
        assert_int_equal(state.warnings, kb_device_bins_of(z) == NULL);
        kb_binmat_free(z);
        world_free(&w);
        kb_context_free(ctx);
        assert_int_equal(state.live, 0);
    }
    unsetenv("KB_EMULATED_MEMORY");
    kb_context_free(plain);
}

/* Z W and the known bins of some rows, without the numbers being here. */
static void what_is_done_there_is_that_of_the_cpu(void **unused) {
    static const size_t columns[] = {1, 2, 5, 8}, grids[] = {45, 16, 17, 3};
    kb_context *ctx = test_context();
    (void)unused;
    for (size_t k = 0; k < 8; k++) {
        size_t C = columns[k % 4], N = k < 4 ? 900 : 77;
        world w = world_build(ctx, N, 1 + k % 3, grids[(k + k / 4) % 4], k % 2 ? 2 : 0.05);
        kb_binmat *z = bin_there(ctx, &w, NULL);
        kb_operator *here, *there;
        double *v = test_numbers(3, z->bins * C), *a = malloc(2 * N * C * sizeof *a);
        assert_non_null(a);
        v[0] = -0.0;
        assert_ok(ctx, kb_operator_binmat(ctx, w.z, &here));
        assert_ok(ctx, kb_operator_binmat(ctx, z, &there));
        assert_ok(ctx, here->apply(here, ctx, C, v, a));
        assert_ok(ctx, there->apply(there, ctx, C, v, a + N * C));
        assert_same_bits(a, a + N * C, N * C);
        assert_int_equal(z->away, 1);
        /* This one brings the numbers here. */
        assert_ok(ctx, here->apply_k(here, ctx, C, a, a + N * C, NULL));
        double *b = malloc(N * C * sizeof *b);
        assert_non_null(b);
        assert_ok(ctx, there->apply_k(there, ctx, C, a, b, NULL));
        assert_same_bits(b, a + N * C, N * C);
        free(b);
        assert_int_equal(z->away, 0);
        kb_operator_free(here);
        kb_operator_free(there);
        kb_binmat_free(z);
        free(v), free(a);
        world_free(&w);
    }
    kb_context_free(ctx);
}

static int bin_all(kb_context *ctx, void *arg) {
    const world *w = arg;
    kb_binning binning = world_binning(w);
    kb_device *device;
    kb_binmat *z = NULL;
    int status = kb_device_open(ctx, &device);
    if (status == KB_OK)
        status = kb_device_bin(ctx, &binning, w->data, w->R, NULL, &z);
    if (status == KB_OK)
        status = kb_binmat_fetch(ctx, z);
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
    run_with_allocation_failures(bin_all, &w);
    run_with_cancellations(bin_all, &w, 2, 2);
    assert_true(d->call->memory_free(d->gpu) >= before);
    world_free(&w);
    kb_context_free(ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bins_are_those_of_the_cpu),
        cmocka_unit_test(ids_are_as_wide_as_they_must_be),
        cmocka_unit_test(many_rows_are_stored_as_on_the_cpu),
        cmocka_unit_test(values_of_any_size_have_their_bin),
        cmocka_unit_test(the_limit_of_memory_holds),
        cmocka_unit_test(what_is_done_there_is_that_of_the_cpu),
        cmocka_unit_test(sparse_rows_stay_on_the_cpu),
        cmocka_unit_test(too_little_memory_leaves_it_to_the_cpu),
        cmocka_unit_test(failures_leave_nothing),
    };
    return test_has_device() ? cmocka_run_group_tests(tests, NULL, NULL) : TEST_SKIPPED;
}
