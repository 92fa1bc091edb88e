/* Models with the L1 penalty keep the bins with a weight, and decide as with all bins. */
#include "model/fitted.h"

#include "fit/fit.h"
#include "fit/prune.h"

#include <sys/stat.h>

typedef struct way {
    labels kind;
    const char *loss, *intercept, *group, *lambda;
} way;

static const way WAYS[] = {
    {REAL, "square", "on", "off", "0.3"},       {REAL, "square", "off", "off", "1"},
    {TWO, "square", "off", "off", "0.5"},       {TWO, "logistic", "on", "off", "0.5"},
    {TWO, "squared-hinge", "off", "off", "1"},  {THREE, "square", "on", "off", "0.5"},
    {THREE, "logistic", "off", "off", "0.5"},   {WORDS, "squared-hinge", "on", "off", "1"},
    {REAL, "square", "on", "on", "0.3"},        {TWO, "logistic", "off", "on", "0.3"},
    {THREE, "squared-hinge", "off", "on", "1"},
};
enum { COUNT_OF_WAYS = sizeof WAYS / sizeof *WAYS, N = 150, GRIDS = 21 };

static kb_options *options_for(kb_context *ctx, const way *w) {
    return OPTIONS(ctx, "penalty", "l1", "grids", "21", "sigma", "0.8", "tol", "1e-7", "max-iter",
                   "20000", "loss", w->loss, "intercept", w->intercept, "group-grids", w->group,
                   "lambda", w->lambda);
}

/* The model as kb_model_fit has it before it prunes. */
static kb_model *unpruned_of(kb_context *ctx, const kb_options *options, const kb_data *data) {
    kb_plan plan = {.config = kb_config_of(options)};
    kb_fit s = {.plan = &plan, .data = data};
    kb_model *model;
    assert_ok(ctx, kb_model_create(ctx, &model));
    assert_ok(ctx, kb_fit_prepare(ctx, &s, model));
    for (size_t c = 0; c < s.targets.outputs; c++) {
        memset(s.w, 0, s.z->bins * sizeof *s.w);
        assert_ok(ctx, kb_fit_outputs(ctx, &s, model, c, 1, s.w));
    }
    assert_ok(ctx, kb_fit_finish(ctx, &s, model));
    kb_fit_release(ctx, &s);
    return model;
}

/* Z w + b from the map's columns and the model's weights. */
static double *dense_decisions(kb_context *ctx, const kb_model *model, const kb_data *data) {
    size_t R = kb_map_grids(kb_model_map(model)), C = model->info.outputs, rows = data->rows;
    int64_t *column = columns_of(ctx, kb_model_map(model), data);
    double *f = calloc(rows * C, sizeof *f);
    for (size_t i = 0; i < rows; i++)
        for (size_t c = 0; c < C; c++) {
            for (size_t r = 0; r < R; r++)
                if (column[i * R + r] >= 0)
                    f[i * C + c] += (double)model->weight[(size_t)column[i * R + r] * C + c];
            f[i * C + c] = f[i * C + c] / sqrt(GRIDS) + model->intercept[c];
        }
    free(column);
    return f;
}

/* Rows of which some fall into no bin of the training rows. */
static kb_data *new_rows(kb_context *ctx) {
    double *x = test_numbers(77, 2 * N);
    kb_data *data;
    for (size_t k = 0; k < 2 * N; k++)
        x[k] *= 1.5;
    assert_ok(ctx, data_from_dense(ctx, N, 2, x, NULL, &data));
    free(x);
    return data;
}

static void a_pruned_model_decides_as_the_whole_to_the_bit(void **unused) {
    kb_context *ctx = test_context();
    kb_data *fresh = new_rows(ctx), *sparse = test_sparse(ctx, N, 2, fresh->dense, NULL);
    (void)unused;
    for (int k = 0; k < COUNT_OF_WAYS; k++) {
        kb_options *options = options_for(ctx, &WAYS[k]);
        kb_data *data = data_of(ctx, N, 2, WAYS[k].kind);
        kb_model *whole = unpruned_of(ctx, options, data), *model = model_of(ctx, options, data);
        const kb_data *rows[] = {data, fresh, sparse};
        assert_int_equal(kb_model_info(model)->converged, 1);
        assert_true(kb_map_bins(kb_model_map(model)) < kb_map_bins(kb_model_map(whole)));
        for (int on = 0; on < 3; on++) {
            double *f = decisions_of(ctx, whole, rows[on]), *g = decisions_of(ctx, model, rows[on]);
            double *dense = dense_decisions(ctx, whole, rows[on]);
            assert_same_bits(f, g, N * kb_model_info(model)->outputs);
            assert_close(g, dense, N * kb_model_info(model)->outputs, 1e-13);
            free(dense);
            dense = dense_decisions(ctx, model, rows[on]); /* by the map that is left */
            assert_close(g, dense, N * kb_model_info(model)->outputs, 1e-13);
            free(f), free(g), free(dense);
        }
        kb_model_free(whole);
        kb_model_free(model);
        kb_data_free(data);
        kb_options_free(options);
    }
    kb_data_free(fresh);
    kb_data_free(sparse);
    kb_context_free(ctx);
}

static double loss_of(const char *loss, double f, double y) {
    if (strcmp(loss, "square") == 0)
        return (f - y) * (f - y) / 2;
    if (strcmp(loss, "logistic") == 0)
        return y * f > 0 ? log1p(exp(-y * f)) : log1p(exp(y * f)) - y * f;
    return y * f < 1 ? (1 - y * f) * (1 - y * f) : 0;
}

/* lambda |w|_1, or that of the groups; `bins` of a grid count those without a weight too. */
static double penalty_of(const kb_model *whole, int group) {
    const kb_dictionary *d = &whole->map->dictionary;
    size_t C = whole->info.outputs;
    double sum = 0;
    for (size_t c = 0; c < C; c++)
        for (size_t r = 0; r < d->grids; r++) {
            double square = 0;
            for (size_t b = d->start[r]; b < d->start[r + 1]; b++) {
                double w = (double)whole->weight[b * C + c];
                square += w * w;
                sum += group ? 0 : fabs(w);
            }
            sum += group ? sqrt((double)(d->start[r + 1] - d->start[r]) * square) : 0;
        }
    return whole->info.lambda * sum;
}

/* The fit info agrees with the weights, which are floats. */
static void the_objective_is_that_of_the_weights(void **unused) {
    kb_context *ctx = test_context();
    (void)unused;
    for (int k = 0; k < COUNT_OF_WAYS; k++) {
        kb_options *options = options_for(ctx, &WAYS[k]);
        kb_data *data = data_of(ctx, N, 2, WAYS[k].kind);
        kb_model *whole = unpruned_of(ctx, options, data);
        const kb_fit_info *info = kb_model_info(whole);
        size_t C = info->outputs;
        double *f = decisions_of(ctx, whole, data);
        double sum = penalty_of(whole, strcmp(WAYS[k].group, "on") == 0);
        for (size_t i = 0; i < N; i++)
            for (size_t c = 0; c < C; c++) {
                int own = info->classes && data->label[i] == kb_model_class(whole, C > 1 ? c : 1);
                double y = !info->classes ? data->label[i] : own ? 1 : -1;
                sum += loss_of(WAYS[k].loss, f[i * C + c], y);
            }
        assert_true(fabs(sum - info->objective) <= 1e-5 * info->objective);
        assert_true(info->gap >= 0 && info->gap <= 1e-7 * (double)C * info->objective);
        free(f);
        kb_model_free(whole);
        kb_data_free(data);
        kb_options_free(options);
    }
    kb_context_free(ctx);
}

static void only_bins_with_a_weight_are_kept(void **unused) {
    kb_context *ctx = test_context();
    (void)unused;
    for (int k = 0; k < COUNT_OF_WAYS; k++) {
        kb_options *options = options_for(ctx, &WAYS[k]);
        kb_data *data = data_of(ctx, N, 2, WAYS[k].kind);
        kb_model *model = model_of(ctx, options, data), *whole = unpruned_of(ctx, options, data);
        const kb_fit_info *info = kb_model_info(model);
        const kb_dictionary *d = &model->map->dictionary;
        size_t C = info->outputs, nonzeros = 0;
        assert_int_equal(info->kept_bins, kb_map_bins(kb_model_map(model)));
        assert_int_equal(info->kept_grids, kb_map_grids(kb_model_map(model)));
        assert_int_equal(info->bins, kb_map_bins(kb_model_map(whole)));
        assert_int_equal(info->grids, GRIDS);
        assert_true(kb_dictionary_is_sound(d, (size_t)d->bucket_start[d->grids]));
        for (size_t b = 0; b < d->bins; b++) {
            size_t here = 0;
            for (size_t c = 0; c < C; c++)
                here += model->weight[b * C + c] != 0;
            assert_true(here > 0);
            nonzeros += here;
        }
        for (size_t r = 0; r < d->grids; r++)
            assert_true(d->start[r] < d->start[r + 1]);
        assert_int_equal(info->nonzeros, nonzeros);
        assert_int_equal(kb_model_info(whole)->nonzeros, nonzeros);
        if (C == 1)
            assert_int_equal(info->kept_bins, nonzeros);
        kb_model_free(model);
        kb_model_free(whole);
        kb_data_free(data);
        kb_options_free(options);
    }
    kb_context_free(ctx);
}

static void rows_without_a_kept_bin_get_the_intercept(void **unused) {
    kb_context *ctx = test_context();
    kb_data *far;
    (void)unused;
    assert_ok(ctx, data_from_dense(ctx, 1, 2, (const double[]){1e6, -1e6}, NULL, &far));
    for (int k = 0; k < COUNT_OF_WAYS; k++) {
        kb_options *options = options_for(ctx, &WAYS[k]);
        kb_data *data = data_of(ctx, N, 2, WAYS[k].kind);
        kb_model *model = model_of(ctx, options, data);
        size_t R = kb_map_grids(kb_model_map(model)), C = model->info.outputs;
        int64_t *column = columns_of(ctx, kb_model_map(model), data);
        double *f = decisions_of(ctx, model, data), *g = decisions_of(ctx, model, far);
        assert_same_bits(g, model->intercept, C);
        for (size_t c = 0; c < C; c++) /* free, and of use */
            assert_int_equal(model->intercept[c] != 0, strcmp(WAYS[k].intercept, "on") == 0);
        for (size_t i = 0; i < N; i++) {
            size_t known = 0;
            for (size_t r = 0; r < R; r++)
                known += column[i * R + r] >= 0;
            if (known == 0)
                assert_same_bits(f + i * C, model->intercept, C);
        }
        free(column), free(f), free(g);
        kb_model_free(model);
        kb_data_free(data);
        kb_options_free(options);
    }
    kb_data_free(far);
    kb_context_free(ctx);
}

/* A lambda above the least at which all weights are zero. */
static void a_model_without_weights_predicts_and_is_saved(void **unused) {
    kb_context *ctx = test_context();
    (void)unused;
    for (int k = 0; k < COUNT_OF_WAYS; k++) {
        way w = WAYS[k];
        w.lambda = "1e6";
        kb_options *options = options_for(ctx, &w);
        kb_data *data = data_of(ctx, N, 2, w.kind);
        kb_model *model = model_of(ctx, options, data), *back;
        const kb_fit_info *info = kb_model_info(model);
        test_path path = path_of("empty.kerbin");
        double *f = decisions_of(ctx, model, data);
        assert_int_equal(info->nonzeros, 0);
        assert_int_equal(info->kept_bins, 1);
        assert_int_equal(info->kept_grids, 1);
        assert_int_equal(info->converged, 1);
        for (size_t i = 0; i < N; i++)
            assert_same_bits(f + i * info->outputs, model->intercept, info->outputs);
        if (w.kind == REAL && strcmp(w.intercept, "on") == 0) {
            double mean = 0;
            for (size_t i = 0; i < N; i++)
                mean += data->label[i] / N;
            assert_true(fabs(f[0] - mean) < 1e-12 * fabs(mean));
        }
        assert_ok(ctx, kb_model_write(ctx, model, path.text));
        assert_ok(ctx, kb_model_read(ctx, path.text, &back));
        double *g = decisions_of(ctx, back, data);
        assert_same_bits(f, g, N * info->outputs);
        unlink(path.text);
        free(f), free(g);
        kb_model_free(model);
        kb_model_free(back);
        kb_data_free(data);
        kb_options_free(options);
    }
    kb_context_free(ctx);
}

static size_t file_bytes(kb_context *ctx, const kb_model *model) {
    test_path path = path_of("size.kerbin");
    struct stat info;
    assert_ok(ctx, kb_model_write(ctx, model, path.text));
    assert_int_equal(stat(path.text, &info), 0);
    unlink(path.text);
    return (size_t)info.st_size;
}

static void grouped_grids_are_dropped_whole(void **unused) {
    kb_context *ctx = test_context();
    (void)unused;
    for (int k = 0; k < COUNT_OF_WAYS; k++) {
        if (strcmp(WAYS[k].group, "on") != 0)
            continue;
        kb_options *options = options_for(ctx, &WAYS[k]);
        kb_data *data = data_of(ctx, N, 2, WAYS[k].kind);
        kb_model *whole = unpruned_of(ctx, options, data), *model = model_of(ctx, options, data);
        const kb_dictionary *d = &whole->map->dictionary;
        size_t C = whole->info.outputs, grids = 0, bins = 0;
        for (size_t r = 0; r < d->grids; r++)
            for (size_t c = 0; c < C; c++) { /* an output has all of a grid or none */
                size_t nonzeros = 0, all = d->start[r + 1] - d->start[r];
                for (size_t b = d->start[r]; b < d->start[r + 1]; b++)
                    nonzeros += whole->weight[b * C + c] != 0;
                assert_true(nonzeros == 0 || nonzeros == all);
                if (C == 1 && nonzeros) {
                    grids++;
                    bins += all;
                }
            }
        assert_true(model->info.kept_grids < GRIDS);
        if (C == 1) {
            assert_int_equal(model->info.kept_grids, grids);
            assert_int_equal(model->info.kept_bins, bins);
        }
        assert_true(file_bytes(ctx, model) < file_bytes(ctx, whole));
        kb_model_free(whole);
        kb_model_free(model);
        kb_data_free(data);
        kb_options_free(options);
    }
    kb_context_free(ctx);
}

/* Through a file, and a file of that model again; last without the first file. */
static void a_pruned_model_comes_back_to_the_bit(void **unused) {
    kb_context *ctx = test_context();
    kb_data *fresh = new_rows(ctx);
    (void)unused;
    for (int k = 0; k < COUNT_OF_WAYS; k++) {
        kb_options *options = options_for(ctx, &WAYS[k]);
        kb_data *data = data_of(ctx, N, 2, WAYS[k].kind);
        kb_model *model = model_of(ctx, options, data), *back;
        const kb_fit_info *a = kb_model_info(model), *b;
        test_path path = written(ctx, model);
        assert_ok(ctx, kb_model_read(ctx, path.text, &back));
        b = kb_model_info(back);
        assert_string_equal(b->penalty, "l1");
        assert_string_equal(b->solver, "grid-cd");
        assert_true(a->gap == b->gap && a->objective == b->objective);
        assert_true(a->grids == b->grids && a->bins == b->bins && a->nonzeros == b->nonzeros);
        assert_true(a->kept_grids == b->kept_grids && a->kept_bins == b->kept_bins);
        assert_same_file_again(ctx, back, path.text);
        unlink(path.text);
        double *f = decisions_of(ctx, model, fresh), *g = decisions_of(ctx, back, fresh);
        assert_same_bits(f, g, N * a->outputs);
        free(f), free(g);
        kb_model_free(model);
        kb_model_free(back);
        kb_data_free(data);
        kb_options_free(options);
    }
    kb_data_free(fresh);
    kb_context_free(ctx);
}

static void pruning_again_changes_nothing(void **unused) {
    kb_context *ctx = test_context();
    kb_options *options = options_for(ctx, &WAYS[0]);
    kb_data *data = data_of(ctx, N, 2, REAL);
    kb_model *model = model_of(ctx, options, data);
    double *f = decisions_of(ctx, model, data);
    size_t bins = model->info.kept_bins, grids = model->info.kept_grids;
    (void)unused;
    assert_ok(ctx, kb_model_prune(ctx, model));
    double *g = decisions_of(ctx, model, data);
    assert_same_bits(f, g, N);
    assert_true(model->info.kept_bins == bins && model->info.kept_grids == grids);
    free(f), free(g);
    kb_model_free(model);
    kb_data_free(data);
    kb_options_free(options);
    kb_context_free(ctx);
}

/* ---- when things go wrong ---------------------------------------------- */

/* A model that cannot be pruned for lack of memory stays as it was. */
static void what_cannot_be_pruned_stays_whole(void **unused) {
    test_state state = {0};
    kb_context *ctx = test_context_with(&state, 1);
    kb_options *options = options_for(ctx, &WAYS[5]);
    kb_data *data = data_of(ctx, N, 2, WAYS[5].kind);
    kb_model *model = unpruned_of(ctx, options, data);
    double *f = decisions_of(ctx, model, data);
    kb_status status;
    long k = 0;
    (void)unused;
    do {
        long live = state.live;
        state.fail_at = state.allocations + ++k;
        status = kb_model_prune(ctx, model);
        state.fail_at = 0;
        double *g = decisions_of(ctx, model, data);
        assert_same_bits(f, g, N * model->info.outputs);
        free(g);
        assert_true(status == KB_OK || status == KB_ERR_MEMORY);
        assert_int_equal(model->info.kept_bins < model->info.bins, status == KB_OK);
        if (status != KB_OK)
            assert_int_equal(state.live, live);
    } while (status != KB_OK);
    assert_true(k > 5);
    free(f);
    kb_model_free(model);
    kb_data_free(data);
    kb_options_free(options);
    kb_context_free(ctx);
    assert_int_equal(state.live, 0);
}

static void every_allocation_may_fail(void **unused) {
    static const char *const solvers[] = {"grid-cd", "cd", "parallel-cd"};
    kb_context *ctx = test_context();
    (void)unused;
    for (labels kind = REAL; kind <= WORDS; kind++)
        for (int s = 0; s < 3; s++) {
            fit_inputs in = {OPTIONS(ctx, "penalty", "l1", "solver", solvers[s], "grids", "9",
                                     "sigma", "1", "max-iter", "3", "intercept", "on",
                                     "probability", s == 0 ? "on" : "auto"),
                             data_of(ctx, 30, 2, kind)};
            run_with_allocation_failures(fit_once, &in);
            fit_inputs_free(&in);
        }
    kb_context_free(ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_pruned_model_decides_as_the_whole_to_the_bit),
        cmocka_unit_test(the_objective_is_that_of_the_weights),
        cmocka_unit_test(only_bins_with_a_weight_are_kept),
        cmocka_unit_test(rows_without_a_kept_bin_get_the_intercept),
        cmocka_unit_test(a_model_without_weights_predicts_and_is_saved),
        cmocka_unit_test(grouped_grids_are_dropped_whole),
        cmocka_unit_test(a_pruned_model_comes_back_to_the_bit),
        cmocka_unit_test(pruning_again_changes_nothing),
        cmocka_unit_test(what_cannot_be_pruned_stays_whole),
        cmocka_unit_test(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
