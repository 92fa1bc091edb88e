/* Encodings: each kind of step by hand, both forms of data, and those that files must not have. */
#include "encode/tables.h"

#include "table/cell.h"

enum { INPUTS = 5 };
static const double NEW_YEAR = 366; /* 2001-01-01, a Monday */

/* A number with its indicator, two parts of a date, codes of two levels, and the level itself;
 * column 4 is a number. */
static kb_status fill_in(kb_context *ctx, kb_encoding *e) {
    static const double codes[] = {0.5, -1, 2.5, 0.125};
    static const kb_encode_step steps[] = {
        {.kind = KB_ENCODE_FILL, .source = 0, .fill = 7},
        {.kind = KB_ENCODE_MISSING, .source = 0},
        {.kind = KB_ENCODE_DATE, .source = 1, .fill = 31.5, .part = KB_DATE_MONTH},
        {.kind = KB_ENCODE_DATE, .source = 1, .fill = 31.5, .part = KB_DATE_HOUR},
        {.kind = KB_ENCODE_CODE, .source = 2, .count = 4},
        {.kind = KB_ENCODE_LEVEL, .source = 3, .count = 3},
        {.kind = KB_ENCODE_FILL, .source = 4, .fill = -2}};
    kb_status status = KB_OK;
    for (size_t k = 0; k < sizeof steps / sizeof *steps; k++)
        TRY(kb_encoding_add(ctx, e, steps[k]));
    memcpy(e->code + e->step[4].first, codes, sizeof codes);
    kb_encoding_finish(e);
done:
    return status;
}

static kb_encoding *example(kb_context *ctx) {
    kb_encoding *e;
    assert_ok(ctx, kb_encoding_create(ctx, INPUTS, &e));
    assert_ok(ctx, fill_in(ctx, e));
    return e;
}

static void every_kind_has_its_value(void **unused) {
    static const struct {
        size_t step;
        double cell, want;
    } cases[] = {{0, 3, 3},      {0, NAN, 7},    {1, 3, 0},
                 {1, NAN, 1},    {2, 366, 1},    {2, 366 + 40, 2},
                 {2, NAN, 2},    {3, 366.5, 12}, {3, NAN, 12},
                 {2, 1e300, 2},  {2, -1e300, 2}, /* no date: the median, 2000-02-01 */
                 {4, 0, 0.5},    {4, 1, -1},     {4, NAN, 2.5},
                 {4, -1, 0.125}, {4, 2, 0.125},  {4, 1e300, 0.125},
                 {5, 2, 2},      {5, NAN, 3},    {5, KB_CELL_UNSEEN, 4},
                 {5, 3, 4}};
    kb_context *ctx = test_context();
    kb_encoding *e = example(ctx);
    (void)unused;
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        double got = kb_encode_value(e, &e->step[cases[k].step], cases[k].cell);
        if (got != cases[k].want)
            fail_msg("case %zu: %g, not %g", k, got, cases[k].want);
    }
    assert_true(kb_encoding_is_sound(e));
    kb_encoding_free(e);
    kb_encoding_free(NULL);
    kb_context_free(ctx);
}

/* Zeros are values, in sparse rows too. */
static void dense_and_sparse_rows_have_the_same_values(void **unused) {
    enum { N = 60 };
    kb_context *ctx = test_context();
    kb_encoding *e = example(ctx), *copy;
    double x[N * INPUTS], a[N * 7], b[N * 7];
    size_t start[N + 1] = {0}, used = 0;
    uint32_t column[N * INPUTS];
    double value[N * INPUTS];
    (void)unused;
    for (size_t i = 0; i < N; i++) {
        for (size_t j = 0; j < INPUTS; j++) {
            double u = test_uniform(j, i);
            double cell = u < 0.4 ? 0 : u < 0.6 ? NAN : floor(u * 8) - 3 + (j == 1 ? NEW_YEAR : 0);
            x[i * INPUTS + j] = cell;
            if (cell != 0) {
                column[used] = (uint32_t)j;
                value[used++] = cell;
            }
        }
        start[i + 1] = used;
    }
    kb_data dense = {.rows = N, .features = INPUTS, .dense = x, .missing = 1};
    kb_data sparse = {.rows = N,
                      .features = INPUTS,
                      .row_start = start,
                      .column = column,
                      .value = value,
                      .missing = 1};
    kb_encoding_rows(e, &dense, 0, N, a);
    kb_encoding_rows(e, &sparse, 20, N - 20, b);
    assert_same_bits(a + 20 * 7, b, (N - 20) * 7);
    for (size_t k = 0; k < N * 7; k++)
        assert_true(a[k] ==
                    kb_encode_value(e, &e->step[k % 7], x[k / 7 * INPUTS + e->step[k % 7].source]));
    assert_ok(ctx, kb_encoding_copy(ctx, e, &copy));
    kb_encoding_free(e);
    kb_encoding_rows(copy, &dense, 0, N, b);
    assert_same_bits(a, b, N * 7);
    /* Without an encoding. */
    kb_encoding_rows(NULL, &dense, 0, N, a);
    kb_encoding_rows(NULL, &sparse, 0, N, b);
    for (size_t k = 0; k < N * INPUTS; k++)
        assert_true(a[k] == (isnan(x[k]) ? 0 : x[k]) && b[k] == a[k]);
    kb_encoding_free(copy);
    kb_context_free(ctx);
}

static void only_what_changes_needs_it(void **unused) {
    kb_context *ctx = test_context();
    kb_encoding *e = example(ctx), *plain;
    double any[2] = {0};
    kb_data whole = {.rows = 1, .features = 2, .dense = any}, holes = whole;
    (void)unused;
    holes.missing = 1;
    assert_ok(ctx, kb_encoding_create(ctx, 2, &plain));
    for (size_t j = 0; j < 2; j++)
        assert_ok(ctx, kb_encoding_add(ctx, plain,
                                       (kb_encode_step){.kind = KB_ENCODE_FILL, .source = j}));
    kb_encoding_finish(plain);
    assert_true(plain->plain && !e->plain);
    assert_false(kb_encoding_is_needed(plain, &whole));
    assert_true(kb_encoding_is_needed(plain, &holes));
    assert_true(kb_encoding_is_needed(e, &whole));
    assert_false(kb_encoding_is_needed(NULL, &whole));
    assert_true(kb_encoding_is_needed(NULL, &holes));
    kb_encoding_free(plain);
    kb_encoding_free(e);
    kb_context_free(ctx);
}

/* ---- from files -------------------------------------------------------- */

static void break_step(kb_encoding *e, int how) {
    kb_encode_step *s = e->step;
    static const double bad[] = {NAN, INFINITY, -INFINITY};
    switch (how) {
    case 0:
    case 1:
    case 2:
        s[0].fill = bad[how];
        break;
    case 3:
    case 4:
    case 5:
        e->code[how - 3] = bad[how - 3];
        break;
    case 6:
        s[6].source = INPUTS;
        break;
    case 7: /* a column without a step */
        s[6].source = 3;
        break;
    case 8:
        s[1].source = 2;
        break;
    case 9: /* order */
        s[3].source = 0;
        break;
    case 10:
        s[2].kind = KB_ENCODE_KINDS;
        break;
    case 11:
        s[2].part = KB_DATE_PARTS;
        break;
    case 12:
        s[2].fill = 2 * KB_DATE_MOST;
        break;
    case 13: /* not even missing and unknown */
        s[4].count = 1;
        break;
    case 14:
        s[4].count = 5;
        break;
    case 15:
        s[4].first = 1;
        break;
    case 16:
        s[0].count = 1;
        break;
    case 17:
        s[5].count = SIZE_MAX;
        break;
    case 18:
        e->inputs = INPUTS + 1;
        break;
    case 19:
        e->features = 0;
        break;
    default:
        s[0].source = SIZE_MAX;
    }
}

static void what_files_must_not_have_is_seen(void **unused) {
    kb_context *ctx = test_context();
    (void)unused;
    for (int how = 0; how <= 20; how++) {
        kb_encoding *e = example(ctx);
        break_step(e, how);
        if (kb_encoding_is_sound(e))
            fail_msg("case %d is sound", how);
        kb_encoding_free(e);
    }
    kb_context_free(ctx);
}

static void steps_must_suit_the_columns(void **unused) {
    static const column_spec fits[INPUTS] = {{KB_COLUMN_NUMBER, 0},
                                             {KB_COLUMN_DATE, 0},
                                             {KB_COLUMN_BOOLEAN, 2},
                                             {KB_COLUMN_CATEGORY, 3},
                                             {KB_COLUMN_NUMBER, 0}};
    static const column_spec others[] = {{KB_COLUMN_DATE, 0},
                                         {KB_COLUMN_NUMBER, 0},
                                         {KB_COLUMN_BOOLEAN, 3},
                                         {KB_COLUMN_CATEGORY, 2},
                                         {KB_COLUMN_BOOLEAN, 2}};
    static const double cells[INPUTS] = {0};
    kb_context *ctx = test_context();
    kb_encoding *e = example(ctx);
    kb_data *data = table_of(ctx, 1, INPUTS, fits, cells, NULL);
    (void)unused;
    assert_true(kb_encoding_suits(e, data->table));
    assert_false(kb_encoding_suits(e, NULL));
    assert_false(kb_encoding_suits(NULL, data->table));
    assert_true(kb_encoding_suits(NULL, NULL));
    kb_data_free(data);
    for (size_t j = 0; j < INPUTS; j++) {
        column_spec spec[INPUTS];
        memcpy(spec, fits, sizeof spec);
        spec[j] = others[j];
        data = table_of(ctx, 1, INPUTS, spec, cells, NULL);
        assert_false(kb_encoding_suits(e, data->table));
        kb_data_free(data);
    }
    data = table_of(ctx, 1, INPUTS - 1, fits, cells, NULL);
    assert_false(kb_encoding_suits(e, data->table));
    kb_data_free(data);
    kb_encoding_free(e);
    kb_context_free(ctx);
}

static int build_once(kb_context *ctx, void *unused) {
    kb_status status;
    kb_encoding *e = NULL, *copy = NULL;
    (void)unused;
    TRY(kb_encoding_create(ctx, INPUTS, &e));
    TRY(fill_in(ctx, e));
    status = kb_encoding_copy(ctx, e, &copy);
    assert_int_equal(status == KB_OK, copy != NULL);
done:
    kb_encoding_free(e);
    kb_encoding_free(copy);
    return (int)status;
}

static void every_allocation_may_fail(void **unused) {
    (void)unused;
    run_with_allocation_failures(build_once, NULL);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_kind_has_its_value),
        cmocka_unit_test(dense_and_sparse_rows_have_the_same_values),
        cmocka_unit_test(only_what_changes_needs_it),
        cmocka_unit_test(what_files_must_not_have_is_seen),
        cmocka_unit_test(steps_must_suit_the_columns),
        cmocka_unit_test(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
