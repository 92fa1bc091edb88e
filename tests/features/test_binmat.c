/* Z as bin numbers: against bins that are told apart coordinate by coordinate. */
#include "features/world.h"

/* The bin of row i in grid r along feature j, by the definition in grids.h. */
static double coordinate(const world *w, size_t r, size_t i, size_t j) {
    const double *at = kb_grids_at(w->grids, r, j);
    double most = kb_grids_bound(w->grids, r / KB_LANES)[j];
    double y = (w->x[i * w->d + j] - w->shift[j]) * w->scale[j];
    return floor(fmax(fmin(y, most), -most) * at[0] + at[KB_LANES]);
}

static int share_a_bin(const world *w, size_t r, size_t i, size_t k) {
    for (size_t j = 0; j < w->d; j++)
        if (coordinate(w, r, i, j) != coordinate(w, r, k, j))
            return 0;
    return 1;
}

/* Same bin, same number; numbers by first appearance; sizes, starts and kappa. */
static void check_partition(const world *w, const kb_binmat *z) {
    double kappa = 0;
    size_t *count = malloc(w->N * sizeof *count), *first = malloc(w->N * sizeof *first);
    assert_non_null(count);
    assert_non_null(first);
    assert_int_equal(z->rows, w->N);
    assert_int_equal(z->grids, w->R);
    assert_int_equal(z->groups, (w->R + KB_GROUP - 1) / KB_GROUP);
    assert_int_equal(z->start[0], 0);
    for (size_t r = 0; r < w->R; r++) {
        size_t bins = 0, most = 0;
        for (size_t i = 0; i < w->N; i++) {
            size_t want = 0;
            while (want < bins && !share_a_bin(w, r, i, first[want]))
                want++;
            if (want == bins) {
                count[bins] = 0;
                first[bins++] = i;
            }
            count[want]++;
            most = count[want] > most ? count[want] : most;
            if (test_id(z, r, i) != want)
                fail_msg("row %zu is in bin %zu of grid %zu, not in %zu", i, test_id(z, r, i), r,
                         want);
        }
        assert_int_equal(kb_binmat_bins_of(z, r), bins);
        kappa += (double)w->N / (double)most / (double)w->R;
    }
    assert_int_equal(z->bins, z->start[w->R]);
    assert_true(fabs(z->kappa - kappa) <= 1e-12 * kappa); /* R roundings */
    free(count);
    free(first);
}

static void check_padding(const kb_binmat *z) {
    for (size_t r = z->grids; r < z->groups * KB_GROUP; r++)
        for (size_t i = 0; i < z->rows; i++)
            assert_int_equal(test_id(z, r, i), 0);
}

static void samples_share_a_number_iff_they_share_a_bin(void **unused) {
    static const size_t shapes[][3] = {/* N, d, R */
                                       {300, 3, 20}, {1, 1, 1},   {1, 4, 5},  {200, 1, 3},
                                       {2, 2, 4},    {150, 6, 7}, {97, 2, 8}, {97, 2, 9}};
    kb_context *ctx = test_context();
    (void)unused;
    for (size_t k = 0; k < sizeof shapes / sizeof *shapes; k++)
        for (int scaled = 0; scaled < 2; scaled++) {
            world w = world_build(ctx, shapes[k][0], shapes[k][1], shapes[k][2], 0.7);
            for (size_t j = 0; scaled && j < w.d; j++) {
                w.shift[j] = 0.4 - (double)j;
                w.scale[j] = 0.8 + 0.1 * (double)j;
            }
            kb_binmat *z = world_bin(ctx, &w, NULL);
            check_partition(&w, z);
            check_padding(z);
            kb_binmat_free(z);
            world_free(&w);
        }
    kb_context_free(ctx);
}

/* More rows than are keyed at a time. */
static void the_numbering_runs_on_from_chunk_to_chunk(void **unused) {
    kb_context *ctx = test_context();
    world w = world_build(ctx, 20000, 1, 5, 0.7);
    (void)unused;
    check_partition(&w, w.z);
    world_free(&w);
    kb_context_free(ctx);
}

/* Bins of grid r on a line, numbered row by row.  x has whole numbers of at most N. */

static void check_grid_on_a_line(const world *w, const kb_binmat *z, size_t r) {
    double low = -1e6;
    uint32_t *number = malloc(4000000 * sizeof *number);
    size_t bins = 0;
    assert_non_null(number);
    memset(number, 0xff, 4000000 * sizeof *number);
    for (size_t i = 0; i < w->N; i++) {
        double at = coordinate(w, r, i, 0) - low;
        assert_true(at >= 0 && at < 4000000);
        uint32_t *want = &number[(size_t)at];
        if (*want == UINT32_MAX)
            *want = (uint32_t)bins++;
        if (test_id(z, r, i) != *want)
            fail_msg("row %zu is in bin %zu of grid %zu, not in %u", i, test_id(z, r, i), r, *want);
    }
    assert_int_equal(kb_binmat_bins_of(z, r), bins);
    free(number);
}

static int by_bins(const void *a, const void *b) {
    return memcmp(a, b, KB_GROUP * sizeof(uint32_t));
}

/* The tuples of group q come in the order of the rows, and no two have the same bins. */
static void check_tuples(const kb_binmat *z, size_t q) {
    size_t known = 0, count = z->tuples[q];
    uint32_t(*bins)[KB_GROUP] = malloc(count * sizeof *bins);
    assert_non_null(bins);
    for (size_t i = 0; i < z->rows; i++) {
        size_t t = kb_id_at(&z->bundle[q / KB_GROUP], i, q % KB_GROUP);
        assert_true(t <= known);
        known += t == known;
    }
    assert_int_equal(known, count);
    for (size_t t = 0; t < count; t++)
        for (size_t k = 0; k < KB_GROUP; k++)
            bins[t][k] = (uint32_t)kb_id_at(&z->group[q], t, k);
    qsort(bins, count, sizeof *bins, by_bins);
    for (size_t t = 1; t < count; t++)
        assert_true(by_bins(bins[t - 1], bins[t]) != 0);
    free(bins);
}

static void assert_same_binmat(const kb_binmat *a, const kb_binmat *b);

/* z was made by one thread. */
static void assert_same_for_any_team(const world *w, const kb_binmat *z) {
    static const int teams[] = {2, 7, 16};
    for (size_t t = 0; t < sizeof teams / sizeof *teams; t++) {
        test_state state = {0};
        kb_context *team = test_context_with(&state, teams[t]);
        kb_binmat *other = world_bin(team, w, NULL);
        assert_same_binmat(z, other);
        kb_binmat_free(other);
        kb_context_free(team);
        assert_int_equal(state.live, 0);
    }
}

/* `fresh` is the share of rows at the end that have values of their own. */
static void check_many_parts(double fresh, double finest, int tuples) {
    enum { N = 150000, R = 19 };
    kb_context *ctx = test_context();
    world w = world_build(ctx, N, 1, R, 700);
    for (size_t i = 0; i < N; i++)
        w.x[i] = (double)i < (1 - fresh) * N ? (double)(i * 7919 % 5000) : (double)i;
    memcpy(w.data->dense, w.x, N * sizeof(double));
    kb_grids_at(w.grids, 2, 0)[0] = finest;
    kb_binmat *z = world_bin(ctx, &w, NULL);
    for (size_t r = 0; r < R; r++)
        check_grid_on_a_line(&w, z, r);
    assert_int_equal(z->bundle[0].ids != NULL, tuples);
    for (size_t q = 0; q < z->groups; q++)
        if (z->bundle[q / KB_GROUP].ids)
            check_tuples(z, q);
    assert_same_for_any_team(&w, z);
    kb_binmat_free(z);
    world_free(&w);
    kb_context_free(ctx);
}

/* More rows than a part has, for any number of threads. */
static void parts_are_numbered_in_the_order_of_their_rows(void **unused) {
    (void)unused;
    check_many_parts(0, 0.01, 1);
    check_many_parts(0, 1, 1);   /* 5,000 bins, with which the numbers get wider */
    check_many_parts(0.5, 1, 1); /* 80,000 bins: more than 16 bits in one grid of a tuple */
}

/* In all grids of the bundle most rows have a bin of their own: tuples are given up on the way. */
static void tuples_are_given_up_once_they_are_too_many(void **unused) {
    enum { N = 150000, R = 16 };
    kb_context *ctx = test_context();
    world w = world_build(ctx, N, 1, R, 700);
    (void)unused;
    for (size_t i = 0; i < N; i++)
        w.x[i] = i < 70000 ? (double)(i % 300) : (double)i;
    memcpy(w.data->dense, w.x, N * sizeof(double));
    for (size_t r = 0; r < R; r += KB_GROUP)
        kb_grids_at(w.grids, r, 0)[0] = 1;
    kb_binmat *z = world_bin(ctx, &w, NULL);
    assert_null(z->bundle[0].ids);
    for (size_t r = 0; r < R; r++)
        check_grid_on_a_line(&w, z, r);
    assert_same_for_any_team(&w, z);
    kb_binmat_free(z);
    world_free(&w);
    kb_context_free(ctx);
}

/* The first bundles have no tuples, and the others could have some.  With many rows they are not
 * looked for any more; with few they are; and never does it depend on the threads. */
static void what_the_first_bundles_show_holds_for_any_team(void **unused) {
    static const size_t rows[] = {4500, 70000};
    enum { NARROW = 4 * KB_BUNDLE, R = NARROW + 2 * KB_BUNDLE };
    (void)unused;
    for (size_t k = 0; k < 2; k++) {
        kb_context *ctx = test_context();
        world w = world_build(ctx, rows[k], 1, R, 700);
        for (size_t i = 0; i < w.N; i++)
            w.x[i] = (double)i;
        memcpy(w.data->dense, w.x, w.N * sizeof(double));
        for (size_t r = 0; r < R; r++)
            kb_grids_at(w.grids, r, 0)[0] = r < NARROW ? 1 : 1e-3;
        kb_binmat *z = world_bin(ctx, &w, NULL);
        for (size_t b = 0; b < z->bundles; b++)
            assert_int_equal(z->bundle[b].ids != NULL, k == 0 && b >= NARROW / KB_BUNDLE);
        assert_same_for_any_team(&w, z);
        kb_binmat_free(z);
        world_free(&w);
        kb_context_free(ctx);
    }
}

static void sparse_samples_get_the_same_bins(void **unused) {
    kb_context *ctx = test_context();
    world w = world_build(ctx, 400, 5, 13, 0.7);
    (void)unused;
    for (int scaled = 0; scaled < 2; scaled++) {
        for (size_t j = 0; scaled && j < w.d; j++)
            w.shift[j] = 0.3 * (double)j - 0.5, w.scale[j] = 1.5;
        kb_data *dense = w.data, *sparse = test_sparse(ctx, w.N, w.d, w.x, NULL);
        kb_binmat *a = world_bin(ctx, &w, NULL);
        w.data = sparse;
        kb_binmat *b = world_bin(ctx, &w, NULL);
        check_partition(&w, b);
        assert_int_equal(a->bins, b->bins);
        for (size_t r = 0; r < w.R; r++)
            assert_same_bits(a->key[r], b->key[r], kb_binmat_bins_of(a, r));
        kb_binmat_free(a);
        kb_binmat_free(b);
        w.data = dense;
        kb_data_free(sparse);
    }
    world_free(&w);
    kb_context_free(ctx);
}

static void constant_columns_and_equal_rows_share_one_bin(void **unused) {
    kb_context *ctx = test_context();
    world w = world_build(ctx, 50, 2, 6, 0.5);
    (void)unused;
    for (size_t k = 0; k < w.N * w.d; k++)
        w.data->dense[k] = w.x[k] = 3.25;
    kb_binmat *z = world_bin(ctx, &w, NULL);
    check_partition(&w, z);
    assert_int_equal(z->bins, w.R);
    assert_true(fabs(z->kappa - 1) < 1e-15); /* six roundings of a sixth */
    kb_binmat_free(z);
    world_free(&w);
    kb_context_free(ctx);
}

/* A grid of width sigma over 0, 1, 2, .. has as many bins as there are values: 256 fit in
 * one byte, 65,536 in two. */
static void numbers_take_as_few_bits_as_they_need(void **unused) {
    static const struct {
        size_t bins;
        int bits;
    } cases[] = {{1, 8}, {256, 8}, {257, 16}, {65536, 16}, {65537, 18}, {262145, 24}};
    kb_context *ctx = test_context();
    kb_law *law;
    const double one = 1, none = 0;
    (void)unused;
    assert_ok(ctx, kb_law_parse(ctx, "triangle", &law));
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        size_t N = cases[k].bins + 10;
        double *x = malloc(N * sizeof *x);
        kb_data *data;
        kb_binmat *z;
        kb_grids *grids = test_grids(ctx, law, 1, 3, 1, 3);
        /* Only grid 2 cuts finely, and hardly a tuple comes twice. */
        for (size_t r = 0; r < 3; r++)
            if (r != 2)
                kb_grids_at(grids, r, 0)[0] = 0;
        kb_binning binning = {grids, &none, &one, NULL};
        for (size_t i = 0; i < N; i++)
            x[i] = (double)(i % cases[k].bins);
        assert_ok(ctx, data_from_dense(ctx, N, 1, x, NULL, &data));
        assert_ok(ctx, kb_binmat_build(ctx, &binning, data, 3, NULL, &z));
        assert_int_equal(kb_binmat_bins_of(z, 2), cases[k].bins);
        assert_int_equal(z->bins, cases[k].bins + 2);
        assert_int_equal(z->group[0].bits, cases[k].bits);
        if (cases[k].bins > 10) { /* else tuples pay */
            assert_null(z->bundle[0].ids);
            assert_int_equal(z->id_bytes, N * KB_GROUP * (size_t)cases[k].bits / 8);
        }
        for (size_t i = 0; i < N; i++)
            assert_int_equal(test_id(z, 2, i), i % cases[k].bins);
        kb_binmat_free(z);
        kb_data_free(data);
        kb_grids_free(grids);
        free(x);
    }
    kb_law_free(law);
    kb_context_free(ctx);
}

/* Many bins in one group of grids do not widen the numbers of another. */
static void groups_have_bits_of_their_own(void **unused) {
    enum { N = 300, R = 2 * KB_GROUP };
    kb_context *ctx = test_context();
    kb_law *law;
    kb_data *data;
    const double one = 1, none = 0;
    double x[N];
    (void)unused;
    assert_ok(ctx, kb_law_parse(ctx, "triangle", &law));
    for (size_t i = 0; i < N; i++)
        x[i] = (double)i;
    assert_ok(ctx, data_from_dense(ctx, N, 1, x, NULL, &data));
    for (size_t fine = 0; fine < R; fine += KB_GROUP - 1) {
        kb_grids *grids = test_grids(ctx, law, 1, R, 1, 3);
        kb_binmat *z;
        for (size_t r = 0; r < R; r++)
            if (r != fine)
                kb_grids_at(grids, r, 0)[0] = 0;
        kb_binning binning = {grids, &none, &one, NULL};
        assert_ok(ctx, kb_binmat_build(ctx, &binning, data, R, NULL, &z));
        for (size_t g = 0; g < 2; g++)
            assert_int_equal(z->group[g].bits, fine / KB_GROUP == g ? 16 : 8);
        kb_binmat_free(z);
        kb_grids_free(grids);
    }
    kb_data_free(data);
    kb_law_free(law);
    kb_context_free(ctx);
}

/* 300 different rows, each ten times: every group has 300 tuples or fewer. */
static void rows_that_agree_share_a_tuple(void **unused) {
    enum { KINDS = 300, N = 3000, R = 21 };
    kb_context *ctx = test_context();
    kb_law *law;
    kb_data *data;
    kb_binmat *z;
    const double one = 1, none = 0;
    double x[N];
    (void)unused;
    assert_ok(ctx, kb_law_parse(ctx, "triangle", &law));
    kb_grids *grids = test_grids(ctx, law, 1, R, 1, 3);
    kb_binning binning = {grids, &none, &one, NULL};
    for (size_t i = 0; i < N; i++)
        x[i] = (double)(i * 7 % KINDS);
    assert_ok(ctx, data_from_dense(ctx, N, 1, x, NULL, &data));
    assert_ok(ctx, kb_binmat_build(ctx, &binning, data, R, NULL, &z));
    assert_int_equal(z->bundles, 2);
    for (size_t b = 0; b < z->bundles; b++) {
        assert_non_null(z->bundle[b].ids);
        assert_int_equal(z->bundle[b].bits, 16);
    }
    for (size_t q = 0; q < z->groups; q++) {
        assert_int_equal(z->tuples[q], KINDS);
        assert_int_equal(z->group[q].bits, 16);
    }
    assert_int_equal(z->id_bytes, (2 * N + 6 * KINDS) * KB_GROUP * 2);
    for (size_t r = 0; r < R; r++)
        for (size_t i = 0; i < N; i++)
            assert_int_equal(test_id(z, r, i), i % KINDS);
    kb_binmat_free(z);
    kb_data_free(data);
    kb_grids_free(grids);
    kb_law_free(law);
    kb_context_free(ctx);
}

static void assert_same_binmat(const kb_binmat *a, const kb_binmat *b) {
    assert_int_equal(a->bins, b->bins);
    assert_int_equal(a->id_bytes, b->id_bytes);
    assert_true(a->kappa == b->kappa);
    assert_same_bits(a->start, b->start, a->grids + 1);
    for (size_t r = 0; r < a->grids; r++)
        assert_same_bits(a->key[r], b->key[r], kb_binmat_bins_of(a, r));
    for (size_t q = 0; q < a->groups; q++) {
        assert_int_equal(a->group[q].bits, b->group[q].bits);
        assert_int_equal(a->tuples[q], b->tuples[q]);
        assert_memory_equal(a->group[q].ids, b->group[q].ids,
                            kb_id_group_bytes(&a->group[q], a->tuples[q]));
    }
    for (size_t i = 0; i < a->bundles; i++) {
        assert_int_equal(a->bundle[i].ids == NULL, b->bundle[i].ids == NULL);
        if (a->bundle[i].ids)
            assert_memory_equal(a->bundle[i].ids, b->bundle[i].ids,
                                kb_id_group_bytes(&a->bundle[i], a->rows));
    }
}

static void threads_and_levels_change_nothing(void **unused) {
    static const int teams[] = {1, 2, 5, 8};
    static const size_t grids[] = {1, 7, 8, 9, 41, 100};
    kb_context *ctx = test_context();
    const kb_simd *level[8];
    size_t levels = kb_simd_list(level, 8);
    (void)unused;
    for (size_t k = 0; k < sizeof grids / sizeof *grids; k++) {
        world w = world_build(ctx, 500, 3, grids[k], 0.2);
        for (size_t t = 0; t < sizeof teams / sizeof *teams; t++) {
            test_state state = {0};
            kb_context *team = test_context_with(&state, teams[t]);
            for (size_t m = 0; m < levels; m++) {
                kb_binmat *z = world_bin(team, &w, level[m]);
                assert_same_binmat(z, w.z);
                kb_binmat_free(z);
            }
            kb_context_free(team);
            assert_int_equal(state.live, 0);
        }
        world_free(&w);
    }
    kb_context_free(ctx);
}

/* Far out values: one bin each way, no undefined behaviour. */
static void values_far_out_are_binned(void **unused) {
    static const double value[] = {1e30, -1e30, 1e308, -1e308, 5e-324, -0.0, 0, 1, -1, 2e30};
    kb_context *ctx = test_context();
    world w = world_build(ctx, 10, 1, 9, 1);
    (void)unused;
    memcpy(w.x, value, sizeof value);
    memcpy(w.data->dense, value, sizeof value);
    kb_binmat *z = world_bin(ctx, &w, NULL);
    check_partition(&w, z);
    for (size_t r = 0; r < w.R; r++) {
        assert_int_equal(test_id(z, r, 0), test_id(z, r, 2));
        assert_int_equal(test_id(z, r, 1), test_id(z, r, 3));
        assert_int_not_equal(test_id(z, r, 0), test_id(z, r, 1));
    }
    kb_binmat_free(z);
    world_free(&w);
    kb_context_free(ctx);
}

/* ---- the kernel in the mean -------------------------------------------- */

/* K_ij is a mean of R independent zeros and ones with expectation k(x_i, x_j): within 5
 * standard errors. */
static void the_mean_of_z_z_is_the_kernel(void **unused) {
    enum { N = 12, D = 3, R = 4000 };
    static const char *const kernels[] = {"laplace", "triangle", "power:1.5", "table:"};
    static const double sigma[D] = {0.8, 1.5, 4}, q[D] = {1, 1, 0.4};
    kb_context *ctx = test_context();
    test_path table = file_with("table.txt", "0 1\n0.5 0.4\n1 0.2\n3 0\n");
    double *x = test_numbers(6, N * D);
    kb_data *data;
    (void)unused;
    assert_ok(ctx, data_from_dense(ctx, N, D, x, NULL, &data));
    for (int m = 0; m < 4; m++) {
        char text[600];
        kb_law *law;
        kb_grids *grids;
        kb_binmat *z;
        kb_width widths[D];
        double shift[D] = {0}, scale[D] = {1, 1, 1};
        snprintf(text, sizeof text, "%s%s", kernels[m], m == 3 ? table.text : "");
        assert_ok(ctx, kb_law_parse(ctx, text, &law));
        for (int j = 0; j < D; j++)
            widths[j] = (kb_width){law, sigma[j], q[j]};
        assert_ok(ctx, kb_grids_build(ctx, 17, 0, R, &(kb_widths){1, D, widths}, &grids));
        kb_binning binning = {grids, shift, scale, NULL};
        assert_ok(ctx, kb_binmat_build(ctx, &binning, data, R, NULL, &z));
        for (size_t i = 0; i < N; i++)
            for (size_t k = 0; k < i; k++) {
                double met = 0, want = 1;
                for (size_t r = 0; r < R; r++)
                    met += test_id(z, r, i) == test_id(z, r, k);
                for (size_t j = 0; j < D; j++) {
                    double t = fabs(x[i * D + j] - x[k * D + j]) / sigma[j];
                    want *= 1 - q[j] + q[j] * kb_law_kernel(law, t);
                }
                if (!(fabs(met / R - want) <= 5 * sqrt(want * (1 - want) / R)))
                    fail_msg("%s: %zu and %zu meet in %.4f of the grids, not %.4f", text, i, k,
                             met / R, want);
            }
        kb_binmat_free(z);
        kb_grids_free(grids);
        kb_law_free(law);
    }
    kb_data_free(data);
    free(x);
    unlink(table.text);
    kb_context_free(ctx);
}

/* Levels beside a number: the share of grids in which two rows meet is the product kernel within 5
 * standard errors; and equal rows always meet. */
static void levels_meet_by_their_kernel(void **unused) {
    enum { N = 30, D = 3, R = 20000 };
    static const double sigma[D] = {0.8, 0.5, 2.5};
    kb_context *ctx = test_context();
    double *x = test_numbers(6, N * D), shift[D] = {0}, scale[D] = {1, 1, 1};
    kb_data *data;
    kb_law *laplace;
    kb_grids *grids;
    kb_binmat *z;
    (void)unused;
    for (size_t i = 0; i < N; i++) {
        x[i * D + 1] = floor(3 * test_uniform(7, i));
        x[i * D + 2] =
            1e6 * floor(4 * test_uniform(8, i)); /* far apart is no more than different */
    }
    memcpy(x, x + D, D * sizeof *x);
    assert_ok(ctx, data_from_dense(ctx, N, D, x, NULL, &data));
    assert_ok(ctx, kb_law_parse(ctx, "laplace", &laplace));
    kb_width widths[D] = {
        {laplace, sigma[0], 1}, {kb_law_levels(), sigma[1], 1}, {kb_law_levels(), sigma[2], 0.7}};
    assert_ok(ctx, kb_grids_build(ctx, 17, 0, R, &(kb_widths){1, D, widths}, &grids));
    kb_binning binning = {grids, shift, scale, NULL};
    assert_ok(ctx, kb_binmat_build(ctx, &binning, data, R, NULL, &z));
    for (size_t i = 0; i < N; i++)
        for (size_t k = 0; k < i; k++) {
            double met = 0, want = exp(-fabs(x[i * D] - x[k * D]) / sigma[0]);
            for (size_t r = 0; r < R; r++)
                met += test_id(z, r, i) == test_id(z, r, k);
            for (size_t j = 1; j < D; j++)
                if (x[i * D + j] != x[k * D + j])
                    want *= 1 - widths[j].q * (1 - exp(-1 / sigma[j]));
            if (!(fabs(met / R - want) <= 5 * sqrt(want * (1 - want) / R)))
                fail_msg("%zu and %zu meet in %.4f of the grids, not %.4f", i, k, met / R, want);
        }
    kb_binmat_free(z);
    kb_grids_free(grids);
    kb_law_free(laplace);
    kb_data_free(data);
    free(x);
    kb_context_free(ctx);
}

/* ---- when things go wrong ---------------------------------------------- */

static void a_forecast_beyond_the_limit_stops_the_work(void **unused) {
    test_state state = {0};
    kb_context *ctx = test_context_with(&state, 2);
    world w = world_build(ctx, 300, 2, 100, 0.3);
    long live = state.live;
    kb_binning binning = world_binning(&w);
    kb_binmat *z;
    (void)unused;
    kb_memory_plan plan = {SIZE_MAX, 1000, 8};
    assert_ok(ctx, kb_binmat_build(ctx, &binning, w.data, w.R, &plan, &z));
    double forecast = z->forecast;
    /* From 16 of 100 grids, whose widths vary a lot, the forecast for the rest is right within a
     * half. */
    double bytes = 1000 + (double)z->id_bytes + 8 * (double)z->bins;
    assert_true(fabs(forecast - bytes) < 0.5 * bytes);
    assert_non_null(strstr(state.log, "memory: "));
    kb_binmat_free(z);
    plan.limit = (size_t)forecast - 1;
    kb_status status = kb_binmat_build(ctx, &binning, w.data, w.R, &plan, &z);
    assert_int_equal(status, KB_ERR_MEMORY);
    assert_null(z);
    assert_int_equal(state.live, live);
    const char *message = kb_context_message(ctx);
    assert_int_equal(strncmp(message, "100 grids with ", 15), 0);
    assert_non_null(strstr(message, " of memory, and "));
    assert_non_null(
        strstr(message, "use fewer --grids, a larger --sigma or a larger --max-memory"));
    plan.limit = (size_t)forecast + 1;
    assert_ok(ctx, kb_binmat_build(ctx, &binning, w.data, w.R, &plan, &z));
    kb_binmat_free(z);
    world_free(&w);
    kb_context_free(ctx);
    assert_int_equal(state.live, 0);
}

static int build(kb_context *ctx, void *arg) {
    const world *w = arg;
    kb_binning binning = world_binning(w);
    kb_binmat *z;
    kb_status status = kb_binmat_build(ctx, &binning, w->data, w->R, NULL, &z);
    if (status != KB_OK)
        assert_null(z);
    kb_binmat_free(z);
    return (int)status;
}

static void every_allocation_may_fail(void **unused) {
    kb_context *ctx = test_context();
    world w = world_build(ctx, 500, 2, 18, 0.05);
    (void)unused;
    run_with_allocation_failures(build, &w);
    world_free(&w);
    kb_context_free(ctx);
}

/* Rows in parts that are merged. */
static void every_allocation_of_a_merge_may_fail(void **unused) {
    kb_context *ctx = test_context();
    (void)unused;
    for (int k = 0; k < 2; k++) { /* with tuples, and without */
        world w = world_build(ctx, 9000, 1, 5, k ? 1e-5 : 0.5);
        for (long at = 1, failed = 1; failed; at += k ? 3 : 1) {
            test_state state = {0};
            kb_context *team = test_context_with(&state, 2);
            state.fail_at = state.allocations + at;
            failed = build(team, &w) != KB_OK;
            kb_context_free(team);
            assert_int_equal(state.live, 0);
        }
        world_free(&w);
    }
    kb_context_free(ctx);
}

/* With several threads a failure may hit any of them: no leak, no wrong result. */
static void an_allocation_may_fail_in_any_thread(void **unused) {
    kb_context *ctx = test_context();
    world w = world_build(ctx, 300, 2, 40, 0.05);
    (void)unused;
    for (long k = 1; k < 400; k += 3) {
        test_state state = {0};
        kb_context *team = test_context_with(&state, 3);
        state.fail_at = state.allocations + k;
        int status = build(team, &w);
        assert_true(status == KB_OK || status == KB_ERR_MEMORY);
        kb_context_free(team);
        assert_int_equal(state.live, 0);
    }
    world_free(&w);
    kb_context_free(ctx);
}

static void the_callback_may_cancel_at_any_call(void **unused) {
    kb_context *ctx = test_context();
    world w = world_build(ctx, 9000, 1, 50, 0.5);
    (void)unused;
    for (int threads = 1; threads <= 3; threads += 2)
        for (long k = 1;; k++) {
            test_state state = {.cancel_after = k};
            kb_context *team = test_context_with(&state, threads);
            int status = build(team, &w);
            if (state.progress >= k) {
                assert_int_equal(status, KB_ERR_CANCELLED);
                assert_int_equal(state.progress, k); /* and was not asked again */
                assert_string_equal(kb_context_message(team), "interrupted");
            }
            kb_context_free(team);
            assert_int_equal(state.live, 0);
            if (state.progress < k) {
                assert_int_equal(status, KB_OK);
                assert_true(k > 2 || threads > 1);
                break;
            }
        }
    world_free(&w);
    kb_context_free(ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(samples_share_a_number_iff_they_share_a_bin),
        cmocka_unit_test(the_numbering_runs_on_from_chunk_to_chunk),
        cmocka_unit_test(parts_are_numbered_in_the_order_of_their_rows),
        cmocka_unit_test(tuples_are_given_up_once_they_are_too_many),
        cmocka_unit_test(what_the_first_bundles_show_holds_for_any_team),
        cmocka_unit_test(sparse_samples_get_the_same_bins),
        cmocka_unit_test(constant_columns_and_equal_rows_share_one_bin),
        cmocka_unit_test(numbers_take_as_few_bits_as_they_need),
        cmocka_unit_test(groups_have_bits_of_their_own),
        cmocka_unit_test(rows_that_agree_share_a_tuple),
        cmocka_unit_test(threads_and_levels_change_nothing),
        cmocka_unit_test(values_far_out_are_binned),
        cmocka_unit_test(the_mean_of_z_z_is_the_kernel),
        cmocka_unit_test(levels_meet_by_their_kernel),
        cmocka_unit_test(a_forecast_beyond_the_limit_stops_the_work),
        cmocka_unit_test(every_allocation_may_fail),
        cmocka_unit_test(every_allocation_of_a_merge_may_fail),
        cmocka_unit_test(an_allocation_may_fail_in_any_thread),
        cmocka_unit_test(the_callback_may_cancel_at_any_call),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
