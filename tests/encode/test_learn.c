/* Encodings learned from tables: medians, indicators, parts of dates, and codes. */
#include "encode/tables.h"
#include "meter.h"

#include "encode/learn.h"
#include "encode/partial_effects.h"

typedef struct learned {
    kb_encoding *e;
    double *rows; /* or NULL */
} learned;

static learned learn(kb_context *ctx, const kb_data *data, size_t C, const double *y) {
    kb_encode_spec spec = {.data = data, .C = C, .y = y, .seed = 3};
    learned out;
    assert_ok(ctx, kb_encode_learn(ctx, &spec, &out.e, &out.rows));
    assert_true(kb_encoding_is_sound(out.e));
    assert_true(kb_encoding_suits(out.e, data->table));
    return out;
}

static void learned_free(kb_context *ctx, learned *l) {
    kb_encoding_free(l->e);
    kb_release(ctx, l->rows);
}

/* The steps of column j; *count of them. */
static const kb_encode_step *steps_of(const kb_encoding *e, size_t j, size_t *count) {
    size_t first = 0;
    while (e->step[first].source != j)
        first++;
    for (*count = 0; first + *count < e->features && e->step[first + *count].source == j;)
        ++*count;
    return e->step + first;
}

/* ---- numbers ----------------------------------------------------------- */

static void numbers_have_medians_and_stay_as_they_are(void **unused) {
    static const double x[] = {4, -1, 3, 9, 2, 7, 8, 5, 5, 6};
    kb_context *ctx = test_context();
    kb_data *data;
    (void)unused;
    assert_ok(ctx, data_from_dense(ctx, 5, 2, x, NULL, &data));
    learned l = learn(ctx, data, 0, NULL);
    assert_null(l.rows);
    assert_true(l.e->plain);
    assert_true(l.e->step[0].fill == 4); /* of 2, 3, 4, 5, 8 */
    assert_true(l.e->step[1].fill == 6); /* of -1, 5, 6, 7, 9 */
    learned_free(ctx, &l);
    kb_data_free(data);
    kb_context_free(ctx);
}

static void missing_numbers_are_the_median_of_the_others(void **unused) {
    static const column_spec spec[] = {{KB_COLUMN_NUMBER, 0}, {KB_COLUMN_NUMBER, 0}};
    static const double x[] = {1, NAN, NAN, NAN, 5, NAN, 4, NAN}, y[] = {1, 2, 3, 4};
    kb_context *ctx = test_context();
    kb_data *data = table_of(ctx, 4, 2, spec, x, NULL);
    (void)unused;
    learned l = learn(ctx, data, 1, y);
    assert_int_equal(l.e->features, 2);
    for (size_t k = 0; k < 8; k++) /* 0 where no row has a value */
        assert_true(l.rows[k] == (k % 2 ? 0 : isnan(x[k]) ? 4 : x[k]));
    learned_free(ctx, &l);
    kb_data_free(data);
    kb_context_free(ctx);
}

/* Row i misses column j where `rule` says so. */
static void check_indicators(size_t N, int (*rule)(size_t i, size_t j), double gap,
                             const size_t *want) {
    static const column_spec spec[] = {
        {KB_COLUMN_NUMBER, 0}, {KB_COLUMN_NUMBER, 0}, {KB_COLUMN_NUMBER, 0}};
    kb_context *ctx = test_context();
    double *x = test_numbers(1, 3 * N), *y = test_numbers(2, N);
    for (size_t i = 0; i < N; i++) {
        y[i] += rule(i, 0) ? gap : 0;
        for (size_t j = 0; j < 3; j++)
            x[3 * i + j] = rule(i, j) ? NAN : x[3 * i + j];
    }
    kb_data *data = table_of(ctx, N, 3, spec, x, NULL);
    learned l = learn(ctx, data, 1, y);
    for (size_t j = 0; j < 3; j++) {
        size_t count;
        const kb_encode_step *step = steps_of(l.e, j, &count);
        assert_int_equal(count, want[j]);
        assert_int_equal(step[0].kind, KB_ENCODE_FILL);
        if (count == 2)
            assert_int_equal(step[1].kind, KB_ENCODE_MISSING);
    }
    learned_free(ctx, &l);
    kb_data_free(data);
    free(x), free(y);
    kb_context_free(ctx);
}

static int every_fifth(size_t i, size_t j) {
    return i % 5 == (j == 2 ? 1 : 0); /* columns 0 and 1 alike */
}
static int nine(size_t i, size_t j) {
    return i < 9 && j == 0;
}
static int ten(size_t i, size_t j) {
    return i < 10 && j == 0;
}

/* The targets have a deviation of 0.58: of 200 rows, 40 of them missing, the standard error is 0.1
 * and a gap of 1 is about 8 of them, counting the gap's own share. */
static void indicators_stand_where_missing_values_tell(void **unused) {
    static const size_t plain[] = {1, 1, 1}, first[] = {2, 1, 1};
    (void)unused;
    check_indicators(200, every_fifth, 1, first);
    check_indicators(200, every_fifth, 0.1, plain);
    check_indicators(200, nine, 5, plain);
    check_indicators(200, ten, 5, first);
}

/* ---- dates and booleans ------------------------------------------------ */

static void dates_become_the_parts_that_vary(void **unused) {
    static const column_spec spec[] = {{KB_COLUMN_DATE, 0}, {KB_COLUMN_DATE, 0}};
    /* Days of one January, all at noon; the same hour of one day. */
    static const double x[] = {0.5, 100.25, 3.5, 100.25, NAN, 100.25, 9.5, 100.25};
    static const kb_date_part parts[] = {KB_DATE_DAYS, KB_DATE_WEEKDAY, KB_DATE_DAY_OF_YEAR};
    kb_context *ctx = test_context();
    kb_data *data = table_of(ctx, 4, 2, spec, x, NULL);
    size_t count;
    (void)unused;
    learned l = learn(ctx, data, 0, NULL);
    const kb_encode_step *step = steps_of(l.e, 0, &count);
    assert_int_equal(count, 3);
    for (size_t k = 0; k < 3; k++) {
        assert_int_equal(step[k].part, parts[k]);
        assert_true(step[k].fill == 3.5);
    }
    steps_of(l.e, 1, &count);
    assert_int_equal(count, 1);
    for (size_t i = 0; i < 4; i++) {
        double day = isnan(x[2 * i]) ? 3.5 : x[2 * i];
        assert_true(l.rows[4 * i] == day && l.rows[4 * i + 3] == 100.25);
        assert_true(l.rows[4 * i + 1] == kb_date_part_of(day, KB_DATE_WEEKDAY));
        assert_true(l.rows[4 * i + 2] == floor(day) + 1);
    }
    learned_free(ctx, &l);
    kb_data_free(data);
    kb_context_free(ctx);
}

static void booleans_become_0_and_1(void **unused) {
    static const column_spec spec[] = {
        {KB_COLUMN_BOOLEAN, 2}, {KB_COLUMN_BOOLEAN, 1}, {KB_COLUMN_BOOLEAN, 2}};
    static const double x[] = {0, 0, 0, 1, NAN, 0, 1, NAN, NAN};
    /* Levels, missing, unknown: the commoner of both, the first of equals. */
    static const double codes[3][4] = {{0, 1, 1, 1}, {0, 1, 1}, {0, 1, 0, 0}};
    static const double want[] = {0, 0, 0, 1, 1, 0, 1, 1, 0};
    kb_context *ctx = test_context();
    kb_data *data = table_of(ctx, 3, 3, spec, x, NULL);
    (void)unused;
    learned l = learn(ctx, data, 0, NULL);
    assert_int_equal(l.e->features, 3);
    for (size_t j = 0; j < 3; j++) {
        assert_int_equal(l.e->step[j].count, spec[j].levels + 2);
        assert_same_bits(l.e->code + l.e->step[j].first, codes[j], spec[j].levels + 2);
    }
    assert_same_bits(l.rows, want, 9);
    learned_free(ctx, &l);
    kb_data_free(data);
    kb_context_free(ctx);
}

/* ---- categories -------------------------------------------------------- */

enum { N = 400 };

static double *targets_of(size_t C) {
    double *y = malloc(N * C * sizeof *y);
    for (size_t k = 0; k < N * C; k++)
        y[k] = mixed_target(k / C) * sin((double)(k % C) + 1);
    return y;
}

/* Few levels: the rows have the codes.  Many: codes that depend on the row's fold, which is that of
 * all rows of its group. */
static void many_levels_are_coded_out_of_fold(void **unused) {
    kb_context *ctx = test_context();
    kb_data *data = mixed_table(ctx, N, 0);
    double *y = targets_of(1), *plain = NULL;
    size_t count, differ = 0;
    (void)unused;
    for (int grouped = 0; grouped < 2; grouped++) {
        if (grouped) {
            assert_ok(ctx, kb_alloc(ctx, N, sizeof *data->group, &data->group));
            for (size_t i = 0; i < N; i++)
                data->group[i] = 7; /* one group: one fold, and the others have all the rows */
        }
        learned l = learn(ctx, data, 1, y);
        size_t few = (size_t)(steps_of(l.e, COLOUR, &count) - l.e->step);
        assert_int_equal(count, 1);
        size_t many = (size_t)(steps_of(l.e, TOWN, &count) - l.e->step);
        assert_int_equal(count, 1);
        const double *colour = l.e->code + l.e->step[few].first;
        const double *town = l.e->code + l.e->step[many].first;
        assert_true(colour[COLOURS + 1] == 0 && town[TOWNS + 1] == 0);
        for (size_t i = 0; i < N; i++) {
            double c = mixed_cell(i, COLOUR), t = mixed_cell(i, TOWN);
            assert_true(l.rows[i * l.e->features + few] == colour[isnan(c) ? COLOURS : (size_t)c]);
            double got = l.rows[i * l.e->features + many];
            double all = town[isnan(t) ? TOWNS : (size_t)t];
            if (grouped)
                assert_true(got == 0); /* no row is left to learn from */
            else
                differ += fabs(got - all) > 1e-3;
        }
        /* The effects, up to a constant and the ridge: 3 sin(4 colour). */
        assert_true(colour[2] - colour[1] > 3);
        if (!grouped)
            plain = l.rows;
        kb_encoding_free(l.e);
        if (grouped)
            kb_release(ctx, l.rows);
    }
    assert_true(differ > N / 2);
    kb_release(ctx, plain);
    free(y);
    kb_data_free(data);
    kb_context_free(ctx);
}

/* A row's own target does not move its code where levels are many. */
static void a_rows_own_target_does_not_leak(void **unused) {
    kb_context *ctx = test_context();
    kb_data *data = mixed_table(ctx, N, 0);
    double *y = targets_of(1);
    size_t count;
    (void)unused;
    learned a = learn(ctx, data, 1, y);
    y[5] += 3;
    learned b = learn(ctx, data, 1, y);
    assert_int_equal(a.e->features, b.e->features);
    size_t many = (size_t)(steps_of(a.e, TOWN, &count) - a.e->step);
    size_t few = (size_t)(steps_of(a.e, COLOUR, &count) - a.e->step);
    size_t at = 5 * a.e->features;
    assert_true(a.rows[at + many] == b.rows[at + many]);
    assert_true(a.rows[at + few] != b.rows[at + few]);
    learned_free(ctx, &a);
    learned_free(ctx, &b);
    free(y);
    kb_data_free(data);
    kb_context_free(ctx);
}

/* Up to five outputs one column each, then three orthogonal ones, the widest first. */
static void many_outputs_become_three_coordinates(void **unused) {
    static const size_t outputs[] = {1, 2, 5, 6, 24}, columns[] = {1, 2, 5, 3, 3};
    kb_context *ctx = test_context();
    kb_data *data = mixed_table(ctx, N, 0);
    (void)unused;
    for (int k = 0; k < 5; k++) {
        double *y = targets_of(outputs[k]);
        for (size_t i = 0; i < N * outputs[k]; i++) /* not all along one direction */
            y[i] += cos((double)(i % outputs[k]) * 3 + mixed_cell(i / outputs[k], OPEN));
        learned l = learn(ctx, data, outputs[k], y);
        size_t count;
        const kb_encode_step *step = steps_of(l.e, COLOUR, &count);
        double spread[5] = {0};
        assert_int_equal(count, columns[k]);
        for (size_t c = 0; c < count; c++)
            for (size_t i = 0; i < N; i++) {
                double code = l.rows[i * l.e->features + (size_t)(step - l.e->step) + c];
                spread[c] += code * code / N;
            }
        if (outputs[k] > 5)
            assert_true(spread[0] > spread[1] && spread[1] >= spread[2]);
        learned_free(ctx, &l);
        free(y);
    }
    kb_data_free(data);
    kb_context_free(ctx);
}

/* Six outputs that are multiples of one: the first coordinate is its effect times the length of the
 * multiples, the others have no spread. */
static void outputs_along_one_direction_have_one_coordinate(void **unused) {
    kb_context *ctx = test_context();
    kb_data *data = mixed_table(ctx, N, 0);
    double *one = targets_of(1), *six = malloc(N * 6 * sizeof *six), length = 0;
    size_t count;
    (void)unused;
    for (size_t k = 0; k < 6; k++)
        length += (double)((k + 1) * (k + 1));
    for (size_t k = 0; k < N * 6; k++)
        six[k] = one[k / 6] * (double)(k % 6 + 1);
    learned a = learn(ctx, data, 1, one), b = learn(ctx, data, 6, six);
    const double *x = a.e->code + steps_of(a.e, COLOUR, &count)->first;
    const kb_encode_step *step = steps_of(b.e, COLOUR, &count);
    for (size_t m = 0; m < COLOURS + 2; m++) {
        double first = b.e->code[step[0].first + m];
        assert_true(fabs(fabs(first) - sqrt(length) * fabs(x[m])) <= 1e-9 * sqrt(length));
        assert_true(fabs(b.e->code[step[1].first + m]) <= 1e-6);
        assert_true(fabs(b.e->code[step[2].first + m]) <= 1e-6);
    }
    learned_free(ctx, &a);
    learned_free(ctx, &b);
    free(one), free(six);
    kb_data_free(data);
    kb_context_free(ctx);
}

static void categories_need_targets(void **unused) {
    kb_context *ctx = test_context();
    kb_data *data = mixed_table(ctx, 20, 0);
    kb_encode_spec spec = {.data = data};
    kb_encoding *e;
    double *rows;
    (void)unused;
    assert_true(kb_encode_needs_targets(data));
    assert_fails(ctx, KB_ERR_DATA,
                 "a category becomes numbers by the labels, and the data have none",
                 kb_encode_learn(ctx, &spec, &e, &rows));
    assert_true(!e && !rows);
    kb_data_free(data);
    kb_context_free(ctx);
}

/* ---- bits and memory --------------------------------------------------- */

static void threads_change_no_bit(void **unused) {
    enum { ROWS = 9000 };
    static const int teams[] = {1, 3, 7};
    kb_context *plain = test_context(), *ctx[3];
    kb_data *data = mixed_table(plain, ROWS, 0);
    learned l[3];
    (void)unused;
    for (int t = 0; t < 3; t++) {
        kb_context_config config = {.size = sizeof config, .threads = teams[t]};
        assert_int_equal(kb_context_create(&config, &ctx[t]), KB_OK);
        l[t] = learn(ctx[t], data, 1, data->label);
        assert_int_equal(l[t].e->features, l[0].e->features);
        assert_same_bits(l[0].e->code, l[t].e->code, l[0].e->codes);
        assert_same_bits(l[0].rows, l[t].rows, ROWS * l[0].e->features);
        for (size_t k = 0; k < l[0].e->features; k++)
            assert_true(l[0].e->step[k].fill == l[t].e->step[k].fill);
    }
    for (int t = 0; t < 3; t++) {
        learned_free(ctx[t], &l[t]);
        kb_context_free(ctx[t]);
    }
    kb_data_free(data);
    kb_context_free(plain);
}

static void it_takes_no_more_than_forecast(void **unused) {
    (void)unused;
    for (size_t rows = 300; rows <= 30000; rows *= 100) {
        meter m = {0, 0};
        kb_context *ctx = metered_context(&m);
        kb_data *data = mixed_table(ctx, rows, 0);
        size_t before = m.peak = m.now;
        learned l = learn(ctx, data, 1, data->label);
        kb_encode_memory want = kb_encode_forecast(data, 1, 0, 1);
        double taken = (double)(m.peak - before), kept = (double)(m.now - before);
        assert_true(taken <= want.taken + 1024 && want.taken <= 2 * taken);
        assert_true(kept <= want.kept + 1024 && want.kept <= 2 * kept);
        learned_free(ctx, &l);
        kb_data_free(data);
        kb_context_free(ctx);
    }
}

static int learn_once(kb_context *ctx, void *arg) {
    const kb_data *data = arg;
    kb_encode_spec spec = {.data = data, .C = 1, .y = data->label};
    kb_encoding *e;
    double *rows;
    kb_status status = kb_encode_learn(ctx, &spec, &e, &rows);
    assert_int_equal(status == KB_OK, e != NULL);
    assert_int_equal(status == KB_OK, rows != NULL);
    kb_encoding_free(e);
    kb_release(ctx, rows);
    return (int)status;
}

static void every_allocation_may_fail_and_every_call_cancel(void **unused) {
    kb_context *ctx = test_context();
    kb_data *data = mixed_table(ctx, 120, 0);
    (void)unused;
    run_with_allocation_failures(learn_once, data);
    run_with_cancellations(learn_once, data, 2, 2);
    kb_data_free(data);
    kb_context_free(ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_have_medians_and_stay_as_they_are),
        cmocka_unit_test(missing_numbers_are_the_median_of_the_others),
        cmocka_unit_test(indicators_stand_where_missing_values_tell),
        cmocka_unit_test(dates_become_the_parts_that_vary),
        cmocka_unit_test(booleans_become_0_and_1),
        cmocka_unit_test(many_levels_are_coded_out_of_fold),
        cmocka_unit_test(a_rows_own_target_does_not_leak),
        cmocka_unit_test(many_outputs_become_three_coordinates),
        cmocka_unit_test(outputs_along_one_direction_have_one_coordinate),
        cmocka_unit_test(categories_need_targets),
        cmocka_unit_test(threads_change_no_bit),
        cmocka_unit_test(it_takes_no_more_than_forecast),
        cmocka_unit_test(every_allocation_may_fail_and_every_call_cancel),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
