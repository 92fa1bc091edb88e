/* test_row_sums.c - sums over the rows of any number of ranks. */
#define _POSIX_C_SOURCE 200809L
#include "ranked.h"

#include "ranks/row_sums.h"

enum { ROWS = 5 * KB_RANK_ROWS + 77, COLUMNS = 3 };

typedef struct numbers {
    double a[ROWS * COLUMNS], b[ROWS * COLUMNS];
    double one[COLUMNS]; /* by one process */
} numbers;

/* Rank k has the rows from part k * parts / ranks on. */
static void sum_some(kb_context *ctx, void *arg) {
    const numbers *x = arg;
    size_t parts = ROWS / KB_RANK_ROWS + 1, P = (size_t)kb_rank_count(ctx);
    size_t begin = (size_t)kb_rank(ctx) * parts / P * KB_RANK_ROWS;
    size_t end = ((size_t)kb_rank(ctx) + 1) * parts / P * KB_RANK_ROWS;
    double sum[COLUMNS];
    end = end < ROWS ? end : ROWS;
    assert_int_equal(
        kb_row_sums(ctx, end - begin, COLUMNS, x->a + begin * COLUMNS, x->b + begin * COLUMNS, sum),
        KB_OK);
    assert_memory_equal(sum, x->one, sizeof sum);
}

static void sums_over_rows_have_the_same_bits_on_any_number_of_ranks(void **state) {
    static numbers x;
    kb_context *ctx;
    (void)state;
    for (size_t e = 0; e < ROWS * COLUMNS; e++) {
        x.a[e] = 1 / (double)(e + 3);
        x.b[e] = (double)(e * 7919 % 1013) - 500;
    }
    assert_int_equal(kb_context_create(NULL, &ctx), KB_OK);
    assert_int_equal(kb_sums(ctx, ROWS, COLUMNS, x.a, x.b, x.one), KB_OK);
    kb_context_free(ctx);
    for (int P = 1; P <= RANKED_MOST; P++) /* with seven and eight some have no rows */
        run_ranked(P, 1 + P % 2, sum_some, &x);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sums_over_rows_have_the_same_bits_on_any_number_of_ranks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
