/* The importance of the features against its formula. */
#include "api/prepare.h"
#include "encode/tables.h"
#include "model/forged.h"
#include "model/mixed.h"

#include <float.h>

enum { N = 300, D = 4 };

/* Feature 0 has a long tail, 2 is constant, 3 is small. */
static kb_data *samples(kb_context *ctx) {
    kb_data *data = data_of(ctx, N, D, REAL);
    for (size_t i = 0; i < N; i++) {
        double *x = data->dense + i * D;
        x[0] = x[0] == 0 ? 0 : exp(6 * x[0]);
        x[2] = 3;
        x[3] *= 1e-3;
    }
    return data;
}

/* Mean absolute deviation from the median of column j. */
static double spread_of(const double *x, size_t d, size_t j) {
    double column[N], sum = 0;
    for (size_t i = 0; i < N; i++)
        column[i] = x[i * d + j];
    qsort(column, N, sizeof *column, by_size);
    for (size_t i = 0; i < N; i++)
        sum += fabs(column[i] - column[N / 2]) / N;
    return sum;
}

static void check(const double *got, double *want) {
    double total = 0, sum = 0;
    for (size_t j = 0; j < D; j++)
        total += want[j];
    for (size_t j = 0; j < D; j++) {
        assert_true(fabs(got[j] - want[j] / total) <= 1e-13); /* sums of N terms */
        sum += got[j];
    }
    assert_true(fabs(sum - 1) <= 1e-15 * D);
}

static double share_parted(double spread, double sigma) {
    return spread / (spread + sigma);
}

static void it_is_the_share_of_grids_that_part_samples(void **unused) {
    static const char *const maps[] = {"binning", "fourier", "exact"};
    kb_context *ctx = test_context();
    kb_data *data = samples(ctx);
    double got[D], want[D];
    (void)unused;
    for (size_t m = 0; m < sizeof maps / sizeof *maps; m++)
        for (int equal = 0; equal < 2; equal++) {
            kb_options *options = OPTIONS(ctx, "grids", "9", "scale", "none", "map", maps[m],
                                          "sigma", equal ? "2" : "0.5,0.2,1,0.0001");
            static const double sigma[] = {0.5, 0.2, 1, 0.0001};
            kb_model *model = model_of(ctx, options, data);
            for (size_t j = 0; j < D; j++)
                want[j] = share_parted(spread_of(data->dense, D, j), equal ? 2 : sigma[j]);
            assert_ok(ctx, kb_model_fineness(ctx, model, got));
            check(got, want);
            assert_true(got[2] == 0);
            assert_int_equal(kb_model_info(model)->widths_differ, !equal);
            kb_model_free(model);
            kb_options_free(options);
        }
    kb_data_free(data);
    kb_context_free(ctx);
}

/* Two vectors over the columns of a transform, some of them cut at times only. */
static kb_model *learned(kb_context *ctx, const kb_data *data, kb_width *width, double *want) {
    static const kb_law LAW = {.kind = KB_KERNEL_LAPLACE};
    kb_options *options = OPTIONS(ctx, "grids", "9", "scale", "ranks");
    kb_transform *t;
    kb_data *x;
    kb_model *model;
    assert_ok(ctx, kb_transform_learn(ctx, data, &t));
    assert_ok(ctx, kb_transform_apply(ctx, t, data, &x));
    assert_true(x->features > D - 1 && x->features <= 2 * D);
    memset(want, 0, D * sizeof *want);
    for (size_t k = 0; k < 2 * x->features; k++) {
        size_t j = k % x->features;
        width[k] = (kb_width){&LAW, 0.1 * (double)(k + 1), k % 3 ? 1 : 0.25};
        want[kb_transform_source(t, j)] +=
            width[k].q * share_parted(spread_of(x->dense, x->features, j), width[k].sigma);
    }
    kb_widths widths = {2, x->features, width};
    kb_plan plan = {.config = kb_config_of(options), .widths = widths};
    kb_fit fit = {.plan = &plan, .data = data};
    assert_ok(ctx, kb_model_create(ctx, &model));
    assert_ok(ctx, kb_fit_prepare(ctx, &fit, model));
    assert_ok(ctx, kb_fit_outputs(ctx, &fit, model, 0, 1, fit.w));
    assert_ok(ctx, kb_fit_finish(ctx, &fit, model));
    kb_fit_release(ctx, &fit);
    kb_data_free(x);
    kb_transform_free(t);
    kb_options_free(options);
    return model;
}

static void vectors_and_columns_add_up_and_come_back_from_a_file(void **unused) {
    kb_context *ctx = test_context();
    kb_data *data = samples(ctx);
    kb_width width[4 * D];
    double got[D], want[D];
    kb_model *model = learned(ctx, data, width, want), *back;
    (void)unused;
    for (size_t k = 0; k < 4 * D; k++)
        width[k].sigma = NAN; /* the model has its own copy */
    assert_ok(ctx, kb_model_fineness(ctx, model, got));
    check(got, want);
    assert_true(kb_model_info(model)->widths_differ);
    test_path path = written(ctx, model);
    assert_ok(ctx, kb_model_read(ctx, path.text, &back));
    assert_ok(ctx, kb_model_fineness(ctx, back, want));
    assert_same_bits(got, want, D);
    assert_true(kb_model_info(back)->widths_differ);
    unlink(path.text);
    kb_model_free(model);
    kb_model_free(back);
    kb_data_free(data);
    kb_context_free(ctx);
}

/* The importance of a mixture goes to its features by how much each changes it. */
static void mixtures_are_their_columns(void **unused) {
    kb_context *ctx = test_context();
    kb_data *data = samples(ctx), *x;
    kb_options *options = OPTIONS(ctx, "grids", "9", "scale", "ranks", "sigma", "0.4");
    kb_model *model = mixed_model(ctx, options, data), *back;
    const kb_transform *t = model->map->transform;
    double got[D], want[D] = {0};
    (void)unused;
    assert_ok(ctx, kb_transform_apply(ctx, t, data, &x));
    for (size_t c = 0; c < x->features; c++) {
        double part = share_parted(spread_of(x->dense, x->features, c), 0.4), moves = 0;
        if (c < t->plain) {
            want[kb_transform_source(t, c)] += part;
            continue;
        }
        const double *w = t->mixtures.weight + (c - t->plain) * t->plain;
        for (size_t j = 0; j < t->plain; j++)
            moves += fabs(w[j]) * spread_of(x->dense, x->features, j);
        for (size_t j = 0; j < t->plain; j++)
            want[kb_transform_source(t, j)] +=
                part * fabs(w[j]) * spread_of(x->dense, x->features, j) / moves;
    }
    assert_ok(ctx, kb_model_fineness(ctx, model, got));
    check(got, want);
    test_path path = written(ctx, model);
    assert_ok(ctx, kb_model_read(ctx, path.text, &back));
    assert_ok(ctx, kb_model_fineness(ctx, back, want));
    assert_same_bits(got, want, D);
    unlink(path.text);
    kb_model_free(model);
    kb_model_free(back);
    kb_data_free(x);
    kb_data_free(data);
    kb_options_free(options);
    kb_context_free(ctx);
}

/* By the weights and spreads of the columns that the feature has, with their signs. */
static void extra_columns_tell_what_moves_them(void **unused) {
    kb_context *ctx = test_context();
    kb_data *data = samples(ctx), *x;
    kb_options *options = OPTIONS(ctx, "grids", "9", "scale", "ranks", "sigma", "0.4");
    kb_model *model = mixed_model(ctx, options, data);
    const kb_transform *t = model->map->transform;
    double got[D];
    (void)unused;
    assert_ok(ctx, kb_transform_apply(ctx, t, data, &x));
    for (size_t k = 0; k < 2; k++) {
        const double *w = t->mixtures.weight + k * t->plain;
        double want[D] = {0}, moves = 0;
        for (size_t j = 0; j < t->plain; j++) {
            double move = w[j] * spread_of(x->dense, x->features, j);
            want[kb_transform_source(t, j)] += move;
            moves += fabs(move);
        }
        assert_int_equal(kb_model_extra_column(model, k, got), KB_OK);
        for (size_t j = 0; j < D; j++)
            assert_true(fabs(got[j] - want[j] / moves) <= 1e-13); /* sums of N terms */
    }
    assert_int_equal(kb_model_extra_column(model, 2, got), KB_ERR_ARGUMENT);
    kb_model_free(model);
    kb_data_free(x);
    kb_data_free(data);
    kb_options_free(options);
    kb_context_free(ctx);
}

static void extremes_stay_finite(void **unused) {
    static const double x[] = {DBL_MAX, 1, 0, -DBL_MAX, 1, 1e-300}, y[] = {1, 2}, same[] = {1, 1};
    kb_context *ctx = test_context();
    kb_options *options = OPTIONS(ctx, "grids", "3", "scale", "none", "sigma", "1e-200");
    kb_data *data;
    double got[3];
    (void)unused;
    assert_ok(ctx, data_from_dense(ctx, 2, 3, x, y, &data));
    kb_model *model = model_of(ctx, options, data);
    assert_ok(ctx, kb_model_fineness(ctx, model, got));
    assert_true(fabs(got[0] - 1) < 1e-12 && got[1] == 0 && got[2] >= 0);
    kb_model_free(model);
    kb_data_free(data);
    /* Where nothing varies all are alike. */
    assert_ok(ctx, data_from_dense(ctx, 2, 1, same, y, &data));
    model = model_of(ctx, options, data);
    assert_ok(ctx, kb_model_fineness(ctx, model, got));
    assert_true(got[0] == 1);
    kb_model_free(model);
    kb_data_free(data);
    kb_options_free(options);
    kb_context_free(ctx);
}

static void an_old_model_has_no_importance(void **unused) {
    kb_context *ctx = test_context();
    kb_data *data = samples(ctx);
    kb_options *options = OPTIONS(ctx, "grids", "3");
    kb_model *model = model_of(ctx, options, data), *back;
    test_path path = written(ctx, model);
    parts p = take_apart(path.text);
    double got[D];
    (void)unused;
    cut_out(&p, "width.sigma");
    cut_out(&p, "width.q");
    cut_out(&p, "feature.spread");
    test_path old = put_together(&p);
    assert_ok(ctx, kb_model_read(ctx, old.text, &back));
    assert_false(kb_model_info(back)->widths_differ);
    assert_fails(ctx, KB_ERR_ARGUMENT,
                 "the model does not tell the widths of its features: an older kerbin made it; "
                 "train it again",
                 kb_model_fineness(ctx, back, got));
    parts_free(&p);
    unlink(old.text);
    unlink(path.text);
    kb_model_free(model);
    kb_model_free(back);
    kb_data_free(data);
    kb_options_free(options);
    kb_context_free(ctx);
}

/* The importance of a column of a table is that of all columns made from it: the parts of a date,
 * the codes of the outputs, the indicator of missing values. */
static void a_column_has_what_is_made_from_it(void **unused) {
    kb_context *ctx = test_context();
    kb_data *data = mixed_table(ctx, N, 4);
    kb_options *options = OPTIONS(ctx, "grids", "9", "scale", "none", "sigma", "0.4");
    kb_config config = kb_config_of(options);
    kb_model *model = model_of(ctx, options, data);
    kb_prepared x;
    double got[MIXED_COLUMNS], want[MIXED_COLUMNS] = {0}, total = 0;
    size_t most = 0;
    (void)unused;
    assert_ok(ctx, kb_prepare(ctx, &config, data, &x));
    assert_true(x.data->features > MIXED_COLUMNS + 4);
    for (size_t c = 0; c < x.data->features; c++) {
        double part = share_parted(spread_of(x.data->dense, x.data->features, c), 0.4);
        want[x.encoding->step[c].source] += part;
        total += part;
    }
    assert_ok(ctx, kb_model_fineness(ctx, model, got));
    for (size_t j = 0; j < MIXED_COLUMNS; j++) {
        assert_true(fabs(got[j] - want[j] / total) <= 1e-13); /* sums of N terms */
        most = got[j] > got[most] ? j : most;
    }
    assert_int_equal(most, DAY); /* five parts, wide apart */
    kb_prepared_release(ctx, &x);
    kb_model_free(model);
    kb_data_free(data);
    kb_options_free(options);
    kb_context_free(ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_is_the_share_of_grids_that_part_samples),
        cmocka_unit_test(vectors_and_columns_add_up_and_come_back_from_a_file),
        cmocka_unit_test(mixtures_are_their_columns),
        cmocka_unit_test(extra_columns_tell_what_moves_them),
        cmocka_unit_test(extremes_stay_finite),
        cmocka_unit_test(an_old_model_has_no_importance),
        cmocka_unit_test(a_column_has_what_is_made_from_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
