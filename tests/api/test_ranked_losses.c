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

/* All models of a path, one after the other. */
static void go_along(kb_context *ctx, void *arg) {
    problem *p = arg;
    kb_data *own = own_rows(ctx, p->data);
    kb_options *options = tuning_options_of(ctx, p->pairs);
    kb_path *path;
    kb_model *model;
    bytes mine = {0};
    assert_ok(ctx, kb_path_fit(ctx, options, own, NULL, NULL, &path));
    assert_int_equal(kb_path_count(path), 3);
    for (size_t k = 0; k < 3; k++) {
        double numbers[] = {kb_path_info(path, k)->objective, kb_path_info(path, k)->lambda};
        assert_int_equal(put(&mine, numbers, sizeof numbers), KB_OK);
    }
    assert_ok(ctx, kb_path_take(path, 1, &model));
    assert_ok(ctx, kb_model_write_bytes(ctx, model, put, &mine));
    if (p->first)
        p->model = mine;
    else
        assert_true(mine.count == p->model.count && memcmp(mine.at, p->model.at, mine.count) == 0);
    if (!p->first)
        free(mine.at);
    kb_model_free(model);
    kb_path_free(path);
    kb_options_free(options);
    kb_data_free(own);
}

static void paths_are_the_same_on_any_ranks(void **state) {
    kb_context *ctx = test_context();
    kb_data *data = make(ctx, TWO, ROWS, 0, 0);
    problem p = {.data = data, .pairs = L1("lambda-path", "3", "lambda", "2")};
    (void)state;
    for (int P = 1; P <= 3; P++) {
        p.first = P == 1;
        run_ranked(P, P, go_along, &p);
    }
    free(p.model.at);
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
        cmocka_unit_test(paths_are_the_same_on_any_ranks),
        cmocka_unit_test(losses_of_numbers_give_the_same_model_on_any_ranks),
        cmocka_unit_test(counts_are_checked_on_all_ranks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
