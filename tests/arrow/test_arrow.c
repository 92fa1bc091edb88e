/* Data frames in the Arrow C data interface: every type, offsets, nulls, batches, dictionaries. */
#include "arrows.h"

#include "table/cell.h"
#include "table/date.h"

#include <math.h>

static void assert_cell(const kb_data *data, size_t i, size_t j, double want) {
    double got = data->dense[i * data->features + j];
    if (isnan(want) ? !isnan(got) : got != want)
        fail_msg("row %zu, column %zu: %.17g, not %.17g", i, j, got, want);
}

/* ---- types ------------------------------------------------------------- */

typedef struct number_case {
    const char *format;
    const void *values; /* five: the first lies before the array's offset, the fourth is null */
    double want[3];     /* the second, third and fifth */
} number_case;

static void numbers_of_every_type_become_doubles(void **unused) {
    kb_context *ctx = test_context();
    static const int8_t c[] = {9, -128, 127, 5, 0};
    static const uint8_t C[] = {9, 255, 0, 5, 1};
    static const int16_t s[] = {9, -32768, 32767, 5, 1};
    static const uint16_t S[] = {9, 65535, 0, 5, 1};
    static const int32_t i[] = {9, INT32_MIN, INT32_MAX, 5, 1};
    static const uint32_t I[] = {9, UINT32_MAX, 0, 5, 1};
    static const int64_t l[] = {9, -((int64_t)1 << 53), (int64_t)1 << 40, 5, 1};
    static const uint64_t L[] = {9, (uint64_t)1 << 63, 0, 5, 1};
    /* 1, -2, the largest and the smallest half. */
    static const uint16_t e[] = {0x3c00, 0xc000, 0x7bff, 0x3c00, 0x0001};
    static const float f[] = {9, 0.1F, -2, 5, 1};
    static const double g[] = {9, 0.1, 1e300, 5, -1};
    static const int64_t ns[] = {9, 1500000000, 0, 5, -1};
    static const int32_t time_ms[] = {9, 1500, 0, 5, 86399999};
    static const int32_t cents[] = {9, 1999, -5, 5, 100};
    static const int64_t wide[] = {9, 0, -12345, -1, 1, 0, 5, 0, 0, 1};
    static const number_case CASES[] = {
        {"c", c, {-128, 127, 0}},
        {"C", C, {255, 0, 1}},
        {"s", s, {-32768, 32767, 1}},
        {"S", S, {65535, 0, 1}},
        {"i", i, {INT32_MIN, INT32_MAX, 1}},
        {"I", I, {UINT32_MAX, 0, 1}},
        {"l", l, {-0x1p53, 0x1p40, 1}},
        {"L", L, {0x1p63, 0, 1}},
        {"e", e, {-2, 65504, 0x1p-24}},
        {"f", f, {0.1F, -2, 1}},
        {"g", g, {0.1, 1e300, -1}},
        {"tDn", ns, {1.5, 0, -1e-9}},
        {"ttm", time_ms, {1.5, 0, 86399.999}},
        {"d:9,2,32", cents, {19.99, -0.05, 1}},
        {"d:38,3", wide, {-12.345, 0.001, 0x1p64 / 1000}},
        {"d:38,-2", wide, {-1234500, 100, 0x1p64 * 100}},
    };
    const uint8_t valid[] = {0x17}; /* bits 0, 1, 2 and 4 */
    (void)unused;
    for (size_t k = 0; k < sizeof CASES / sizeof *CASES; k++) {
        arrow_frame frame = {0};
        kb_data *data;
        arrow_column *column =
            arrow_add(&frame, "x", CASES[k].format, 4, valid, CASES[k].values, 0);
        column->array.offset = 1;
        kb_arrow_spec spec = arrow_spec_of(&frame);
        assert_ok(ctx, arrow_read(ctx, &spec, &data));
        assert_int_equal(data->rows, 4);
        assert_int_equal(data->table->column[0].type, KB_COLUMN_NUMBER);
        assert_int_equal(data->table->column[0].missing, 1);
        assert_true(data->missing);
        assert_cell(data, 0, 0, CASES[k].want[0]);
        assert_cell(data, 1, 0, CASES[k].want[1]);
        assert_cell(data, 2, 0, NAN);
        assert_cell(data, 3, 0, CASES[k].want[2]);
        kb_data_free(data);
    }
    kb_context_free(ctx);
}

/* A NaN whose bits would be a text of a column is missing like any other. */
static void nan_is_missing(void **unused) {
    kb_context *ctx = test_context();
    const double x[] = {1, kb_cell_text(0), NAN, 4};
    arrow_frame frame = {0};
    kb_data *data;
    (void)unused;
    arrow_add(&frame, "x", "g", 4, NULL, x, NULL);
    kb_arrow_spec spec = arrow_spec_of(&frame);
    assert_ok(ctx, arrow_read(ctx, &spec, &data));
    assert_int_equal(data->table->column[0].missing, 2);
    assert_cell(data, 1, 0, NAN);
    assert_false(kb_cell_is_text(data->dense[1]));
    kb_data_free(data);
    kb_context_free(ctx);
}

static void dates_have_the_days_of_their_texts(void **unused) {
    kb_context *ctx = test_context();
    static const char *const TEXT[] = {"1970-01-01 00:00:00", "1969-12-31 18:30:01",
                                       "2026-02-28 23:59:59.123"};
    static const int64_t MS[] = {0, -19799000, 1772323199123};
    static const struct {
        const char *format;
        int64_t units; /* a second */
    } CASES[] = {{"tsm:", 1000}, {"tsu:Europe/Berlin", 1000000}, {"tsn:", 1000000000}, {"tss:", 1}};
    (void)unused;
    for (size_t k = 0; k < sizeof CASES / sizeof *CASES; k++) {
        arrow_frame frame = {0};
        kb_data *data;
        int64_t x[3];
        for (size_t i = 0; i < 3; i++)
            x[i] = CASES[k].units >= 1000 ? MS[i] * (CASES[k].units / 1000)
                                          : (int64_t)floor((double)MS[i] / 1000);
        arrow_add(&frame, "when", CASES[k].format, 3, NULL, x, NULL);
        kb_arrow_spec spec = arrow_spec_of(&frame);
        assert_ok(ctx, arrow_read(ctx, &spec, &data));
        assert_int_equal(data->table->column[0].type, KB_COLUMN_DATE);
        for (size_t i = 0; i < 3; i++) {
            double days;
            size_t length = CASES[k].units >= 1000 ? strlen(TEXT[i]) : 19;
            assert_true(kb_date_read(TEXT[i], length, &days));
            assert_cell(data, i, 0, days);
        }
        kb_data_free(data);
    }
    kb_context_free(ctx);
}

static void days_are_dates(void **unused) {
    kb_context *ctx = test_context();
    const int32_t days[] = {0, 10957, -1};
    const int64_t ms[] = {0, 10957 * (int64_t)86400000, -86400000};
    const uint8_t valid[] = {0x3};
    arrow_frame frame = {0};
    kb_data *data;
    (void)unused;
    arrow_add(&frame, "day", "tdD", 3, valid, days, NULL);
    arrow_add(&frame, "date64", "tdm", 3, NULL, ms, NULL);
    kb_arrow_spec spec = arrow_spec_of(&frame);
    assert_ok(ctx, arrow_read(ctx, &spec, &data));
    for (size_t j = 0; j < 2; j++) {
        assert_int_equal(data->table->column[j].type, KB_COLUMN_DATE);
        assert_cell(data, 0, j, -10957);
        assert_cell(data, 1, j, 0);
        assert_cell(data, 2, j, j == 0 ? NAN : -10958);
    }
    assert_int_equal(data->table->column[0].missing, 1);
    kb_data_free(data);
    kb_context_free(ctx);
}

/* ---- texts ------------------------------------------------------------- */

/* "Bonn" "Ulm" "" "Bonn" "7.50" "n/a" " Ulm " null */
static const char TOWNS[] = "BonnUlmBonn7.50n/a Ulm Kiel";
static const int32_t TOWN_START[] = {0, 4, 7, 7, 11, 15, 18, 23, 27};

static void strings_are_what_they_are_in_a_csv(void **unused) {
    kb_context *ctx = test_context();
    const uint8_t valid[] = {0x7f};
    int64_t large[9];
    struct {
        int32_t length;
        char text[12];
    } view[8] = {{0}};
    (void)unused;
    for (size_t i = 0; i < 9; i++)
        large[i] = TOWN_START[i];
    for (size_t i = 0; i < 8; i++) {
        view[i].length = TOWN_START[i + 1] - TOWN_START[i];
        memcpy(view[i].text, TOWNS + TOWN_START[i], (size_t)view[i].length);
    }
    const void *const values[] = {TOWN_START, large, view};
    static const char *const FORMAT[] = {"u", "U", "vu"};
    for (size_t k = 0; k < 3; k++) {
        arrow_frame frame = {0};
        kb_data *data;
        arrow_add(&frame, "town", FORMAT[k], 8, valid, values[k], k < 2 ? TOWNS : NULL);
        kb_arrow_spec spec = arrow_spec_of(&frame);
        assert_ok(ctx, arrow_read(ctx, &spec, &data));
        const kb_column *c = &data->table->column[0];
        assert_int_equal(c->type, KB_COLUMN_CATEGORY);
        assert_int_equal(c->levels, 3);
        assert_string_equal(c->level[0], "Bonn");
        assert_string_equal(c->level[1], "Ulm");
        assert_string_equal(c->level[2], "7.5");
        static const double want[] = {0, 1, NAN, 0, 2, NAN, 1, NAN};
        for (size_t i = 0; i < 8; i++)
            assert_cell(data, i, 0, want[i]);
        assert_int_equal(c->missing, 3);
        kb_data_free(data);
    }
    kb_context_free(ctx);
}

/* The types that texts have: numbers, dates, an id, a constant. */
static void types_of_strings_are_found(void **unused) {
    test_state state = {0};
    kb_context *ctx = test_context_with(&state, 1);
    static const int32_t one[] = {0, 1, 2, 3}, date[] = {0, 10, 20, 30}, three[] = {0, 3, 6, 9};
    arrow_frame frame = {0};
    kb_data *data;
    (void)unused;
    arrow_add(&frame, "number", "u", 3, NULL, one, "123");
    arrow_add(&frame, "day", "u", 3, NULL, date, "2000-01-012000-01-032001-01-01");
    arrow_add(&frame, "key", "u", 3, NULL, three, "a-1a-2a-3");
    arrow_add(&frame, "same", "u", 3, NULL, one, "xxx");
    arrow_add(&frame, "none", "n", 3, NULL, NULL, NULL);
    arrow_add(&frame, "yes", "u", 3, NULL, one, "yny");
    kb_arrow_spec spec = arrow_spec_of(&frame);
    assert_ok(ctx, arrow_read(ctx, &spec, &data));
    assert_int_equal(data->features, 3);
    assert_string_equal(data->feature_name[2], "yes");
    assert_int_equal(data->table->column[0].type, KB_COLUMN_NUMBER);
    assert_int_equal(data->table->column[1].type, KB_COLUMN_DATE);
    assert_int_equal(data->table->column[2].type, KB_COLUMN_BOOLEAN);
    assert_cell(data, 1, 0, 2);
    assert_cell(data, 1, 1, 2);
    assert_cell(data, 1, 2, 1);
    assert_int_equal(data->table->left_out, 3);
    assert_int_equal(data->table->out[0].type, KB_COLUMN_ID);
    assert_int_equal(data->table->out[1].type, KB_COLUMN_CONSTANT);
    assert_string_equal(data->table->out[2].name, "none");
    assert_string_equal(state.log,
                        "column 'key' has a text of its own in nearly every row: it is left out\n");
    kb_data_free(data);
    kb_context_free(ctx);
}

static void views_of_long_texts_lie_in_other_buffers(void **unused) {
    kb_context *ctx = test_context();
    static const char LONG[] = "__a town with a long name";
    struct {
        int32_t length;
        char begin[4];
        int32_t buffer, place;
    } view[] = {{23, "a to", 0, 2}, {3, "Ulm", 0, 0}, {23, "a to", 0, 2}, {3, "Ulm", 0, 0}};
    const int64_t size[] = {25};
    arrow_frame frame = {0};
    kb_data *data;
    (void)unused;
    arrow_column *c = arrow_add(&frame, "town", "vu", 4, NULL, view, LONG);
    c->array.n_buffers = 4;
    c->buffer[3] = size;
    kb_arrow_spec spec = arrow_spec_of(&frame);
    assert_ok(ctx, arrow_read(ctx, &spec, &data));
    assert_string_equal(data->table->column[0].level[0], "a town with a long name");
    assert_string_equal(data->table->column[0].level[1], "Ulm");
    kb_data_free(data);
    view[2].place = 3; /* beyond the end */
    assert_fails(ctx, KB_ERR_DATA, "column 'town': the offsets of its strings are wrong",
                 arrow_read(ctx, &spec, &data));
    view[2].place = 2;
    view[2].buffer = 1;
    assert_int_equal(arrow_read(ctx, &spec, &data), KB_ERR_DATA);
    view[2].length = -1;
    assert_int_equal(arrow_read(ctx, &spec, &data), KB_ERR_DATA);
    kb_context_free(ctx);
}

/* ---- booleans ---------------------------------------------------------- */

static void booleans_are_words(void **unused) {
    kb_context *ctx = test_context();
    const uint8_t bits[] = {0x2a}, all[] = {0xff}, valid[] = {0x1e}; /* rows 1 to 5 */
    arrow_frame frame = {0};
    kb_data *data;
    (void)unused;
    arrow_column *c = arrow_add(&frame, "plain", "b", 5, NULL, bits, NULL);
    c->array.offset = 1;
    arrow_add(&frame, "gaps", "b", 5, valid, bits, NULL);
    arrow_add(&frame, "same", "b", 5, NULL, all, NULL);
    arrow_add(&frame, "same or none", "b", 5, valid, all, NULL);
    kb_arrow_spec spec = arrow_spec_of(&frame);
    assert_ok(ctx, arrow_read(ctx, &spec, &data));
    assert_int_equal(data->features, 3);
    assert_int_equal(data->table->column[0].type, KB_COLUMN_BOOLEAN);
    assert_string_equal(data->table->column[0].level[0], "True");
    assert_string_equal(data->table->column[0].level[1], "False");
    assert_int_equal(data->table->column[1].type, KB_COLUMN_CATEGORY);
    assert_int_equal(data->table->column[2].type, KB_COLUMN_BOOLEAN);
    assert_int_equal(data->table->column[2].levels, 1);
    static const double plain[] = {0, 1, 0, 1, 0}, gaps[] = {NAN, 0, 1, 0, 1};
    for (size_t i = 0; i < 5; i++) {
        assert_cell(data, i, 0, plain[i]);
        assert_cell(data, i, 1, gaps[i]);
        assert_cell(data, i, 2, i == 0 ? NAN : 0);
    }
    assert_string_equal(data->table->out[0].name, "same");
    kb_data_free(data);
    kb_context_free(ctx);
}

/* What a model calls them decides: true, TRUE, 1, or a number. */
static void booleans_meet_the_levels_of_a_model(void **unused) {
    test_state state = {0};
    kb_context *ctx = test_context_with(&state, 1);
    static char *const names[] = {"a", "b", "c"};
    static char *words[] = {"FALSE", "TRUE"}, *digits[] = {"1", "0"};
    kb_column columns[] = {{.type = KB_COLUMN_BOOLEAN, .levels = 2, .level = words},
                           {.type = KB_COLUMN_BOOLEAN, .levels = 2, .level = digits},
                           {.type = KB_COLUMN_NUMBER}};
    kb_table table = {.columns = 3, .column = columns};
    const uint8_t bits[] = {0x1};
    arrow_frame frame = {0};
    kb_data *data;
    (void)unused;
    for (size_t j = 0; j < 3; j++)
        arrow_add(&frame, names[j], "b", 2, NULL, bits, NULL);
    kb_arrow_spec spec = arrow_spec_of(&frame);
    spec.to_predict = 1;
    spec.features = 3;
    spec.feature_name = names;
    spec.table = &table;
    assert_ok(ctx, arrow_read(ctx, &spec, &data));
    static const double want[2][3] = {{1, 0, 1}, {0, 1, 0}};
    for (size_t i = 0; i < 2; i++)
        for (size_t j = 0; j < 3; j++)
            assert_cell(data, i, j, want[i][j]);
    assert_string_equal(state.log, "");
    kb_data_free(data);
    kb_context_free(ctx);
}

/* ---- dictionaries ------------------------------------------------------ */

static void dictionaries_are_categories(void **unused) {
    kb_context *ctx = test_context();
    static const int8_t index[] = {9, 2, 0, 1, 0, 7}; /* the first is skipped, the last is null */
    static const int32_t start[] = {0, 1, 5, 8, 8};
    static const double numbers[] = {99, 2.5, 10, 1e6};
    static const uint64_t places[] = {0, 2, 1, 0, 1};
    const uint8_t valid[] = {0x1f}, gaps[] = {0x0b};
    static const int32_t days[] = {0, 1, 2};
    arrow_frame frame = {0};
    kb_data *data;
    (void)unused;
    arrow_column *c = arrow_add(&frame, "town", "c", 5, valid, index, NULL);
    c->array.offset = 1;
    /* Sliced: "x" comes before its offset. */
    arrow_index(c, "u", 3, NULL, start, "xBonnUlm");
    c->dictionary.offset = 1;
    c = arrow_add(&frame, "size", "c", 5, valid, index, NULL);
    c->array.offset = 1;
    arrow_index(c, "g", 3, NULL, numbers, NULL);
    c->dictionary.offset = 1;
    c = arrow_add(&frame, "null value", "L", 5, NULL, places, NULL);
    arrow_index(c, "i", 3, gaps, days, NULL);
    c = arrow_add(&frame, "dates", "L", 5, NULL, places, NULL);
    arrow_index(c, "tdD", 3, NULL, days, NULL);
    kb_arrow_spec spec = arrow_spec_of(&frame);
    assert_ok(ctx, arrow_read(ctx, &spec, &data));
    const kb_column *column = data->table->column;
    assert_int_equal(column[0].type, KB_COLUMN_CATEGORY);
    assert_int_equal(column[0].levels, 2); /* the third is empty, so missing */
    assert_string_equal(column[0].level[0], "Bonn");
    assert_string_equal(column[0].level[1], "Ulm");
    assert_int_equal(column[1].levels, 3);
    assert_string_equal(column[1].level[0], "1000000");
    assert_string_equal(column[1].level[1], "2.5");
    assert_int_equal(column[2].type, KB_COLUMN_CATEGORY);
    assert_int_equal(column[2].levels, 2);
    assert_int_equal(column[3].type, KB_COLUMN_DATE);
    static const double want[5][4] = {{NAN, 0, 0, -10957},
                                      {0, 1, NAN, -10955},
                                      {1, 2, 1, -10956},
                                      {0, 1, 0, -10957},
                                      {NAN, NAN, 1, -10956}};
    for (size_t i = 0; i < 5; i++)
        for (size_t j = 0; j < 4; j++)
            assert_cell(data, i, j, want[i][j]);
    kb_data_free(data);
    kb_context_free(ctx);
}

/* As in a CSV file, a missing value counts as a level. */
static void two_levels_are_a_boolean(void **unused) {
    kb_context *ctx = test_context();
    static const int8_t two[] = {0, 1, 0, 2}, one[] = {0, 0, 0, 0}, three[] = {0, 1, 1, 0};
    static const int32_t start[] = {0, 2, 5, 5};
    const uint8_t valid[] = {0x0b};
    arrow_frame frame = {0};
    kb_data *data;
    (void)unused;
    arrow_index(arrow_add(&frame, "two", "c", 4, NULL, three, NULL), "u", 2, NULL, start, "noyes");
    arrow_index(arrow_add(&frame, "one", "c", 4, valid, one, NULL), "u", 2, NULL, start, "noyes");
    arrow_index(arrow_add(&frame, "both", "c", 4, NULL, two, NULL), "u", 3, NULL, start, "noyes");
    kb_arrow_spec spec = arrow_spec_of(&frame);
    assert_ok(ctx, arrow_read(ctx, &spec, &data));
    const kb_column *column = data->table->column;
    assert_int_equal(column[0].type, KB_COLUMN_BOOLEAN);
    assert_int_equal(column[0].levels, 2);
    assert_int_equal(column[1].type, KB_COLUMN_BOOLEAN);
    assert_int_equal(column[1].levels, 1);
    assert_int_equal(column[2].type, KB_COLUMN_CATEGORY); /* no, yes and missing */
    kb_data_free(data);
    kb_context_free(ctx);
}

/* ---- options ----------------------------------------------------------- */

static const double FIRST[] = {3, 1, 2, 1}, SECOND[] = {5, 6, 7, 8}, SAME[] = {4, 4, 4, 4};

static void assert_left_out(const kb_table *table, size_t k, const char *name, kb_column_type why,
                            size_t place) {
    assert_string_equal(table->out[k].name, name);
    assert_int_equal(table->out[k].type, why);
    assert_int_equal(table->out[k].place, place);
}

static void options_choose_columns_and_types(void **unused) {
    kb_context *ctx = test_context();
    static const int32_t day[] = {1, 2, 3, 4};
    arrow_frame frame = {0};
    kb_data *data;
    (void)unused;
    arrow_add(&frame, "tmp_a", "g", 4, NULL, SECOND, NULL);
    arrow_add(&frame, "same", "g", 4, NULL, SAME, NULL);
    arrow_add(&frame, "zip", "g", 4, NULL, FIRST, NULL);
    arrow_add(&frame, "size", "g", 4, NULL, SECOND, NULL);
    arrow_add(&frame, "day", "tdD", 4, NULL, day, NULL);
    kb_arrow_spec spec = arrow_spec_of(&frame);
    spec.ignore = "tmp_*, -1";
    spec.types = "zip=category";
    assert_ok(ctx, arrow_read(ctx, &spec, &data));
    assert_int_equal(data->features, 2);
    assert_string_equal(data->feature_name[0], "zip");
    assert_int_equal(data->table->column[0].type, KB_COLUMN_CATEGORY);
    assert_string_equal(data->table->column[0].level[2], "2");
    assert_cell(data, 2, 0, 2);
    assert_cell(data, 2, 1, 7);
    assert_int_equal(data->table->left_out, 3);
    assert_left_out(data->table, 0, "same", KB_COLUMN_CONSTANT, 1);
    assert_left_out(data->table, 1, "tmp_a", KB_COLUMN_IGNORED, 0);
    assert_left_out(data->table, 2, "day", KB_COLUMN_IGNORED, 4);
    kb_data_free(data);
    spec = arrow_spec_of(&frame);
    spec.columns = "size,tmp_?";
    assert_ok(ctx, arrow_read(ctx, &spec, &data));
    assert_int_equal(data->features, 2);
    assert_string_equal(data->feature_name[1], "size");
    kb_data_free(data);
    spec.ignore = "*";
    assert_fails(ctx, KB_ERR_ARGUMENT, "no features: --columns and --ignore leave none",
                 arrow_read(ctx, &spec, &data));
    spec.ignore = "sice";
    assert_fails(ctx, KB_ERR_ARGUMENT,
                 "--ignore: no column is named 'sice'; did you mean 'size'? The columns are tmp_a, "
                 "same, zip, size, day",
                 arrow_read(ctx, &spec, &data));
    spec = arrow_spec_of(&frame);
    spec.types = "dai=date";
    assert_fails(
        ctx, KB_ERR_ARGUMENT,
        "--types: no column is named 'dai'; did you mean 'day'? The columns are tmp_a, same, "
        "zip, size, day",
        arrow_read(ctx, &spec, &data));
    spec.types = "day=category";
    assert_fails(ctx, KB_ERR_DATA,
                 "column 'day' holds dates: turn them into strings to use it as a category",
                 arrow_read(ctx, &spec, &data));
    kb_context_free(ctx);
}

static void columns_without_names_have_numbers(void **unused) {
    test_state state = {0};
    kb_context *ctx = test_context_with(&state, 1);
    static const int32_t start[] = {0, 1, 2, 3, 4};
    arrow_frame frame = {0};
    kb_data *data, *other;
    (void)unused;
    arrow_add(&frame, "", "g", 4, NULL, SECOND, NULL);
    arrow_add(&frame, "", "u", 4, NULL, start, "abcd");
    arrow_add(&frame, "", "g", 4, NULL, FIRST, NULL);
    kb_arrow_spec spec = arrow_spec_of(&frame);
    spec.ignore = "1";
    spec.types = "3=category";
    assert_ok(ctx, arrow_read(ctx, &spec, &data));
    assert_null(data->feature_name);
    assert_int_equal(data->features, 1);
    assert_int_equal(data->table->column[0].type, KB_COLUMN_CATEGORY);
    assert_left_out(data->table, 0, "2", KB_COLUMN_ID, 1);
    assert_left_out(data->table, 1, "1", KB_COLUMN_IGNORED, 0);
    assert_non_null(strstr(state.log, "column 2 has a text of its own in nearly every row"));
    spec = arrow_spec_of(&frame);
    spec.to_predict = 1;
    spec.features = 1;
    spec.table = data->table;
    assert_ok(ctx, arrow_read(ctx, &spec, &other)); /* the third column again */
    assert_memory_equal(other->dense, data->dense, 4 * sizeof *data->dense);
    kb_data_free(other);
    kb_data_free(data);
    spec = arrow_spec_of(&frame);
    spec.columns = "4";
    assert_fails(ctx, KB_ERR_ARGUMENT, "--columns: no column has the number '4'",
                 arrow_read(ctx, &spec, &data));
    kb_context_free(ctx);
}

static void equal_names_are_made_different(void **unused) {
    test_state state = {0};
    kb_context *ctx = test_context_with(&state, 1);
    arrow_frame frame = {0};
    kb_data *data;
    (void)unused;
    arrow_add(&frame, "a", "g", 4, NULL, FIRST, NULL);
    arrow_add(&frame, "", "g", 4, NULL, FIRST, NULL);
    arrow_add(&frame, "a", "g", 4, NULL, SECOND, NULL);
    kb_arrow_spec spec = arrow_spec_of(&frame);
    assert_ok(ctx, arrow_read(ctx, &spec, &data));
    assert_string_equal(data->feature_name[0], "a");
    assert_string_equal(data->feature_name[1], "unnamed 2");
    assert_string_equal(data->feature_name[2], "a.1");
    assert_cell(data, 0, 2, 5);
    assert_non_null(strstr(state.log, "1 column of a name that came before, renamed as in name.1"));
    kb_data_free(data);
    kb_context_free(ctx);
}

/* ---- batches ----------------------------------------------------------- */

/* 2 batches of the same columns with dictionaries of their own, each with an offset: the rows one
 * after the other, and one level for one text. */
static void batches_are_joined(void **unused) {
    kb_context *ctx = test_context();
    static const double x[] = {-1, 1, 2, 3, 4};
    static const int32_t index[] = {0, 0, 1, 0, 0}, start[] = {0, 4, 7}, turned[] = {0, 3, 7};
    const uint8_t rows[] = {0x1b}; /* the row of number 2 is null as a whole */
    arrow_frame first = {0}, second = {0};
    kb_data *data;
    (void)unused;
    arrow_add(&first, "x", "g", 5, NULL, x, NULL);
    arrow_index(arrow_add(&first, "town", "i", 5, NULL, index, NULL), "u", 2, NULL, start,
                "BonnUlm");
    first.batch.offset = 1;
    first.batch.length = 4;
    first.batch.null_count = 1;
    first.buffer[0] = rows;
    arrow_add(&second, "x", "g", 3, NULL, x, NULL);
    arrow_index(arrow_add(&second, "town", "i", 3, NULL, index, NULL), "u", 2, NULL, turned,
                "UlmBonn");
    const struct ArrowArray *batch[] = {&first.batch, &second.batch};
    kb_arrow_spec spec = {.schema = &first.schema, .batch = batch, .batches = 2};
    assert_ok(ctx, arrow_read(ctx, &spec, &data));
    static const double want[7][2] = {{1, 0}, {NAN, NAN}, {3, 0}, {4, 0}, {-1, 1}, {1, 1}, {2, 0}};
    assert_int_equal(data->rows, 7);
    for (size_t i = 0; i < 7; i++)
        for (size_t j = 0; j < 2; j++)
            assert_cell(data, i, j, want[i][j]);
    assert_int_equal(data->table->column[1].levels, 2);
    kb_data_free(data);
    kb_context_free(ctx);
}

/* More rows than are copied at a time. */
static void long_columns_are_whole(void **unused) {
    kb_context *ctx = test_context();
    enum { ROWS = 5000 };
    static int32_t x[ROWS];
    static float y[ROWS];
    arrow_frame frame = {0};
    kb_data *data;
    (void)unused;
    for (int i = 0; i < ROWS; i++) {
        x[i] = 7 * i;
        y[i] = (float)-i;
    }
    arrow_add(&frame, "x", "i", ROWS, NULL, x, NULL);
    arrow_add(&frame, "y", "f", ROWS, NULL, y, NULL);
    kb_arrow_spec spec = arrow_spec_of(&frame);
    assert_ok(ctx, arrow_read(ctx, &spec, &data));
    assert_null(data->table); /* plain numbers */
    assert_false(data->missing);
    for (size_t i = 0; i < ROWS; i++) {
        assert_cell(data, i, 0, 7 * (double)i);
        assert_cell(data, i, 1, -(double)i);
    }
    kb_data_free(data);
    kb_context_free(ctx);
}

/* ---- a model's columns ------------------------------------------------- */

static char *const FEATURES[] = {"size", "town", "day"};
static char *TOWN_LEVELS[] = {"Ulm", "10", "Bonn"};

typedef struct known {
    kb_column column[3];
    kb_left_out out[1];
    kb_table table;
} known;

static void make_known(known *k) {
    k->column[0] = (kb_column){.type = KB_COLUMN_NUMBER};
    k->column[1] = (kb_column){.type = KB_COLUMN_CATEGORY, .levels = 3, .level = TOWN_LEVELS};
    k->column[2] = (kb_column){.type = KB_COLUMN_DATE};
    k->out[0] = (kb_left_out){"key", KB_COLUMN_ID, 3};
    k->table = (kb_table){.columns = 3, .column = k->column, .left_out = 1, .out = k->out};
}

static kb_arrow_spec spec_like(const arrow_frame *f, const known *k) {
    kb_arrow_spec spec = arrow_spec_of(f);
    spec.to_predict = 1;
    spec.features = 3;
    spec.feature_name = FEATURES;
    spec.table = &k->table;
    spec.label_name = "price";
    return spec;
}

static void columns_are_found_by_name(void **unused) {
    test_state state = {0};
    kb_context *ctx = test_context_with(&state, 1);
    static const int32_t day[] = {10957, 10958}, town[] = {0, 4, 8}, size[] = {3, 4};
    arrow_frame frame = {0};
    known model;
    kb_data *data;
    (void)unused;
    make_known(&model);
    arrow_add(&frame, "day", "tdD", 2, NULL, day, NULL);
    arrow_add(&frame, "key", "i", 2, NULL, day, NULL);
    arrow_add(&frame, "colour", "i", 2, NULL, day, NULL);
    arrow_add(&frame, "price", "i", 2, NULL, day, NULL);
    arrow_add(&frame, "town", "u", 2, NULL, town, "BonnKiel");
    arrow_add(&frame, "size", "i", 2, NULL, size, NULL);
    kb_arrow_spec spec = spec_like(&frame, &model);
    assert_ok(ctx, arrow_read(ctx, &spec, &data));
    static const double want[2][3] = {{3, 2, 0}, {4, KB_CELL_UNSEEN, 1}};
    for (size_t i = 0; i < 2; i++)
        for (size_t j = 0; j < 3; j++)
            assert_cell(data, i, j, want[i][j]);
    assert_string_equal(data->feature_name[1], "town");
    assert_non_null(
        strstr(state.log, "1 column unknown to the model is ignored (column 'colour')"));
    assert_non_null(
        strstr(state.log, "column 'town': 1 cell of a level that the training rows did"));
    kb_data_free(data);
    kb_context_free(ctx);
}

static void features_that_lack_are_all_named(void **unused) {
    kb_context *ctx = test_context();
    static const int32_t x[] = {1, 2};
    arrow_frame frame = {0};
    known model;
    kb_data *data;
    (void)unused;
    make_known(&model);
    arrow_add(&frame, "town", "i", 2, NULL, x, NULL);
    kb_arrow_spec spec = spec_like(&frame, &model);
    assert_fails(ctx, KB_ERR_DATA,
                 "the data lack features of the model: 'size', 'day'; the columns are town",
                 arrow_read(ctx, &spec, &data));
    kb_context_free(ctx);
}

/* Numbers meet levels by their shortest decimals, and texts meet dates and numbers. */
static void other_types_than_the_models_are_converted(void **unused) {
    test_state state = {0};
    kb_context *ctx = test_context_with(&state, 1);
    static const double town[] = {10, 11};
    static const int32_t day[] = {0, 10, 16}, size[] = {0, 3, 6};
    static const int32_t dates[] = {0, 1};
    arrow_frame frame = {0};
    known model;
    kb_data *data;
    (void)unused;
    make_known(&model);
    arrow_add(&frame, "size", "u", 2, NULL, size, "1.5big");
    arrow_add(&frame, "town", "g", 2, NULL, town, NULL);
    arrow_column *c = arrow_add(&frame, "day", "u", 2, NULL, day, "2000-01-02monday");
    kb_arrow_spec spec = spec_like(&frame, &model);
    assert_ok(ctx, arrow_read(ctx, &spec, &data));
    static const double want[2][3] = {{1.5, 1, 1}, {NAN, KB_CELL_UNSEEN, NAN}};
    for (size_t i = 0; i < 2; i++)
        for (size_t j = 0; j < 3; j++)
            assert_cell(data, i, j, want[i][j]);
    assert_true(data->missing);
    assert_int_equal(data->table->column[0].missing, 1);
    assert_non_null(strstr(state.log, "column 'size': 1 cell is no number, such as 'big'"));
    kb_data_free(data);
    c->schema.name = "town"; /* dates where the model has levels */
    frame.column[1].schema.name = "day";
    c->schema.format = "tdD";
    c->buffer[1] = dates;
    assert_fails(ctx, KB_ERR_DATA, "column 'town' holds dates, but in the model it is a category",
                 arrow_read(ctx, &spec, &data));
    kb_context_free(ctx);
}

/* A frame without names: by place, with or without the columns that the model left out. */
static void columns_without_names_are_found_by_place(void **unused) {
    kb_context *ctx = test_context();
    static const int32_t x[] = {1, 2}, y[] = {3, 4};
    arrow_frame frame = {0};
    known model;
    kb_data *data;
    (void)unused;
    make_known(&model);
    model.column[1] = model.column[2] = model.column[0];
    model.out[0].name = "2";
    model.out[0].place = 1;
    arrow_add(&frame, NULL, "i", 2, NULL, x, NULL);
    arrow_add(&frame, "", "i", 2, NULL, y, NULL);
    arrow_add(&frame, "", "i", 2, NULL, x, NULL);
    kb_arrow_spec spec = spec_like(&frame, &model);
    spec.feature_name = NULL;
    assert_ok(ctx, arrow_read(ctx, &spec, &data));
    assert_cell(data, 1, 1, 4);
    assert_null(data->feature_name);
    kb_data_free(data);
    arrow_add(&frame, "", "i", 2, NULL, x, NULL);
    assert_ok(ctx, arrow_read(ctx, &spec, &data));
    assert_cell(data, 1, 1, 2);
    assert_int_equal(data->features, 3);
    kb_data_free(data);
    arrow_add(&frame, "", "i", 2, NULL, x, NULL);
    assert_fails(ctx, KB_ERR_DATA, "the data have 5 columns, but the model has 3 features",
                 arrow_read(ctx, &spec, &data));
    kb_context_free(ctx);
}

/* ---- what is refused --------------------------------------------------- */

static void other_types_are_refused_by_name(void **unused) {
    kb_context *ctx = test_context();
    static const char *const FORMAT[] = {"+l",  "+s",         "z",    "vz",   "w:16",
                                         "tiM", "d:70,2,256", "+w:3", "tsx:", "",
                                         "?",   "tt",         "d:5",  "ttsx", "tdx"};
    static const int32_t x[] = {1, 2};
    (void)unused;
    for (size_t k = 0; k < sizeof FORMAT / sizeof *FORMAT; k++) {
        arrow_frame frame = {0};
        kb_data *data;
        arrow_add(&frame, "odd", FORMAT[k], 2, NULL, x, NULL);
        kb_arrow_spec spec = arrow_spec_of(&frame);
        assert_int_equal(arrow_read(ctx, &spec, &data), KB_ERR_DATA);
        assert_memory_equal(kb_context_message(ctx), "column 'odd' holds ", 19);
        if (k == 0)
            assert_string_equal(kb_context_message(ctx),
                                "column 'odd' holds lists (Arrow type '+l'): turn it into numbers, "
                                "strings, dates or categories, or leave it out");
        arrow_column *c = &frame.column[0];
        c->schema.format = "i"; /* nor in a dictionary */
        arrow_index(c, FORMAT[k], 2, NULL, x, NULL);
        assert_int_equal(arrow_read(ctx, &spec, &data), KB_ERR_DATA);
    }
    kb_context_free(ctx);
}

static void infinite_values_are_refused(void **unused) {
    kb_context *ctx = test_context();
    static const double x[] = {1, 2, -INFINITY};
    static const uint16_t half[] = {0, 0, 0x7c00};
    (void)unused;
    for (int k = 0; k < 2; k++) {
        arrow_frame frame = {0};
        kb_data *data;
        arrow_add(&frame, "x", k == 0 ? "g" : "e", 3, NULL, k == 0 ? (const void *)x : half, NULL);
        kb_arrow_spec spec = arrow_spec_of(&frame);
        assert_fails(ctx, KB_ERR_DATA, "column 'x', row 2 (counted from 0): the value is infinite",
                     arrow_read(ctx, &spec, &data));
    }
    kb_context_free(ctx);
}

/* Each of these breaks one thing in a frame that is fine. */
static void break_frame(arrow_frame *f, int k) {
    static const int32_t back[] = {0, 2, 1}, below[] = {-1, 1, 2}, far[] = {0, 9, 2};
    static const int32_t both[] = {0, 2, 2};
    static const uint8_t first_only[] = {0x1};
    static const int8_t minus[] = {0, -1}, beyond[] = {0, 2};
    arrow_column *number = &f->column[0], *text = &f->column[1], *level = &f->column[2];
    switch (k) {
    case 0:
        f->schema.release = NULL;
        break;
    case 1:
        f->schema.format = "+l";
        break;
    case 2:
        f->schema.format = NULL;
        break;
    case 3:
        f->schema.n_children = 0;
        break;
    case 4:
        f->schema.n_children = -1;
        break;
    case 5:
        f->child_schema[1] = NULL;
        break;
    case 6:
        number->schema.format = NULL;
        break;
    case 7:
        f->schema.children = NULL;
        break;
    case 8:
        f->batch.length = -1;
        break;
    case 9:
        f->batch.length = 3; /* more than the columns have */
        break;
    case 10:
        f->batch.length = 0;
        break;
    case 11:
        f->batch.offset = 1;
        break;
    case 12:
        f->batch.offset = INT64_MAX - 1;
        break;
    case 13:
        f->batch.n_children = 2;
        break;
    case 14:
        f->batch.children = NULL;
        break;
    case 15:
        f->child[0] = NULL;
        break;
    case 16:
        f->batch.release = NULL;
        break;
    case 17:
        number->array.release = NULL;
        break;
    case 18:
        number->array.length = INT64_MIN;
        break;
    case 19:
        number->array.offset = -1;
        break;
    case 20:
        number->array.n_buffers = 1;
        break;
    case 21:
        number->array.buffers = NULL;
        break;
    case 22:
        number->buffer[1] = NULL;
        break;
    case 23:
        number->array.null_count = 1; /* without a bitmap */
        break;
    case 24:
        text->buffer[1] = NULL;
        break;
    case 25:
        text->buffer[2] = NULL;
        break;
    case 26:
        text->buffer[1] = back;
        break;
    case 27:
        text->buffer[1] = below;
        break;
    case 28:
        text->buffer[1] = far; /* the row behind it is null, so nothing else is wrong */
        text->buffer[0] = first_only;
        text->buffer[2] = "abcdefghij";
        break;
    case 29:
        text->array.n_buffers = 2;
        break;
    case 30:
        level->array.dictionary = NULL;
        break;
    case 31:
        level->dictionary.release = NULL;
        break;
    case 32:
        level->buffer[1] = minus;
        break;
    case 33:
        level->buffer[1] = beyond;
        break;
    case 34:
        level->dictionary.length = 0;
        break;
    case 35:
        level->schema.format = "g"; /* an index that is no integer */
        break;
    case 36:
        level->dictionary_schema.dictionary = &number->schema;
        break;
    case 37:
        level->dictionary_schema.format = NULL;
        break;
    case 38:
        text->buffer[2] = "a\0"; /* a zero byte */
        text->buffer[1] = both;
        break;
    default:
        fail();
    }
}

static void build_whole(arrow_frame *f) {
    static const int32_t number[] = {1, 2}, start[] = {0, 1, 2};
    static const int8_t index[] = {0, 1};
    *f = (arrow_frame){0};
    arrow_add(f, "number", "i", 2, NULL, number, NULL);
    arrow_add(f, "text", "u", 2, NULL, start, "ab");
    arrow_index(arrow_add(f, "level", "c", 2, NULL, index, NULL), "u", 2, NULL, start, "xy");
}

static void structures_that_cannot_be_right_are_refused(void **unused) {
    kb_context *ctx = test_context();
    arrow_frame frame;
    kb_data *data;
    (void)unused;
    for (int k = -1; k < 39; k++) {
        build_whole(&frame);
        if (k >= 0)
            break_frame(&frame, k);
        kb_arrow_spec spec = arrow_spec_of(&frame);
        kb_status status = arrow_read(ctx, &spec, &data);
        if (status != (k < 0 ? KB_OK : KB_ERR_DATA))
            fail_msg("case %d: status %d", k, (int)status);
        kb_data_free(data);
    }
    kb_arrow_spec none = {.schema = &frame.schema, .batches = 1};
    assert_int_equal(arrow_read(ctx, &none, &data), KB_ERR_DATA);
    none.schema = NULL;
    assert_int_equal(arrow_read(ctx, &none, &data), KB_ERR_DATA);
    kb_context_free(ctx);
}

/* ---- failures ---------------------------------------------------------- */

static int read_all(kb_context *ctx, void *arg) {
    kb_data *data;
    kb_status status = arrow_read(ctx, arg, &data);
    kb_data_free(data);
    return (int)status;
}

static void failing_allocations_leave_nothing_behind(void **unused) {
    static const int32_t start[] = {0, 3, 6, 9, 12}, same[] = {1, 1, 1, 1};
    static const int8_t index[] = {0, 1, 1, 0};
    const uint8_t bits[] = {0x6};
    arrow_frame frame = {0};
    known model;
    (void)unused;
    arrow_add(&frame, "size", "i", 4, bits, same, NULL);
    arrow_index(arrow_add(&frame, "town", "c", 4, NULL, index, NULL), "u", 2, NULL, start,
                "UlmRom");
    arrow_add(&frame, "day", "u", 4, NULL, start, "a-1a-2a-3a-4");
    arrow_add(&frame, "flag", "b", 4, NULL, bits, NULL);
    arrow_add(&frame, "same", "i", 4, NULL, same, NULL);
    kb_arrow_spec spec = arrow_spec_of(&frame);
    run_with_allocation_failures(read_all, &spec);
    spec.ignore = "s*";
    spec.types = "4=number";
    run_with_allocation_failures(read_all, &spec);
    make_known(&model);
    spec = spec_like(&frame, &model);
    run_with_allocation_failures(read_all, &spec);
}

static void reading_can_be_cancelled(void **unused) {
    arrow_frame frame;
    (void)unused;
    build_whole(&frame);
    kb_arrow_spec spec = arrow_spec_of(&frame);
    run_with_cancellations(read_all, &spec, 1, 1);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_of_every_type_become_doubles),
        cmocka_unit_test(nan_is_missing),
        cmocka_unit_test(dates_have_the_days_of_their_texts),
        cmocka_unit_test(days_are_dates),
        cmocka_unit_test(strings_are_what_they_are_in_a_csv),
        cmocka_unit_test(types_of_strings_are_found),
        cmocka_unit_test(views_of_long_texts_lie_in_other_buffers),
        cmocka_unit_test(booleans_are_words),
        cmocka_unit_test(booleans_meet_the_levels_of_a_model),
        cmocka_unit_test(dictionaries_are_categories),
        cmocka_unit_test(two_levels_are_a_boolean),
        cmocka_unit_test(options_choose_columns_and_types),
        cmocka_unit_test(columns_without_names_have_numbers),
        cmocka_unit_test(equal_names_are_made_different),
        cmocka_unit_test(batches_are_joined),
        cmocka_unit_test(long_columns_are_whole),
        cmocka_unit_test(columns_are_found_by_name),
        cmocka_unit_test(features_that_lack_are_all_named),
        cmocka_unit_test(other_types_than_the_models_are_converted),
        cmocka_unit_test(columns_without_names_are_found_by_place),
        cmocka_unit_test(other_types_are_refused_by_name),
        cmocka_unit_test(infinite_values_are_refused),
        cmocka_unit_test(structures_that_cannot_be_right_are_refused),
        cmocka_unit_test(failing_allocations_leave_nothing_behind),
        cmocka_unit_test(reading_can_be_cancelled),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
