/* Slices of grids: sums over bins and the way back, against the bin numbers one by one. */
#include "features/world.h"

#include "core/team.h"
#include "features/slices.h"

static const size_t GRIDS[] = {KB_GROUP, KB_BUNDLE, 4 * KB_BUNDLE};
static const size_t COLUMNS[] = {1, 2, 4, KB_PANEL};
static const int THREADS[] = {1, 2, 3, 7, 16};

static int32_t *whole_numbers(uint64_t seed, size_t count, double size) {
    int32_t *x = malloc((count + 1) * sizeof *x);
    assert_non_null(x);
    for (size_t k = 0; k < count; k++)
        x[k] = (int32_t)rint((2 * test_uniform(seed, k) - 1) * size);
    return x;
}

/* What all threads of a run work on. */
typedef struct job {
    kb_context *ctx;
    kb_slices *slices;
    size_t columns;
    const int32_t *v, *step; /* rows x columns, and of all bins x columns */
    int64_t *sums;           /* the same */
    int32_t *out;            /* slices x rows x columns */
    size_t rows;
} job;

/* Slices one after the other, as a solver takes them; the last is taken twice. */
static void run_slices(void *arg, int me, int threads) {
    job *j = arg;
    size_t count = kb_slices_count(j->slices);
    for (size_t n = 0; n <= count; n++) {
        size_t k = n < count ? n : count - 1, first = kb_slice_first(j->slices, k) * j->columns;
        const int64_t *S = kb_slice_sum(j->slices, k, j->v, me, threads);
        if (me == threads - 1)
            memcpy(j->sums + first, S, kb_slice_bins(j->slices, k) * j->columns * sizeof *S);
        kb_slice_spread(j->slices, k, j->step + first, j->out + k * j->rows * j->columns, me,
                        threads);
        kb_team_meet(j->ctx, me, threads); /* the next sums replace these */
    }
}

/* The sums of v over all bins. */
static int64_t *plain_sums(const kb_binmat *z, size_t columns, const int32_t *v) {
    int64_t *sums = calloc(z->bins * columns + 1, sizeof *sums);
    assert_non_null(sums);
    for (size_t i = 0; i < z->rows; i++)
        for (size_t r = 0; r < z->grids; r++)
            for (size_t c = 0; c < columns; c++)
                sums[(z->start[r] + kb_binmat_id(z, i, r)) * columns + c] += v[i * columns + c];
    return sums;
}

/* For every slice of `grids` grids, the steps of each row. */
static int32_t *plain_steps(const kb_binmat *z, size_t grids, size_t columns, const int32_t *step) {
    size_t count = (z->grids + grids - 1) / grids;
    int32_t *out = calloc(count * z->rows * columns + 1, sizeof *out);
    assert_non_null(out);
    for (size_t i = 0; i < z->rows; i++)
        for (size_t r = 0; r < z->grids; r++)
            for (size_t c = 0; c < columns; c++)
                out[(r / grids * z->rows + i) * columns + c] +=
                    step[(z->start[r] + kb_binmat_id(z, i, r)) * columns + c];
    return out;
}

static void assert_cut(const kb_slices *s, const kb_binmat *z, size_t grids) {
    size_t next = 0, most = 0;
    assert_int_equal(kb_slices_count(s), (z->grids + grids - 1) / grids);
    for (size_t k = 0; k < kb_slices_count(s); k++) {
        assert_int_equal(kb_slice_first(s, k), next);
        assert_int_equal(next, z->start[k * grids]);
        next += kb_slice_bins(s, k);
        most = kb_slice_bins(s, k) > most ? kb_slice_bins(s, k) : most;
    }
    assert_int_equal(next, z->bins);
    assert_int_equal(kb_slices_most_bins(s), most);
}

static void check_slices(const world *w, size_t grids, size_t columns, int threads) {
    test_state state = {0};
    kb_context *ctx = test_context_with(&state, threads);
    const kb_binmat *z = w->z;
    int32_t *v = whole_numbers(21, z->rows * columns, 0x1p29);
    int32_t *step = whole_numbers(22, z->bins * columns, 0x1p22);
    int64_t *want = plain_sums(z, columns, v);
    int32_t *back = plain_steps(z, grids, columns, step);
    size_t count = (z->grids + grids - 1) / grids;
    job j = {.ctx = ctx, .columns = columns, .v = v, .step = step, .rows = z->rows};
    j.sums = malloc((z->bins * columns + 1) * sizeof *j.sums);
    j.out = malloc((count * z->rows * columns + 1) * sizeof *j.out);
    assert_true(j.sums && j.out);
    assert_ok(ctx, kb_slices_create(ctx, z, grids, columns, &j.slices));
    assert_cut(j.slices, z, grids);
    kb_team_run(ctx, 0, run_slices, &j);
    assert_same_bits(j.sums, want, z->bins * columns);
    assert_same_bits(j.out, back, count * z->rows * columns);
    kb_slices_free(j.slices);
    free(v), free(step), free(want), free(back), free(j.sums), free(j.out);
    kb_context_free(ctx);
    assert_int_equal(state.live, 0);
}

/* Wide bins give tuples, narrow ones none, and between them some bundles have them. */
static int tuples_of(const kb_binmat *z) {
    int with = 0, without = 0;
    for (size_t b = 0; b < z->bundles; b++)
        z->bundle[b].ids ? with++ : without++;
    return (with > 0) + 2 * (without > 0);
}

static void sums_and_the_way_back_are_those_of_the_bin_numbers(void **unused) {
    static const size_t R[] = {1, 4, 6, 16, 19, 37, 83};
    static const double sigma[] = {8, 0.9, 0.05};
    kb_context *ctx = test_context();
    int kinds = 0;
    (void)unused;
    for (size_t n = 0; n < sizeof R / sizeof *R; n++)
        for (size_t k = 0; k < 3; k++) {
            world w = world_build(ctx, 300, 3, R[n], sigma[k]);
            kinds |= 1 << tuples_of(w.z);
            for (size_t g = 0; g < 3; g++)
                for (size_t t = 0; t < 5; t++)
                    check_slices(&w, GRIDS[g], COLUMNS[(n + k + t) % 4], THREADS[t]);
            world_free(&w);
        }
    assert_int_equal(kinds & 6, 6); /* with tuples, and without */
    kb_context_free(ctx);
}

/* All numbers of columns, for all numbers of threads. */
static void all_columns_and_threads_agree(void **unused) {
    static const double sigma[] = {4, 0.05};
    kb_context *ctx = test_context();
    (void)unused;
    for (size_t k = 0; k < 2; k++) {
        world w = world_build(ctx, 500, 2, 37, sigma[k]);
        for (size_t g = 0; g < 3; g++)
            for (size_t c = 0; c < 4; c++)
                for (size_t t = 0; t < 5; t++)
                    check_slices(&w, GRIDS[g], COLUMNS[c], THREADS[t]);
        world_free(&w);
    }
    kb_context_free(ctx);
}

/* More rows than are worked on at a time, and fewer than threads. */
static void many_rows_and_few(void **unused) {
    static const size_t rows[] = {1, 2, 5, 4096, 4097, 9001};
    kb_context *ctx = test_context();
    (void)unused;
    for (size_t n = 0; n < sizeof rows / sizeof *rows; n++)
        for (size_t k = 0; k < 2; k++) {
            world w = world_build(ctx, rows[n], 2, 22, k ? 0.1 : 3);
            for (size_t t = 0; t < 5; t++)
                check_slices(&w, GRIDS[t % 3], COLUMNS[(t + n) % 4], THREADS[t]);
            world_free(&w);
        }
    kb_context_free(ctx);
}

/* More than 256 and more than 65536 bins or tuples: ids of 16 and 18 bits. */
static void wide_numbers(void **unused) {
    kb_context *ctx = test_context();
    (void)unused;
    world w = world_build(ctx, TEST_LIGHT ? 2000 : 70000, 3, 5, 1e-4);
    if (!TEST_LIGHT)
        assert_int_equal(w.z->group[0].bits, 18);
    for (size_t t = 0; t < 3; t++)
        check_slices(&w, KB_GROUP << 2 * (t % 2), COLUMNS[t], THREADS[2 * t]);
    world_free(&w);
    kb_context_free(ctx);
}

static int create_slices(kb_context *ctx, void *arg) {
    const world *w = arg;
    kb_slices *slices;
    kb_status status = kb_slices_create(ctx, w->z, KB_BUNDLE, 2, &slices);
    assert_int_equal(slices == NULL, status != KB_OK);
    kb_slices_free(slices);
    return status;
}

static void a_failed_allocation_leaves_nothing(void **unused) {
    kb_context *ctx = test_context();
    world w = world_build(ctx, 100, 2, 20, 2);
    (void)unused;
    run_with_allocation_failures(create_slices, &w);
    kb_slices_free(NULL);
    world_free(&w);
    kb_context_free(ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sums_and_the_way_back_are_those_of_the_bin_numbers),
        cmocka_unit_test(all_columns_and_threads_agree),
        cmocka_unit_test(many_rows_and_few),
        cmocka_unit_test(wide_numbers),
        cmocka_unit_test(a_failed_allocation_leaves_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
