/* Random grids: a number depends on its place alone. */
#include "features/world.h"

#include <float.h>

typedef struct laws {
    kb_law *laplace, *power;
} laws;

static laws laws_create(kb_context *ctx) {
    laws l;
    assert_ok(ctx, kb_law_parse(ctx, "laplace", &l.laplace));
    assert_ok(ctx, kb_law_parse(ctx, "power:2", &l.power));
    return l;
}

static void laws_free(laws *l) {
    kb_law_free(l->laplace);
    kb_law_free(l->power);
}

static void same_cell(const kb_grids *a, const kb_grids *b, size_t r, size_t j) {
    const double *x = kb_grids_at(a, r, j), *y = kb_grids_at(b, r, j);
    assert_true(x[0] == y[0] && x[KB_LANES] == y[KB_LANES]);
}

static void a_grid_does_not_know_how_many_there_are(void **unused) {
    static const size_t counts[] = {1, 7, 8, 9, 64};
    kb_context *ctx = test_context();
    laws l = laws_create(ctx);
    kb_grids *all = test_grids(ctx, l.laplace, 0.7, 100, 5, 42);
    (void)unused;
    for (size_t k = 0; k < sizeof counts / sizeof *counts; k++) {
        kb_grids *few = test_grids(ctx, l.laplace, 0.7, counts[k], 5, 42);
        for (size_t r = 0; r < counts[k]; r++)
            for (size_t j = 0; j < 5; j++)
                same_cell(few, all, r, j);
        assert_same_bits(few->factor, all->factor, 5);
        kb_grids_free(few);
    }
    kb_grids_free(all);
    laws_free(&l);
    kb_context_free(ctx);
}

static void a_feature_does_not_know_how_many_there_are(void **unused) {
    kb_context *ctx = test_context();
    laws l = laws_create(ctx);
    kb_grids *narrow = test_grids(ctx, l.laplace, 0.7, 20, 2, 42);
    kb_grids *wide = test_grids(ctx, l.laplace, 0.7, 20, 9, 42);
    (void)unused;
    for (size_t r = 0; r < 20; r++)
        for (size_t j = 0; j < 2; j++)
            same_cell(narrow, wide, r, j);
    assert_same_bits(narrow->factor, wide->factor, 2);
    kb_grids_free(narrow);
    kb_grids_free(wide);
    laws_free(&l);
    kb_context_free(ctx);
}

static void the_threads_change_nothing(void **unused) {
    static const int teams[] = {1, 2, 5, 8};
    kb_grids *first = NULL;
    kb_context *ctx = test_context();
    laws l = laws_create(ctx);
    (void)unused;
    for (size_t t = 0; t < sizeof teams / sizeof *teams; t++) {
        test_state state = {0};
        kb_context *team = test_context_with(&state, teams[t]);
        kb_grids *g = test_grids(team, l.laplace, 1, 1001, 3, 7);
        g->allocator = kb_allocator_of(team);
        if (first)
            assert_same_bits(g->parameter, first->parameter, 126 * 3 * 2 * KB_LANES);
        if (t == 0) {
            first = test_grids(ctx, l.laplace, 1, 1001, 3, 7);
            assert_same_bits(g->parameter, first->parameter, 126 * 3 * 2 * KB_LANES);
        }
        kb_grids_free(g);
        kb_context_free(team);
        assert_int_equal(state.live, 0);
    }
    kb_grids_free(first);
    laws_free(&l);
    kb_context_free(ctx);
}

static void seeds_grids_and_features_all_differ(void **unused) {
    kb_context *ctx = test_context();
    laws l = laws_create(ctx);
    kb_grids *a = test_grids(ctx, l.laplace, 1, 16, 3, 1),
             *b = test_grids(ctx, l.laplace, 1, 16, 3, 2);
    double seen[2 * 16 * 3 * 2];
    size_t used = 0;
    (void)unused;
    for (size_t r = 0; r < 16; r++)
        for (size_t j = 0; j < 3; j++)
            for (int part = 0; part < 2; part++) {
                seen[used++] = kb_grids_at(a, r, j)[part * KB_LANES];
                seen[used++] = kb_grids_at(b, r, j)[part * KB_LANES];
            }
    for (size_t i = 0; i < used; i++)
        for (size_t k = 0; k < i; k++)
            assert_true(seen[i] != seen[k]);
    for (size_t j = 0; j < 3; j++) {
        assert_true(a->factor[j] & 1);
        assert_true(a->factor[j] != b->factor[j]);
        assert_true(a->factor[j] != a->factor[(j + 1) % 3]);
    }
    kb_grids_free(a);
    kb_grids_free(b);
    laws_free(&l);
    kb_context_free(ctx);
}

/* Grid r draws as if its vector, r mod V, were the only one. */
static void grids_take_the_width_vectors_in_turn(void **unused) {
    enum { V = 3, D = 2, R = 20 };
    kb_context *ctx = test_context();
    laws l = laws_create(ctx);
    kb_width widths[V * D] = {{l.laplace, 1, 1}, {l.power, 2, 1},   {l.laplace, 10, 1},
                              {l.power, 0.5, 1}, {l.power, 3, 0.5}, {l.laplace, 4, 1}};
    kb_grids *mixed, *alone[V];
    (void)unused;
    assert_ok(ctx, kb_grids_build(ctx, 3, 0, R, &(kb_widths){V, D, widths}, &mixed));
    for (size_t v = 0; v < V; v++)
        assert_ok(ctx, kb_grids_build(ctx, 3, 0, R, &(kb_widths){1, D, widths + v * D}, &alone[v]));
    for (size_t r = 0; r < R; r++)
        for (size_t j = 0; j < D; j++)
            same_cell(mixed, alone[r % V], r, j);
    kb_grids_free(mixed);
    for (size_t v = 0; v < V; v++)
        kb_grids_free(alone[v]);
    laws_free(&l);
    kb_context_free(ctx);
}

/* Wherever a range begins, with three width vectors, and with the factors of the whole; at whole
 * blocks its bounds are those of the whole too. */
static void a_range_has_the_grids_of_the_whole(void **unused) {
    enum { V = 3, D = 2, R = 45 };
    static const size_t ranges[][2] = {/* first, count */
                                       {0, R}, {0, 1},  {1, 1},   {2, 7},
                                       {5, 0}, {8, 16}, {16, 29}, {R - 1, 1}};
    kb_context *ctx = test_context();
    laws l = laws_create(ctx);
    kb_width widths[V * D] = {{l.laplace, 1, 1}, {l.power, 2, 1},   {l.laplace, 10, 1},
                              {l.power, 0.5, 1}, {l.power, 3, 0.5}, {l.laplace, 4, 1}};
    kb_widths all = {V, D, widths};
    kb_grids *whole, *part;
    (void)unused;
    assert_ok(ctx, kb_grids_build(ctx, 3, 0, R, &all, &whole));
    for (size_t k = 0; k < sizeof ranges / sizeof *ranges; k++) {
        size_t first = ranges[k][0], count = ranges[k][1], last = first + count;
        assert_ok(ctx, kb_grids_build(ctx, 3, first, count, &all, &part));
        assert_int_equal(part->grids, count);
        assert_int_equal(part->features, D);
        assert_same_bits(part->factor, whole->factor, D);
        for (size_t r = 0; r < count; r++)
            for (size_t j = 0; j < D; j++)
                for (int what = 0; what < 2; what++)
                    assert_true(kb_grids_at(part, r, j)[what * KB_LANES] ==
                                kb_grids_at(whole, first + r, j)[what * KB_LANES]);
        if (first % KB_LANES == 0 && (last % KB_LANES == 0 || last == R))
            assert_same_bits(part->bound, whole->bound + first / KB_LANES * D,
                             kb_grids_blocks(part) * D);
        kb_grids_free(part);
    }
    kb_grids_free(whole);
    laws_free(&l);
    kb_context_free(ctx);
}

static void sigma_stretches_the_widths(void **unused) {
    kb_context *ctx = test_context();
    laws l = laws_create(ctx);
    kb_grids *one = test_grids(ctx, l.laplace, 1, 50, 2, 5),
             *four = test_grids(ctx, l.laplace, 4, 50, 2, 5);
    (void)unused;
    for (size_t r = 0; r < 50; r++)
        for (size_t j = 0; j < 2; j++) {
            kb_uniform2 draw = kb_random_uniform(5, KB_STREAM_WIDTH, r, (uint32_t)j);
            const double *a = kb_grids_at(one, r, j), *b = kb_grids_at(four, r, j);
            assert_true(a[0] == 1 / kb_law_width(l.laplace, draw));
            assert_true(a[0] == 4 * b[0]); /* a power of two: exact */
            assert_true(a[KB_LANES] == b[KB_LANES]);
            assert_true(a[KB_LANES] > 0 && a[KB_LANES] < 1);
        }
    kb_grids_free(one);
    kb_grids_free(four);
    laws_free(&l);
    kb_context_free(ctx);
}

/* q = 0: never cut; q = 1: always; q = 1/2: within 5 standard errors of half of them. */
static void a_feature_is_cut_with_its_probability(void **unused) {
    enum { R = 10000 };
    kb_context *ctx = test_context();
    laws l = laws_create(ctx);
    kb_width widths[] = {{l.laplace, 1, 0}, {l.laplace, 1, 0.5}, {l.laplace, 1, 1}};
    kb_grids *g;
    double cut[3] = {0};
    (void)unused;
    assert_ok(ctx, kb_grids_build(ctx, 8, 0, R, &(kb_widths){1, 3, widths}, &g));
    for (size_t r = 0; r < R; r++)
        for (size_t j = 0; j < 3; j++) {
            const double *at = kb_grids_at(g, r, j);
            cut[j] += at[0] > 0;
            assert_true(at[0] > 0 || at[KB_LANES] == 0);
        }
    assert_true(cut[0] == 0);
    assert_true(fabs(cut[1] / R - 0.5) < 5 * 0.5 / sqrt(R));
    assert_true(cut[2] == R);
    kb_grids_free(g);
    laws_free(&l);
    kb_context_free(ctx);
}

/* Levels: a bin of width 1 for each where they are cut, and that within 5 standard errors of
 * q (1 - exp(-1/sigma)) of the grids. */
static void levels_have_a_bin_each_or_one_for_all(void **unused) {
    enum { R = 10000 };
    static const double sigma[] = {0.2, 1, 5, 1}, q[] = {1, 1, 1, 0.5};
    kb_context *ctx = test_context();
    kb_width widths[4];
    kb_grids *g;
    (void)unused;
    for (size_t j = 0; j < 4; j++)
        widths[j] = (kb_width){kb_law_levels(), sigma[j], q[j]};
    assert_ok(ctx, kb_grids_build(ctx, 8, 0, R, &(kb_widths){1, 4, widths}, &g));
    for (size_t j = 0; j < 4; j++) {
        double cut = 0, want = q[j] * (1 - exp(-1 / sigma[j]));
        for (size_t r = 0; r < R; r++) {
            const double *at = kb_grids_at(g, r, j);
            assert_true((at[0] == 0 || at[0] == 1) && at[KB_LANES] == 0);
            cut += at[0];
        }
        assert_true(fabs(cut / R - want) < 5 * sqrt(want * (1 - want) / R));
    }
    kb_grids_free(g);
    kb_context_free(ctx);
}

/* Offsets are uniform whether a feature is always cut or not. */
static void offsets_of_cut_features_stay_uniform(void **unused) {
    enum { R = 20000 };
    kb_context *ctx = test_context();
    laws l = laws_create(ctx);
    kb_width widths[] = {{l.laplace, 1, 1}, {l.laplace, 1, 0.3}};
    kb_grids *g;
    (void)unused;
    assert_ok(ctx, kb_grids_build(ctx, 8, 0, R, &(kb_widths){1, 2, widths}, &g));
    for (size_t j = 0; j < 2; j++) {
        double count = 0, sum = 0;
        for (size_t r = 0; r < R; r++)
            if (kb_grids_at(g, r, j)[0] > 0) {
                count++;
                sum += kb_grids_at(g, r, j)[KB_LANES];
            }
        assert_true(fabs(sum / count - 0.5) < 5 * sqrt(1.0 / 12 / count)); /* 5 sigma */
    }
    kb_grids_free(g);
    laws_free(&l);
    kb_context_free(ctx);
}

static void no_bin_number_leaves_32_bits(void **unused) {
    static const double sigmas[] = {1e-300, 1e-200, 1, 1e200, 1e300};
    kb_context *ctx = test_context();
    laws l = laws_create(ctx);
    (void)unused;
    for (size_t k = 0; k < sizeof sigmas / sizeof *sigmas; k++) {
        kb_grids *g = test_grids(ctx, l.power, sigmas[k], 13, 2, 5);
        for (size_t r = 0; r < 13; r++)
            for (size_t j = 0; j < 2; j++) {
                double bound = kb_grids_bound(g, r / KB_LANES)[j];
                assert_true(bound > 0 && bound <= DBL_MAX);
                assert_true(bound * kb_grids_at(g, r, j)[0] < 2147483647.0 - 1);
            }
        for (size_t r = 13; r < 16; r++) /* lanes past the last grid */
            assert_true(kb_grids_at(g, r, 1)[0] == 0 && kb_grids_at(g, r, 1)[KB_LANES] == 0);
        kb_grids_free(g);
    }
    laws_free(&l);
    kb_context_free(ctx);
}

static int build(kb_context *ctx, void *arg) {
    kb_grids *g;
    kb_width widths[] = {{arg, 1, 1}, {arg, 1, 1}};
    kb_status status = kb_grids_build(ctx, 1, 0, 20, &(kb_widths){1, 2, widths}, &g);
    kb_grids_free(g);
    return (int)status;
}

static void every_allocation_may_fail(void **unused) {
    kb_context *ctx = test_context();
    laws l = laws_create(ctx);
    (void)unused;
    run_with_allocation_failures(build, l.laplace);
    laws_free(&l);
    kb_context_free(ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_grid_does_not_know_how_many_there_are),
        cmocka_unit_test(a_feature_does_not_know_how_many_there_are),
        cmocka_unit_test(the_threads_change_nothing),
        cmocka_unit_test(seeds_grids_and_features_all_differ),
        cmocka_unit_test(grids_take_the_width_vectors_in_turn),
        cmocka_unit_test(a_range_has_the_grids_of_the_whole),
        cmocka_unit_test(sigma_stretches_the_widths),
        cmocka_unit_test(a_feature_is_cut_with_its_probability),
        cmocka_unit_test(levels_have_a_bin_each_or_one_for_all),
        cmocka_unit_test(offsets_of_cut_features_stay_uniform),
        cmocka_unit_test(no_bin_number_leaves_32_bits),
        cmocka_unit_test(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
