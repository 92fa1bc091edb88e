/* test_ranked_fit.c - fits whose rows are dealt out to ranks: the same model for any number. */
#define _POSIX_C_SOURCE 200809L
#include "api/ranking.h"

static void sweeps_give_the_same_model_on_any_ranks(void **state) {
    (void)state;
    check_kind(REAL, 0, 0, PAIRS("solver", "sweeps", "max-iter", "6"), CLOSE);
    check_kind(REAL, 1, 1, PAIRS("solver", "sweeps", "max-iter", "6", "intercept", "mean"), CLOSE);
    check_kind(TWO, 0, 1, PAIRS("solver", "sweeps", "max-iter", "6"), CLOSE);
    check_kind(WORDS, 0, 0, PAIRS("solver", "sweeps", "max-iter", "4"), CLOSE);
}

static void sweeps_that_stop_by_watched_rows_do_so_on_any_ranks(void **state) {
    (void)state;
    for (int weighted = 0; weighted < 2; weighted++) {
        kb_context *ctx = test_context();
        kb_data *data = make(ctx, weighted ? WORDS : REAL, ROWS, 0, weighted);
        check_fit(data, 1, PAIRS("solver", "sweeps", "holdout", "auto"), CLOSE);
        check_fit(data, 1, PAIRS("solver", "sweeps", "split", "time"), CLOSE);
        kb_data_free(data);
        kb_context_free(ctx);
    }
}

static void sweeps_and_the_steps_after_them_give_the_same_model_on_any_ranks(void **state) {
    (void)state;
    check_kind(REAL, 0, 1, PAIRS("solver", "sweeps", "lambda", "30", "tol", "1e-6"), STOPPED);
    check_kind(TWO, 0, 0,
               PAIRS("solver", "sweeps", "loss", "logistic", "lambda", "30", "tol", "1e-6"),
               STOPPED);
    check_kind(WORDS, 0, 1, PAIRS("solver", "sweeps", "loss", "squared-hinge", "lambda", "30"),
               0.05);
}

static void scalings_give_the_same_model_on_any_ranks(void **state) {
    static const char *const scales[] = {"none", "minmax", "maxabs", "standard", "ranks"};
    (void)state;
    for (size_t k = 0; k < sizeof scales / sizeof *scales; k++) {
        int sparse = k % 2 == 1;
        check_kind(REAL, sparse, 0, PAIRS("solver", "sweeps", "max-iter", "2", "scale", scales[k]),
                   CLOSE);
    }
    check_kind(REAL, 0, 1, PAIRS("solver", "sweeps", "max-iter", "2", "sigma", "default"), CLOSE);
}

static void krylov_solvers_give_the_same_model_on_any_ranks(void **state) {
    (void)state;
    check_kind(REAL, 0, 1, PAIRS("solver", "cg", "lambda", "30", "tol", "1e-6"), STOPPED);
    check_kind(WORDS, 1, 0, PAIRS("solver", "cg", "lambda", "30", "tol", "1e-6"), STOPPED);
    check_kind(TWO, 0, 0, PAIRS("solver", "gmres", "lambda", "30", "tol", "1e-6"), STOPPED);
    check_kind(TWO, 0, 1, PAIRS("loss", "logistic", "lambda", "30", "tol", "1e-6"), STOPPED);
    check_kind(TWO, 0, 0,
               PAIRS("loss", "squared-hinge", "intercept", "on", "lambda", "30", "tol", "1e-6"),
               STOPPED);
    check_kind(WORDS, 0, 0,
               PAIRS("loss", "logistic", "multiclass", "softmax", "lambda", "30", "tol", "1e-6"),
               STOPPED);
}

static void rows_held_out_are_the_same_on_any_ranks(void **state) {
    (void)state;
    check_kind(TWO, 0, 1, PAIRS("probability", "on", "solver", "sweeps", "max-iter", "3"), CLOSE);
    check_kind(REAL, 0, 0, PAIRS("holdout", "auto", "split", "time", "lambda", "30", "tol", "1e-6"),
               STOPPED);
    check_kind(WORDS, 0, 0, PAIRS("holdout", "auto", "lambda", "30", "tol", "1e-6"), STOPPED);
}

/* Ranks with no rows, and all data on one. */
static void few_rows_give_the_same_model_on_any_ranks(void **state) {
    kb_context *ctx = test_context();
    (void)state;
    for (int weighted = 0; weighted < 2; weighted++) {
        kb_data *data = make(ctx, TWO, 60 + 500 * (size_t)weighted, 0, weighted);
        check(data, PAIRS("solver", "sweeps", "max-iter", "5"), CLOSE);
        check(data, PAIRS("class-weight", "balanced", "lambda", "30", "tol", "1e-6"), STOPPED);
        kb_data_free(data);
    }
    kb_context_free(ctx);
}

/* Tuned by a sample: with so few rows it is all of them, and the choices are those of one process.
 */
static void tuning_gives_the_same_model_on_any_ranks(void **state) {
    static const char *const pairs[] = {"grids",      "32", "widths", "equal",  "linear", "off",
                                        "directions", "0",  "loss",   "square", NULL};
    (void)state;
    check_kind(REAL, 0, 0, pairs, 1e-3);
}

/* With fewer rows than there are: the fit has the columns that the tuner saw. */
static void tune_by_few_and_compare(kb_context *ctx, void *arg) {
    problem *p = arg;
    kb_data *own = own_rows(ctx, p->data);
    kb_options *options = tuning_options_of(ctx, p->pairs);
    kb_config config = kb_config_of(options);
    kb_tuning tuning;
    kb_importance importance;
    kb_model *model;
    bytes mine = {0};
    assert_ok(ctx, kb_ranked_check(ctx, &config, own));
    assert_ok(ctx, kb_ranked_tune(ctx, &config, own, NULL, 1500, &tuning));
    assert_ok(ctx, kb_ranked_importance(ctx, 1, &tuning.plan, own, 1500, &importance));
    assert_non_null(tuning.plan.transform);
    assert_ok(ctx, kb_fit_plan(ctx, &tuning.plan, own, &model));
    assert_int_equal(kb_model_info(model)->rows, ROWS);
    model->importance = importance;
    assert_ok(ctx, kb_model_write_bytes(ctx, model, put, &mine));
    if (p->first)
        p->model = mine;
    else
        assert_true(mine.count == p->model.count && memcmp(mine.at, p->model.at, mine.count) == 0);
    if (!p->first)
        free(mine.at);
    kb_model_free(model);
    kb_tuning_release(ctx, &tuning);
    kb_options_free(options);
    kb_data_free(own);
}

static void a_sample_tunes_the_same_model_on_any_ranks(void **state) {
    static const char *const pairs[] = {"grids",      "32", "widths", "equal",  "linear", "off",
                                        "directions", "0",  "loss",   "square", NULL};
    kb_context *ctx = test_context();
    kb_data *data = make(ctx, REAL, ROWS, 0, 0);
    problem p = {.data = data, .pairs = pairs};
    (void)state;
    for (int P = 1; P <= 3; P++) {
        p.first = P == 1;
        run_ranked(P, P, tune_by_few_and_compare, &p);
    }
    free(p.model.at);
    kb_data_free(data);
    kb_context_free(ctx);
}

/* A table with numbers, of which some are missing, a category, two levels and dates. */
static kb_data *table_of(kb_context *ctx) {
    static const char *const words[] = {"red", "green", "blue", "grey", "pink"};
    kb_options *options = OPTIONS(ctx, "label", "y");
    char *text = malloc(64 * (ROWS + 1)), *at = text;
    assert_non_null(text);
    at += sprintf(at, "a,c,b,d,y\n");
    for (size_t i = 0; i < ROWS; i++) {
        size_t k = i * i % 5;
        at += i % 7 == 3 ? sprintf(at, ",") : sprintf(at, "%zu.5,", i * 7919 % 101);
        at += sprintf(at, "%s,%s,2021-%02zu-%02zu,%g\n", words[k], i % 3 ? "yes" : "no", 1 + i % 12,
                      1 + i % 28, (double)k + (i % 7 == 3 ? 2.5 : 0) + test_uniform(1, i));
    }
    kb_data *data = csv_of(ctx, options, NULL, text);
    kb_options_free(options);
    free(text);
    return data;
}

static void tables_are_encoded_in_the_same_way_on_any_ranks(void **state) {
    kb_context *ctx = test_context();
    kb_data *data = table_of(ctx);
    (void)state;
    assert_true(data->missing);
    check(data, PAIRS("solver", "sweeps", "max-iter", "4"), CLOSE);
    kb_data_free(data);
    kb_context_free(ctx);
}

/* ---- bytes ------------------------------------------------------------- */

/* A sweep without weights, for one output, sends 8 bytes a bin, 24 a slice for the line search, and
 * the sums of parts of the rows and a few numbers besides. */
static void count_bytes(kb_context *ctx, void *arg) {
    const problem *p = arg;
    kb_model *model = fit(ctx, p);
    const kb_fit_cost *cost = kb_model_cost(model);
    const kb_fit_info *info = kb_model_info(model);
    double slices = ceil((double)info->grids / KB_BUNDLE), sweeps = (double)info->steps;
    double least = sweeps * (8 * (double)info->bins + 24 * slices);
    /* once more for the counts of bins, and twice that for f = Z w, which takes none */
    double most = (sweeps + 2) * (8 * (double)info->bins + 24 * slices) + 20000;
    assert_true(cost->sent_bytes >= cost->solve_sent_bytes);
    if (kb_rank_count(ctx) == 1)
        assert_true(cost->sent_bytes == 0);
    else if (!(least <= cost->solve_sent_bytes && cost->solve_sent_bytes <= most))
        fail_msg("%.0f bytes, not %.0f to %.0f", cost->solve_sent_bytes, least, most);
    kb_model_free(model);
}

static void bytes_of_a_sweep_are_as_predicted(void **state) {
    kb_context *ctx = test_context();
    kb_data *data = make(ctx, REAL, ROWS, 0, 0);
    problem p = {.data = data, .pairs = PAIRS("solver", "sweeps", "max-iter", "6")};
    (void)state;
    for (int P = 1; P <= 3; P++)
        run_ranked(P, 1, count_bytes, &p);
    kb_data_free(data);
    kb_context_free(ctx);
}

/* ---- a device ---------------------------------------------------------- */

static void count_warnings(void *user, kb_log_level level, const char *line) {
    if (level == KB_LOG_WARNING && strcmp(line, "device=cuda: rows on ranks are binned and solved "
                                                "on the CPU") == 0)
        ++*(int *)user;
}

static void fit_and_listen(kb_context *ctx, void *arg) {
    int told = 0;
    ctx->config.log = count_warnings;
    ctx->config.user = &told;
    fit_and_compare(ctx, arg);
    assert_int_equal(told, 1);
}

/* Whether this machine has one or not: it is told once, and the model is that of the CPU. */
static void rows_on_ranks_stay_on_the_cpu(void **state) {
    kb_context *ctx = test_context();
    kb_data *data = make(ctx, REAL, ROWS, 0, 0);
    problem p = {.data = data, .pairs = PAIRS("solver", "sweeps", "max-iter", "3"), .first = 1};
    (void)state;
    run_ranked(1, 1, fit_and_compare, &p);
    p.pairs = PAIRS("solver", "sweeps", "max-iter", "3", "device", "cuda");
    p.first = 0;
    for (int P = 1; P <= 3; P++)
        run_ranked(P, 1, fit_and_listen, &p);
    free(p.model.at);
    kb_data_free(data);
    kb_context_free(ctx);
}

/* ---- what is refused --------------------------------------------------- */

static void what_is_not_shared_out_is_refused_on_every_rank(void **state) {
    kb_context *ctx = test_context();
    kb_data *data = make(ctx, TWO, ROWS, 0, 0);
    (void)state;
    refused(data, PAIRS("penalty", "l1", "solver", "cd"), "solver=cd: works in one process");
    refused(data, PAIRS("penalty", "l1", "solver", "parallel-cd"), "solver=parallel-cd: works in");
    refused(data, PAIRS("map", "fourier"), "map=fourier: works in one process");
    refused(data, PAIRS("budget", "10s"), "budget: works in one process");
    refused(data, PAIRS("holdout", "0.1"), "holdout: works in one process");
    refused(data, PAIRS("ensemble", "2"), "ensemble: works in one process");
    refused(data, PAIRS("max-memory", "1M"), "use fewer grids");
    refused(data, PAIRS("class-weight", "/nowhere/at/all"), "/nowhere/at/all");
    kb_data_free(data);
    kb_context_free(ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sweeps_give_the_same_model_on_any_ranks),
        cmocka_unit_test(sweeps_that_stop_by_watched_rows_do_so_on_any_ranks),
        cmocka_unit_test(sweeps_and_the_steps_after_them_give_the_same_model_on_any_ranks),
        cmocka_unit_test(scalings_give_the_same_model_on_any_ranks),
        cmocka_unit_test(krylov_solvers_give_the_same_model_on_any_ranks),
        cmocka_unit_test(rows_held_out_are_the_same_on_any_ranks),
        cmocka_unit_test(few_rows_give_the_same_model_on_any_ranks),
        cmocka_unit_test(tuning_gives_the_same_model_on_any_ranks),
        cmocka_unit_test(a_sample_tunes_the_same_model_on_any_ranks),
        cmocka_unit_test(tables_are_encoded_in_the_same_way_on_any_ranks),
        cmocka_unit_test(bytes_of_a_sweep_are_as_predicted),
        cmocka_unit_test(rows_on_ranks_stay_on_the_cpu),
        cmocka_unit_test(what_is_not_shared_out_is_refused_on_every_rank),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
