/* Tuning of options left at auto, through the public interface. */
#include "tune/tuned.h"

#include "trial/rules.h"

/* ---- it helps ---------------------------------------------------------- */

static void tuned_values_beat_plain_ones(void **unused) {
    static const char *const set[][3] = {
        {"friedman", "0.2", "1000"}, {"checkers", "0.1", "4000"}, {"rings", "0", "1000"}};
    kb_context *ctx = test_context();
    (void)unused;
    for (int k = 0; k < (TEST_LIGHT ? 1 : 3); k++) {
        kb_data *train = generated(ctx, set[k][0], set[k][2], "1", set[k][1]);
        kb_data *test = generated(ctx, set[k][0], "2000", "2", "0");
        kb_model *tuned = fit_sanely(ctx, TUNING(ctx, "tune", "on"), train);
        kb_model *plain = fit_sanely(ctx, TUNING(ctx, "tune", "off"), train);
        double mine = error_on(ctx, tuned, test), other = error_on(ctx, plain, test);
        if (!(mine <= other + 0.005))
            fail_msg("%s: %g tuned, %g plain", set[k][0], mine, other);
        assert_int_equal(trials_of(plain), 0);
        assert_true(trials_of(tuned) > 3);
        assert_true(k != 0 || mine < 0.7 * other); /* half the columns of friedman are useless */
        assert_true(k != 0 || kb_model_info(tuned)->widths_differ);
        kb_model_free(tuned);
        kb_model_free(plain);
        kb_data_free(train);
        kb_data_free(test);
    }
    kb_context_free(ctx);
}

/* Where numbers have little noise the random grids are most of the error. */
static void more_grids_are_taken_where_there_is_little_noise(void **unused) {
    static const char *const set[][2] = {{"friedman", "0"}, {"friedman", "1"}, {"rings", "0"}};
    kb_context *ctx = test_context();
    (void)unused;
    for (int k = 0; k < 3; k++) {
        kb_data *train = generated(ctx, set[k][0], "400", "1", set[k][1]);
        kb_model *model =
            fit_sanely(ctx, TUNING(ctx, "widths", "equal", "directions", "off"), train);
        size_t grids = kb_model_info(model)->grids;
        assert_true(k == 0 ? grids == KB_RULE_GRIDS_CLEAN_MOST : grids <= KB_RULE_GRIDS_MOST);
        kb_model_free(model);
        kb_data_free(train);
    }
    kb_context_free(ctx);
}

/* Few of many columns matter, or of few columns with few rows: with equal widths almost nothing is
 * learned. */
static void few_useful_columns_are_found(void **unused) {
    enum { ROWS = 1000 };
    static const size_t columns[] = {10, 400}, fitted[] = {120, 200};
    kb_context *ctx = test_context();
    (void)unused;
    for (int k = 0; k < (TEST_LIGHT ? 1 : 2); k++) {
        size_t d = columns[k];
        double *x = test_numbers(5, ROWS * d), y[ROWS];
        kb_data *train, *test;
        for (size_t i = 0; i < ROWS; i++)
            y[i] = sin(3 * x[i * d + 1]) + x[i * d + 4] * x[i * d + 4];
        assert_ok(ctx, data_from_dense(ctx, fitted[k], d, x, y, &train));
        assert_ok(ctx, data_from_dense(ctx, ROWS - fitted[k], d, x + fitted[k] * d, y + fitted[k],
                                       &test));
        kb_model *tuned = fit_sanely(ctx, TUNING(ctx, "seed", "1"), train);
        kb_model *equal = fit_sanely(ctx, TUNING(ctx, "widths", "equal"), train);
        double mine = error_on(ctx, tuned, test), other = error_on(ctx, equal, test);
        if (!(mine < 0.5 * other))
            fail_msg("%zu columns: %g, with equal widths %g", d, mine, other);
        free(x);
        kb_model_free(tuned);
        kb_model_free(equal);
        kb_data_free(train);
        kb_data_free(test);
    }
    kb_context_free(ctx);
}

static int had_final_trial(const kb_model *model, const char *widths, size_t grids) {
    size_t count;
    const kb_trial_info *tried = kb_model_trials(model, &count);
    for (size_t i = 0; i < count; i++)
        if (strcmp(tried[i].widths, widths) == 0 && tried[i].grids == grids)
            return 1;
    return 0;
}

/* Many columns that each matter a little: widths by relevance are the better blend.  Tables with
 * few columns, or with many rows per column, do not try it.  Without widths by slopes, which may be
 * a better blend than either. */
static void relevant_columns_are_blended(void **unused) {
    static const size_t rows[] = {200, 1400, 200}, columns[] = {30, 42, 200};
    kb_context *ctx = test_context();
    (void)unused;
    for (int k = 0; k < 3; k += TEST_LIGHT ? 2 : 1) {
        size_t d = columns[k], N = rows[k];
        int wide = k == 2;
        double *x = test_numbers(7, N * d), *y = malloc(N * sizeof *y);
        kb_data *data;
        for (size_t i = 0; i < N; i++) {
            double sum = 0;
            for (size_t j = 0; j < d / 2; j++)
                sum += x[i * d + j];
            y[i] = sum > 0;
        }
        assert_ok(ctx, data_from_dense(ctx, N, d, x, y, &data));
        kb_model *model =
            fit_sanely(ctx, TUNING(ctx, "task", "classification", "directions", "off"), data);
        assert_int_equal(had_final_trial(model, "screened", 128), wide);
        assert_int_equal(had_final_trial(model, "learned and screened", 256), wide);
        assert_int_equal(had_final_trial(model, "learned and equal", 256), !wide);
        free(x);
        free(y);
        kb_model_free(model);
        kb_data_free(data);
    }
    kb_context_free(ctx);
}

/* Where one class is rare, a few errors are all there is to learn, and ever wider bins cost no more
 * than that: what has been learned must not be given up for wider bins. */
static void bins_do_not_outgrow_a_rare_class(void **unused) {
    enum { ROWS = 3000, COLUMNS = 8 };
    kb_context *ctx = test_context();
    double *x = test_numbers(3, ROWS * COLUMNS), *noise = test_numbers(4, ROWS), y[ROWS];
    kb_data *data;
    (void)unused;
    for (size_t i = 0; i < ROWS; i++) {
        const double *at = x + i * COLUMNS;
        y[i] = at[0] > 0.4 && at[1] > 0.4 && at[2] > 0 && noise[i] > 0;
    }
    assert_ok(ctx, data_from_dense(ctx, ROWS, COLUMNS, x, y, &data));
    kb_model *model = fit_sanely(ctx, TUNING(ctx, "widths", "equal"), data);
    /* The columns are scaled to [0, 1], so a bin of width 10 holds everything. */
    assert_true(kb_model_info(model)->sigma > 0 && kb_model_info(model)->sigma < 10);
    free(x), free(noise);
    kb_model_free(model);
    kb_data_free(data);
    kb_context_free(ctx);
}

/* ---- what is given stays ----------------------------------------------- */

static void given_values_are_kept(void **unused) {
    kb_context *ctx = test_context();
    kb_data *data = generated(ctx, "rings", "300", "1", "0.05");
    (void)unused;
    kb_model *model = fit_sanely(ctx, TUNING(ctx, "sigma", "0.37"), data);
    assert_string_equal(kb_model_info(model)->sigma_text, "0.37");
    assert_string_equal(kb_model_info(model)->scale, "minmax");
    kb_model_free(model);
    model = fit_sanely(ctx, TUNING(ctx, "lambda", "0.77"), data);
    assert_true(kb_model_info(model)->lambda == 0.77);
    kb_model_free(model);
    model = fit_sanely(ctx,
                       TUNING(ctx, "grids", "33", "scale", "standard", "loss", "squared-hinge",
                              "widths", "equal", "intercept", "off"),
                       data);
    const kb_fit_info *info = kb_model_info(model);
    assert_int_equal(info->grids, 33);
    assert_string_equal(info->scale, "standard");
    assert_string_equal(info->loss, "squared-hinge");
    assert_int_equal(info->widths_differ, 0);
    assert_int_equal(info->intercept, 0);
    kb_model_free(model);
    /* Both given: nothing is left to tune, and the rest has its untuned values. */
    model = fit_sanely(ctx, TUNING(ctx, "sigma", "0.3", "lambda", "0.2"), data);
    assert_int_equal(trials_of(model), 0);
    assert_int_equal(kb_model_info(model)->grids, 256);
    kb_model_free(model);
    kb_data_free(data);
    kb_context_free(ctx);
}

/* Without tuning the model is that of the untuned values, to the byte. */
static void tune_off_is_the_plain_values(void **unused) {
    kb_context *ctx = test_context();
    kb_data *data = generated(ctx, "friedman", "200", "1", "0.1");
    kb_model *model[2] = {
        fit_sanely(ctx, TUNING(ctx, "tune", "off"), data),
        fit_sanely(ctx,
                   TUNING(ctx, "sigma", "default", "lambda", "0.1", "grids", "256", "widths",
                          "equal", "loss", "square", "scale", "minmax"),
                   data)};
    double *f[2];
    (void)unused;
    for (int k = 0; k < 2; k++) {
        f[k] = decisions_of(ctx, model[k], data);
        kb_model_free(model[k]);
    }
    assert_same_bits(f[0], f[1], 200);
    free(f[0]), free(f[1]);
    kb_data_free(data);
    kb_context_free(ctx);
}

/* The logistic loss is not solved more closely than helps, unless asked for. */
static void other_losses_stop_early_too(void **unused) {
    kb_context *ctx = test_context();
    kb_data *data = generated(ctx, "checkers", "500", "1", "0.1");
    static const char *const given[][2] = {
        {"auto", "1e-3"}, {"off", "1e-3"}, {"auto", "0.1"}, {"auto", "1e-5"}};
    size_t steps[4];
    (void)unused;
    for (int k = 0; k < 4; k++) {
        kb_model *model = fit_sanely(ctx,
                                     TUNING(ctx, "sigma", "0.1", "loss", "logistic", "early-stop",
                                            given[k][0], "tol", given[k][1]),
                                     data);
        steps[k] = kb_model_info(model)->steps;
        kb_model_free(model);
    }
    assert_true(steps[0] < steps[1]);
    assert_true(steps[2] < steps[0]); /* a looser tolerance is kept, */
    assert_true(steps[3] > steps[1]); /* and a stricter one */
    kb_data_free(data);
    kb_context_free(ctx);
}

/* ---- the same, always -------------------------------------------------- */

static char *bytes_of_fit(int threads, const char *seed, const kb_data *data, size_t *count) {
    test_state state = {0};
    kb_context *ctx = test_context_with(&state, threads);
    kb_model *model = fit_sanely(ctx, TUNING(ctx, "seed", seed), data);
    test_path path = path_of("tuned.kerbin");
    assert_ok(ctx, kb_model_write(ctx, model, path.text));
    kb_model_free(model);
    kb_context_free(ctx);
    assert_int_equal(state.live, 0);
    char *bytes = bytes_of(path.text, count);
    unlink(path.text);
    return bytes;
}

static void the_model_depends_on_the_seed_alone(void **unused) {
    kb_context *ctx = test_context();
    (void)unused;
    for (int k = 0; k < (TEST_LIGHT ? 1 : 2); k++) {
        kb_data *data = generated(ctx, k ? "rings" : "friedman", "400", "1", "0.1");
        size_t one, two, other;
        char *a = bytes_of_fit(1, "1", data, &one), *b = bytes_of_fit(2, "1", data, &two);
        char *c = bytes_of_fit(1, "2", data, &other);
        assert_int_equal(one, two);
        assert_memory_equal(a, b, one);
        assert_true(one != other || memcmp(a, c, one) != 0);
        free(a), free(b), free(c);
        kb_data_free(data);
    }
    kb_context_free(ctx);
}

static void a_tuned_model_survives_its_file(void **unused) {
    kb_context *ctx = test_context();
    kb_data *data = generated(ctx, "friedman", "600", "1", "0.1");
    kb_model *model = fit_sanely(ctx, TUNING(ctx, "widths", "learned"), data), *again;
    test_path path = path_of("again.kerbin");
    (void)unused;
    assert_int_equal(kb_model_info(model)->widths_differ, 1);
    assert_ok(ctx, kb_model_write(ctx, model, path.text));
    assert_ok(ctx, kb_model_read(ctx, path.text, &again));
    double *a = decisions_of(ctx, model, data), *b = decisions_of(ctx, again, data);
    assert_same_bits(a, b, 600);
    assert_int_equal(trials_of(again), trials_of(model));
    assert_int_equal(kb_model_chosen_trial(again), kb_model_chosen_trial(model));
    assert_string_equal(kb_model_info(again)->sigma_rule, "learned");
    free(a), free(b);
    unlink(path.text);
    kb_model_free(model);
    kb_model_free(again);
    kb_data_free(data);
    kb_context_free(ctx);
}

/* Numbers in other units are the same problem. */
static void the_unit_of_the_labels_does_not_matter(void **unused) {
    kb_context *ctx = test_context();
    double lambda = 0, *first = NULL;
    (void)unused;
    for (int k = 0; k < 3; k++) {
        kb_data *data = generated(ctx, "friedman", "300", "1", "0.1");
        double unit = k == 0 ? 1 : k == 1 ? 0x1p60 : 0x1p-60;
        for (size_t i = 0; i < 300; i++)
            data->label[i] *= unit;
        kb_model *model = fit_sanely(
            ctx, TUNING(ctx, "widths", "equal", "grids", "64", "task", "regression"), data);
        double *f = decisions_of(ctx, model, data);
        for (size_t i = 0; i < 300; i++)
            f[i] /= unit;
        if (k == 0)
            lambda = kb_model_info(model)->lambda;
        assert_true(kb_model_info(model)->lambda == lambda);
        if (first)
            assert_close(f, first, 300, 1e-6);
        if (first)
            free(f);
        else
            first = f;
        kb_model_free(model);
        kb_data_free(data);
    }
    free(first);
    kb_context_free(ctx);
}

/* ---- ways to hold out, and weights ------------------------------------- */

static kb_data *grouped(kb_context *ctx, const char *name, const char *rows, uint32_t groups) {
    kb_data *data = generated(ctx, name, rows, "1", "0.1");
    uint32_t *group = malloc(data->rows * sizeof *group);
    for (size_t i = 0; i < data->rows; i++)
        group[i] = (uint32_t)(i * 5 % 11 % groups);
    assert_ok(ctx, kb_data_set_groups(ctx, data, group));
    free(group);
    return data;
}

/* Down to two groups, of which one is left to learn from. */
static void all_splits_and_folds_work(void **unused) {
    static const char *const split[] = {"auto", "random", "time", "group:g"};
    static const char *const folds[] = {"0", "3"};
    static const char *const name[] = {"rings", "friedman"};
    kb_context *ctx = test_context();
    (void)unused;
    for (int k = 0; k < 2; k++)
        for (int s = 0; s < 4; s++)
            for (int f = 0; f < 2; f++) {
                kb_data *data = grouped(ctx, name[k], "150", f ? 5 : 2);
                kb_model *model = fit_sanely(
                    ctx, TUNING(ctx, "split", split[s], "folds", folds[f], "grids", "64"), data);
                assert_true(trials_of(model) > 0);
                kb_model_free(model);
                kb_data_free(data);
            }
    kb_context_free(ctx);
}

static void widths_are_learned_with_folds_and_two_groups(void **unused) {
    kb_context *ctx = test_context();
    (void)unused;
    for (int f = 0; f < 2; f++) {
        kb_data *data = grouped(ctx, "friedman", TEST_LIGHT ? "300" : "1000", f ? 4 : 2);
        kb_model *model = fit_sanely(ctx,
                                     TUNING(ctx, "split", "group:g", "folds", f ? "3" : "0",
                                            "grids", "64", "widths", "learned"),
                                     data);
        assert_int_equal(kb_model_info(model)->widths_differ, 1);
        kb_model_free(model);
        kb_data_free(data);
    }
    kb_context_free(ctx);
}

/* Rows of weight 0 with random labels, one in three. */
static void rows_without_weight_do_not_count(void **unused) {
    kb_context *ctx = test_context();
    kb_data *data = generated(ctx, "friedman", "900", "1", "0.1");
    kb_data *test = generated(ctx, "friedman", "1000", "2", "0");
    double *weight = malloc(900 * sizeof *weight);
    (void)unused;
    for (size_t i = 0; i < 900; i++) {
        weight[i] = i % 3 ? 2 : 0;
        data->label[i] = i % 3 ? data->label[i] : 1000 * test_uniform(1, i);
    }
    assert_ok(ctx, kb_data_set_weights(ctx, data, weight));
    kb_model *model = fit_sanely(ctx, TUNING(ctx, "tune", "on"), data);
    assert_true(error_on(ctx, model, test) < 5); /* the variance is 24 */
    kb_model_free(model);
    kb_data_free(data);
    kb_data_free(test);
    data = generated(ctx, "rings", "200", "1", "0.1");
    assert_ok(ctx, kb_data_set_weights(ctx, data, weight));
    kb_model_free(fit_sanely(ctx, TUNING(ctx, "class-weight", "balanced", "grids", "64"), data));
    kb_data_free(data);
    free(weight);
    kb_context_free(ctx);
}

/* ---- little to go by --------------------------------------------------- */

static void few_rows_are_fitted_plainly(void **unused) {
    static const char *const rows[] = {"1", "2", "39", "40"};
    kb_context *ctx = test_context();
    (void)unused;
    for (int k = 0; k < 4; k++) {
        kb_data *data = generated(ctx, "friedman", rows[k], "1", "0.1");
        kb_model *model = fit_sanely(ctx, TUNING(ctx, "task", "regression"), data);
        assert_int_equal(trials_of(model) > 0, k == 3);
        kb_model_free(model);
        kb_data_free(data);
    }
    kb_context_free(ctx);
}

/* Two classes far apart in one column of three: equal widths make no error, so learned ones could
 * only make the decisions sharper. */
static void few_errors_do_not_favour_learned_widths(void **unused) {
    enum { ROWS = 600, D = 3 };
    static const double border[] = {0, 0.4};
    kb_context *ctx = test_context();
    (void)unused;
    for (int blurred = 0; blurred < 2; blurred++) {
        double *x = test_numbers(4, ROWS * D), y[ROWS];
        kb_data *data;
        for (size_t i = 0; i < ROWS; i++) {
            y[i] = x[i * D] > border[blurred] * sin(9 * x[i * D + 1]);
            if (!blurred)
                x[i * D] += y[i] > 0 ? 1 : -1;
        }
        assert_ok(ctx, data_from_dense(ctx, ROWS, D, x, y, &data));
        kb_model *model = fit_sanely(ctx, TUNING(ctx, "task", "classification"), data);
        assert_int_equal(kb_model_info(model)->widths_differ, blurred);
        kb_model_free(model);
        kb_data_free(data);
        free(x);
    }
    kb_context_free(ctx);
}

/* One feature; constant features; constant labels; labels of any size; all rows the same. */
static void silly_data_give_models(void **unused) {
    enum { ROWS = TEST_LIGHT ? 200 : 600, KINDS = 8 };
    kb_context *ctx = test_context();
    (void)unused;
    for (int kind = 0; kind < KINDS; kind++) {
        size_t d = kind == 0 ? 1 : 3;
        double *x = test_numbers(4, ROWS * d), y[ROWS];
        kb_data *data;
        for (size_t i = 0; i < ROWS; i++) {
            y[i] = kind == 1 || kind == 5 ? 5 : sin(4 * x[i * d]) + 0.01 * (double)(i % 7);
            y[i] *= kind == 3 ? 1e29 : kind == 4 ? 1e-22 : 1;
            if (kind == 2 || kind == 5)
                x[i * d] = x[i * d + 1] = x[i * d + 2] = 3;
            if (kind == 6)
                x[i * d + 1] = 0;
            if (kind == 7) /* one in a hundred is of another kind */
                y[i] = i % 100 == 0;
        }
        assert_ok(ctx, data_from_dense(ctx, ROWS, d, x, y, &data));
        kb_model_free(fit_sanely(
            ctx, TUNING(ctx, "task", kind == 7 ? "classification" : "regression", "grids", "32"),
            data));
        kb_data_free(data);
        free(x);
    }
    kb_context_free(ctx);
}

/* A class of two rows, of one, and as many classes as rows. */
static void rare_classes_are_no_trouble(void **unused) {
    enum { ROWS = 60 };
    static const char *const folds[] = {"0", "3"};
    kb_context *ctx = test_context();
    (void)unused;
    for (int kind = 0; kind < 3; kind++)
        for (int f = 0; f < 2; f++) {
            kb_data *data = data_of(ctx, ROWS, 2, THREE);
            for (size_t i = 0; i < ROWS; i++)
                data->label[i] = kind == 2                ? (double)i
                                 : i < 2 - (size_t)kind   ? 9
                                 : data->dense[2 * i] > 0 ? 1
                                                          : 0;
            kb_model *model = fit_sanely(
                ctx, TUNING(ctx, "task", "classification", "folds", folds[f], "grids", "32"), data);
            assert_int_equal(kb_model_info(model)->classes, kind == 2 ? ROWS : 3);
            kb_model_free(model);
            kb_data_free(data);
        }
    kb_context_free(ctx);
}

static void sparse_data_are_tuned(void **unused) {
    enum { ROWS = 500, FEATURES = 60 };
    kb_context *ctx = test_context();
    double *x = calloc(ROWS * FEATURES, sizeof *x), y[ROWS];
    (void)unused;
    for (size_t i = 0; i < ROWS; i++) {
        for (size_t j = 0; j < 5; j++)
            x[i * FEATURES + (i * 7 + j * j * 3) % FEATURES] = 1 + test_uniform(1, i * 5 + j);
        y[i] = x[i * FEATURES] > 0 || x[i * FEATURES + 1] > 1.5;
    }
    kb_data *data = test_sparse(ctx, ROWS, FEATURES, x, y);
    assert_true(kb_data_is_sparse(data));
    kb_model *model = fit_sanely(ctx, TUNING(ctx, "grids", "64"), data);
    assert_true(kb_model_info(model)->train_score > 0.9);
    kb_model_free(model);
    kb_data_free(data);
    free(x);
    kb_context_free(ctx);
}

/* ---- other learners ---------------------------------------------------- */

static void other_learners_are_tuned(void **unused) {
    static const char *const pairs[][6] = {
        {"penalty", "l1", NULL},
        {"penalty", "l1", "loss", "logistic", NULL},
        {"loss", "logistic", NULL},
        {"loss", "squared-hinge", NULL},
        {"loss", "logistic", "multiclass", "softmax", NULL},
        {"kernel", "triangle", NULL},
        {"early-stop", "on", "lambda", "0.1", NULL},
        {"early-stop", "off", NULL},
        {"probability", "on", NULL},
        {"map", "fourier", NULL},
        {"map", "nystrom", "kernel", "gauss", NULL},
        {"map", "blocks", NULL},
        {"map", "exact", "lambda", "0.3", NULL},
    };
    kb_context *ctx = test_context();
    kb_data *data = generated(ctx, "rings", "160", "1", "0.02");
    (void)unused;
    for (size_t k = 0; k < sizeof pairs / sizeof *pairs; k++) {
        kb_options *options = tuning_options_of(ctx, pairs[k]);
        assert_ok(ctx, kb_options_set(ctx, options, "grids", "48"));
        kb_model *model = fit_sanely(ctx, options, data);
        assert_true(trials_of(model) > 0);
        assert_true(kb_model_info(model)->train_score > 0.7);
        kb_model_free(model);
    }
    kb_data_free(data);
    kb_context_free(ctx);
}

static void learned_widths_have_requirements(void **unused) {
    kb_context *ctx = test_context();
    kb_data *data = generated(ctx, "rings", "100", "1", "0");
    kb_model *model;
    (void)unused;
    static const char *const needs[] = {
        "--widths learned: needs --sigma auto and --tune on",
        "--widths learned: needs --map binning and --kernel laplace",
    };
    static const char *const pairs[][2] = {
        {"sigma", "1"}, {"tune", "off"}, {"map", "fourier"}, {"kernel", "triangle"}};
    for (int k = 0; k < 4; k++) {
        kb_options *options = TUNING(ctx, "widths", "learned", pairs[k][0], pairs[k][1]);
        assert_fails(ctx, KB_ERR_ARGUMENT, needs[k / 2], kb_model_fit(ctx, options, data, &model));
        assert_null(model);
        kb_options_free(options);
    }
    kb_data_free(data);
    kb_context_free(ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tuned_values_beat_plain_ones),
        cmocka_unit_test(more_grids_are_taken_where_there_is_little_noise),
        cmocka_unit_test(few_useful_columns_are_found),
        cmocka_unit_test(relevant_columns_are_blended),
        cmocka_unit_test(bins_do_not_outgrow_a_rare_class),
        cmocka_unit_test(given_values_are_kept),
        cmocka_unit_test(tune_off_is_the_plain_values),
        cmocka_unit_test(other_losses_stop_early_too),
        cmocka_unit_test(the_model_depends_on_the_seed_alone),
        cmocka_unit_test(a_tuned_model_survives_its_file),
        cmocka_unit_test(the_unit_of_the_labels_does_not_matter),
        cmocka_unit_test(all_splits_and_folds_work),
        cmocka_unit_test(widths_are_learned_with_folds_and_two_groups),
        cmocka_unit_test(rows_without_weight_do_not_count),
        cmocka_unit_test(few_rows_are_fitted_plainly),
        cmocka_unit_test(few_errors_do_not_favour_learned_widths),
        cmocka_unit_test(silly_data_give_models),
        cmocka_unit_test(rare_classes_are_no_trouble),
        cmocka_unit_test(sparse_data_are_tuned),
        cmocka_unit_test(other_learners_are_tuned),
        cmocka_unit_test(learned_widths_have_requirements),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
