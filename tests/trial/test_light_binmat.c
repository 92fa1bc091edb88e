/* Bin numbers for trials: against those of a fit, and against bins that are told apart coordinate
 * by coordinate. */
#include "features/world.h"

#include "trial/light_binmat.h"

static kb_binmat *build_light(kb_context *ctx, const world *w, const kb_data *data) {
    kb_binning binning = world_binning(w);
    kb_binmat *z;
    assert_true(kb_light_binmat_suits(data, w->R));
    assert_ok(ctx, kb_light_binmat_build(ctx, &binning, data, w->R, &z));
    return z;
}

/* Whether row i is so close to the edge of a bin that a float may put it on the other side. */
static int is_at_an_edge(const world *w, size_t r, size_t i) {
    for (size_t j = 0; j < w->d; j++) {
        const double *at = kb_grids_at(w->grids, r, j);
        double t = (w->x[i * w->d + j] - w->shift[j]) * w->scale[j] * at[0] + at[KB_LANES];
        if (fabs(t - rint(t)) <= 1e-5 * (1 + fabs(t)))
            return 1;
    }
    return 0;
}

/* A grid without such rows has the numbers of the other; few grids have them. */
static void check_numbers(const world *w, const kb_binmat *z) {
    size_t compared = 0;
    assert_int_equal(z->rows, w->N);
    assert_int_equal(z->grids, w->R);
    assert_int_equal(z->bins, z->start[w->R]);
    for (size_t r = 0; r < w->R; r++) {
        int edge = 0;
        for (size_t i = 0; i < w->N && !edge; i++)
            edge = is_at_an_edge(w, r, i);
        if (edge)
            continue;
        compared++;
        assert_int_equal(kb_binmat_bins_of(z, r), kb_binmat_bins_of(w->z, r));
        for (size_t i = 0; i < w->N; i++)
            assert_int_equal(kb_binmat_id(z, i, r), kb_binmat_id(w->z, i, r));
    }
    assert_true(2 * compared >= w->R);
    for (size_t r = z->grids; r < z->groups * KB_GROUP; r++) /* lanes past the last grid */
        for (size_t i = 0; i < w->N; i++)
            assert_int_equal(kb_binmat_id(z, i, r), 0);
}

static void numbers_are_those_of_a_fit(void **unused) {
    static const struct {
        size_t N, d, R;
        double sigma;
    } shapes[] = {{300, 3, 20, 0.7}, {1, 1, 1, 1},    {200, 1, 3, 0.3}, {150, 6, 7, 5},
                  {97, 2, 9, 100},   {500, 2, 40, 3}, {800, 3, 17, 0.1}};
    kb_context *ctx = test_context();
    (void)unused;
    for (size_t k = 0; k < sizeof shapes / sizeof *shapes; k++)
        for (int scaled = 0; scaled < 2; scaled++) {
            world w = world_build(ctx, shapes[k].N, shapes[k].d, shapes[k].R, shapes[k].sigma);
            for (size_t j = 0; scaled && j < w.d; j++) {
                w.shift[j] = 0.4 - (double)j;
                w.scale[j] = 0.8 + 0.1 * (double)j;
            }
            kb_binmat_free(w.z);
            w.z = world_bin(ctx, &w, NULL);
            kb_data *sparse = test_sparse(ctx, w.N, w.d, w.x, NULL);
            const kb_data *forms[] = {w.data, sparse};
            for (size_t f = 0; f < 2; f++) {
                kb_binmat *z = build_light(ctx, &w, forms[f]);
                check_numbers(&w, z);
                kb_binmat_free(z);
            }
            kb_data_free(sparse);
            world_free(&w);
        }
    kb_context_free(ctx);
}

/* Wide bins have tuples, narrow ones do not; products are those of the other matrix. */
static void products_do_not_care(void **unused) {
    kb_context *ctx = test_context();
    (void)unused;
    for (int narrow = 0; narrow < 2; narrow++) {
        world w = world_build(ctx, 700, 2, 24, narrow ? 0.02 : 4);
        kb_binmat *z = build_light(ctx, &w, w.data);
        kb_operator *op, *other;
        double *v = test_numbers(9, w.N * 3), *got = test_numbers(1, w.N * 3);
        double *want = test_numbers(2, w.N * 3);
        assert_int_equal(z->bundle[0].ids != NULL, !narrow);
        assert_ok(ctx, kb_operator_binmat(ctx, z, &op));
        assert_ok(ctx, kb_operator_binmat(ctx, w.z, &other));
        assert_ok(ctx, op->apply_k(op, ctx, 3, v, got, NULL));
        assert_ok(ctx, other->apply_k(other, ctx, 3, v, want, NULL));
        if (z->bins == w.z->bins) /* no row at an edge */
            for (size_t i = 0; i < w.N * 3; i++)
                assert_true(fabs(got[i] - want[i]) <= 1e-12 * (double)w.N);
        kb_operator_free(op);
        kb_operator_free(other);
        kb_binmat_free(z);
        free(v);
        free(got);
        free(want);
        world_free(&w);
    }
    kb_context_free(ctx);
}

static void threads_do_not_matter(void **unused) {
    static const int threads[] = {2, 3, 7, 16};
    kb_context *ctx = test_context();
    (void)unused;
    for (int narrow = 0; narrow < 2; narrow++) {
        world w = world_build(ctx, 900, 3, 70, narrow ? 0.1 : 6);
        kb_binmat *one = build_light(ctx, &w, w.data);
        for (size_t t = 0; t < sizeof threads / sizeof *threads; t++) {
            test_state state = {0};
            kb_context *team = test_context_with(&state, threads[t]);
            kb_binmat *z = build_light(team, &w, w.data);
            assert_int_equal(z->bins, one->bins);
            for (size_t b = 0; b < z->bundles; b++)
                assert_int_equal(z->bundle[b].ids != NULL, one->bundle[b].ids != NULL);
            for (size_t r = 0; r < w.R; r++)
                for (size_t i = 0; i < w.N; i++)
                    assert_int_equal(kb_binmat_id(z, i, r), kb_binmat_id(one, i, r));
            kb_binmat_free(z);
            kb_context_free(team);
            assert_int_equal(state.live, 0);
        }
        kb_binmat_free(one);
        world_free(&w);
    }
    kb_context_free(ctx);
}

/* Values without end, columns of one value, widths of next to nothing. */
static void extreme_values_have_bins(void **unused) {
    enum { N = 6, R = 8 };
    double x[] = {1e300, 5, -1e300, 5, 0, 5, 1, 5, 1, 5, 1e-300, 5};
    kb_context *ctx = test_context();
    kb_law *law;
    kb_data *data = test_sparse(ctx, N, 2, x, NULL);
    double shift[] = {0, 0}, scale[] = {1, 1};
    (void)unused;
    assert_ok(ctx, kb_law_parse(ctx, "laplace", &law));
    for (int narrow = 0; narrow < 2; narrow++) {
        kb_grids *grids = test_grids(ctx, law, narrow ? 1e-280 : 1, R, 2, 1);
        kb_binning binning = {grids, shift, scale, NULL};
        kb_binmat *z;
        assert_ok(ctx, kb_light_binmat_build(ctx, &binning, data, R, &z));
        for (size_t r = 0; r < R; r++) {
            assert_int_equal(kb_binmat_id(z, 3, r), kb_binmat_id(z, 4, r)); /* equal rows */
            assert_int_equal(kb_binmat_id(z, 0, r), 0);
            assert_int_equal(kb_binmat_id(z, 1, r), 1);
        }
        kb_binmat_free(z);
        kb_grids_free(grids);
    }
    kb_data_free(data);
    kb_law_free(law);
    kb_context_free(ctx);
}

static int build(kb_context *ctx, void *arg) {
    const world *w = arg;
    kb_binning binning = world_binning(w);
    kb_binmat *z;
    kb_status status = kb_light_binmat_build(ctx, &binning, w->data, w->R, &z);
    if (status != KB_OK)
        assert_null(z);
    kb_binmat_free(z);
    return (int)status;
}

static void every_allocation_may_fail(void **unused) {
    kb_context *ctx = test_context();
    (void)unused;
    for (int narrow = 0; narrow < 2; narrow++) {
        world w = world_build(ctx, 500, 2, 18, narrow ? 0.05 : 5);
        run_with_allocation_failures(build, &w);
        world_free(&w);
    }
    kb_context_free(ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_are_those_of_a_fit), cmocka_unit_test(products_do_not_care),
        cmocka_unit_test(threads_do_not_matter),      cmocka_unit_test(extreme_values_have_bins),
        cmocka_unit_test(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
