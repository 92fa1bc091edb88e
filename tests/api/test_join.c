/* Models of the same rows as one: every number of the joined model against those of its parts. */
#include "model/mixed.h"

#include "api/join.h"

enum { N = 120, D = 4, R = 21, MODELS = 3 };

/* What a test joins: models whose widths have 1, 2 and 3 vectors, with 2, 1 and no mixtures. */
typedef struct parts {
    kb_data *data, *test;
    kb_options *options;
    kb_config config;
    kb_model *model[MODELS];
} parts;

static void set_widths(kb_context *ctx, kb_plan *plan, size_t features, size_t vectors) {
    plan->widths = (kb_widths){.vectors = vectors, .features = features};
    assert_ok(ctx, kb_law_build(ctx, &plan->config.kernel, &plan->law));
    assert_ok(ctx, kb_alloc(ctx, vectors * features, sizeof(kb_width), &plan->widths.width));
    for (size_t k = 0; k < vectors * features; k++)
        plan->widths.width[k] = (kb_width){plan->law, 0.4 + 0.1 * (double)(k % 7), 0.9};
}

static kb_model *part_of(kb_context *ctx, const parts *p, size_t m, int fill) {
    size_t mixtures = 2 - m;
    kb_plan plan = {.config = p->config, .first_grid = m * R, .fill = fill};
    kb_model *model;
    kb_mixtures some = some_mixtures(ctx, p->data, mixtures ? mixtures : 1);
    size_t columns = some.columns + mixtures;
    plan.config.lambda *= (double)(m + 1);
    if (mixtures > 0) {
        plan.mixtures = some;
        plan.mixtures.linear = 1;
        plan.mixtures.offset[0] += 0.01 * (double)m;
    } else {
        kb_mixtures_release(kb_allocator_of(ctx), &some);
    }
    set_widths(ctx, &plan, columns, m + 1);
    assert_ok(ctx, kb_fit_plan(ctx, &plan, p->data, &model));
    kb_plan_release(ctx, &plan);
    return model;
}

static parts parts_of(kb_context *ctx, labels kind, int sparse, int fill) {
    parts p = {.data = tailed_data(ctx, N, D, 5, kind, 1, sparse),
               .test = tailed_data(ctx, N, D, 6, kind, 1, sparse),
               .options = OPTIONS(ctx, "scale", "ranks", "grids", "21", "holdout", "auto")};
    p.config = kb_config_of(p.options);
    for (size_t m = 0; m < MODELS; m++)
        p.model[m] = part_of(ctx, &p, m, fill);
    return p;
}

static void release(parts *p) {
    for (int m = 0; m < MODELS; m++)
        kb_model_free(p->model[m]);
    kb_data_free(p->data);
    kb_data_free(p->test);
    kb_options_free(p->options);
}

/* The mean of the decisions of the parts, before they are joined. */
static double *mean_decisions(kb_context *ctx, const parts *p, const kb_data *data) {
    size_t count = N * kb_model_info(p->model[0])->outputs;
    double *mean = calloc(count, sizeof *mean);
    for (int m = 0; m < MODELS; m++) {
        double *f = decisions_of(ctx, p->model[m], data);
        for (size_t e = 0; e < count; e++)
            mean[e] += f[e] / MODELS;
        free(f);
    }
    return mean;
}

/* Weights are floats, rounded once more: 6e-8 of each of the R terms of a sum. */
static void assert_near(size_t count, const double *a, const double *b) {
    for (size_t e = 0; e < count; e++)
        if (!(fabs(a[e] - b[e]) <= 1e-6 * (1 + fabs(b[e]))))
            fail_msg("number %zu: %.17g for %.17g", e, a[e], b[e]);
}

static void decisions_are_the_mean_of_the_parts(void **unused) {
    kb_context *ctx = test_context();
    (void)unused;
    for (int sparse = 0; sparse < 2; sparse++)
        for (int kind = REAL; kind <= THREE; kind++) {
            parts p = parts_of(ctx, (labels)kind, sparse, 0);
            size_t C = kb_model_info(p.model[0])->outputs;
            double *seen = mean_decisions(ctx, &p, p.data), *new = mean_decisions(ctx, &p, p.test);
            assert_ok(ctx, kb_models_join(ctx, &p.config, MODELS, p.model));
            double *f = decisions_of(ctx, p.model[0], p.data);
            double *g = decisions_of(ctx, p.model[0], p.test);
            assert_near(N * C, f, seen);
            assert_near(N * C, g, new);
            free(f), free(g), free(seen), free(new);
            release(&p);
        }
    kb_context_free(ctx);
}

/* The decision for a row held out, from its fit alone: what fills in for unknown bins is taken off
 * the parts, and put on the mean. */
static double by_hand(const kb_validation *of, const double *b, size_t h, size_t c) {
    size_t C = of[0].outputs;
    double f = 0, known = 0, mean_b = 0;
    for (int m = 0; m < MODELS; m++) {
        double own = of[m].known[h], intercept = b[(size_t)m * C + c];
        known += own / MODELS;
        mean_b += intercept / MODELS;
        f += (intercept + (of[m].decision[h * C + c] - intercept) * sqrt(own)) / MODELS;
    }
    return mean_b + (f - mean_b) / sqrt(known);
}

static void rows_held_out_are_decided_by_the_mean(void **unused) {
    kb_context *ctx = test_context();
    (void)unused;
    for (int kind = REAL; kind <= THREE; kind++) {
        parts p = parts_of(ctx, (labels)kind, 0, 1);
        size_t C = kb_model_info(p.model[0])->outputs;
        kb_validation of[MODELS];
        double b[MODELS * 3], want[N * 3];
        for (int m = 0; m < MODELS; m++) {
            of[m] = p.model[m]->validation;
            memcpy(b + (size_t)m * C, p.model[m]->intercept, C * sizeof *b);
            assert_int_equal(of[m].rows, N);
        }
        for (size_t h = 0; h < N; h++)
            for (size_t c = 0; c < C; c++)
                want[h * C + c] = by_hand(of, b, h, c);
        assert_ok(ctx, kb_models_join(ctx, &p.config, MODELS, p.model));
        const kb_validation *v = &p.model[0]->validation;
        assert_int_equal(v->rows, N);
        assert_near(N * C, v->decision, want);
        kb_expected expected = kb_validation_expect(v);
        assert_true(kind == REAL ? p.model[0]->expected.rmse == expected.rmse
                                 : p.model[0]->expected.error == expected.error);
        assert_int_equal(p.model[0]->conformal.rows, N);
        release(&p);
    }
    kb_context_free(ctx);
}

/* A row that one of the models has not held out says nothing about the mean. */
static void rows_that_all_have_held_out_are_kept(void **unused) {
    kb_context *ctx = test_context();
    parts p = parts_of(ctx, REAL, 0, 0);
    kb_validation *v = &p.model[1]->validation;
    (void)unused;
    size_t left = 0;
    for (size_t h = 0; h < N; h++)
        if (h % 3 != 1) {
            v->row[left] = v->row[h];
            v->known[left] = v->known[h];
            v->decision[left++] = v->decision[h];
        }
    v->rows = left;
    assert_ok(ctx, kb_models_join(ctx, &p.config, MODELS, p.model));
    v = &p.model[0]->validation;
    assert_int_equal(v->rows, left);
    for (size_t h = 0; h < left; h++)
        assert_true(v->row[h] % 3 != 1 && v->label[h] == p.data->label[v->row[h]]);
    release(&p);
    kb_context_free(ctx);
}

/* Grid r * MODELS + m is grid r of part m, and was drawn from vector r * MODELS + m mod V. */
static void grids_and_widths_take_turns(void **unused) {
    kb_context *ctx = test_context();
    parts p = parts_of(ctx, REAL, 0, 0);
    size_t plain = p.model[0]->map->transform->plain;
    kb_grids *first = p.model[0]->map->grids;
    kb_widths widths = p.model[0]->map->widths;
    double inverse[R];
    double sigma = widths.width[plain].sigma; /* of the linear fit of the first, whose V is 1 */
    (void)unused;
    for (size_t r = 0; r < R; r++)
        inverse[r] = kb_grids_at(first, r, plain)[0];
    assert_ok(ctx, kb_models_join(ctx, &p.config, MODELS, p.model));
    const kb_map *map = p.model[0]->map;
    const kb_fit_info *info = kb_model_info(p.model[0]);
    assert_int_equal(map->columns, plain + 3);
    assert_int_equal(info->linear_columns, 2);
    assert_int_equal(info->directions, 1);
    assert_int_equal(info->models, MODELS);
    assert_int_equal(info->grids, MODELS * R);
    assert_int_equal(map->widths.vectors, MODELS * 6);
    for (size_t g = 0; g < MODELS * R; g++) {
        const kb_width *w = map->widths.width + g % map->widths.vectors * map->columns;
        size_t m = g % MODELS;
        assert_true(kb_grids_at(map->grids, g, plain)[0] == (m == 0 ? inverse[g / MODELS] : 0));
        assert_true(m == 0 ? w[plain].q > 0 && w[plain].sigma == sigma : w[plain].q == 0);
        const kb_widths *own = &p.model[m]->map->widths;
        if (m > 0)
            assert_true(w[0].sigma ==
                        own->width[(m * R + g / MODELS) % own->vectors * own->features].sigma);
    }
    assert_null(kb_model_fault(p.model[0], 1));
    release(&p);
    kb_context_free(ctx);
}

static int join_once(kb_context *ctx, void *arg) {
    const parts *from = arg;
    parts p = {.data = from->data, .config = from->config};
    kb_status status = KB_OK;
    kb_plan plan = {.config = p.config};
    for (size_t m = 0; m < 2 && status == KB_OK; m++, plan.first_grid += R)
        status = kb_fit_plan(ctx, &plan, p.data, &p.model[m]);
    if (status == KB_OK)
        status = kb_models_join(ctx, &p.config, 2, p.model);
    kb_model_free(p.model[0]);
    kb_model_free(p.model[1]);
    return status;
}

static void allocation_failures_leave_nothing_behind(void **unused) {
    kb_context *ctx = test_context();
    kb_options *options = OPTIONS(ctx, "scale", "ranks", "grids", "21", "holdout", "auto");
    parts p = {.data = data_of(ctx, 20, 2, TWO), .config = kb_config_of(options)};
    (void)unused;
    run_with_allocation_failures(join_once, &p);
    kb_data_free(p.data);
    kb_options_free(options);
    kb_context_free(ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(decisions_are_the_mean_of_the_parts),
        cmocka_unit_test(rows_held_out_are_decided_by_the_mean),
        cmocka_unit_test(rows_that_all_have_held_out_are_kept),
        cmocka_unit_test(grids_and_widths_take_turns),
        cmocka_unit_test(allocation_failures_leave_nothing_behind),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
