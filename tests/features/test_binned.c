/* Grids, Z and its operator made together, whole and by ranges of grids. */
#include "features/matrix.h"

#include "features/binned.h"

enum { D = 2, V = 3, R = 53, SEED = 9 };

/* N samples, and widths of three vectors: `sigma` times 1, 2 and 3. */
typedef struct setting {
    kb_data *data;
    kb_law *law;
    double shift[D], scale[D];
    kb_width width[V * D];
    kb_widths widths;
} setting;

static setting setting_create(kb_context *ctx, size_t N, double sigma) {
    setting s = {.scale = {1, 2}, .shift = {0, 0.5}};
    double *x = test_values(N, D, 5);
    assert_ok(ctx, data_from_dense(ctx, N, D, x, NULL, &s.data));
    assert_ok(ctx, kb_law_parse(ctx, "laplace", &s.law));
    for (size_t k = 0; k < V * D; k++)
        s.width[k] = (kb_width){s.law, sigma * (double)(1 + k / D), k == 1 ? 0.5 : 1};
    free(x);
    return s;
}

static void setting_free(setting *s) {
    kb_data_free(s->data);
    kb_law_free(s->law);
}

static kb_binned_spec spec_of(setting *s, size_t first, size_t count) {
    s->widths = (kb_widths){V, D, s->width};
    return (kb_binned_spec){.shift = s->shift,
                            .scale = s->scale,
                            .widths = &s->widths,
                            .seed = SEED,
                            .first = first,
                            .count = count,
                            .R = R};
}

static kb_binned bin(kb_context *ctx, setting *s, size_t first, size_t count) {
    kb_binned out;
    kb_binned_spec spec = spec_of(s, first, count);
    assert_ok(ctx, kb_binned_build(ctx, &spec, s->data, &out));
    return out;
}

/* The same as its parts made one by one. */
static void the_parts_belong_together(void **unused) {
    kb_context *ctx = test_context();
    setting s = setting_create(ctx, 80, 0.5);
    kb_binned b = bin(ctx, &s, 0, R);
    kb_grids *grids;
    kb_binmat *z;
    (void)unused;
    assert_ok(ctx, kb_grids_build(ctx, SEED, 0, R, &s.widths, &grids));
    kb_binning binning = {grids, s.shift, s.scale, NULL};
    assert_ok(ctx, kb_binmat_build(ctx, &binning, s.data, R, NULL, &z));
    assert_int_equal(b.grids->grids, R);
    assert_int_equal(b.z->R, R);
    assert_same_bits(b.grids->parameter, grids->parameter,
                     kb_grids_blocks(grids) * D * 2 * KB_LANES);
    assert_same_bits(b.z->start, z->start, R + 1);
    double *mine = test_matrix(b.z), *Z = test_matrix(z), *v = test_numbers(2, z->rows);
    assert_same_bits(mine, Z, z->rows * z->bins);
    check_operator(ctx, b.op, Z, 1, v, TOLERANCE);
    free(mine), free(Z), free(v);
    kb_binmat_free(z);
    kb_grids_free(grids);
    kb_binned_release(&b);
    assert_null(b.grids);
    assert_null(b.z);
    assert_null(b.op);
    setting_free(&s);
    kb_context_free(ctx);
}

/* K V, |Z'V|^2 and Z W of the ranges, added up, against the whole; `cut` is their border. */
static void check_sums(kb_context *ctx, setting *s, size_t cut, size_t C) {
    kb_binned whole = bin(ctx, s, 0, R), part[2];
    size_t N = s->data->rows, columns = whole.op->columns, at = 0;
    double *v = test_numbers(1, N * C), *w = test_numbers(2, columns * C);
    double *want = numbers_for(2 * N * C), *sum = calloc(2 * N * C, sizeof *sum);
    double *one = numbers_for(2 * N * C), square[2 * MOST], total[MOST] = {0};
    assert_ok(ctx, whole.op->apply_k(whole.op, ctx, C, v, want, square));
    assert_ok(ctx, whole.op->apply(whole.op, ctx, C, w, want + N * C));
    for (int k = 0; k < 2; k++) {
        part[k] = k ? bin(ctx, s, cut, R - cut) : bin(ctx, s, 0, cut);
        kb_operator *op = part[k].op;
        assert_ok(ctx, op->apply_k(op, ctx, C, v, one, square + MOST));
        assert_ok(ctx, op->apply(op, ctx, C, w + at * C, one + N * C));
        for (size_t i = 0; i < 2 * N * C; i++)
            sum[i] += one[i];
        for (size_t c = 0; c < C; c++)
            total[c] += square[MOST + c];
        at += op->columns;
        kb_binned_release(&part[k]);
    }
    assert_int_equal(at, columns);
    assert_close(sum, want, 2 * N * C, TOLERANCE);
    assert_close(total, square, C, TOLERANCE);
    kb_binned_release(&whole);
    free(v), free(w), free(want), free(sum), free(one);
}

static void ranges_add_up_to_the_whole(void **unused) {
    static const size_t cuts[] = {1, 7, 16, 32, 50, R - 1};
    static const double sigmas[] = {0.01, 20}; /* without tuples, and with */
    kb_context *ctx = test_context();
    (void)unused;
    for (int k = 0; k < 2; k++) {
        setting s = setting_create(ctx, 300, sigmas[k]);
        for (size_t c = 0; c < sizeof cuts / sizeof *cuts; c++) {
            check_sums(ctx, &s, cuts[c], 1);
            check_sums(ctx, &s, cuts[c], 5);
        }
        setting_free(&s);
    }
    kb_context_free(ctx);
}

/* Z'V and the bin numbers, the ranges one after the other. */
static void ranges_of_bundles_have_the_bits_of_the_whole(void **unused) {
    enum { N = 300, C = 3 };
    static const size_t border[] = {0, KB_BUNDLE, 3 * KB_BUNDLE, R};
    static const double sigmas[] = {0.01, 20};
    kb_context *ctx = test_context();
    (void)unused;
    for (int k = 0; k < 2; k++) {
        setting s = setting_create(ctx, N, sigmas[k]);
        kb_binned whole = bin(ctx, &s, 0, R);
        assert_int_equal(whole.z->bundle[0].ids != NULL, k == 1);
        size_t columns = whole.op->columns, at = 0;
        double *v = test_numbers(1, N * C), *want = numbers_for(columns * C);
        double *out = numbers_for(columns * C);
        assert_ok(ctx, whole.op->apply_t(whole.op, ctx, C, v, want));
        for (int p = 0; p < 3; p++) {
            kb_binned part = bin(ctx, &s, border[p], border[p + 1] - border[p]);
            assert_ok(ctx, part.op->apply_t(part.op, ctx, C, v, out + at * C));
            for (size_t r = 0; r < part.z->grids; r++)
                for (size_t i = 0; i < N; i++)
                    assert_int_equal(kb_binmat_id(part.z, i, r),
                                     kb_binmat_id(whole.z, i, border[p] + r));
            at += part.op->columns;
            kb_binned_release(&part);
        }
        assert_int_equal(at, columns);
        assert_same_bits(out, want, columns * C);
        free(v), free(want), free(out);
        kb_binned_release(&whole);
        setting_free(&s);
    }
    kb_context_free(ctx);
}

/* With the value of the whole, also for some of the rows. */
static void rows_of_a_range_keep_the_value(void **unused) {
    static const uint32_t rows[] = {3, 4, 10, 49};
    kb_context *ctx = test_context();
    setting s = setting_create(ctx, 50, 0.5);
    kb_binned b = bin(ctx, &s, 5, 11);
    kb_operator *some;
    (void)unused;
    double v[4] = {1, 0, 0, 0}, out[4];
    assert_ok(ctx, b.op->subset(b.op, ctx, 4, rows, &some));
    assert_ok(ctx, some->apply_k(some, ctx, 1, v, out, NULL));
    assert_true(fabs(out[0] - 11.0 / R) < 1e-15); /* a row shares all 11 grids with itself */
    kb_operator_free(some);
    kb_binned_release(&b);
    setting_free(&s);
    kb_context_free(ctx);
}

static void the_operator_does_without_the_grids(void **unused) {
    kb_context *ctx = test_context();
    setting s = setting_create(ctx, 30, 1);
    kb_binned b = bin(ctx, &s, 0, R);
    kb_grids *grids = kb_binned_take_grids(&b);
    (void)unused;
    assert_null(b.grids);
    assert_int_equal(grids->grids, R);
    kb_grids_free(grids);
    double *Z = test_matrix(b.z), *v = test_numbers(2, b.z->rows);
    check_operator(ctx, b.op, Z, 1, v, TOLERANCE);
    free(Z), free(v);
    kb_binned_release(&b);
    setting_free(&s);
    kb_context_free(ctx);
}

static void too_little_memory_is_refused(void **unused) {
    test_state state = {0};
    kb_context *ctx = test_context_with(&state, 2);
    setting s = setting_create(ctx, 30, 1);
    kb_memory_plan memory = {1000, 0, 0};
    kb_binned_spec spec = spec_of(&s, 0, R);
    kb_binned b = bin(ctx, &s, 0, R); /* the team is there from now on */
    (void)unused;
    kb_binned_release(&b);
    long live = state.live;
    spec.memory = &memory;
    assert_int_equal(kb_binned_build(ctx, &spec, s.data, &b), KB_ERR_MEMORY);
    assert_true(!b.grids && !b.z && !b.op);
    assert_int_equal(state.live, live);
    setting_free(&s);
    kb_context_free(ctx);
    assert_int_equal(state.live, 0);
}

static int build(kb_context *ctx, void *arg) {
    setting *s = arg;
    kb_binned b;
    kb_binned_spec spec = spec_of(s, 4, 20);
    kb_status status = kb_binned_build(ctx, &spec, s->data, &b);
    if (status != KB_OK)
        assert_true(!b.grids && !b.z && !b.op);
    kb_binned_release(&b);
    return (int)status;
}

static void every_allocation_may_fail(void **unused) {
    kb_context *ctx = test_context();
    setting s = setting_create(ctx, 50, 0.5);
    (void)unused;
    run_with_allocation_failures(build, &s);
    setting_free(&s);
    kb_context_free(ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_parts_belong_together),
        cmocka_unit_test(ranges_add_up_to_the_whole),
        cmocka_unit_test(ranges_of_bundles_have_the_bits_of_the_whole),
        cmocka_unit_test(rows_of_a_range_keep_the_value),
        cmocka_unit_test(the_operator_does_without_the_grids),
        cmocka_unit_test(too_little_memory_is_refused),
        cmocka_unit_test(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
