/* Slopes of targets along columns, and the columns along which they change. */
#include "tune/stages.h"

#include "slopes/slopes.h"

enum { ROWS = 900, D = 6 };

/* Targets depend on x0 + 2 x1 alone, as a wave; columns between -1 and 1. */
static kb_data *oblique(kb_context *ctx, int classes) {
    double *x = test_numbers(6, ROWS * D), y[ROWS];
    kb_data *data;
    for (size_t i = 0; i < ROWS; i++) {
        double u = x[i * D] + 2 * x[i * D + 1], wave = cos(2 * u) + 0.1 * test_uniform(8, i);
        y[i] = classes ? (wave > -0.4) + (wave > 0.5) : wave;
    }
    assert_ok(ctx, data_from_dense(ctx, ROWS, D, x, y, &data));
    free(x);
    return data;
}

static kb_learning_rows rows_of(const tuning *u) {
    return (kb_learning_rows){&u->t.rows.first, u->t.rows.pool, u->t.rows.row};
}

static void widths_and_directions_follow_the_slopes(void **unused) {
    kb_context *ctx = test_context();
    (void)unused;
    for (int classes = 0; classes < 2; classes++) {
        tuning *u =
            tuning_scaled(ctx, oblique(ctx, classes), TUNING(ctx, "folds", "0"), KB_SCALE_RANKS);
        kb_slopes s;
        kb_widths w = {0};
        kb_mixtures m = {0};
        double slope[3];
        assert_ok(ctx, kb_slopes_learn(ctx, rows_of(u), ROWS, 1, &s));
        assert_ok(ctx, kb_slopes_widths(ctx, &s, &u->t.rows.first, u->t.law, 2, &w));
        assert_ok(ctx, kb_slopes_directions(ctx, &s, rows_of(u), 3, &m, slope));
        assert_int_equal(w.vectors, 2);
        assert_int_equal(w.features, D);
        assert_true(w.width[1].sigma < w.width[0].sigma);
        for (size_t j = 2; j < D; j++)
            assert_true(w.width[0].sigma < 0.5 * w.width[j].sigma &&
                        w.width[j].sigma == w.width[D + j].sigma);
        assert_int_equal(m.count, 3);
        assert_int_equal(m.linear, 0);
        assert_true(slope[0] > 2 * slope[1] && slope[1] >= 0);
        assert_true(fabs(m.weight[1] / m.weight[0] - 2) < 0.3);
        for (size_t j = 2; j < D; j++)
            assert_true(fabs(m.weight[j]) < 0.2 * fabs(m.weight[0]));
        for (size_t i = 0; i < u->t.rows.pool; i++) {
            double value = kb_mixtures_value(&m, 0, kb_data_row(u->t.rows.first.x, i));
            assert_true(value >= 0 && value <= 1);
        }
        kb_slopes_release(ctx, &s);
        kb_release(ctx, w.width);
        kb_mixtures_release(kb_allocator_of(ctx), &m);
        tuning_free(ctx, u);
    }
    kb_context_free(ctx);
}

static void where_targets_do_not_vary_there_is_no_direction(void **unused) {
    kb_context *ctx = test_context();
    kb_data *data = oblique(ctx, 0);
    kb_slopes s;
    kb_widths w = {0};
    kb_mixtures m = {0};
    double slope[3];
    (void)unused;
    for (size_t i = 0; i < ROWS; i++)
        data->label[i] = 3.5;
    tuning *u = tuning_scaled(ctx, data, TUNING(ctx, "folds", "0"), KB_SCALE_RANKS);
    assert_ok(ctx, kb_slopes_learn(ctx, rows_of(u), ROWS, 1, &s));
    assert_ok(ctx, kb_slopes_widths(ctx, &s, &u->t.rows.first, u->t.law, 2, &w));
    assert_ok(ctx, kb_slopes_directions(ctx, &s, rows_of(u), 3, &m, slope));
    assert_int_equal(m.count, 0);
    for (size_t j = 0; j < 2 * D; j++)
        assert_true(w.width[j].sigma == 2);
    kb_slopes_release(ctx, &s);
    kb_release(ctx, w.width);
    kb_mixtures_release(kb_allocator_of(ctx), &m);
    tuning_free(ctx, u);
    kb_context_free(ctx);
}

static void numbers_of_levels_are_left_out(void **unused) {
    static const unsigned char level[D] = {0, 1, 0, 0, 0, 0};
    kb_context *ctx = test_context();
    tuning *u = tuning_scaled(ctx, oblique(ctx, 0), TUNING(ctx, "folds", "0"), KB_SCALE_RANKS);
    kb_slopes s;
    kb_mixtures m = {0};
    double slope[D];
    (void)unused;
    u->t.rows.first.x->level = level;
    assert_ok(ctx, kb_slopes_learn(ctx, rows_of(u), ROWS, 1, &s));
    assert_ok(ctx, kb_slopes_directions(ctx, &s, rows_of(u), D, &m, slope));
    assert_true(s.unit[1] == 0 && m.count > 0 && m.count < D);
    for (size_t k = 0; k < m.count; k++)
        assert_true(m.weight[k * D + 1] == 0);
    u->t.rows.first.x->level = NULL;
    kb_slopes_release(ctx, &s);
    kb_mixtures_release(kb_allocator_of(ctx), &m);
    tuning_free(ctx, u);
    kb_context_free(ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(widths_and_directions_follow_the_slopes),
        cmocka_unit_test(where_targets_do_not_vary_there_is_no_direction),
        cmocka_unit_test(numbers_of_levels_are_left_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
