/* The rows of the trials: how many, which are validation rows, and their limit of memory. */
#include "model/mixed.h"

#include "trial/trial_rows.h"

static kb_data *checkers(kb_context *ctx, const char *rows) {
    kb_options *options = OPTIONS(ctx, "rows", rows, "noise", "0.1");
    kb_data *data;
    assert_ok(ctx, kb_data_generate(ctx, options, "checkers", &data));
    kb_options_free(options);
    return data;
}

static kb_status prepare_split(kb_context *ctx, const kb_data *data, const char *memory,
                               const char *folds, const char *split, kb_trial_rows *s) {
    kb_options *options = OPTIONS(ctx, "max-memory", memory, "folds", folds, "split", split);
    kb_config config = kb_config_of(options);
    kb_status status = kb_trial_rows_prepare(ctx, &config, data, s);
    if (status == KB_OK)
        status = kb_trial_rows_draw_large(ctx, s);
    kb_options_free(options);
    s->config = NULL;
    return status;
}

static kb_status prepare(kb_context *ctx, const kb_data *data, const char *memory,
                         const char *folds, kb_trial_rows *s) {
    return prepare_split(ctx, data, memory, folds, "auto", s);
}

static size_t held_of(const kb_subsample *s) {
    size_t held = 0;
    for (size_t i = 0; i < s->x->rows; i++)
        held += s->folds.fold[i] != KB_FOLD_NONE;
    return held;
}

static void few_rows_are_all_taken(void **unused) {
    kb_context *ctx = test_context();
    kb_data *data = checkers(ctx, "1000");
    kb_trial_rows s;
    (void)unused;
    assert_ok(ctx, prepare(ctx, data, "1G", "0", &s));
    assert_int_equal(s.first.x->rows, 1000);
    assert_int_equal(held_of(&s.first), 200);
    assert_int_equal(s.pool, 800);
    assert_null(s.large.x);
    for (size_t k = 0; k < s.pool; k++)
        assert_int_equal(s.first.folds.fold[s.row[k]], KB_FOLD_NONE);
    kb_trial_rows_release(ctx, &s);
    kb_data_free(data);
    kb_context_free(ctx);
}

/* A fifth of few rows would be too few validation rows, so each row is one once, up to 1000 rows of
 * numbers and 3000 of classes; but the last rows are one part, and so are whole groups. */
static void few_rows_are_dealt_out(void **unused) {
    static const char *const rows[] = {"3000", "3001", "1000", "1000", "1000", "1001"};
    static const char *const split[] = {"auto", "auto", "time", "group:g", "auto", "auto"};
    static const int dealt[] = {1, 0, 0, 0, 1, 0};
    kb_context *ctx = test_context();
    uint32_t group[1000];
    (void)unused;
    for (uint32_t i = 0; i < 1000; i++)
        group[i] = i % 2;
    for (int k = 0; k < 6; k++) {
        kb_data *data = checkers(ctx, rows[k]);
        kb_options *options =
            OPTIONS(ctx, "split", split[k], "task", k < 4 ? "classification" : "regression");
        kb_config config = kb_config_of(options);
        kb_trial_rows s;
        if (k == 3)
            assert_ok(ctx, kb_data_set_groups(ctx, data, group));
        assert_ok(ctx, kb_trial_rows_prepare(ctx, &config, data, &s));
        assert_int_equal(s.first.folds.folds, dealt[k] ? 5 : 1);
        assert_int_equal(held_of(&s.first) == s.first.x->rows, dealt[k]);
        if (dealt[k])
            assert_int_equal(s.pool, k == 0 ? 2400 : 800);
        kb_trial_rows_release(ctx, &s);
        kb_options_free(options);
        kb_data_free(data);
    }
    kb_context_free(ctx);
}

/* With many classes folds would be slow, with few rows of each class: 50,000 rows times classes. */
static void many_classes_have_one_validation_part(void **unused) {
    kb_context *ctx = test_context();
    (void)unused;
    for (size_t classes = 50; classes <= 51; classes++) {
        kb_data *data = checkers(ctx, "1000");
        kb_options *options = OPTIONS(ctx, "task", "classification");
        kb_config config = kb_config_of(options);
        kb_trial_rows s;
        for (size_t i = 0; i < 1000; i++)
            data->label[i] = (double)(i % classes);
        assert_ok(ctx, kb_trial_rows_prepare(ctx, &config, data, &s));
        assert_int_equal(s.first.folds.folds, classes == 50 ? 5 : 1);
        kb_trial_rows_release(ctx, &s);
        kb_options_free(options);
        kb_data_free(data);
    }
    kb_context_free(ctx);
}

/* Of many rows the final trials take more; validation rows are the same in both. */
static void many_rows_make_a_large_sample(void **unused) {
    kb_context *ctx = test_context();
    kb_data *data = checkers(ctx, "40000");
    kb_trial_rows s;
    (void)unused;
    assert_ok(ctx, prepare(ctx, data, "1G", "0", &s));
    assert_non_null(s.large.x);
    assert_true(s.large.x->rows >= 2 * s.first.x->rows && s.large.x->rows < 40000);
    assert_true(held_of(&s.large) >= 2 * held_of(&s.first));
    for (size_t i = 0, k = 0; i < s.first.x->rows; i++) { /* both are in the order of the data */
        size_t from = k;
        while (k < s.large.x->rows && memcmp(s.first.x->dense + i * s.first.x->features,
                                             s.large.x->dense + k * s.first.x->features,
                                             s.first.x->features * sizeof(double)))
            k++;
        if (k < s.large.x->rows)
            assert_int_equal(s.first.folds.fold[i], s.large.folds.fold[k]);
        else
            k = from; /* it is in the first one only */
    }
    kb_trial_rows_release(ctx, &s);
    kb_data_free(data);
    kb_context_free(ctx);
}

static void little_memory_makes_them_smaller(void **unused) {
    static const char *const limit[] = {"1G", "20M", "5M"};
    kb_context *ctx = test_context();
    kb_data *data = checkers(ctx, "40000");
    size_t before = SIZE_MAX;
    kb_trial_rows s;
    (void)unused;
    for (int f = 0; f < 2; f++, before = SIZE_MAX)
        for (int k = 0; k < 3; k++) {
            assert_ok(ctx, prepare(ctx, data, limit[k], f ? "3" : "0", &s));
            assert_true(s.first.x->rows < before);
            before = s.first.x->rows;
            kb_trial_rows_release(ctx, &s);
        }
    assert_int_equal(prepare(ctx, data, "1M", "0", &s), KB_ERR_MEMORY);
    assert_non_null(strstr(kb_context_message(ctx), "--max-memory, or --tune off"));
    kb_trial_rows_release(ctx, &s);
    kb_data_free(data);
    kb_context_free(ctx);
}

/* So few rows that little memory does not reduce them: the message has as many rows as the
 * sample. */
static void a_refusal_names_the_rows_of_the_sample(void **unused) {
    static const char *const split[] = {"random", "stratified", "time"};
    kb_context *ctx = test_context();
    kb_data *data = checkers(ctx, "400");
    (void)unused;
    for (int k = 0; k < 3; k++)
        for (int f = 0; f < 2; f++) {
            char says[64];
            kb_trial_rows s;
            assert_ok(ctx, prepare_split(ctx, data, "1G", f ? "3" : "0", split[k], &s));
            assert_int_equal(s.first.x->rows, 400);
            kb_trial_rows_release(ctx, &s);
            assert_int_equal(prepare_split(ctx, data, "1M", f ? "3" : "0", split[k], &s),
                             KB_ERR_MEMORY);
            snprintf(says, sizeof says, "trials of %d rows may need ", 400);
            assert_ptr_equal(strstr(kb_context_message(ctx), says), kb_context_message(ctx));
            kb_trial_rows_release(ctx, &s);
        }
    kb_data_free(data);
    kb_context_free(ctx);
}

/* With folds by time the first rows are never validation rows, and are drawn as well: the forecast
 * must count all of them.  A row takes 6000 bytes here, most of them for its bins. */
static void rows_before_the_folds_are_counted_too(void **unused) {
    kb_context *ctx = test_context();
    kb_data *data = checkers(ctx, "40000");
    kb_trial_rows s;
    (void)unused;
    assert_ok(ctx, prepare_split(ctx, data, "100M", "3", "time", &s));
    assert_true(s.first.x->rows > 1000 && s.first.x->rows * 6000 <= 100 << 20);
    kb_trial_rows_release(ctx, &s);
    kb_data_free(data);
    kb_context_free(ctx);
}

/* ---- behind another map ------------------------------------------------ */

/* The same rows with a map that has an extra mixture: the same targets, in place of the old
 * rows. */
static void rows_behind_another_map_are_the_same(void **unused) {
    kb_context *ctx = test_context();
    (void)unused;
    for (int sparse = 0; sparse < 2; sparse++) {
        kb_data *data = tailed_data(ctx, 3000, 4, 4, TWO, 0, sparse);
        kb_options *options = OPTIONS(ctx, "scale", "ranks", "class-weight", "balanced");
        kb_config config = kb_config_of(options);
        kb_mixtures mixtures = some_mixtures(ctx, data, 2);
        kb_subsample first;
        kb_trial_rows s;
        kb_map *map;
        assert_ok(ctx, kb_trial_rows_prepare(ctx, &config, data, &s));
        size_t rows = s.first.x->rows, d = s.map->columns;
        assert_ok(ctx, kb_map_mix(ctx, s.map, &mixtures, &map));
        assert_ok(ctx, kb_trial_rows_redraw(ctx, &s, map, &first));
        assert_int_equal(first.x->rows, rows);
        assert_int_equal(first.x->features, d + 2);
        assert_int_equal(s.map->columns, d);
        assert_same_bits(first.y, s.first.y, rows);
        assert_same_bits(first.weight, s.first.weight, rows);
        assert_memory_equal(first.folds.fold, s.first.folds.fold, rows);
        for (size_t i = 0; i < rows; i++) {
            kb_row old = kb_data_row(s.first.x, i), now = kb_data_row(first.x, i);
            assert_int_equal(now.count, old.count + 2);
            assert_same_bits(now.value, old.value, old.count);
            for (size_t k = 0; k < 2; k++)
                assert_true(now.value[old.count + k] == kb_mixtures_value(&mixtures, k, old));
        }
        const kb_data *x = first.x, *old_x = s.first.x;
        const kb_map *other = map, *old_map = s.map;
        kb_trial_rows_exchange(&s, &map, &first);
        assert_ptr_equal(map, old_map);
        assert_ptr_equal(first.x, old_x);
        assert_ptr_equal(s.map, other);
        assert_ptr_equal(s.first.x, x);
        assert_ptr_equal(s.first.shift, s.map->shift);
        kb_subsample_release(ctx, &first);
        kb_map_free(map);
        kb_trial_rows_release(ctx, &s);
        kb_mixtures_release(kb_allocator_of(ctx), &mixtures);
        kb_options_free(options);
        kb_data_free(data);
    }
    kb_context_free(ctx);
}

/* There is memory for rows with the given columns, but not with the extra ones: no rows are drawn,
 * and the sample is not made smaller. */
static void columns_that_do_not_fit_draw_no_rows(void **unused) {
    static const size_t rows[] = {400, 3000}; /* at its smallest size, and above it */
    kb_context *ctx = test_context();
    (void)unused;
    for (int k = 0; k < 2; k++) {
        kb_data *data = tailed_data(ctx, rows[k], 4, 4, TWO, 0, 0);
        kb_mixtures mixtures = some_mixtures(ctx, data, 10);
        int drawn = 0, empty = 0;
        for (size_t bytes = 4000 * rows[k]; bytes < 8000 * rows[k] && !drawn;
             bytes += 20 * rows[k]) {
            char limit[32];
            snprintf(limit, sizeof limit, "%zuK", bytes / 1024);
            kb_options *options = OPTIONS(ctx, "scale", "ranks", "max-memory", limit);
            kb_config config = kb_config_of(options);
            kb_subsample first = {0};
            kb_map *map = NULL;
            kb_trial_rows s;
            if (kb_trial_rows_prepare(ctx, &config, data, &s) == KB_OK) {
                assert_ok(ctx, kb_map_mix(ctx, s.map, &mixtures, &map));
                assert_ok(ctx, kb_trial_rows_redraw(ctx, &s, map, &first));
                if (first.x)
                    assert_int_equal(first.x->rows, s.first.x->rows);
                drawn += first.x && first.x->rows == rows[k];
                empty += !first.x;
            }
            kb_subsample_release(ctx, &first);
            kb_map_free(map);
            kb_trial_rows_release(ctx, &s);
            kb_options_free(options);
        }
        assert_true(drawn && empty);
        kb_mixtures_release(kb_allocator_of(ctx), &mixtures);
        kb_data_free(data);
    }
    kb_context_free(ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(few_rows_are_all_taken),
        cmocka_unit_test(few_rows_are_dealt_out),
        cmocka_unit_test(many_classes_have_one_validation_part),
        cmocka_unit_test(many_rows_make_a_large_sample),
        cmocka_unit_test(little_memory_makes_them_smaller),
        cmocka_unit_test(a_refusal_names_the_rows_of_the_sample),
        cmocka_unit_test(rows_before_the_folds_are_counted_too),
        cmocka_unit_test(rows_behind_another_map_are_the_same),
        cmocka_unit_test(columns_that_do_not_fit_draw_no_rows),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
