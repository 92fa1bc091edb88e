/* test_join_bins.c - bins of rows that are dealt out to ranks. */
#define _POSIX_C_SOURCE 200809L
#include "joined/joined_world.h"

enum { ROWS = 3 * KB_RANK_ROWS + 100, GRIDS = 21 };

static void compare(kb_context *ctx, void *arg) {
    const world *w = arg;
    kb_data view;
    kb_binned mine = joined_rows(ctx, w, &view);
    const kb_binmat *z = mine.z, *all = w->z;
    assert_int_equal(z->rows, view.rows);
    assert_int_equal(z->bins, all->bins);
    assert_true(z->kappa == all->kappa);
    for (size_t r = 0; r < GRIDS; r++) {
        assert_int_equal(z->start[r + 1], all->start[r + 1]);
        assert_same_bits(z->key[r], all->key[r], kb_binmat_bins_of(all, r));
        for (size_t i = 0; i < z->rows; i++)
            assert_int_equal(kb_binmat_id(z, i, r), kb_binmat_id(all, view.first_row + i, r));
    }
    kb_binned_release(&mine);
}

static void check(double sigma, int sparse) {
    kb_context *ctx = test_context();
    world w = world_build(ctx, ROWS, 3, GRIDS, sigma);
    if (sparse) {
        kb_data_free(w.data);
        w.data = test_sparse(ctx, ROWS, 3, w.x, NULL);
        kb_binmat_free(w.z);
        w.z = world_bin(ctx, &w, NULL);
    }
    for (int P = 1; P <= 6; P++) /* with five and six some have no rows */
        run_ranked(P, 1 + P % 2, compare, &w);
    world_free(&w);
    kb_context_free(ctx);
}

static void bins_have_the_numbers_that_one_process_gives(void **state) {
    (void)state;
    check(3, 0);    /* few bins, stored by tuples */
    check(0.05, 0); /* many, stored by rows */
    check(0.3, 1);
}

/* The memory that all bins take is checked on every rank. */
static void refuse(kb_context *ctx, void *arg) {
    const world *w = arg;
    size_t begin = kb_deal_begin(w->N, kb_rank(ctx), kb_rank_count(ctx));
    size_t end = kb_deal_begin(w->N, kb_rank(ctx) + 1, kb_rank_count(ctx));
    kb_data view = kb_data_view(w->data, begin, end - begin);
    kb_memory_plan memory = {.limit = 16 * w->z->bins, .per_bin = 16};
    kb_binning binning = world_binning(w);
    kb_binned out = {0};
    assert_int_equal(kb_joined_binmat(ctx, &binning, &view, w->R, &memory, &out), KB_ERR_MEMORY);
    assert_non_null(strstr(kb_context_message(ctx), "use fewer grids"));
    assert_null(out.z);
}

static void too_little_memory_for_the_bins_of_all_is_told_on_every_rank(void **state) {
    kb_context *ctx = test_context();
    world w = world_build(ctx, ROWS, 3, GRIDS, 0.1);
    (void)state;
    for (int P = 1; P <= 5; P += 2)
        run_ranked(P, 1, refuse, &w);
    world_free(&w);
    kb_context_free(ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bins_have_the_numbers_that_one_process_gives),
        cmocka_unit_test(too_little_memory_for_the_bins_of_all_is_told_on_every_rank),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
