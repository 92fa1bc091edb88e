/* Whether the tuner takes extra columns. */
#include "tune/stages.h"

#include "tune/scale_search.h"
#include "tune/blend.h"
#include "tune/extra_columns.h"

typedef enum shape { SUM, STEP, THIRDS, NOISE, COIN, WAVE } shape;

/* Columns between -1 and 1.  Targets: their sum with a little noise, its sign, or its third; noise
 * alone, also as classes; a wave in one column, which has no linear trend. */
static kb_data *shaped(kb_context *ctx, shape kind, size_t rows, size_t d) {
    double *x = test_numbers(6, rows * d), *y = malloc(rows * sizeof *y);
    kb_data *data;
    for (size_t i = 0; i < rows; i++) {
        double noise = test_uniform(8, i), sum = 0.3 * (noise - 0.5);
        for (size_t j = 0; j < d; j++)
            sum += x[i * d + j];
        y[i] = kind == SUM      ? sum
               : kind == STEP   ? sum > 0
               : kind == THIRDS ? (sum > -0.6) + (sum > 0.6)
               : kind == NOISE  ? noise
               : kind == COIN   ? noise > 0.5
                                : cos(5 * x[i * d]) + 0.3 * noise;
    }
    assert_ok(ctx, data_from_dense(ctx, rows, d, x, y, &data));
    free(x), free(y);
    return data;
}

/* A tuner that has found a sigma for equal widths. */
static tuning *with_sigma(kb_context *ctx, kb_data *data, kb_options *options,
                          kb_scale_kind scale) {
    tuning *u = tuning_scaled(ctx, data, options, scale);
    kb_trial_rows *rows = &u->t.rows;
    double sigma = 0.25 * (double)rows->map->columns * rows->spread;
    kb_candidate *c = put(ctx, u, KB_CANDIDATE_EQUAL, "equal", sigma, sigma);
    c->sigma = sigma;
    assert_ok(ctx, kb_scale_search(ctx, &u->t, &rows->first, c, KB_RULE_SCALE_GRIDS,
                                   KB_RULE_SCALE_STEPS, KB_RULE_SCALE_FACTOR));
    return u;
}

/* All that holds for a tuner with mixtures, and all that holds for one without. */
static void check(const tuning *u, size_t d, size_t mixtures) {
    const kb_trial_rows *rows = &u->t.rows;
    const kb_candidate *c = &u->t.candidate[KB_CANDIDATE_EQUAL];
    assert_int_equal(u->tuning.plan.mixtures.count, mixtures);
    assert_int_equal(rows->map->columns, d + mixtures);
    assert_int_equal(rows->map->transform->mixtures.count, mixtures);
    assert_int_equal(rows->first.x->features, d + mixtures);
    assert_ptr_equal(rows->first.shift, rows->map->shift);
    assert_ptr_equal(rows->first.scale, rows->map->scale);
    assert_int_equal(c->widths.features, d + mixtures);
    assert_int_equal(c->widths.vectors, 1);
    for (size_t j = 0; j < d + mixtures; j++) {
        assert_true(j < d ? fabs(c->widths.width[j].sigma / c->sigma - 1) < 1e-12
                          : c->widths.width[j].sigma > 0);
        assert_true(rows->map->shift[j] == 0 && rows->map->scale[j] == 1);
    }
    assert_string_equal(c->what, "equal");
    if (!mixtures)
        return;
    assert_int_equal(u->tuning.plan.mixtures.columns, d);
    assert_memory_equal(u->tuning.plan.mixtures.weight, rows->map->transform->mixtures.weight,
                        d * mixtures * sizeof(double));
    for (size_t i = 0; i < rows->first.x->rows; i++)
        for (size_t k = 0; k < mixtures; k++) {
            double *x = rows->first.x->dense + i * (d + mixtures);
            assert_true(x[d + k] ==
                        kb_mixtures_value(&u->tuning.plan.mixtures, k, (kb_row){d, 0, x}));
        }
}

static void they_are_taken_where_they_help(void **unused) {
    static const struct {
        shape kind;
        size_t d, mixtures;
    } set[] = {{SUM, 8, 1},   {STEP, 5, 1}, {THIRDS, 5, 3},
               {NOISE, 8, 0}, {COIN, 8, 0}, {WAVE, 4, 0}};
    static const char *const folds[] = {"0", "5"};
    kb_context *ctx = test_context();
    (void)unused;
    for (size_t k = 0; k < sizeof set / sizeof *set; k++)
        for (int f = 0; f < 2; f++) {
            tuning *u =
                with_sigma(ctx, shaped(ctx, set[k].kind, 700, set[k].d),
                           TUNING(ctx, "folds", folds[f], "directions", "off"), KB_SCALE_RANKS);
            kb_trial_info last;
            size_t rows = u->t.rows.first.x->rows;
            double before = u->t.candidate[KB_CANDIDATE_EQUAL].search.score;
            assert_ok(ctx, kb_mixtures_try(ctx, &u->t, NULL));
            if (u->tuning.plan.mixtures.count != set[k].mixtures)
                fail_msg("set %zu, folds %s: %zu mixtures", k, folds[f],
                         u->tuning.plan.mixtures.count);
            check(u, set[k].d, set[k].mixtures);
            assert_int_equal(u->t.rows.first.x->rows, rows);
            /* a scale search where the first trial is better */
            assert_true(times_tried(u, "equal, linear", &last) >= (set[k].mixtures ? 2 : 1));
            if (set[k].mixtures)
                assert_true(u->t.candidate[KB_CANDIDATE_EQUAL].search.score < 0.9 * before);
            else
                assert_true(u->t.candidate[KB_CANDIDATE_EQUAL].search.score == before);
            tuning_free(ctx, u);
        }
    kb_context_free(ctx);
}

/* The target is a wave along one direction; the slopes of 1200 rows find it, those of more rows
 * find it more closely. */
static void directions_that_help_are_learned_again_from_more_rows(void **unused) {
    enum { FEW = 1200, MANY = 4000, d = 5 };
    static const double along[d] = {1, -1, 0.5, 0, 0};
    kb_context *ctx = test_context();
    double off[2];
    (void)unused;
    for (int many = 0; many < 2; many++) {
        size_t rows = many ? MANY : FEW;
        double *x = test_numbers(6, rows * d), *y = malloc(rows * sizeof *y);
        kb_data *data;
        for (size_t i = 0; i < rows; i++) {
            double u = 0;
            for (size_t j = 0; j < d; j++)
                u += along[j] * x[i * d + j];
            y[i] = cos(3 * u) + 0.2 * test_uniform(8, i);
        }
        assert_ok(ctx, data_from_dense(ctx, rows, d, x, y, &data));
        free(x), free(y);
        tuning *u =
            with_sigma(ctx, data, TUNING(ctx, "folds", "0", "linear", "off"), KB_SCALE_RANKS);
        assert_int_equal(kb_tuner_may_slope_more(&u->t), many);
        assert_ok(ctx, kb_mixtures_try(ctx, &u->t, NULL));
        assert_int_equal(u->tuning.plan.mixtures.count, KB_RULE_DIRECTIONS);
        check(u, d, KB_RULE_DIRECTIONS);
        const double *w = u->tuning.plan.mixtures.weight;
        double square = 0, product = 0, unit = 0;
        for (size_t j = 0; j < d; j++) {
            square += w[j] * w[j];
            product += w[j] * along[j];
            unit += along[j] * along[j];
        }
        off[many] = 1 - product * product / (square * unit);
        tuning_free(ctx, u);
    }
    assert_true(off[0] < 0.1 && off[1] < 0.5 * off[0]);
    kb_context_free(ctx);
}

static kb_data *eleven(kb_context *ctx) {
    kb_data *data = shaped(ctx, SUM, 400, 3);
    for (size_t i = 0; i < 400; i++)
        data->label[i] = (double)(i % 11);
    return data;
}

/* Each of these prevents extra columns; the last prevents nothing. */
static void they_are_tried_where_allowed(void **unused) {
    static const struct {
        size_t rows, columns;
        const char *name, *value;
        kb_scale_kind scale;
    } way[] = {
        {200, 3, "linear", "off", KB_SCALE_RANKS},   {200, 3, "sigma", "0.5", KB_SCALE_RANKS},
        {200, 3, "linear", "auto", KB_SCALE_MINMAX}, {200, 1, "linear", "auto", KB_SCALE_RANKS},
        {73, 3, "linear", "auto", KB_SCALE_RANKS},   {400, 11, "linear", "auto", KB_SCALE_RANKS},
        {200, 3, "linear", "auto", KB_SCALE_RANKS},  {75, 3, "linear", "auto", KB_SCALE_RANKS}};
    enum { ELEVEN = 5, LATE = 6, NOTHING = 7 };
    kb_context *ctx = test_context();
    (void)unused;
    for (int k = 0; k <= NOTHING; k++) {
        kb_data *data = k == ELEVEN ? eleven(ctx) : shaped(ctx, SUM, way[k].rows, way[k].columns);
        kb_options *options =
            TUNING(ctx, "folds", "0", "directions", "0", way[k].name, way[k].value);
        tuning *u = with_sigma(ctx, data, options, way[k].scale);
        const kb_data *x = u->t.rows.first.x;
        size_t tried = u->tuning.count;
        if (k == LATE)
            u->given.budget = 0;
        assert_ok(ctx, kb_mixtures_try(ctx, &u->t, NULL));
        if ((times_tried(u, "equal, linear", NULL) > 0) != (k == NOTHING))
            fail_msg("way %d", k);
        if (k != NOTHING) {
            assert_int_equal(u->tuning.plan.mixtures.count, 0);
            assert_int_equal(u->tuning.count, tried);
            assert_ptr_equal(u->t.rows.first.x, x);
        }
        tuning_free(ctx, u);
    }
    kb_context_free(ctx);
}

/* No linear fit for more columns than the limit. */
static void many_columns_are_not_mixed(void **unused) {
    kb_context *ctx = test_context();
    tuning *u = with_sigma(ctx, shaped(ctx, SUM, 200, 3),
                           TUNING(ctx, "folds", "0", "directions", "0"), KB_SCALE_RANKS);
    size_t columns = u->t.rows.map->columns, pool = u->t.rows.pool;
    (void)unused;
    u->t.rows.map->columns = KB_RULE_MANY_COLUMNS;
    u->t.rows.pool = 1000000;
    assert_ok(ctx, kb_mixtures_try(ctx, &u->t, NULL));
    assert_int_equal(times_tried(u, "equal, linear", NULL), 0);
    u->t.rows.map->columns = columns;
    u->t.rows.pool = pool;
    tuning_free(ctx, u);
    kb_context_free(ctx);
}

/* Where only the extra columns do not fit into memory they are dropped, and nothing fails. */
static void too_little_memory_for_them_is_no_error(void **unused) {
    kb_context *ctx = test_context();
    int refused = 0, tried = 0;
    (void)unused;
    for (int kilobytes = 2600; kilobytes < 3400; kilobytes += 10) {
        char limit[16];
        snprintf(limit, sizeof limit, "%dK", kilobytes);
        kb_options *options = TUNING(ctx, "folds", "0", "directions", "0", "max-memory", limit);
        kb_config given = kb_config_of(options);
        kb_tuning made = kb_tuning_begin(&given);
        kb_data *data = shaped(ctx, THIRDS, 400, 3);
        kb_tuner t;
        made.plan.config.scale = KB_SCALE_RANKS;
        if (kb_tuner_prepare(ctx, &made, data, &t) == KB_OK) {
            kb_candidate *c = &t.candidate[KB_CANDIDATE_EQUAL];
            c->what = "equal";
            c->sigma = 1;
            assert_ok(ctx, kb_widths_equal(ctx, 3, NULL, t.law, 1, &c->widths));
            assert_ok(ctx, kb_tuner_try(ctx, &t, &t.rows.first, c, 8, 2, &c->search));
            assert_ok(ctx, kb_mixtures_try(ctx, &t, NULL));
            refused += made.count == 1;
            tried += made.count > 1;
        }
        kb_tuner_release(ctx, &t);
        kb_tuning_release(ctx, &made);
        kb_options_free(options);
        kb_data_free(data);
        if (refused && tried)
            break;
    }
    assert_true(refused && tried);
    kb_context_free(ctx);
}

/* ---- with widths that are learned --------------------------------------- */

/* As if they were learned, with this share of the errors of equal widths. */
static kb_status learn_to(kb_context *ctx, kb_tuner *t, double share) {
    kb_status status;
    kb_candidate *c = &t->candidate[KB_CANDIDATE_LEARNED];
    assert_null(c->widths.width);
    c->what = "learned";
    TRY(kb_widths_equal(ctx, t->rows.map->columns, NULL, t->law,
                        t->candidate[KB_CANDIDATE_EQUAL].sigma, &c->widths));
    TRY(kb_tuner_try(ctx, t, &t->rows.first, c, KB_RULE_SCALE_GRIDS, KB_RULE_SCALE_STEPS,
                     &c->search));
    c->search.score *= share;
    for (size_t i = 0; i < c->search.held; i++)
        c->search.each[i] *= share;
done:
    return status;
}

static kb_status learn_well(kb_context *ctx, kb_tuner *t, const kb_widths *found) {
    (void)found;
    return learn_to(ctx, t, 0.1);
}

static kb_status learn_badly(kb_context *ctx, kb_tuner *t, const kb_widths *found) {
    assert_int_equal(found->features, 5);
    return learn_to(ctx, t, 2);
}

static kb_status learn_never(kb_context *ctx, kb_tuner *t, const kb_widths *found) {
    (void)ctx, (void)t, (void)found;
    fail_msg("widths are learned for mixtures that promise nothing");
    return KB_OK;
}

/* Learned widths without mixtures compete with equal ones and with learned ones that have them. */
static void learned_widths_decide_too(void **unused) {
    kb_context *ctx = test_context();
    (void)unused;
    for (int well = 0; well < 2; well++) {
        tuning *u = with_sigma(ctx, shaped(ctx, STEP, 700, 5),
                               TUNING(ctx, "folds", "0", "directions", "0"), KB_SCALE_RANKS);
        assert_ok(ctx, learn_well(ctx, &u->t, NULL));
        double learned = u->t.candidate[KB_CANDIDATE_LEARNED].search.score;
        assert_ok(ctx, kb_mixtures_try(ctx, &u->t, well ? learn_well : learn_badly));
        assert_int_equal(times_tried(u, "learned", NULL), 1);
        assert_int_equal(times_tried(u, "learned, linear", NULL), 1);
        check(u, 5, (size_t)well);
        assert_int_equal(u->t.candidate[KB_CANDIDATE_LEARNED].widths.features, 5 + well);
        assert_int_equal(u->t.candidate[KB_CANDIDATE_LEARNED].search.score == learned, !well);
        assert_true(u->t.candidate[KB_CANDIDATE_LEARNED].search.score <= learned);
        tuning_free(ctx, u);
    }
    kb_context_free(ctx);
}

static void nothing_is_learned_for_what_does_not_help(void **unused) {
    kb_context *ctx = test_context();
    tuning *u = with_sigma(ctx, shaped(ctx, WAVE, 700, 4),
                           TUNING(ctx, "folds", "0", "directions", "0"), KB_SCALE_RANKS);
    (void)unused;
    assert_ok(ctx, kb_mixtures_try(ctx, &u->t, learn_never));
    assert_true(times_tried(u, "equal, linear", NULL) > 0);
    check(u, 4, 0);
    tuning_free(ctx, u);
    kb_context_free(ctx);
}

static void threads_change_no_bit(void **unused) {
    double score[3], sigma[3], weight[3][3 * 5];
    (void)unused;
    for (int k = 0; k < 3; k++) {
        test_state state = {0};
        kb_context *ctx = test_context_with(&state, k + 1);
        tuning *u = with_sigma(ctx, shaped(ctx, THIRDS, 1500, 5),
                               TUNING(ctx, "folds", "0", "directions", "0"), KB_SCALE_RANKS);
        assert_ok(ctx, kb_mixtures_try(ctx, &u->t, NULL));
        assert_int_equal(u->tuning.plan.mixtures.count, 3);
        memcpy(weight[k], u->tuning.plan.mixtures.weight, sizeof weight[k]);
        score[k] = u->t.candidate[KB_CANDIDATE_EQUAL].search.score;
        sigma[k] = u->t.candidate[KB_CANDIDATE_EQUAL].sigma;
        tuning_free(ctx, u);
        kb_context_free(ctx);
        assert_int_equal(state.live, 0);
    }
    for (int k = 1; k < 3; k++) {
        assert_same_bits(weight[k], weight[0], 3 * 5);
        assert_same_bits(&score[k], &score[0], 1);
        assert_same_bits(&sigma[k], &sigma[0], 1);
    }
}

/* ---- levels ------------------------------------------------------------- */

/* d columns of numbers, and two of levels: of 12 and of 5.  Targets: a wave, and what the first
 * level is worth if they are levels; the numbers of the levels tell nothing. */
static kb_data *levelled(kb_context *ctx, size_t rows, size_t d, int matters) {
    static const unsigned char level[] = {0, 0, 0, 1, 1};
    size_t columns = d + 2;
    double *x = test_numbers(6, rows * columns), *y = malloc(rows * sizeof *y);
    kb_data *data;
    assert_int_equal(d, 3);
    for (size_t i = 0; i < rows; i++) {
        double *row = x + i * columns;
        row[d] = floor(12 * test_uniform(3, i));
        row[d + 1] = floor(5 * test_uniform(4, i));
        y[i] = sin(5 * row[0]) + 0.3 * test_uniform(8, i);
        if (matters)
            y[i] += 3 * test_uniform(99, (size_t)row[d]);
    }
    assert_ok(ctx, data_from_dense(ctx, rows, columns, x, y, &data));
    data->level = level;
    free(x), free(y);
    return data;
}

static void levels_are_taken_where_they_help(void **unused) {
    kb_context *ctx = test_context();
    (void)unused;
    for (int matters = 0; matters < 2; matters++) {
        tuning *u = with_sigma(ctx, levelled(ctx, 900, 3, matters),
                               TUNING(ctx, "folds", "0", "directions", "0"), KB_SCALE_RANKS);
        const kb_trial_rows *rows = &u->t.rows;
        size_t d = rows->map->columns;
        double before = u->t.candidate[KB_CANDIDATE_EQUAL].search.score;
        assert_int_equal(d, 3); /* without the levels */
        assert_ok(ctx, kb_level_columns_try(ctx, &u->t, NULL));
        const kb_candidate *c = &u->t.candidate[KB_CANDIDATE_EQUAL];
        assert_true(times_tried(u, "equal, levels", NULL) > 0);
        assert_int_equal(u->tuning.plan.levels, matters);
        assert_int_equal(kb_map_levels(rows->map), matters ? 2 : 0);
        assert_int_equal(rows->map->columns, matters ? 5 : 3);
        assert_int_equal(c->widths.features, rows->map->columns);
        assert_ptr_equal(rows->first.shift, rows->map->shift);
        assert_string_equal(c->what, matters ? "equal, levels" : "equal");
        for (size_t j = 0; j < rows->map->columns; j++)
            assert_int_equal(c->widths.width[j].law->levels, j >= 3);
        assert_true(matters ? c->search.score < 0.9 * before : c->search.score == before);
        /* Then mixtures are tried without and with them. */
        assert_ok(ctx, kb_mixtures_try(ctx, &u->t, NULL));
        assert_true(times_tried(u, matters ? "equal, levels, linear" : "equal, linear", NULL) > 0);
        assert_int_equal(u->tuning.plan.levels, matters);
        tuning_free(ctx, u);
    }
    kb_context_free(ctx);
}

/* Each of these prevents levels. */
static void levels_are_tried_where_allowed(void **unused) {
    static const char *const sigma[] = {"auto", "0.5", "auto", "auto"};
    static const kb_scale_kind scale[] = {KB_SCALE_MINMAX, KB_SCALE_RANKS, KB_SCALE_RANKS,
                                          KB_SCALE_RANKS};
    enum { LATE = 2, NO_LEVELS = 3 };
    kb_context *ctx = test_context();
    (void)unused;
    for (int k = 0; k < 4; k++) {
        kb_data *data = levelled(ctx, 200, 3, 1);
        if (k == NO_LEVELS)
            data->level = NULL;
        tuning *u = with_sigma(ctx, data, TUNING(ctx, "folds", "0", "sigma", sigma[k]), scale[k]);
        size_t tried = u->tuning.count;
        if (k == LATE)
            u->given.budget = 0;
        assert_ok(ctx, kb_level_columns_try(ctx, &u->t, NULL));
        assert_int_equal(u->tuning.count, tried);
        assert_int_equal(u->tuning.plan.levels, 0);
        tuning_free(ctx, u);
    }
    kb_context_free(ctx);
}

/* ---- failures ---------------------------------------------------------- */

/* The k-th allocation of the stage fails, or the k-th progress report cancels it; 0 if there is no
 * such one.  Memory allocated before still belongs to its owners. */
static int fails_at(long k, int cancel, int levels) {
    test_state state = {0};
    kb_context *ctx = test_context_with(&state, 1);
    kb_options *options = TUNING(ctx, "folds", "0", "directions", "0");
    kb_data *data = levels ? levelled(ctx, 120, 3, 1) : shaped(ctx, STEP, 120, 3);
    tuning *u = tuning_scaled(ctx, data, options, KB_SCALE_RANKS);
    kb_candidate *c = put(ctx, u, KB_CANDIDATE_EQUAL, "equal", 2, 2);
    c->sigma = 2;
    assert_ok(ctx, kb_tuner_try(ctx, &u->t, &u->t.rows.first, c, KB_RULE_SCALE_GRIDS,
                                KB_RULE_SCALE_STEPS, &c->search));
    if (cancel)
        state.cancel_after = state.progress + k;
    else
        state.fail_at = state.allocations + k;
    kb_status status =
        levels ? kb_level_columns_try(ctx, &u->t, NULL) : kb_mixtures_try(ctx, &u->t, NULL);
    int met = cancel ? state.progress >= state.cancel_after : state.allocations >= state.fail_at;
    assert_int_equal(status, !met ? KB_OK : cancel ? KB_ERR_CANCELLED : KB_ERR_MEMORY);
    if (met)
        check(u, 3, 0);
    tuning_free(ctx, u);
    kb_context_free(ctx);
    assert_int_equal(state.live, 0);
    return met;
}

static void it_may_fail_and_be_cancelled_anywhere(void **unused) {
    (void)unused;
    for (int levels = 0; levels < 2; levels++) {
        long k = 1;
        while (fails_at(k, 0, levels))
            k += k < 80 ? 1 : 29; /* by then the trials have begun, which other tests cover */
        assert_true(k > 80);
        for (k = 1; fails_at(k, 1, levels);)
            k++;
        assert_true(k > 2);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(they_are_taken_where_they_help),
        cmocka_unit_test(directions_that_help_are_learned_again_from_more_rows),
        cmocka_unit_test(they_are_tried_where_allowed),
        cmocka_unit_test(many_columns_are_not_mixed),
        cmocka_unit_test(too_little_memory_for_them_is_no_error),
        cmocka_unit_test(learned_widths_decide_too),
        cmocka_unit_test(nothing_is_learned_for_what_does_not_help),
        cmocka_unit_test(levels_are_taken_where_they_help),
        cmocka_unit_test(levels_are_tried_where_allowed),
        cmocka_unit_test(threads_change_no_bit),
        cmocka_unit_test(it_may_fail_and_be_cancelled_anywhere),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
