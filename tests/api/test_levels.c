/* Columns of levels in training data, and models that have them. */
#include "model/forged.h"
#include "tune/tuned.h"

#include "api/prepare.h"

enum { COLUMNS = 3, A = 30, B = 5 };

/* Two categories and a number.  Which way the number goes depends on the first level, whose own
 * mean is about 0, so that codes tell little.  Some cells of it are missing. */
static kb_data *pairs(kb_context *ctx, size_t rows, uint64_t seed) {
    static const size_t levels[] = {A, B};
    double *x = test_numbers(seed, rows * COLUMNS), *y = malloc(rows * sizeof *y);
    kb_data *data;
    for (size_t i = 0; i < rows; i++) {
        double *row = x + i * COLUMNS;
        size_t a = (size_t)(A * test_uniform(seed + 1, i)),
               b = (size_t)(B * test_uniform(seed + 2, i));
        row[0] = (double)a;
        row[1] = (double)b;
        y[i] = (a * a % 7 % 2 ? 1 : -1) * row[2] + 0.1 * (double)(b * 3 % 5) +
               0.05 * test_uniform(seed + 3, i);
    }
    assert_ok(ctx, data_from_dense(ctx, rows, COLUMNS, x, y, &data));
    assert_ok(ctx, kb_table_create(ctx, COLUMNS, &data->table));
    data->missing = 1;
    for (size_t j = 0; j < 2; j++) {
        kb_column *c = &data->table->column[j];
        c->type = KB_COLUMN_CATEGORY;
        assert_ok(ctx, kb_zalloc(ctx, levels[j], sizeof *c->level, &c->level));
        c->levels = levels[j];
        for (size_t k = 0; k < levels[j]; k++)
            assert_ok(ctx, kb_strdup(ctx, (char[]){(char)('A' + k), 0}, &c->level[k]));
    }
    for (size_t i = 0; i < rows; i++)
        if (test_uniform(seed + 4, i) < 0.05) {
            data->dense[i * COLUMNS] = NAN;
            data->table->column[0].missing++;
        }
    free(x), free(y);
    return data;
}

/* With the columns of levels and then without them: the same bits as if there never were any. */
static void levels_are_prepared_and_removed(void **unused) {
    kb_context *ctx = test_context();
    kb_data *data = pairs(ctx, 300, 5);
    kb_options *tuned = TUNING(ctx, "tune", "on"), *untuned = TUNING(ctx, "tune", "off");
    kb_prepared with, without;
    kb_plan plan = {0};
    (void)unused;
    assert_ok(ctx, kb_prepare(ctx, CONFIG(tuned), data, &with));
    assert_ok(ctx, kb_prepare(ctx, CONFIG(untuned), data, &without));
    assert_int_equal(without.data->features, 3);
    assert_null(without.data->level);
    assert_int_equal(with.data->features, 5);
    for (size_t i = 0; i < 300; i++) {
        const double *cell = with.data->dense + i * 5, *given = data->dense + i * COLUMNS;
        assert_true(cell[1] == (isnan(given[0]) ? A : given[0]));
        assert_true(cell[3] == given[1]);
    }
    assert_memory_equal(with.data->level, ((unsigned char[]){0, 1, 0, 1, 0}), 5);
    plan.levels = 1;
    kb_prepared_tell(&with, &plan);
    assert_int_equal(with.data->features, 5);
    assert_ptr_equal(plan.encoding, with.encoding);
    plan.levels = 0;
    kb_prepared_tell(&with, &plan);
    assert_ptr_equal(plan.source, data);
    assert_int_equal(with.data->features, 3);
    assert_null(with.data->level);
    assert_int_equal(with.encoding->features, 3);
    assert_true(kb_encoding_is_sound(with.encoding));
    assert_same_bits(with.data->dense, without.data->dense, 300 * 3);
    kb_prepared_release(ctx, &with);
    kb_prepared_release(ctx, &without);
    kb_options_free(tuned);
    kb_options_free(untuned);
    kb_data_free(data);
    kb_context_free(ctx);
}

static void levels_are_for_widths_that_are_tuned(void **unused) {
    static const char *const option[][2] = {
        {"map", "fourier"}, {"tune", "off"}, {"sigma", "0.5"}, {"scale", "minmax"}};
    kb_context *ctx = test_context();
    kb_data *data = pairs(ctx, 100, 5);
    (void)unused;
    for (size_t k = 0; k < sizeof option / sizeof *option; k++) {
        kb_options *options = TUNING(ctx, option[k][0], option[k][1]);
        kb_prepared x;
        assert_ok(ctx, kb_prepare(ctx, CONFIG(options), data, &x));
        assert_int_equal(x.data->features, 3);
        assert_null(x.data->level);
        kb_prepared_release(ctx, &x);
        kb_options_free(options);
    }
    kb_data_free(data);
    kb_context_free(ctx);
}

/* ---- whole fits -------------------------------------------------------- */

static kb_model *levelled(kb_context *ctx, const kb_data *data) {
    kb_model *model = fit_sanely(ctx, TUNING(ctx, "task", "regression", "folds", "0"), data);
    assert_int_equal(kb_map_levels(model->map), 2);
    return model;
}

static void a_model_of_levels_comes_back_to_the_bit(void **unused) {
    kb_context *ctx = test_context();
    kb_data *data = pairs(ctx, 1200, 5), *test = pairs(ctx, 200, 50);
    kb_model *model = levelled(ctx, data), *back;
    kb_predictor *row;
    double part[COLUMNS], same[COLUMNS];
    (void)unused;
    kb_options *options = TUNING(ctx, "task", "regression", "scale", "minmax");
    kb_model *codes = fit_sanely(ctx, options, data);
    assert_int_equal(kb_map_levels(codes->map), 0);
    assert_true(error_on(ctx, model, test) < 0.7 * error_on(ctx, codes, test));
    kb_model_free(codes);
    test->dense[0] = A + 1; /* a level that training did not have, in a file read by the model */
    test->dense[4] = 1e6;
    test_path path = written(ctx, model);
    assert_ok(ctx, kb_model_read(ctx, path.text, &back));
    assert_int_equal(kb_map_levels(back->map), 2);
    double *f = decisions_of(ctx, model, test), *g = decisions_of(ctx, back, test);
    assert_same_bits(f, g, 200);
    assert_ok(ctx, kb_predictor_create(ctx, back, &row));
    for (size_t i = 0; i < 200; i++) {
        double one;
        assert_ok(ctx, kb_predictor_row(row, test->dense + i * COLUMNS, &one));
        assert_true(one == f[i]);
        assert_true(f[i] > -2 && f[i] < 2);
    }
    assert_ok(ctx, kb_model_fineness(ctx, model, part));
    assert_ok(ctx, kb_model_fineness(ctx, back, same));
    assert_same_bits(part, same, COLUMNS);
    assert_true(fabs(part[0] + part[1] + part[2] - 1) < 1e-12);
    assert_true(part[0] > 0.1 && part[1] > 0 && part[2] > 0.1);
    free(f), free(g);
    unlink(path.text);
    kb_predictor_free(row);
    kb_model_free(model);
    kb_model_free(back);
    kb_data_free(data);
    kb_data_free(test);
    kb_context_free(ctx);
}

static void threads_change_no_bit(void **unused) {
    char *bytes[2];
    size_t count[2];
    (void)unused;
    for (int k = 0; k < 2; k++) {
        test_state state = {0};
        kb_context *ctx = test_context_with(&state, 1 + 2 * k);
        kb_data *data = pairs(ctx, 1200, 5);
        kb_model *model = levelled(ctx, data);
        test_path path = written(ctx, model);
        bytes[k] = bytes_of(path.text, &count[k]);
        unlink(path.text);
        kb_model_free(model);
        kb_data_free(data);
        kb_context_free(ctx);
        assert_int_equal(state.live, 0);
    }
    assert_int_equal(count[0], count[1]);
    assert_memory_equal(bytes[0], bytes[1], count[0]);
    free(bytes[0]), free(bytes[1]);
}

/* The last two columns of the transform are the levels; as anything else they are out of order. */
static void levels_of_damaged_files_are_refused(void **unused) {
    kb_context *ctx = test_context();
    kb_data *data = pairs(ctx, 1200, 5);
    kb_model *model = levelled(ctx, data);
    test_path path = written(ctx, model);
    size_t last = model->map->transform->plain - 1;
    (void)unused;
    for (int k = 0; k < 4; k++) {
        parts p = take_apart(path.text);
        if (k == 0)
            ((double *)array_of(&p, "transform.factor"))[last] = 2;
        if (k == 1)
            ((double *)array_of(&p, "transform.shift"))[last] = 1;
        if (k == 2)
            ((int64_t *)array_of(&p, "transform.source"))[last] = 1; /* twice the same */
        if (k == 3)
            ((int64_t *)array_of(&p, "encode.kind"))[3] = KB_ENCODE_MISSING;
        refused_parts(ctx, &p, "levels", "damaged");
        parts_free(&p);
    }
    unlink(path.text);
    kb_model_free(model);
    kb_data_free(data);
    kb_context_free(ctx);
}

typedef struct given {
    kb_config config;
    kb_data *data;
} given;

static int prepare(kb_context *ctx, void *arg) {
    const given *g = arg;
    kb_prepared x;
    kb_config config = g->config;
    kb_status status = kb_prepare(ctx, &config, g->data, &x);
    kb_prepared_release(ctx, &x);
    return (int)status;
}

static void every_allocation_may_fail(void **unused) {
    kb_context *ctx = test_context();
    kb_options *options = TUNING(ctx, "tune", "on");
    given g = {kb_config_of(options), pairs(ctx, 60, 5)};
    (void)unused;
    run_with_allocation_failures(prepare, &g);
    kb_options_free(options);
    kb_data_free(g.data);
    kb_context_free(ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(levels_are_prepared_and_removed),
        cmocka_unit_test(levels_are_for_widths_that_are_tuned),
        cmocka_unit_test(a_model_of_levels_comes_back_to_the_bit),
        cmocka_unit_test(threads_change_no_bit),
        cmocka_unit_test(levels_of_damaged_files_are_refused),
        cmocka_unit_test(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
