/* Learned widths on data where the answer is known. */
#include "model/fitted.h"

#include "trial/rules.h"
#include "tune/learn_widths.h"

enum { ROWS = 1200, FEATURES = 5 };

/* Feature 0 alone matters. */
typedef struct setting {
    kb_subsample sample;
    double shift[FEATURES], scale[FEATURES];
    uint32_t row[ROWS];
    kb_law *law;
    kb_width_learning shaping;
} setting;

static double target(double x) {
    return sin(6 * x);
}

/* The test may change the labels, weights and groups. */
static setting *setting_create(kb_context *ctx, size_t rows, size_t C) {
    setting *s = calloc(1, sizeof *s);
    kb_subsample *a = &s->sample;
    double *x = test_numbers(31, rows * FEATURES);
    assert_ok(ctx, data_from_dense(ctx, rows, FEATURES, x, NULL, &a->x));
    assert_ok(ctx, kb_alloc(ctx, rows * C, sizeof(double), &a->y));
    for (size_t i = 0; i < rows; i++) {
        s->row[i] = (uint32_t)i;
        for (size_t c = 0; c < C; c++)
            a->y[i * C + c] = target(x[i * FEATURES] + (double)c) + 0.2 * test_uniform(4, i) + 3;
    }
    for (size_t j = 0; j < FEATURES; j++)
        s->scale[j] = 1;
    a->C = C;
    a->shift = s->shift;
    a->scale = s->scale;
    assert_ok(ctx, kb_law_parse(ctx, "laplace", &s->law));
    s->shaping = (kb_width_learning){.sample = a,
                                     .split = KB_SPLIT_RANDOM,
                                     .pool = rows,
                                     .row = s->row,
                                     .law = s->law,
                                     .sigma = 0.8,
                                     .vectors = 2,
                                     .steps = KB_RULE_LEARN_STEPS,
                                     .seed = 5,
                                     .to = 1};
    free(x);
    return s;
}

static void setting_free(kb_context *ctx, setting *s) {
    kb_subsample_release(ctx, &s->sample);
    kb_law_free(s->law);
    free(s);
}

static kb_widths learn(kb_context *ctx, setting *s) {
    kb_widths out;
    assert_ok(ctx, kb_learn_widths(ctx, &s->shaping, &out));
    assert_int_equal(out.features, FEATURES);
    assert_int_equal(out.vectors, s->shaping.vectors);
    return out;
}

/* Every useless feature is `times` as wide as feature 0 in every vector. */
static void check_widths(const kb_widths *w, double times) {
    for (size_t v = 0; v < w->vectors; v++)
        for (size_t j = 0; j < FEATURES; j++) {
            const kb_width *first = w->width + v * FEATURES, *other = first + j;
            assert_true(other->q == 1);
            assert_true(isfinite(other->sigma) && other->sigma > 0);
            if (j > 0 && !(other->sigma > times * first->sigma))
                fail_msg("vector %zu: sigma %g of feature %zu, %g of feature 0", v, other->sigma, j,
                         first->sigma);
        }
}

static void useless_features_become_wide(void **unused) {
    kb_context *ctx = test_context();
    (void)unused;
    for (size_t C = 1; C <= 6; C += 5) { /* six outputs are projected to fewer */
        setting *s = setting_create(ctx, ROWS, C);
        kb_widths w = learn(ctx, s);
        check_widths(&w, 4);
        kb_release(ctx, w.width);
        setting_free(ctx, s);
    }
    kb_context_free(ctx);
}

static void useless_features_are_not_cut(void **unused) {
    kb_context *ctx = test_context();
    setting *s = setting_create(ctx, ROWS, 1);
    (void)unused;
    s->shaping.selective = 1;
    kb_widths w = learn(ctx, s);
    for (size_t v = 0; v < w.vectors; v++)
        for (size_t j = 0; j < FEATURES; j++) {
            const kb_width *one = &w.width[v * FEATURES + j];
            assert_true(one->q > 0 && one->q < 1 && one->sigma > 0);
            assert_true(j == 0 ? one->q > 0.6 : one->q < 0.3);
        }
    kb_release(ctx, w.width);
    setting_free(ctx, s);
    kb_context_free(ctx);
}

static void the_last_vector_begins_where_it_is_told(void **unused) {
    kb_context *ctx = test_context();
    setting *s = setting_create(ctx, 300, 1);
    kb_width start[FEATURES];
    double gradient[4 * FEATURES];
    (void)unused;
    for (size_t j = 0; j < FEATURES; j++)
        start[j] = (kb_width){s->law, 0.5 + (double)j, 1};
    for (int sparse = 0; sparse < 2; sparse++) {
        kb_widths with, without;
        s->shaping.selective = sparse;
        s->shaping.start = start;
        assert_ok(ctx, kb_learn_widths_gradient(ctx, &s->shaping, 0, &with, gradient));
        s->shaping.start = NULL;
        assert_ok(ctx, kb_learn_widths_gradient(ctx, &s->shaping, 0, &without, gradient));
        double ratio =
            with.width[FEATURES].sigma / start[0].sigma; /* narrower where it is sparse */
        assert_true(sparse ? ratio < 0.9 : fabs(ratio - 1) < 1e-9);
        for (size_t j = 0; j < FEATURES; j++) {
            assert_true(with.width[j].sigma == without.width[j].sigma);
            assert_true(fabs(with.width[FEATURES + j].sigma - ratio * start[j].sigma) < 1e-9);
        }
        kb_release(ctx, with.width);
        kb_release(ctx, without.width);
    }
    setting_free(ctx, s);
    kb_context_free(ctx);
}

/* ---- the gradient ------------------------------------------------------ */

/* log of the squared error on validation rows with these widths. */
static double error_of(kb_context *ctx, const setting *s, const kb_widths *w, double lambda) {
    kb_trial trial = {
        .grids = TEST_LIGHT ? 1000 : 4000, .max_steps = 10, .seed = 77, .given_lambda = lambda};
    assert_ok(ctx, kb_trial_run(ctx, &s->sample, w, &trial));
    kb_trial_release(ctx, &trial);
    return log(trial.error);
}

/* The regression divides a slope by the variance of its score, 2 for laplace, and a ridge. */
static double ridged(double variance) {
    return variance + KB_RULE_LEARN_RIDGE;
}

/* Of the score of levels, which are cut with probability p = 1 - exp(-1/sigma): the Fisher
 * information of p by the square of its derivative. */
static double score_variance(double sigma) {
    double p = 1 - exp(-1 / sigma), slope = exp(-1 / sigma) / sigma;
    return slope * slope / (p * (1 - p));
}

/* Features 0 and 1 matter, 1 less, and the others do not: the mean gradient agrees with finite
 * differences of the error.  With levels, feature 1 and the last are levels. */
static void check_gradient(int levels) {
    enum { STEPS = 60 };
    static const unsigned char level[FEATURES] = {0, 1, 0, 0, 1};
    kb_context *ctx = test_context();
    setting *s = setting_create(ctx, ROWS, 1);
    const double by = 1.2;
    for (size_t i = 0; i < ROWS; i++) {
        double *x = s->sample.x->dense + i * FEATURES;
        s->sample.y[i] += x[1];
        if (levels) {
            s->sample.y[i] += 2 * fabs(x[1]) - x[1];
            x[1] = floor(4 * fabs(x[1]) + (x[1] > 0 ? 4 : 0));
            x[4] = floor(4 * fabs(x[4]));
        }
    }
    s->sample.x->level = levels ? level : NULL;
    assert_ok(ctx, kb_subsample_split(ctx, KB_SPLIT_RANDOM, 0, 2.0 / 7, 1, &s->sample));
    s->shaping.vectors = 1;
    for (int sparse = 0; sparse < (levels ? 1 : 2); sparse++) {
        double gradient[2 * FEATURES], slope[FEATURES], both = 0, a = 0, b = 0;
        kb_widths w;
        s->shaping.selective = sparse;
        s->shaping.sigma = sparse ? 3 : 1;
        assert_ok(ctx, kb_learn_widths_gradient(ctx, &s->shaping, STEPS, &w, gradient));
        for (size_t j = 0; j < FEATURES && levels; j++) {
            assert_int_equal(w.width[j].law->levels, level[j]);
            assert_true(!level[j] || w.width[j].q == 1);
        }
        for (size_t j = 0; j < FEATURES; j++) {
            double sigma = w.width[j].sigma;
            w.width[j].sigma = sigma * by;
            double up = error_of(ctx, s, &w, 0.3);
            w.width[j].sigma = sigma / by;
            slope[j] = (up - error_of(ctx, s, &w, 0.3)) / (2 * log(by));
            w.width[j].sigma = sigma;
            if (levels && level[j])
                gradient[j] *=
                    ridged(score_variance(sigma)) / ridged(sparse ? 2 * w.width[0].q : 2);
            both += slope[j] * gradient[j];
            a += slope[j] * slope[j];
            b += gradient[j] * gradient[j];
        }
        if (!(both > 0.8 * sqrt(a * b))) /* the cosine; noise and a fixed lambda keep it below 1 */
            fail_msg("the cosine is %g", both / sqrt(a * b));
        kb_release(ctx, w.width);
    }
    setting_free(ctx, s);
    kb_context_free(ctx);
}

static void the_gradient_agrees_with_differences(void **unused) {
    (void)unused;
    check_gradient(0);
}

static void the_gradient_of_levels_agrees_with_differences(void **unused) {
    (void)unused;
    check_gradient(1);
}

/* ---- rows that do not count -------------------------------------------- */

/* Rows of weight 0 that depend on feature 1 alone. */
static void rows_without_weight_teach_nothing(void **unused) {
    kb_context *ctx = test_context();
    setting *s = setting_create(ctx, ROWS, 1);
    kb_subsample *a = &s->sample;
    (void)unused;
    assert_ok(ctx, kb_zalloc(ctx, ROWS, sizeof(double), &a->weight));
    assert_ok(ctx, kb_zalloc(ctx, ROWS, sizeof(double), &a->root));
    for (size_t i = 0; i < ROWS; i++)
        if (i % 2)
            a->y[i] = 10 * target(a->x->dense[i * FEATURES + 1]);
        else
            a->weight[i] = a->root[i] = 1;
    kb_widths w = learn(ctx, s);
    check_widths(&w, 3);
    kb_release(ctx, w.width);
    setting_free(ctx, s);
    kb_context_free(ctx);
}

/* Rows outside the pool are never used: their labels do not change a bit. */
static void rows_outside_the_pool_are_not_seen(void **unused) {
    kb_context *ctx = test_context();
    setting *s = setting_create(ctx, ROWS, 1);
    (void)unused;
    s->shaping.pool = 1000;
    kb_widths a = learn(ctx, s);
    for (size_t i = 1000; i < ROWS; i++)
        s->sample.y[i] = -1e6;
    kb_widths b = learn(ctx, s);
    for (size_t k = 0; k < 2 * FEATURES; k++)
        assert_true(a.width[k].sigma == b.width[k].sigma);
    kb_release(ctx, a.width);
    kb_release(ctx, b.width);
    setting_free(ctx, s);
    kb_context_free(ctx);
}

/* ---- splits ------------------------------------------------------------ */

static void groups_and_times_stay_together(void **unused) {
    kb_context *ctx = test_context();
    setting *s = setting_create(ctx, ROWS, 1);
    kb_subsample *a = &s->sample;
    (void)unused;
    assert_ok(ctx, kb_alloc(ctx, ROWS, sizeof(uint32_t), &a->group));
    for (size_t i = 0; i < ROWS; i++)
        a->group[i] = (uint32_t)(i * 7 % 13);
    for (size_t folds = 0; folds <= 3; folds += 3) {
        int of[13] = {0};
        assert_ok(ctx, kb_subsample_split(ctx, KB_SPLIT_GROUP, folds, 0.3, 1, a));
        for (size_t i = 0; i < ROWS; i++)
            of[a->group[i]] |= 1 << a->folds.fold[i] % 8;
        for (int g = 0; g < 13; g++)
            assert_true((of[g] & (of[g] - 1)) == 0); /* one fold, or none */
        kb_folds_release(ctx, &a->folds);
    }
    assert_ok(ctx, kb_subsample_split(ctx, KB_SPLIT_TIME, 0, 0.3, 1, a));
    for (size_t i = 1; i < ROWS; i++)
        assert_true(a->folds.fold[i] <= a->folds.fold[i - 1]);
    kb_folds_release(ctx, &a->folds);
    /* Both kinds of learned widths. */
    for (kb_split_kind kind = KB_SPLIT_GROUP; kind <= KB_SPLIT_TIME; kind++) {
        s->shaping.split = kind;
        kb_widths w = learn(ctx, s);
        check_widths(&w, 3);
        kb_release(ctx, w.width);
    }
    setting_free(ctx, s);
    kb_context_free(ctx);
}

/* Rows that cannot be split as asked are split at random. */
static void one_group_is_split_at_random(void **unused) {
    kb_context *ctx = test_context();
    setting *s = setting_create(ctx, 30, 30);
    kb_subsample *a = &s->sample;
    (void)unused;
    assert_ok(ctx, kb_zalloc(ctx, 30, sizeof(uint32_t), &a->group));
    assert_ok(ctx, kb_alloc(ctx, 30, sizeof(uint32_t), &a->class_of));
    for (uint32_t i = 0; i < 30; i++)
        a->class_of[i] = i;
    for (int kind = 0; kind < 2; kind++) {
        size_t held = 0;
        assert_ok(ctx, kb_subsample_split(ctx, kind ? KB_SPLIT_STRATIFIED : KB_SPLIT_GROUP, 0, 0.3,
                                          1, a));
        for (size_t i = 0; i < 30; i++)
            held += kb_folds_holds(&a->folds, i, 0);
        assert_int_equal(held, 9);
        kb_folds_release(ctx, &a->folds);
    }
    setting_free(ctx, s);
    kb_context_free(ctx);
}

/* ---- silly data -------------------------------------------------------- */

static void nothing_to_learn_stays_finite(void **unused) {
    kb_context *ctx = test_context();
    (void)unused;
    for (int kind = 0; kind < 3; kind++) {
        setting *s = setting_create(ctx, 60, 1);
        for (size_t i = 0; i < 60; i++)
            s->sample.y[i] = kind == 0 ? 7 : kind == 1 ? 0 : 1e150 * s->sample.y[i];
        if (kind == 2)
            memset(s->sample.x->dense, 0, 60 * FEATURES * sizeof(double));
        kb_widths w = learn(ctx, s);
        for (size_t k = 0; k < 2 * FEATURES; k++)
            assert_true(isfinite(w.width[k].sigma) && w.width[k].sigma > 0);
        kb_release(ctx, w.width);
        setting_free(ctx, s);
    }
    kb_context_free(ctx);
}

/* ---- promises ---------------------------------------------------------- */

static void threads_change_no_bit(void **unused) {
    double first[4 * FEATURES];
    (void)unused;
    for (int threads = 1; threads <= 3; threads++) {
        test_state state = {0};
        kb_context *ctx = test_context_with(&state, threads);
        setting *s = setting_create(ctx, ROWS, 1);
        s->shaping.selective = 1;
        kb_widths w = learn(ctx, s);
        for (size_t k = 0; k < 2 * FEATURES; k++) {
            double mine[2] = {w.width[k].sigma, w.width[k].q};
            if (threads == 1)
                memcpy(first + 2 * k, mine, sizeof mine);
            assert_same_bits(mine, first + 2 * k, 2);
        }
        kb_release(ctx, w.width);
        setting_free(ctx, s);
        kb_context_free(ctx);
        assert_int_equal(state.live, 0);
    }
}

/* A step repeats the allocations of the one before: the first two and the end are enough. */
static void allocations_may_fail(void **unused) {
    (void)unused;
    for (long k = 1;; k += k < 300 ? 1 : 97) {
        test_state state = {0};
        kb_context *ctx = test_context_with(&state, 1);
        setting *s = setting_create(ctx, 40, 1);
        kb_widths w;
        long live = state.live;
        s->shaping.selective = 1;
        state.fail_at = state.allocations + k;
        kb_status status = kb_learn_widths(ctx, &s->shaping, &w);
        int met = state.allocations >= state.fail_at;
        assert_int_equal(status, met ? KB_ERR_MEMORY : KB_OK);
        kb_release(ctx, w.width);
        assert_int_equal(state.live, live);
        setting_free(ctx, s);
        kb_context_free(ctx);
        assert_int_equal(state.live, 0);
        if (!met)
            return;
    }
}

/* Seconds that pass with every look at the clock. */
typedef struct hand {
    double now, step;
} hand;

static double look(void *arg) {
    hand *h = arg;
    return h->now += h->step;
}

/* Two looks a step, so that a step takes twice the hand's. */
static void steps_are_left_out_to_end_in_time(void **unused) {
    kb_context *ctx = test_context();
    setting *s = setting_create(ctx, 400, 1);
    (void)unused;
    for (int k = 0; k < 3; k++) {
        hand h = {.step = 0.5};
        int hurried = 0;
        kb_widths widths;
        s->shaping.clock = (kb_clock){look, &h};
        s->shaping.until = k == 0 ? 4 : k == 1 ? 20 : 1000;
        s->shaping.hurried = &hurried;
        assert_ok(ctx, kb_learn_widths(ctx, &s->shaping, &widths));
        assert_int_equal(widths.width != NULL, k > 0); /* 4 s: too few steps */
        assert_int_equal(hurried, k < 2);
        assert_true(h.now <= s->shaping.until);
        if (k == 1) /* the time is made use of */
            assert_true(h.now > 10);
        kb_release(ctx, widths.width);
    }
    setting_free(ctx, s);
    kb_context_free(ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(useless_features_become_wide),
        cmocka_unit_test(useless_features_are_not_cut),
        cmocka_unit_test(the_last_vector_begins_where_it_is_told),
        cmocka_unit_test(the_gradient_agrees_with_differences),
        cmocka_unit_test(the_gradient_of_levels_agrees_with_differences),
        cmocka_unit_test(rows_without_weight_teach_nothing),
        cmocka_unit_test(rows_outside_the_pool_are_not_seen),
        cmocka_unit_test(groups_and_times_stay_together),
        cmocka_unit_test(one_group_is_split_at_random),
        cmocka_unit_test(nothing_to_learn_stays_finite),
        cmocka_unit_test(threads_change_no_bit),
        cmocka_unit_test(steps_are_left_out_to_end_in_time),
        cmocka_unit_test(allocations_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
