/* test_ranked_losses.c - the L1 penalty and losses of numbers with rows on ranks. */
#define _POSIX_C_SOURCE 200809L
#include "api/ranking.h"

/* The stopping rule is the gap to the least objective, so the weights are only nearly those of one
 * process. */
#define L1(...) PAIRS("penalty", "l1", "tol", "1e-4", __VA_ARGS__)
static const double NEAR = 2e-2;

static void the_l1_penalty_gives_the_same_model_on_any_ranks(void **state) {
    (void)state;
    check_kind(REAL, 0, 0, L1("lambda", "3"), NEAR);
    check_kind(REAL, 1, 1, L1("lambda", "2", "group-grids", "on"), NEAR);
    check_kind(TWO, 0, 1, L1("loss", "squared-hinge", "lambda", "2"), NEAR);
    check_kind(TWO, 0, 0, L1("loss", "logistic", "lambda", "1", "intercept", "on"), NEAR);
}

static void few_rows_give_the_same_sparse_model_on_any_ranks(void **state) {
    kb_context *ctx = test_context();
    kb_data *data = make(ctx, WORDS, 300, 1, 1);
    (void)state;
    check(data, L1("lambda", "0.3", "holdout", "auto"), NEAR);
    kb_data_free(data);
    kb_context_free(ctx);
}

/* Labels that are counts. */
static kb_data *counts(kb_context *ctx, size_t rows, int weighted) {
    kb_data *data = make(ctx, REAL, rows, 0, weighted);
    for (size_t i = 0; i < rows; i++)
        data->label[i] = floor(2 * fabs(data->label[i]));
    return data;
}

static void losses_of_numbers_give_the_same_model_on_any_ranks(void **state) {
    (void)state;
    check_kind(REAL, 0, 0, PAIRS("loss", "absolute", "lambda", "30", "tol", "1e-4"), NEAR);
    check_kind(REAL, 0, 1,
               PAIRS("loss", "quantile", "quantile", "0.8", "lambda", "30", "tol", "1e-4",
                     "holdout", "auto"),
               NEAR);
    kb_context *ctx = test_context();
    for (int weighted = 0; weighted < 2; weighted++) {
        kb_data *data = counts(ctx, weighted ? ROWS : 50, weighted);
        check(data, PAIRS("loss", "poisson", "lambda", "30", "tol", "1e-4", "holdout", "auto"),
              NEAR);
        kb_data_free(data);
    }
    kb_context_free(ctx);
}

/* The row is told as it is numbered among all. */
static void counts_are_checked_on_all_ranks(void **state) {
    kb_context *ctx = test_context();
    kb_data *data = counts(ctx, ROWS, 0);
    (void)state;
    data->label[ROWS - 2] = -1;
    char row[40];
    snprintf(row, sizeof row, "row %d has -1", ROWS - 1);
    refused(data, PAIRS("loss", "poisson"), row);
    memset(data->label, 0, ROWS * sizeof *data->label);
    refused(data, PAIRS("loss", "poisson"), "all labels are 0");
    kb_data_free(data);
    kb_context_free(ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_l1_penalty_gives_the_same_model_on_any_ranks),
        cmocka_unit_test(few_rows_give_the_same_sparse_model_on_any_ranks),
        cmocka_unit_test(losses_of_numbers_give_the_same_model_on_any_ranks),
        cmocka_unit_test(counts_are_checked_on_all_ranks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
